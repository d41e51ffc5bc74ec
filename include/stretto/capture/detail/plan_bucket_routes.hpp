// Checks merged collectives: whether their members are compatible, whether the costs of the bucket and its unpack are
// accounted for, and whether the old waits wait for it. plan_packs.hpp checks its inputs. It also checks the groups of
// all collectives.
//
// A bucket is one new collective in place of several of the step. Data enters it through a pack (or, if the executor
// coalesces, directly), leaves it through its wait and an unpack, and reaches the readers of each member as a view that
// has the name of the old wait; so the readers do not change. The scan follows this route for each member, and adds up
// for every unpack what it must have copied.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_BUCKET_ROUTES_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_BUCKET_ROUTES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/detail/plan_match.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/same_json.hpp"

namespace stretto::detail {

/// The checks of buckets during one scan of the plan.
class plan_bucket_routes {
public:
    explicit plan_bucket_routes(plan_match& match)
        : m_(match), routes_(match.plan.size()), unpacked_(match.plan.size()) {}

    /// Checks node v of the plan. Nodes must be passed in program order.
    void check(new_id v) {
        if (m_.plan.kind(v) == op_kind::start) check_group(v);
        if (m_.role[v] == plan_role::bucket_start) check_bucket(m_.buckets[m_.bucket_at[v]]);
        follow(v);
        if (m_.role[v] == plan_role::survivor) check_member_wait(m_.old_of[v], v);
    }

    /// Checks unpacks after the scan, when the amounts that each had to copy are known.
    void check_unpacks() {
        for (new_id v = 0; v < m_.plan.size(); ++v)
            if (m_.role[v] == plan_role::unpack) check_unpack(v);
    }

private:
    /// The route by which data of a bucket reaches a node: through this unpack, or directly.
    struct route {
        std::uint32_t bucket;
        new_id unpack;
        friend bool operator==(const route&, const route&) = default;
    };

    void add(plan_rule rule, new_id v, std::string_view other, std::string cause, std::string hint) {
        m_.found.add(rule, m_.plan.name(v), other, std::move(cause), std::move(hint));
    }

    /// Requires that a collective stays on its group, or moves to a group that the step does not have: either to one
    /// that is declared a duplicate of that group, or, if it declares nothing, to one whose collectives all come from
    /// the same group. Groups whose ranks are known to differ are always refused.
    void check_group(new_id v) {
        // u is the collective of the step for which v stands: its own, the one of which it is a chunk, or a member of
        // what it merges.
        const old_id u = m_.role[v] == plan_role::survivor ? m_.old_of[v]
                         : m_.role[v] == plan_role::clone  ? m_.origin[v]
                         : m_.sum_at[v] != nobody && !m_.sums[m_.sum_at[v]].members.empty()
                             ? m_.sums[m_.sum_at[v]].members[0]
                         : m_.bucket_at[v] != nobody && !m_.buckets[m_.bucket_at[v]].members.empty()
                             ? m_.buckets[m_.bucket_at[v]].members[0]
                             : nobody;
        if (u == nobody || m_.step.kind(u) != op_kind::start) return;
        const auto in_step = m_.step.groups(), in_plan = m_.plan.groups();
        const group_id old_group = m_.step.group(u), new_group = m_.plan.group(v);
        const capture_group &was = in_step[old_group], &is = in_plan[new_group];
        if (compare_ranks(m_.step.group_at(old_group), m_.plan.group_at(new_group)) == rank_agreement::different)
            return add(plan_rule::group_changed, v, is.name,
                       was.name == is.name ? "is on group " + printable(is.name) + ", which has other ranks in the step"
                                           : moved(was, is),
                       "a group, and every duplicate of it, has the ranks that it has in the step, in the same order");
        if (was.name == is.name) return;
        const bool taken =
            std::any_of(in_step.begin(), in_step.end(), [&](const capture_group& g) { return g.name == is.name; });
        group_id root = new_group;
        while (in_plan[root].duplicate_of != no_group && in_plan[root].name != was.name)
            root = in_plan[root].duplicate_of;
        const bool declared = is.duplicate_of != no_group;
        const auto undeclared = duplicate_of_.try_emplace(new_group, old_group).first;
        if (taken || (declared ? in_plan[root].name != was.name : undeclared->second != old_group))
            add(plan_rule::group_changed, v, is.name, moved(was, is),
                "a collective stays on its group, or moves to a duplicate of it that the step does not have");
    }
    /// Returns the message for a collective that changes its group.
    static std::string moved(const capture_group& was, const capture_group& is) {
        return "moved from group " + printable(was.name) + " to " + printable(is.name);
    }

    /// Checks a bucket as a whole: its collective, its payload, its price, its memory, and that it has a wait.
    void check_bucket(const plan_bucket& b) {
        const capture& step = m_.step;
        const new_id v = b.start;
        if (b.members.empty()) return;  // this has been reported already
        const old_id first = b.members[0];
        bytes sent, received;
        nanoseconds slowest;
        for (old_id m : b.members) {
            sent += step.payload(m);
            received += result_size(m);
            slowest = std::max(slowest, step.duration(m));
            check_member(b, first, m);
        }
        if (m_.plan.collective(v) != step.collective(first))
            add(plan_rule::members_differ, v, step.name(first),
                "is no " + std::string(collective_names[static_cast<std::size_t>(step.collective(first))]) +
                    ", but its members are",
                "a bucket is the collective that its members are");
        if (const std::string_view word = other_reduction(v, first); !word.empty())
            add(plan_rule::members_differ, v, step.name(first),
                "reduces in another way than its members, which " +
                    std::string(mentions(step, first, word) ? "say " : "do not say ") + std::string(word),
                "a bucket reduces as its members do");
        if (m_.plan.payload(v) != sent)
            add(plan_rule::payload_wrong, v, "",
                "sends " + count(m_.plan.payload(v)) + ", its members together " + count(sent),
                "the payload of a bucket is the sum of its members'");
        // Launched at once or merged, members share the wire: none becomes faster than it is alone, or than the table's
        // best.
        const auto table = price_of_collective(step, step.group(first), step.collective(first), m_.plan.payload(v));
        const auto alone = static_cast<double>(slowest.count);
        const double price = !table ? alone : b.coalesced ? std::min(*table, alone) : *table;
        if (underpaid(m_.plan.duration(v), price))
            add(plan_rule::collective_underpaid, v, "",
                "takes " + count(m_.plan.duration(v)) + ", its payload needs " +
                    count(nanoseconds{static_cast<std::int64_t>(price + 0.5)}),
                "a merged collective costs what the table says for the sum of payloads");
        if (own_storage(b) < received)
            add(plan_rule::memory_unaccounted, v, "", "allocates less than the " + count(received) + " it receives",
                "the results of a bucket are as large as those of its members");
        if (!b.coalesced && b.pack == nobody)
            add(plan_rule::pack_missing, v, "", "has neither a pack nor \"coalesced\": true",
                "parts that need no copy say so in their start; others need a stretto.pack");
        if (std::none_of(m_.plan.readers(v).begin(), m_.plan.readers(v).end(),
                         [&](new_id r) { return m_.role[r] == plan_role::bucket_wait; }))
            add(plan_rule::wait_lost, v, "", "is never waited for", "a bucket has one wait");
    }

    /// Returns a reduction that only one of the bucket v and its member m names in its arguments; nothing if they
    /// reduce alike. Their operators and other arguments may differ, because a merged collective may need another form.
    [[nodiscard]] std::string_view other_reduction(new_id v, old_id m) const {
        const collective_kind kind = m_.step.collective(m);
        if (kind != collective_kind::reduce_scatter && kind != collective_kind::all_reduce) return {};
        for (std::string_view word : {"sum", "avg", "max", "min", "product", "band", "bor", "bxor", "premul_sum"})
            if (mentions(m_.plan, v, word) != mentions(m_.step, m, word)) return word;
        return {};
    }

    /// Checks that member m can be merged with the first one, so that one call does what both did.
    void check_member(const plan_bucket& b, old_id first, old_id m) {
        const capture& step = m_.step;
        const auto differ = [&](const std::string& cause) {
            add(plan_rule::members_differ, b.start, step.name(m), "merges " + m_.quoted(step, m) + ", " + cause,
                "members agree in collective, group, operator, reduction and type, and own their results");
        };
        const std::string others = " than " + m_.quoted(step, first);
        if (step.collective(m) != step.collective(first) || step.op(m) != step.op(first))
            differ("which is another collective" + others);
        else if (step.group(m) != step.group(first)) differ("which is on another group" + others);
        else if (!step.writes(m).empty() || step.allocation(m).count == 0) differ("which fills a buffer of others");
        else if (step.collective(m) == collective_kind::all_gather) return;  // it copies bytes of any type
        else if (types_of(m) != types_of(first)) differ("which has another type" + others);
        else if (step.collective(m) != collective_kind::all_to_all &&
                 (!same_json(step.field(m, "args"), step.field(first, "args")) ||
                  !same_json(step.field(m, "kwargs"), step.field(first, "kwargs"))))
            differ("which reduces in another way" + others);
    }
    /// Returns the element types of the results of a start, each once, in alphabetical order.
    [[nodiscard]] std::vector<std::string> types_of(old_id m) const {
        std::vector<std::string> types;
        for (std::size_t k = 0; k < m_.step_tensors.components(m).size(); ++k)
            types.emplace_back(m_.step_tensors.element_name(m, k));
        std::sort(types.begin(), types.end());
        types.erase(std::unique(types.begin(), types.end()), types.end());
        return types;
    }
    /// Returns the bytes that a member receives: those that it allocates, or those of its shapes if these are more.
    [[nodiscard]] bytes result_size(old_id m) const {
        return std::max(m_.step.allocation(m), size_of_results(m_.step_tensors, m));
    }

    /// Returns the size of the storage that the results of a bucket may fill: its own allocation, and that of its pack
    /// if it shares that.
    [[nodiscard]] bytes own_storage(const plan_bucket& b) const {
        bytes total;
        for (new_id s : m_.plan_storages[b.start])
            if (s == b.start || s == b.pack) total += m_.plan.allocation(s);
        return total;
    }

    /// Records which buckets' data v carries, and through which unpack.
    void follow(new_id v) {
        const plan_role role = m_.role[v];
        if (role == plan_role::bucket_wait) routes_[v].push_back({m_.bucket_at[v], nobody});
        if (role != plan_role::unpack && role != plan_role::bucket_view) return;
        for (new_id x : m_.plan.inputs(v))
            for (route r : routes_[x]) {
                if (role == plan_role::unpack) r.unpack = v;
                if (std::find(routes_[v].begin(), routes_[v].end(), r) == routes_[v].end()) routes_[v].push_back(r);
            }
    }

    /// Checks the old wait u. If its collective is now in a bucket, v must be a view of that bucket's result.
    void check_member_wait(old_id u, new_id v) {
        const std::optional<old_id> member = m_.step.launch_of(u);
        if (!member || m_.bucket_of[*member] == nobody) return;
        const plan_bucket& b = m_.buckets[m_.bucket_of[*member]];
        const auto fail = [&](plan_rule rule, std::string cause) {
            add(rule, v, m_.plan.name(b.start), std::move(cause),
                "the old wait of a member becomes a view of its bucket's unpack, or of its wait if nothing was packed");
        };
        const auto inputs = m_.plan.inputs(v);
        const route* way = nullptr;
        for (new_id x : inputs)
            for (const route& r : routes_[x])
                if (r.bucket == m_.bucket_of[*member]) way = &r;
        if (m_.plan.kind(v) != op_kind::view || way == nullptr || inputs.size() != 1)
            return fail(plan_rule::wait_lost, "does not wait for " + m_.quoted(m_.plan, b.start) + ", which launched " +
                                                  m_.quoted(m_.step, *member));
        if (!b.coalesced && way->unpack == nobody)
            return fail(plan_rule::unpack_missing, "reads " + m_.quoted(m_.plan, b.start) + " without an unpack");
        const new_id holder = way->unpack == nobody ? b.start : way->unpack;
        const auto shared = m_.plan_storages[v];
        if (std::none_of(shared.begin(), shared.end(), [&](new_id s) { return contains(m_.plan_storages[holder], s); }))
            return fail(plan_rule::storage_lost, "does not share the storage of " + m_.quoted(m_.plan, holder));
        if (way->unpack != nobody && std::exchange(unpacked_for_[*member], way->unpack) != way->unpack)
            unpacked_[way->unpack] += result_size(*member);
    }

    /// Checks the price and the memory of an unpack. It must copy at least everything that is read through it, and at
    /// least the results of its buckets, or its own allocation if that is smaller and not empty.
    void check_unpack(new_id v) {
        bytes got;
        for (const route& r : routes_[v]) got += m_.plan.allocation(m_.buckets[r.bucket].start);
        const bytes own = m_.plan.allocation(v);
        const bytes copied = std::max(unpacked_[v], own.count > 0 ? std::min(got, own) : got);
        if (underpaid(m_.plan.duration(v), price_of_copy(m_.step.costs(), copied)))
            add(plan_rule::unpack_underpaid, v, "", "copies " + count(copied) + " in " + count(m_.plan.duration(v)),
                "an unpack costs a launch and twice its bytes over the memory bandwidth");
        if (m_.room_of(v) < unpacked_[v])
            add(plan_rule::memory_unaccounted, v, "", "has no room for the " + count(unpacked_[v]) + " it unpacks",
                "an unpack allocates the results of the members");
    }

    plan_match& m_;
    std::map<group_id, group_id> duplicate_of_;  // by new group: the group of the step that its collectives come from
    std::vector<std::vector<route>> routes_;     // by node of the plan
    std::vector<bytes> unpacked_;                // by unpack: results of members that have been read through it
    std::map<old_id, new_id> unpacked_for_;      // by member: the unpack at which its results were counted
};

}  // namespace stretto::detail

#endif
