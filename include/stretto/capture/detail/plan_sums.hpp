// Checks collectives of sums ("reduced once"): the members are linear and alike, the result in the step is exactly
// their sum, the new collective reads exactly the sum of what they read, and it is paid for.
//
// The sum of reductions is the reduction of the sum. So two trees of additions must be shown to be sums of the same
// things: in the step over the results of the members, in the plan over their inputs. Each tree is expanded into how
// often every unit occurs in it. Each unit must occur once, and nothing else may occur.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_SUMS_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_SUMS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/detail/plan_match.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/same_json.hpp"

namespace stretto::detail {

/// The checks of all such collectives of a plan. O(V) for each, plus what check_overwritten takes.
class plan_sums {
public:
    explicit plan_sums(plan_match& match) : m_(match) {}

    void check() {
        for (const plan_sum& s : m_.sums)
            if (!s.members.empty() && !s.sums.empty()) check(s);  // otherwise it has been reported
    }

private:
    using coefficients = std::map<std::uint32_t, std::size_t>;  ///< how often each unit is in a value

    void add(plan_rule rule, const plan_sum& s, std::string_view other, std::string cause, std::string hint) {
        m_.found.add(rule, m_.plan.name(s.start), other, std::move(cause), std::move(hint));
    }

    /// Checks one such collective.
    void check(const plan_sum& s) {
        for (old_id m : s.members) check_member(s, m);
        check_start(s);
        check_results(s);
        check_operands(s);
        for (new_id v = 0; v < m_.plan.size(); ++v)
            if (m_.role[v] == plan_role::sum_addition && &m_.sums[m_.sum_at[v]] == &s) check_addition(s, v);
    }

    /// Checks that m is linear, that it is like the first member, and that only its waits read it.
    void check_member(const plan_sum& s, old_id m) {
        const capture& step = m_.step;
        const old_id first = s.members[0];
        const collective_kind kind = step.collective(m);
        const auto says = [&](std::string_view word) { return mentions(step, m, word); };
        const bool reduces = kind == collective_kind::reduce_scatter || kind == collective_kind::all_reduce;
        const bool written =
            !step.field(m, "args").value_or("").empty() || !step.field(m, "kwargs").value_or("").empty();
        const bool sums = !written || says("sum") || says("avg");
        const bool rounds = says("avg") && !is_float(m);
        if (!reduces || !sums || rounds || says("max") || says("min") || says("product") || !step.writes(m).empty())
            add(plan_rule::not_linear, s, step.name(m), "stands for " + m_.quoted(step, m) + ", which is not linear",
                "sums, and averages of floats, by reduce-scatter and all-reduce are linear");
        if (step.op(m) != step.op(first) || kind != step.collective(first) || step.group(m) != step.group(first) ||
            step.payload(m) != step.payload(first) || !same_json(step.outputs(m), step.outputs(first)) ||
            step.inputs(m).size() != 1 || !same_arguments(step, m, step, first))
            add(plan_rule::members_differ, s, step.name(m),
                "stands for " + m_.quoted(step, m) + ", which differs from " + m_.quoted(step, first),
                "members have one operator, group, payload and result, and the same arguments besides their input");
        for (old_id r : step.readers(m))
            if (step.kind(r) != op_kind::wait)
                add(plan_rule::sum_read_elsewhere, s, step.name(r),
                    m_.quoted(step, r) + " reads " + m_.quoted(step, m) + " before its wait",
                    "members are read by their waits alone");
    }
    /// Returns whether two nodes have the same arguments. Operands are "%k" in them, so it does not matter what the
    /// nodes read.
    static bool same_arguments(const capture& a, std::uint32_t v, const capture& b, std::uint32_t w) {
        return same_json(a.field(v, "args"), b.field(w, "args")) &&
               same_json(a.field(v, "kwargs"), b.field(w, "kwargs"));
    }
    /// Returns whether all results are real floats. The average of integers is rounded, and so it is not linear.
    bool is_float(old_id m) {
        return std::ranges::all_of(m_.step_tensors.components(m), [](const tensor_type& t) {
            using enum element_type;
            return t.element == f16 || t.element == bf16 || t.element == f32 || t.element == f64;
        });
    }

    /// Checks that the new collective is what each member is, pays for it, and has room for its result.
    void check_start(const plan_sum& s) {
        const capture &step = m_.step, &plan = m_.plan;
        const old_id first = s.members[0];
        if (plan.op(s.start) != step.op(first) || plan.collective(s.start) != step.collective(first) ||
            !same_arguments(plan, s.start, step, first) || !same_json(plan.outputs(s.start), step.outputs(first)))
            add(plan_rule::operation_changed, s, step.name(first),
                "is another operation than " + m_.quoted(step, first),
                "a collective of a sum has the operator, the arguments and the result of its members");
        if (plan.payload(s.start) != step.payload(first))
            add(plan_rule::payload_wrong, s, step.name(first),
                "sends " + count(plan.payload(s.start)) + ", a member " + count(step.payload(first)),
                "the payload of a collective of a sum is that of one member");
        const auto table = price_of_collective(step, step.group(first), step.collective(first), plan.payload(s.start));
        const double price = table.value_or(static_cast<double>(step.duration(first).count));
        if (underpaid(plan.duration(s.start), price))
            add(plan_rule::collective_underpaid, s, "",
                "takes " + count(plan.duration(s.start)) + ", its payload needs " +
                    count(nanoseconds{static_cast<std::int64_t>(price + 0.5)}),
                "a collective of a sum costs what the table says for its payload");
        if (plan.allocation(s.start) < step.allocation(first) ||
            plan.allocation(s.start) < size_of_results(m_.plan_tensors, s.start))
            add(plan_rule::memory_unaccounted, s, "", "allocates less than it receives",
                "its result is as large as that of a member");
    }

    /// Requires that in the step, the result is the sum of the results of the members, each once, that nothing else
    /// reads a part of it, and that everything that vanishes belongs to that sum.
    void check_results(const plan_sum& s) {
        const capture &step = m_.step, &plan = m_.plan;
        coefficients wanted;
        std::map<std::uint32_t, std::uint32_t> units;
        for (old_id m : s.members) {
            wanted[m] = 1;
            for (old_id w : step.readers(m)) units[w] = m;
        }
        bool whole = s.result != nobody;
        for (const auto& [w, m] : units)
            for (old_id r : step.readers(w))
                if (!contains(s.sums, r)) {
                    whole = false;
                    add(plan_rule::sum_read_elsewhere, s, step.name(r),
                        m_.quoted(step, r) + " reads " + m_.quoted(step, w) + ", a part of the sum",
                        "the results of members are only added to each other");
                }
        if (s.result == nobody) {
            add(plan_rule::sum_read_elsewhere, s, "", "lists sums of which not exactly one is read by others",
                "of the additions that vanish, one is read by others: the whole sum");
            return;
        }
        if (!whole) return;
        for (old_id u : s.sums)
            if (step.kind(u) != op_kind::view && !is_addition(step, u)) whole = false;
        std::vector<std::uint32_t> within;
        const char* const hint =
            "sums are the additions, and views of one input among them, of the results of all members";
        if (!whole || terms_of(step, s.result, units, s.sums.size() + units.size(), &within) != wanted)
            add(plan_rule::sum_differs, s, step.name(s.result),
                m_.quoted(step, s.result) + " is not the sum of the members, each once", hint);
        else
            for (old_id u : s.sums)
                if (!contains(within, u))
                    add(plan_rule::sum_differs, s, step.name(u),
                        "lists " + m_.quoted(step, u) + ", which is no part of the sum " + m_.quoted(step, s.result),
                        hint);
        const new_id v = m_.new_of[s.result];
        if (v == nobody) return;  // it is lost, which is reported elsewhere
        const auto inputs = plan.inputs(v);
        const bool waits = std::ranges::any_of(
            inputs, [&](new_id x) { return m_.role[x] == plan_role::sum_wait && &m_.sums[m_.sum_at[x]] == &s; });
        if (!waits || plan.kind(v) != op_kind::view || plan.duration(v).count != 0 || plan.allocation(v).count != 0 ||
            !plan.writes(v).empty())
            m_.found.add(plan_rule::wait_lost, plan.name(v), plan.name(s.start),
                         "is no view of the wait for " + m_.quoted(plan, s.start),
                         "the sum that others read stays, by its name, as a view of the new wait");
        else if (!contains(m_.plan_storages[v], s.start))
            m_.found.add(plan_rule::storage_lost, plan.name(v), plan.name(s.start),
                         "does not share the storage of " + m_.quoted(plan, s.start), "a view aliases what it shows");
    }

    /// Requires that in the plan, the collective reads the sum of what the members read, each once.
    void check_operands(const plan_sum& s) {
        coefficients wanted;
        std::map<std::uint32_t, std::uint32_t> units;
        for (old_id m : s.members)
            for (old_id x : m_.step.inputs(m)) {
                wanted[x] = 1;
                if (m_.new_of[x] != nobody) units[m_.new_of[x]] = x;
            }
        const auto inputs = m_.plan.inputs(s.start);
        const bool different = wanted.size() == s.members.size();
        if (!different || inputs.size() != 1 || terms_of(m_.plan, inputs[0], units, 2 * s.members.size()) != wanted)
            add(plan_rule::inputs_of_members, s, "", "does not read the sum of what its members read, each once",
                "additions of two values, that pay for it, lead from the inputs of all members to the collective");
    }

    /// Returns how often each unit is in node v; nothing if anything else is in it, or if there are more than `most`
    /// nodes. `units` maps nodes of c to units. `within`, if it is given, receives the additions and views between v
    /// and the units.
    static std::optional<coefficients> terms_of(const capture& c, std::uint32_t v,
                                                const std::map<std::uint32_t, std::uint32_t>& units, std::size_t most,
                                                std::vector<std::uint32_t>* within = nullptr) {
        coefficients all;
        std::vector<std::uint32_t> open = {v};
        for (std::size_t done = 0; !open.empty(); ++done) {
            const std::uint32_t x = open.back();
            open.pop_back();
            if (const auto unit = units.find(x); unit != units.end()) {
                ++all[unit->second];
                continue;
            }
            const bool passes = c.kind(x) == op_kind::view && c.inputs(x).size() == 1;
            // A value that is added to itself again and again doubles the paths at each step; more nodes than a sum of
            // these units has cannot be right, and are not followed.
            if ((!passes && !is_addition(c, x)) || done > most) return std::nullopt;
            if (within != nullptr) within->push_back(x);
            for (std::uint32_t y : c.inputs(x)) open.push_back(y);
        }
        return all;
    }

    /// Requires that an addition is paid for, in time and in memory. It may write over a summand that nothing reads
    /// later.
    void check_addition(const plan_sum& s, new_id v) {
        const capture& plan = m_.plan;
        const auto fail = [&](plan_rule rule, std::string_view other, std::string cause, std::string hint) {
            m_.found.add(rule, plan.name(v), other, std::move(cause), std::move(hint));
        };
        // What it states itself is not enough: the sum is as large as the values that it adds.
        bytes size = size_of_results(m_.plan_tensors, v);
        for (new_id x : plan.inputs(v)) size = std::max(size, size_of_results(m_.plan_tensors, x));
        if (plan.kind(v) != op_kind::compute ||
            underpaid(plan.duration(v), price_of_moving(m_.step.costs(), size + size + size)))
            fail(plan_rule::copy_underpaid, plan.name(s.start),
                 "adds " + count(size) + " in " + count(plan.duration(v)),
                 "an addition costs a launch and three times its bytes over the memory bandwidth");
        if (m_.room_of(v) < size)
            fail(plan_rule::memory_unaccounted, plan.name(s.start), "has no room for its " + count(size),
                 "allocate them, or write over a summand");
        const auto summand_in = [&](new_id storage) {
            return std::ranges::any_of(plan.inputs(v),
                                       [&](new_id y) { return contains(m_.plan_storages[y], storage); });
        };
        for (new_id x : plan.writes(v)) {
            if (!std::ranges::all_of(m_.plan_storages[x], summand_in))
                fail(plan_rule::writes_changed, plan.name(x),
                     "writes " + m_.quoted(plan, x) + ", which it does not add",
                     "an addition in place writes one of its summands");
            for (new_id storage : m_.plan_storages[x]) check_overwritten(s, v, storage);
        }
    }
    /// Requires that no node after v uses a storage over which v writes, except nodes of the sum that read there what
    /// v, or a later addition, has written. O(V + E + storages).
    void check_overwritten(const plan_sum& s, new_id v, new_id storage) {
        const capture& plan = m_.plan;
        const auto refuse = [&](new_id user) {
            m_.found.add(plan_rule::writes_changed, plan.name(v), plan.name(user),
                         "writes over " + m_.quoted(plan, storage) + ", which " + m_.quoted(plan, user) + " needs",
                         "a sum is written over an operand that nobody reads behind it");
        };
        if (plan.kind(storage) == op_kind::input) return refuse(storage);
        const auto of_sum = [&](new_id x) { return m_.sum_at[x] != nobody && &m_.sums[m_.sum_at[x]] == &s; };
        for (new_id u = v + 1; u < plan.size(); ++u) {
            const auto is_lost = [&](new_id x) {
                return contains(m_.plan_storages[x], storage) && !(of_sum(u) && of_sum(x) && x >= v);
            };
            std::optional<new_id> launched = plan.launch_of(u);
            const auto sent = launched ? plan.inputs(*launched) : plan.inputs(u);
            if (std::ranges::any_of(plan.inputs(u), is_lost) || std::ranges::any_of(sent, is_lost)) return refuse(u);
        }
    }

    plan_match& m_;
};

}  // namespace stretto::detail

#endif
