// Finds linear collectives whose results are only added to each other. A gradient that consists of parts (loss chunks,
// micro-batches) is often reduced part by part; a single reduction of the sum gives the same result.
// docs/algorithms/reduce-once.md gives the proof of correctness.
//
// Longer than 300 lines: the sweep, its terms and the checks of a finished sum share the facts about the program.
#ifndef STRETTO_TRANSFORM_PLAN_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_PLAN_REDUCTIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/detail/program_facts.hpp"
#include "stretto/transform/detail/reduction_facts.hpp"
#include "stretto/transform/reduction_plan.hpp"

namespace stretto {

/// Choices of plan_reductions.
struct reduction_options {
    std::size_t most_views = SIZE_MAX;  ///< maximum number of relayouts between a collective and the sum
    bool in_place = true;               ///< the first sum may overwrite an operand that has no later use
};

namespace detail {

/// Finds the reductions in one sweep in program order, which computes terms. A term is a value that is a sum of results
/// of linear collectives: each result occurs in it once, and all have the same layout. Terms are numbered in the order
/// of the sweep, so the parts of a term come before it.
template <dependence_graph G, op_model<G> M, linear_model<G> L>
class reduction_sweep {
    using V = vertex_t<G>;
    using X = value_t<G>;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    reduction_sweep(const program_facts<G>& f, const M& model, const L& linear, const reduction_options& options)
        : f_(f), model_(model), linear_(linear), options_(options), term_of_(f.values.size(), none) {}

    /// Returns the plan: computes all terms, and then finishes those sums that are part of no larger sum.
    [[nodiscard]] reduction_plan<V, X> run() {
        for (std::uint32_t p = 0; p < f_.size(); ++p) visit(p);
        std::vector<char> absorbed(terms_.size(), false);
        std::vector<std::uint32_t> ends;
        for (std::uint32_t t = static_cast<std::uint32_t>(terms_.size()); t-- > 0;) {
            if (terms_[t].right != none && !absorbed[t]) ends.push_back(t);
            absorbed[t] = absorbed[t] || terms_[t].right != none;
            if (!absorbed[t]) continue;  // a wait or a view that no sum reads, directly or not
            for (std::uint32_t part : {terms_[t].left, terms_[t].right})
                if (part != none) absorbed[part] = true;
        }
        while (!ends.empty()) {
            const std::uint32_t t = ends.back();
            ends.pop_back();
            if (terms_[t].left == none || finish(t)) continue;
            for (std::uint32_t part : {terms_[t].left, terms_[t].right})  // a part of the sum may still be possible
                if (part != none) ends.push_back(part);
        }
        std::sort(plan_.reductions.begin(), plan_.reductions.end(), [this](const auto& a, const auto& b) {
            return f_.position_of(a.sums.back()) < f_.position_of(b.sums.back());
        });
        if (options_.in_place)
            for (reduction<V, X>& r : plan_.reductions) place_first_sum(r);
        std::stable_sort(plan_.refused.begin(), plan_.refused.end(), [this](const auto& a, const auto& b) {
            return f_.position_of(a.vertex) < f_.position_of(b.vertex);
        });
        return std::move(plan_);
    }

private:
    /// The wait of a collective has no parts, a view has one part, and a sum has two.
    struct term {
        std::uint32_t at;     ///< the position of the vertex that computes it
        std::uint32_t start;  ///< the first start among its collectives
        std::uint32_t left = none, right = none;
        std::uint32_t layout = none;  ///< the last relayout between the collectives and this term: an entry of layouts_
        std::size_t members = 1, views = 0;
    };
    /// A chain of relayouts, linked backwards.
    struct relayout {
        std::uint32_t before;  ///< an entry of layouts_, or none
        std::uint32_t at;
    };

    void refuse(reduction_obstacle why, std::uint32_t p, std::uint32_t other) {
        plan_.refused.push_back({why, f_.vertex[p], f_.vertex[other]});
    }

    /// Makes the only result of p a term, if it is one.
    void visit(std::uint32_t p) {
        const std::uint32_t x = f_.only_result(p);
        if (x == none) return;
        if (f_.kind[p] == op_kind::wait) {
            if (f_.launch[p] != none && is_member(f_.launch[p], p)) add_term(x, {p, f_.launch[p]});
            return;
        }
        if (f_.kind[p] == op_kind::input || f_.kind[p] == op_kind::output || f_.kind[p] == op_kind::start) return;
        const auto operands = f_.operands[p];
        if (std::none_of(operands.begin(), operands.end(), [&](std::uint32_t y) { return term_of_[y] != none; }))
            return;
        const linear_kind kind = linear_.linearity(f_.vertex[p]);
        if (kind == linear_kind::sum) add(p, x);
        else if (kind != linear_kind::other && f_.kind[p] == op_kind::view) pass(p, x, kind);
    }
    void add_term(std::uint32_t x, term t) {
        term_of_[x] = static_cast<std::uint32_t>(terms_.size());
        terms_.push_back(t);
    }

    /// Returns whether start s is a linear collective of one value that only its wait w reads, and has no other wait.
    [[nodiscard]] bool is_member(std::uint32_t s, std::uint32_t w) const {
        const std::uint32_t result = f_.only_result(s);
        return result != none && f_.operands[s].size() == 1 && f_.writes[s].empty() && f_.writes[w].empty() &&
               f_.operands[w].size() == 1 && f_.waits[s].size() == 1 && f_.consumers[result].size() == 1 &&
               f_.consumers[result][0] == w && f_.storages[result].size() == 1 && f_.storages[result][0] == result &&
               launches_linear_collective<G>(model_, f_.vertex[s]);
    }
    /// Returns whether p is the only reader of y, and reads it once.
    [[nodiscard]] bool alone(std::uint32_t p, std::uint32_t y) const {
        return f_.consumers[y].size() == 1 && f_.consumers[y][0] == p;
    }

    /// Makes x, a view of a term, a term, if no other vertex reads the viewed term.
    void pass(std::uint32_t p, std::uint32_t x, linear_kind kind) {
        if (f_.operands[p].size() != 1 || !f_.writes[p].empty() || !alone(p, f_.operands[p][0])) return;
        term t = terms_[term_of_[f_.operands[p][0]]];
        t.left = term_of_[f_.operands[p][0]];
        t.right = none;
        t.at = p;
        if (kind == linear_kind::relayout) {
            layouts_.push_back({t.layout, p});
            t.layout = static_cast<std::uint32_t>(layouts_.size() - 1);
            ++t.views;
        }
        add_term(x, t);
    }

    /// Makes x, a sum of two terms, a term, if they may be in one reduction; otherwise records why they may not.
    void add(std::uint32_t p, std::uint32_t x) {
        const auto operands = f_.operands[p];
        if (operands.size() != 2 || operands[0] == operands[1]) return;
        const std::uint32_t a = term_of_[operands[0]], b = term_of_[operands[1]];
        if (a == none || b == none) return;
        for (std::uint32_t y : f_.writes[p])
            if (!lives_in(y, operands[0]) && !lives_in(y, operands[1])) return;
        for (std::uint32_t y : operands)
            if (!alone(p, y))
                return refuse(reduction_obstacle::read_elsewhere, f_.producer[y],
                              f_.consumers[y][f_.consumers[y][0] == p ? 1 : 0]);
        if (!same_reduction<G>(model_, linear_, f_.vertex[terms_[a].start], f_.vertex[terms_[b].start]))
            return refuse(reduction_obstacle::members_differ, terms_[a].start, terms_[b].start);
        if (!same_layout(terms_[a].layout, terms_[b].layout))
            return refuse(reduction_obstacle::layouts_differ, p, terms_[b].start);
        if (terms_[a].views > options_.most_views)
            return refuse(reduction_obstacle::too_many_views, p, terms_[a].start);
        add_term(x, {p, std::min(terms_[a].start, terms_[b].start), a, b, terms_[a].layout,
                     terms_[a].members + terms_[b].members, terms_[a].views});
    }
    /// Returns whether value y lives in the memory of x alone. An operation in place may name what it writes by its
    /// operand, or by any other value in that memory, such as the one that owns it.
    [[nodiscard]] bool lives_in(std::uint32_t y, std::uint32_t x) const {
        return std::ranges::includes(f_.storages[x], f_.storages[y]);  // both are sorted
    }
    /// Whether two chains of relayouts put elements in the same places.
    [[nodiscard]] bool same_layout(std::uint32_t a, std::uint32_t b) const {
        for (; a != b; a = layouts_[a].before, b = layouts_[b].before)
            if (a == none || b == none || !linear_.alike(f_.vertex[layouts_[a].at], f_.vertex[layouts_[b].at]))
                return false;
        return true;
    }

    /// Adds the reduction whose result is term `end`. Returns false if the term is no sum, or if the sum must stay.
    bool finish(std::uint32_t end) {
        if (terms_[end].right == none) return false;  // a view of a sum
        std::vector<std::uint32_t> starts, waits, sums;
        for (std::vector<std::uint32_t> open = {end}; !open.empty();) {
            const term& t = terms_[open.back()];
            open.pop_back();
            const bool leaf = t.left == none;
            if (leaf) starts.push_back(t.start);
            (leaf ? waits : sums).push_back(t.at);
            for (std::uint32_t part : {t.left, t.right})
                if (part != none) open.push_back(part);
        }
        for (auto* list : {&starts, &waits, &sums}) std::sort(list->begin(), list->end());
        std::vector<std::uint32_t> vanishing = starts;
        vanishing.insert(vanishing.end(), waits.begin(), waits.end());
        vanishing.insert(vanishing.end(), sums.begin(), sums.end());
        std::sort(vanishing.begin(), vanishing.end());
        const auto vanishes = [&](std::uint32_t p) {
            return std::binary_search(vanishing.begin(), vanishing.end(), p);
        };
        if (!only_values_lead_out(vanishing, terms_[end].at, vanishes) ||
            !written_by_no_other(vanishing, terms_[end].at, vanishes) || !operands_last(starts))
            return false;

        reduction<V, X> r;
        for (std::uint32_t s : starts) {
            r.members.push_back(f_.vertex[s]);
            r.operands.push_back(f_.values.value(f_.operands[s][0]));
            r.waits.push_back(f_.vertex[f_.consumers[f_.only_result(s)][0]]);
        }
        for (std::uint32_t p : sums) r.sums.push_back(f_.vertex[p]);
        r.result = f_.values.value(f_.only_result(terms_[end].at));
        for (std::uint32_t l = terms_[end].layout; l != none; l = layouts_[l].before)
            r.layout.push_back(f_.vertex[layouts_[l].at]);
        std::reverse(r.layout.begin(), r.layout.end());
        plan_.reductions.push_back(std::move(r));
        return true;
    }

    /// Lets the first sum of r overwrite one of its operands, if that operand has no later use. The other reductions
    /// read their first operands later than the program did, namely when their second operands are ready.
    void place_first_sum(reduction<V, X>& r) {
        const std::uint32_t at = f_.position_of(r.members[1]);
        for (std::size_t k = 0; k < 2 && r.first_sum == sum_place::fresh; ++k) {
            const std::uint32_t x = f_.values.number(r.operands[k]);
            const auto read_late = [&](const reduction<V, X>& other) {
                const auto there = f_.storages[f_.values.number(other.operands[0])];
                return &other != &r && f_.position_of(other.members[1]) > at && std::ranges::count(there, x) > 0;
            };
            if (may_overwrite(f_, uses(), model_, r, k) && std::ranges::none_of(plan_.reductions, read_late))
                r.first_sum = k == 0 ? sum_place::first : sum_place::second;
        }
    }

    /// Returns whether no remaining vertex names, as the place where it writes, a value that vanishes.
    template <class Vanishes>
    bool written_by_no_other(const std::vector<std::uint32_t>& vanishing, std::uint32_t end, Vanishes vanishes) {
        for (std::uint32_t p : vanishing)
            for (std::uint32_t x = f_.first_result[p]; x < f_.first_result[p + 1]; ++x)
                for (std::uint32_t q : writers()[x])
                    if (p != end && !vanishes(q)) return refuse(reduction_obstacle::read_elsewhere, p, q), false;
        return true;
    }
    /// A view of the graph may have dependences that no value carries. They would be lost with the removed vertices, so
    /// no removed vertex may have one, except on another removed vertex.
    template <class Vanishes>
    bool only_values_lead_out(const std::vector<std::uint32_t>& vanishing, std::uint32_t end, Vanishes vanishes) {
        for (std::uint32_t p : vanishing) {
            for (V s : f_.graph.successors(f_.vertex[p])) {
                const std::uint32_t q = f_.position_of(s);
                if (vanishes(q)) continue;
                const bool reads = p == end && std::ranges::count(f_.consumers[f_.only_result(end)], q) > 0;
                if (!reads) return refuse(reduction_obstacle::read_elsewhere, p, q), false;
            }
            for (V u : f_.graph.predecessors(f_.vertex[p])) {
                const std::uint32_t q = f_.position_of(u);
                const bool read =
                    std::ranges::any_of(f_.operands[p], [&](std::uint32_t y) { return f_.producer[y] == q; });
                if (!read && !vanishes(q)) return refuse(reduction_obstacle::other_dependence, p, q), false;
            }
        }
        return true;
    }

    /// Returns whether all members read different values, and the operand of the first is unchanged until the second
    /// reads.
    bool operands_last(const std::vector<std::uint32_t>& starts) {
        for (std::size_t k = 1; k < starts.size(); ++k)
            for (std::size_t i = 0; i < k; ++i)
                if (f_.operands[starts[k]][0] == f_.operands[starts[i]][0])
                    return refuse(reduction_obstacle::operand_twice, starts[i], starts[k]), false;
        for (std::uint32_t s : f_.storages[f_.operands[starts[0]][0]])
            for (std::uint32_t p : uses().writers(s))
                if (p > starts[0] && p < starts[1]) return refuse(reduction_obstacle::overwritten, starts[0], p), false;
        return true;
    }
    /// Returns, by value, the positions of the vertices that name it as the place where they write.
    const index_lists& writers() {
        if (writers_.rows() == 0) writers_ = f_.writes.inverse(f_.values.size());
        return writers_;
    }
    const storage_uses<program_facts<G>>& uses() {
        if (uses_.empty()) uses_.emplace_back(f_);
        return uses_.front();
    }

    const program_facts<G>& f_;
    const M& model_;
    const L& linear_;
    const reduction_options& options_;
    std::vector<std::uint32_t> term_of_;  // by value
    std::vector<term> terms_;
    std::vector<relayout> layouts_;
    std::vector<storage_uses<program_facts<G>>> uses_;  // empty until it is needed, then one entry
    index_lists writers_;                               // empty until it is needed
    reduction_plan<V, X> plan_;
};

}  // namespace detail

/// Plans all reductions that one collective of a sum can replace. Their members are linear collectives (reduce-scatter
/// or all-reduce, with sum or average) that agree in kind, reduction, group, payload, element type and arguments. Their
/// results are added to each other, each exactly once, possibly after identical views, and no part of the sum has
/// another reader. Sums are as large as possible, and every refusal has a reason. The planner does not look through
/// casts: a sum of rounded values differs from the rounded sum, and the sum would be computed in a different type.
///
/// Guarantees: the replacement creates no cycle, because the removed vertices have no way out except through the
/// result, which depends on all of them. No value that remains readable changes, except for floating-point rounding, as
/// between accumulating before and after a reduction. A start that writes into the buffer of another value is not a
/// member.
///
/// Precondition: `g` lists its vertices in a topological order, and every vertex that uses a storage reads a value in
/// it. Deterministic. Takes O(V + E + aliases) time, plus O(m^2) comparisons for a sum of m members and O(d) for a view
/// after d others. If a sum must stay, the same is done for its parts.
template <dependence_graph G, op_model<G> M, linear_model<G> L>
    requires dataflow_graph<G>
[[nodiscard]] reduction_plan<vertex_t<G>, value_t<G>> plan_reductions(G g, const M& model, const L& linear,
                                                                      const reduction_options& options = {}) {
    std::size_t linear_starts = 0;
    for (vertex_t<G> v : g.vertices())
        if (model.kind(v) == op_kind::start) linear_starts += detail::launches_linear_collective<G>(model, v);
    if (linear_starts < 2) return {};
    const detail::program_facts<G> facts = detail::gather_program_facts(g, model);
    return detail::reduction_sweep<G, M, L>(facts, model, linear, options).run();
}

}  // namespace stretto

#endif
