// Verifies a reduction plan. The coefficients of its members are computed anew, backwards from the results, and
// compared with those of one collective of the sum. The verifier shares only the transcription of the program with the
// planner, so it is an independent check of the planner's plans, and of plans that others make or edit.
#ifndef STRETTO_TRANSFORM_VERIFY_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_VERIFY_REDUCTIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/detail/program_facts.hpp"
#include "stretto/transform/detail/reduction_facts.hpp"
#include "stretto/transform/reduction_plan.hpp"
#include "stretto/transform/reduction_rules.hpp"

namespace stretto {

/// A violation of a rule by a plan. reduction_rule says what `vertex` and `other` are.
template <handle V>
struct reduction_violation {
    reduction_rule rule;
    std::size_t reduction = 0;  ///< position in the plan
    V vertex{};
    V other{};
    friend bool operator==(const reduction_violation&, const reduction_violation&) = default;
};

/// Facts about a correct plan.
struct verified_reductions {
    std::size_t members = 0;  ///< collectives that are removed
    std::size_t sums = 0;     ///< additions and views that are removed
    std::size_t made = 0;     ///< additions that are added to the program
    friend bool operator==(const verified_reductions&, const verified_reductions&) = default;
};

namespace detail {

/// Checks the reductions one after another.
template <dependence_graph G, op_model<G> M, linear_model<G> L>
class reduction_verifier {
    using V = vertex_t<G>;
    using X = value_t<G>;
    using rule = reduction_rule;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    reduction_verifier(const reduction_plan<V, X>& plan, const program_facts<G>& f, const M& model, const L& linear,
                       std::vector<reduction_violation<V>>& found)
        : plan_(plan), f_(f), uses_(f), model_(model), linear_(linear), found_(found), owner_(f.size(), none) {}

    /// Checks the reduction at this position of the plan. Reductions are checked in the order of the plan.
    void check(const reduction<V, X>& r, std::size_t number) {
        number_ = number;
        const std::size_t before = found_.size();
        claim(r);
        if (found_.size() != before) return;  // later checks assume valid positions
        check_members(r);
        check_sum(r);
        check_surroundings(r);
        check_memory(r);
    }

private:
    void add(rule why, V vertex, V other) { found_.push_back({why, number_, vertex, other}); }
    [[nodiscard]] std::uint32_t at(V v) const { return f_.position_of(v); }
    /// Whether the reduction that is being checked removes the vertex at p.
    [[nodiscard]] bool vanishes(std::uint32_t p) const { return owner_[p] == number_; }

    /// Checks that the lists of a reduction fit together, that every handle belongs to the graph, and that no vertex is
    /// removed twice.
    void claim(const reduction<V, X>& r) {
        const V any = r.members.empty() ? V{} : r.members[0];
        if (r.members.size() < 2) return add(rule::too_few_members, any, any);
        if (r.operands.size() != r.members.size() || r.waits.size() != r.members.size() || r.sums.empty() ||
            f_.values.number(r.result) == none)
            return add(rule::unknown_vertex, any, any);
        for (const auto* list : {&r.members, &r.waits, &r.sums}) {
            std::uint32_t last = none;
            for (V v : *list) {
                const std::uint32_t p = at(v);
                if (p == none) return add(rule::unknown_vertex, v, v);
                if (owner_[p] != none) return add(rule::claimed_twice, v, v);
                owner_[p] = static_cast<std::uint32_t>(number_);
                if (last != none && p < last && list != &r.waits) return add(rule::out_of_order, v, f_.vertex[last]);
                last = p;
            }
        }
        if (f_.producer[f_.values.number(r.result)] != at(r.sums.back()))
            return add(rule::out_of_order, r.sums.back(), r.sums.back());
        for (V v : r.layout)
            if (at(v) == none) return add(rule::unknown_vertex, v, v);
    }

    /// Checks that members are linear collectives that differ only in their data, and that the waits and operands in
    /// the plan are theirs.
    void check_members(const reduction<V, X>& r) {
        std::size_t first = r.members.size();  // the first member that is a collective at all
        for (std::size_t k = 0; k < r.members.size(); ++k) {
            const V m = r.members[k];
            const std::uint32_t p = at(m), w = at(r.waits[k]), x = f_.only_result(p);
            if (f_.kind[p] != op_kind::start || x == none || f_.operands[p].size() != 1 || !f_.writes[p].empty() ||
                f_.storages[x].size() != 1 || f_.storages[x][0] != x || !launches_linear_collective<G>(model_, m)) {
                add(rule::not_linear, m, m);
                continue;
            }
            if (f_.kind[w] != op_kind::wait || f_.launch[w] != p || f_.operands[w].size() != 1 ||
                f_.operands[w][0] != x || f_.consumers[x].size() != 1 || f_.waits[p].size() != 1 ||
                f_.only_result(w) == none || !f_.writes[w].empty())
                add(rule::wrong_wait, m, r.waits[k]);
            first = std::min(first, k);
            if (!same_reduction<G>(model_, linear_, r.members[first], m))
                add(rule::members_differ, r.members[first], m);
            if (f_.values.number(r.operands[k]) != f_.operands[p][0]) add(rule::wrong_operand, m, m);
            for (std::size_t i = 0; i < k; ++i)
                if (r.operands[i] == r.operands[k]) add(rule::wrong_operand, r.members[i], m);
        }
    }

    /// Computes, backwards from the result, how often every member occurs in it and with which layout.
    void check_sum(const reduction<V, X>& r) {
        std::vector<std::size_t> times(r.members.size(), 0);
        std::vector<char> needed(r.sums.size(), false);
        struct open_value {
            std::uint32_t value;
            std::vector<std::uint32_t> layout;  // positions of relayouts, the last one first
        };
        const std::size_t most = 4 * (r.members.size() + r.sums.size());  // a correct plan visits every value once
        std::vector<open_value> open = {{f_.values.number(r.result), {}}};
        for (std::size_t done = 0; !open.empty() && done < most; ++done) {
            open_value x = std::move(open.back());
            open.pop_back();
            const V v = f_.vertex[f_.producer[x.value]];
            const auto wait = std::find(r.waits.begin(), r.waits.end(), v);
            if (wait != r.waits.end()) {
                const std::size_t k = static_cast<std::size_t>(wait - r.waits.begin());
                ++times[k];
                if (!is_layout(r, x.layout)) add(rule::wrong_layout, r.members[k], v);
                continue;
            }
            const auto sum = std::find(r.sums.begin(), r.sums.end(), v);
            if (sum == r.sums.end()) {
                add(rule::wrong_coefficients, r.members[0], v);
                continue;
            }
            needed[static_cast<std::size_t>(sum - r.sums.begin())] = true;
            const auto operands = f_.operands[at(v)];
            const linear_kind kind = linear_.linearity(v);
            const bool adds = kind == linear_kind::sum && operands.size() == 2;
            const bool views = (kind == linear_kind::same || kind == linear_kind::relayout) && operands.size() == 1 &&
                               f_.kind[at(v)] == op_kind::view && f_.writes[at(v)].empty();
            bool writes_own = true;
            for (std::uint32_t written : f_.writes[at(v)])
                for (std::uint32_t s : f_.storages[written])
                    writes_own = writes_own && std::any_of(operands.begin(), operands.end(), [&](std::uint32_t y) {
                                     return std::ranges::count(f_.storages[y], s) > 0;
                                 });
            if ((!adds && !views) || !writes_own || f_.only_result(at(v)) == none) {
                add(rule::not_a_sum, v, v);
                continue;
            }
            if (kind == linear_kind::relayout) x.layout.push_back(at(v));
            for (std::uint32_t y : operands) open.push_back({y, x.layout});
        }
        for (std::size_t k = 0; k < times.size(); ++k)
            if (times[k] != 1) add(rule::wrong_coefficients, r.members[k], r.sums.back());
        for (std::size_t k = 0; k < needed.size(); ++k)
            if (!needed[k]) add(rule::superfluous, r.sums[k], r.sums.back());
    }
    /// Returns whether the relayouts, listed last one first, are equivalent to those of the plan.
    [[nodiscard]] bool is_layout(const reduction<V, X>& r, const std::vector<std::uint32_t>& backwards) const {
        return std::equal(backwards.rbegin(), backwards.rend(), r.layout.begin(), r.layout.end(),
                          [&](std::uint32_t p, V v) { return linear_.alike(f_.vertex[p], v); });
    }

    /// Checks that no remaining vertex needs a removed one.
    void check_surroundings(const reduction<V, X>& r) {
        const std::uint32_t end = at(r.sums.back()), result = f_.values.number(r.result);
        for (std::uint32_t p = 0; p < f_.size(); ++p) {
            if (!vanishes(p)) {
                for (std::uint32_t x : f_.writes[p])
                    if (x != result && vanishes(f_.producer[x]))
                        add(rule::read_elsewhere, f_.vertex[f_.producer[x]], f_.vertex[p]);
                continue;
            }
            const V v = f_.vertex[p];
            for (V s : f_.graph.successors(v))
                if (const std::uint32_t q = at(s); !vanishes(q)) {
                    const auto readers = f_.consumers[result];
                    if (p != end || std::find(readers.begin(), readers.end(), q) == readers.end())
                        add(rule::read_elsewhere, v, s);
                }
            for (std::uint32_t x = f_.first_result[p]; x < f_.first_result[p + 1]; ++x)
                for (std::uint32_t q : f_.consumers[x])
                    if (!vanishes(q) && x != result) add(rule::read_elsewhere, v, f_.vertex[q]);
            for (V u : f_.graph.predecessors(v)) {
                const auto operands = f_.operands[p];
                if (!vanishes(at(u)) && std::none_of(operands.begin(), operands.end(),
                                                     [&](std::uint32_t y) { return f_.vertex[f_.producer[y]] == u; }))
                    add(rule::other_dependence, v, u);
            }
        }
    }

    /// Checks that the first operand is not overwritten before the first sum reads it, and that the first sum does not
    /// overwrite an operand that is still needed.
    void check_memory(const reduction<V, X>& r) {
        const std::uint32_t first = at(r.members[0]), second = at(r.members[1]);
        const std::uint32_t x0 = f_.values.number(r.operands[0]), x1 = f_.values.number(r.operands[1]);
        for (const X& x : r.operands)
            if (f_.values.number(x) == none) return;
        for (std::uint32_t s : f_.storages[x0])
            for (std::uint32_t p : uses_.writers(s))
                if (p > first && p < second) add(rule::overwritten, r.members[0], f_.vertex[p]);
        if (r.first_sum == sum_place::fresh) return;
        const bool in_first = r.first_sum == sum_place::first;
        if (!may_overwrite(f_, uses_, model_, r, in_first ? 0 : 1))
            add(rule::written_while_needed, r.members[in_first ? 0 : 1], r.members[1]);
        // Other reductions read their first operand later than the original program did.
        for (const reduction<V, X>& other : plan_.reductions) {
            if (&other == &r || other.members.size() < 2 || other.operands.empty()) continue;
            const std::uint32_t x = f_.values.number(other.operands[0]), late = at(other.members[1]);
            if (x == none || late == none || late < second) continue;
            for (std::uint32_t s : f_.storages[in_first ? x0 : x1])
                if (std::ranges::count(f_.storages[x], s) > 0)
                    add(rule::written_while_needed, r.members[in_first ? 0 : 1], other.members[0]);
        }
    }

    const reduction_plan<V, X>& plan_;
    const program_facts<G>& f_;
    const storage_uses<program_facts<G>> uses_;
    const M& model_;
    const L& linear_;
    std::vector<reduction_violation<V>>& found_;
    std::vector<std::uint32_t> owner_;  // by position: the reduction that removes it
    std::size_t number_ = 0;
};

}  // namespace detail

/// Returns facts about the plan if it is correct. The error is the list of everything that is wrong with it: at least
/// one violation, in the order of the plan. Further checks of a reduction are skipped if its lists do not fit the
/// graph. Any plan is a valid argument if its handles can be looked up in the view. Precondition: `g` lists its
/// vertices in a topological order. The models are trusted. Deterministic. O(reductions (V + E)), plus O(m^2) for each
/// reduction of m members.
template <dependence_graph G, op_model<G> M, linear_model<G> L>
    requires dataflow_graph<G>
[[nodiscard]] expected<verified_reductions, std::vector<reduction_violation<vertex_t<G>>>> verify_reductions(
    const reduction_plan<vertex_t<G>, value_t<G>>& plan, G g, const M& model, const L& linear) {
    std::vector<reduction_violation<vertex_t<G>>> found;
    verified_reductions verified;
    if (plan.empty()) return verified;
    const detail::program_facts<G> facts = detail::gather_program_facts(g, model);
    detail::reduction_verifier<G, M, L> verifier(plan, facts, model, linear, found);
    for (std::size_t k = 0; k < plan.reductions.size(); ++k) {
        verifier.check(plan.reductions[k], k);
        verified.members += plan.reductions[k].members.size();
        verified.sums += plan.reductions[k].sums.size();
        verified.made += plan.reductions[k].members.size() - 1;
    }
    if (!found.empty()) return unexpected(std::move(found));
    return verified;
}

}  // namespace stretto

#endif
