// Finds the role of each node of a plan: an operation of the step under its old name, a clone of one, part of a bucket,
// or a node that splits or recombines chunks. Every check of a plan starts from these roles.
//
// A plan is a file of unknown origin, and only names connect it with the step. So names are matched first (survivors,
// and clones by the origin that they state), then new collectives by the members that they list, and finally the nodes
// between these. A node's own statements only give it a role; the other headers check whether it fills that role. A
// node that fits no role is a fault.
//
// Longer than 300 lines: every kind of replacement is recognised here, so that all checks agree on the roles.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_MATCH_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_MATCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/plan_report.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

using old_id = std::uint32_t;  ///< a node of the step
using new_id = std::uint32_t;  ///< a node of the plan
inline constexpr std::uint32_t nobody = UINT32_MAX;

/// The role of a node of the plan in relation to the step.
enum class plan_role : std::uint8_t {
    survivor,       ///< it has the name of an operation of the step
    clone,          ///< it is one chunk of an operation of the step
    bucket_start,   ///< it launches several collectives of the step at once
    bucket_wait,    ///< it waits for such a bucket
    pack,           ///< it copies the inputs of a bucket's members into one buffer
    unpack,         ///< it copies the results of a bucket's members out of one buffer
    bucket_view,    ///< it is a view of a bucket's result
    recombination,  ///< it splits or recombines chunks
    sum_start,      ///< it launches one collective on the sum of the inputs of several collectives of the step
    sum_wait,       ///< it waits for such a collective
    sum_addition,   ///< it adds the inputs of the members of such a collective
    unexplained
};

/// Several collectives of the step that the plan launches as one.
struct plan_bucket {
    new_id start = nobody;
    new_id pack = nobody;
    bool coalesced = false;
    std::vector<old_id> members;  ///< starts of the step, as listed; unknown names are left out
};

/// Several collectives of the step, each on a summand, that the plan launches as one collective on the sum.
struct plan_sum {
    new_id start = nobody;
    std::vector<old_id> members;  ///< starts of the step, as listed; unknown names are left out
    std::vector<old_id> sums;     ///< the additions of their results in the step, as listed
    old_id result = nobody;       ///< the only one of `sums` that other nodes read, if there is exactly one
};

/// Returns lists of which row v contains the nodes in whose allocations v's results live, each once. One pass is
/// enough, because aliases refer to earlier nodes.
inline index_lists storages_of(const capture& c) {
    index_lists storages;
    storages.reserve(c.size(), c.size());
    std::vector<std::uint32_t> row_of(c.size(), nobody);  // by storage: the last row that it was added to
    for (std::uint32_t v = 0; v < c.size(); ++v) {
        const auto add = [&](std::uint32_t s) {
            if (std::exchange(row_of[s], v) != v) storages.push(s);
        };
        if (c.allocation(v).count > 0) add(v);
        for (std::uint32_t u : c.aliases(v))
            for (std::size_t k = 0; k < storages[u].size(); ++k) add(storages[u][k]);
        storages.close_row();
    }
    return storages;
}

/// Return an amount as messages spell it.
inline std::string count(bytes b) { return std::to_string(b.count) + " bytes"; }
inline std::string count(nanoseconds d) { return std::to_string(d.count) + " ns"; }

/// Returns whether a list has an item. O(length); these lists are short.
inline bool contains(std::span<const std::uint32_t> list, std::uint32_t item) noexcept {
    return std::find(list.begin(), list.end(), item) != list.end();
}

/// Returns whether v adds its two inputs, and does nothing else.
inline bool is_addition(const capture& c, std::uint32_t v) {
    if (c.inputs(v).size() != 2 || (c.op(v) != "aten.add.Tensor" && c.op(v) != "aten.add_.Tensor")) return false;
    // Only `alpha` can change an addition, and it would follow the operands or be a named argument. The order of the
    // two operands makes no difference.
    std::string dense;
    for (char letter : c.field(v, "args").value_or(R"(["%0","%1"])"))
        if (letter != ' ' && letter != '\n') dense += letter;
    const auto named = c.field(v, "kwargs");
    return (dense == R"(["%0","%1"])" || dense == R"(["%1","%0"])") && (!named || *named == "{}");
}

/// Returns whether a text is among the arguments of v. Reductions are such texts: their place differs between
/// operators, but no other argument of a collective has these words.
inline bool mentions(const capture& c, std::uint32_t v, std::string_view text) {
    const std::string quoted = '"' + std::string(text) + '"';
    const auto has = [&](const char* key) {
        return c.field(v, key).value_or("").find(quoted) != std::string_view::npos;
    };
    return has("args") || has("kwargs");
}

/// The match of a plan with its step, computed by the constructor. Faults that only the match can find are reported
/// there.
class plan_match {
public:
    plan_match(const capture& before, const capture& after, plan_findings& findings)
        : step(before),
          plan(after),
          step_tensors(capture_tensors::read_outputs(before)),
          plan_tensors(capture_tensors::read_outputs(after)),
          plan_fields(after),
          step_storages(storages_of(before)),
          plan_storages(storages_of(after)),
          new_of(before.size(), nobody),
          bucket_of(before.size(), nobody),
          absorbed_by(before.size(), nobody),
          sum_of(before.size(), nobody),
          clones(before.size()),
          old_of(after.size(), nobody),
          origin(after.size(), nobody),
          chunk(after.size(), 0),
          bucket_at(after.size(), nobody),
          sum_at(after.size(), nobody),
          role(after.size(), plan_role::unexplained),
          found(findings) {
        match_names();
        for (new_id v = 0; v < plan.size(); ++v)
            if (plan.kind(v) == op_kind::start && role[v] == plan_role::unexplained)
                plan.field(v, "sums") ? read_sum(v) : read_bucket(v);
        for (new_id v = 0; v < plan.size(); ++v)
            if (role[v] == plan_role::unexplained) explain(v);
        find_moved();
    }

    [[nodiscard]] bool chunked(old_id u) const { return !clones[u].empty(); }
    /// Returns whether the storage of u has moved: u is chunked, or a view of something that is.
    [[nodiscard]] bool is_moved(old_id u) const { return moved_[u] != 0; }
    /// Returns whether u belongs to a sum of collectives that the plan replaces by one, and has to vanish.
    [[nodiscard]] bool summed(old_id u) const { return sum_of[u] != nobody && sums[sum_of[u]].result != u; }
    /// Returns whether u is the result of such a sum, which keeps its name in the plan.
    [[nodiscard]] bool is_result(old_id u) const { return sum_of[u] != nobody && sums[sum_of[u]].result == u; }
    [[nodiscard]] std::string quoted(const capture& c, std::uint32_t v) const { return printable(c.name(v)); }

    /// Returns whether two values of the step may be in one storage.
    [[nodiscard]] bool share_storage(old_id x, old_id y) const {
        return std::ranges::any_of(step_storages[x], [&](old_id s) { return contains(step_storages[y], s); });
    }

    /// Returns the size of all storages in which the results of a node of the plan live.
    [[nodiscard]] bytes room_of(new_id v) const {
        bytes total;
        for (new_id s : plan_storages[v]) total += plan.allocation(s);
        return total;
    }

    const capture& step;
    const capture& plan;
    capture_tensors step_tensors;
    capture_tensors plan_tensors;
    capture_fields plan_fields;
    index_lists step_storages;
    index_lists plan_storages;

    std::vector<new_id> new_of;               ///< by old node: the node with its name, or nobody
    std::vector<std::uint32_t> bucket_of;     ///< by old start: the position of its bucket, or nobody
    std::vector<new_id> absorbed_by;          ///< by old cast: the pack that does its work, or nobody
    std::vector<std::uint32_t> sum_of;        ///< by old start, wait, addition: its place in `sums`, or nobody
    std::vector<std::vector<new_id>> clones;  ///< by old node: its clones, in the order of their chunks
    std::vector<old_id> old_of;               ///< by new node: the node of the step with its name, or nobody
    std::vector<old_id> origin;               ///< by new node: the original of which it is a clone, or nobody
    std::vector<std::int64_t> chunk;          ///< by new node, for clones
    std::vector<std::uint32_t> bucket_at;     ///< by new start, wait and pack: the position of its bucket, or nobody
    std::vector<std::uint32_t> sum_at;        ///< by new start, wait and addition: its place in `sums`, or nobody
    std::vector<plan_role> role;
    std::vector<plan_bucket> buckets;
    std::vector<plan_sum> sums;
    bool has_clones = false;
    plan_findings& found;

private:
    /// Fills moved_. A node of the step has moved if it is chunked, or shares a storage with an input that has moved.
    void find_moved() {
        moved_.assign(step.size(), false);
        for (old_id u = 0; u < step.size(); ++u)
            moved_[u] = chunked(u) || (has_clones && std::ranges::any_of(step.inputs(u), [&](old_id y) {
                                           return moved_[y] != 0 && share_storage(u, y);
                                       }));
    }
    /// Finds survivors by their names, and clones by the origin that they state.
    void match_names() {
        for (new_id v = 0; v < plan.size(); ++v) {
            if (const auto u = step.find(plan.name(v))) {
                new_of[*u] = v;
                old_of[v] = *u;
                role[v] = plan_role::survivor;
                continue;
            }
            const std::optional<std::int64_t> number = plan_fields.whole_number(v, "chunk");
            const std::optional<std::string> whole = number ? plan_fields.text(v, "origin") : std::nullopt;
            const std::optional<old_id> u = whole ? step.find(*whole) : std::nullopt;
            if (!u) continue;
            origin[v] = *u;
            chunk[v] = *number;
            role[v] = plan_role::clone;
            has_clones = true;
            clones[*u].push_back(v);
        }
        for (std::vector<new_id>& parts : clones)
            std::sort(parts.begin(), parts.end(),
                      [this](new_id a, new_id b) { return chunk[a] != chunk[b] ? chunk[a] < chunk[b] : a < b; });
    }

    /// Reads the members of a new collective, and finds its pack.
    void read_bucket(new_id v) {
        const auto position = static_cast<std::uint32_t>(buckets.size());
        plan_bucket bucket;
        bucket.start = v;
        bucket.coalesced = plan.field(v, "coalesced") == "true";
        role[v] = plan_role::bucket_start;
        bucket_at[v] = position;
        const auto names = plan_fields.texts(v, "members");
        if (!names || names->empty())
            found.add(plan_rule::members_invalid, plan.name(v), "", "is a new collective without members",
                      "a bucket lists the names of the starts that it replaces");
        if (names)
            for (const std::string& name : *names) add_member(bucket, position, name);
        for (new_id x : plan.inputs(v))
            if (role[x] == plan_role::unexplained && plan.op(x) == "stretto.pack" && plan.kind(x) == op_kind::compute &&
                plan.readers(x).size() == 1 && bucket.pack == nobody) {
                bucket.pack = x;
                bucket_at[x] = position;
                role[x] = plan_role::pack;
            }
        buckets.push_back(std::move(bucket));
    }

    /// Adds the member of that name to a bucket, or reports that it is not a start, or that it is launched twice.
    void add_member(plan_bucket& bucket, std::uint32_t position, const std::string& name) {
        const std::string_view start = plan.name(bucket.start);
        const std::optional<old_id> m = step.find(name);
        if (!m || step.kind(*m) != op_kind::start) {
            found.add(plan_rule::members_invalid, start, name,
                      "has member " + printable(name) + ", no start of the step",
                      "members are starts of the step that the bucket replaces");
            return;
        }
        if (bucket_of[*m] != nobody) {
            found.add(plan_rule::launched_twice, start, name,
                      "launches " + printable(name) + ", which " +
                          (bucket_of[*m] == position ? "it lists already"
                                                     : quoted(plan, buckets[bucket_of[*m]].start) + " launches too"),
                      "every start is launched once");
            return;
        }
        if (sum_of[*m] != nobody) {
            found.add(plan_rule::launched_twice, start, name,
                      "launches " + printable(name) + ", which " + quoted(plan, sums[sum_of[*m]].start) +
                          " reduces with others",
                      "every start is launched once");
            return;
        }
        bucket_of[*m] = position;
        bucket.members.push_back(*m);
    }

    /// Reads the collectives that a collective of a sum replaces, and finds the additions before it.
    void read_sum(new_id v) {
        const auto position = static_cast<std::uint32_t>(sums.size());
        plan_sum sum;
        sum.start = v;
        role[v] = plan_role::sum_start;
        sum_at[v] = position;
        const auto members = plan_fields.texts(v, "members"), added = plan_fields.texts(v, "sums");
        if (!members || members->empty() || !added || added->empty())
            found.add(plan_rule::members_invalid, plan.name(v), "", "is a collective of a sum without members or sums",
                      "it lists the names of the starts, and of the additions, that it replaces");
        // A collective of a sum replaces starts and additions; no node may be replaced by two collectives.
        const auto claim = [&](const std::string& name, bool start) {
            const std::optional<old_id> u = step.find(name);
            if (!u || (step.kind(*u) == op_kind::start) != start) {
                found.add(plan_rule::members_invalid, plan.name(v), name,
                          "lists " + printable(name) + (start ? ", no start of the step" : ", no addition of the step"),
                          "members are starts of the step, sums the additions and views of their results");
            } else if (bucket_of[*u] != nobody || sum_of[*u] != nobody) {
                found.add(plan_rule::launched_twice, plan.name(v), name,
                          "lists " + printable(name) + ", which is listed already", "everything is replaced once");
            } else {
                sum_of[*u] = position;
                (start ? sum.members : sum.sums).push_back(*u);
            }
        };
        for (const std::string& name : members.value_or(std::vector<std::string>())) claim(name, true);
        for (const std::string& name : added.value_or(std::vector<std::string>())) claim(name, false);
        for (old_id m : sum.members)
            for (old_id w : step.readers(m))
                if (step.kind(w) == op_kind::wait) sum_of[w] = position;
        // The whole sum is the one addition that something beside these additions reads. If there are several, or none,
        // there is no result, and plan_sums reports it.
        std::size_t ends = 0;
        for (old_id u : sum.sums)
            if (std::ranges::any_of(step.readers(u), [&](old_id r) { return !contains(sum.sums, r); }))
                sum.result = u, ++ends;
        if (ends != 1) sum.result = nobody;
        // The additions of the plan in front of the collective are new nodes that only add; they end at survivors.
        for (std::vector<new_id> open = {v}; !open.empty();) {
            const new_id x = open.back();
            open.pop_back();
            for (new_id y : plan.inputs(x))
                if (role[y] == plan_role::unexplained && is_addition(plan, y)) {
                    role[y] = plan_role::sum_addition;
                    sum_at[y] = position;
                    open.push_back(y);
                }
        }
        sums.push_back(std::move(sum));
    }

    /// Finds the role of a node that has none yet, or reports it.
    void explain(new_id v) {
        const auto is_of_bucket = [&](new_id x) {
            return role[x] == plan_role::bucket_wait || role[x] == plan_role::unpack ||
                   role[x] == plan_role::bucket_view;
        };
        const auto inputs = plan.inputs(v);
        // Inputs come before v, so that they have their roles by now.
        const bool of_bucket = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), is_of_bucket);
        if (plan.kind(v) == op_kind::wait) {
            const std::optional<new_id> start = plan.launch_of(v);
            if (start && role[*start] == plan_role::sum_start) {
                role[v] = plan_role::sum_wait;
                sum_at[v] = sum_at[*start];
                return;
            }
            if (start && role[*start] == plan_role::bucket_start) {
                role[v] = plan_role::bucket_wait;
                bucket_at[v] = bucket_at[*start];
                return;
            }
        } else if (plan.kind(v) == op_kind::compute && plan.op(v) == "stretto.unpack") {
            if (of_bucket) role[v] = plan_role::unpack;
        } else if (plan.kind(v) == op_kind::view && of_bucket) {
            role[v] = plan_role::bucket_view;
        } else if ((plan.kind(v) == op_kind::view || plan.kind(v) == op_kind::compute) && has_clones &&
                   !plan.op(v).starts_with("stretto.")) {
            role[v] = plan_role::recombination;
        }
        if (role[v] == plan_role::unexplained)
            found.add(plan_rule::node_unexplained, plan.name(v), "",
                      "is a new " + std::string(kind_names[static_cast<std::size_t>(plan.kind(v))]) +
                          " that belongs to no bucket" + (has_clones ? " and recombines no chunks" : ""),
                      "a plan adds packs, starts, waits, unpacks and views of buckets, clones, and what splits and "
                      "recombines their parts");
    }

    std::vector<char> moved_;  // by old node
};

}  // namespace stretto::detail

#endif
