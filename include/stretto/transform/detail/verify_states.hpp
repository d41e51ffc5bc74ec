// Checks the states in a chunk plan. The chunk model is asked again about every operation of the plan, with the states
// that its operands really have, and the plan must agree with the answer. The operands of an operation come before it,
// so one pass in program order finds all states: checking the result of a search needs no search.
#ifndef STRETTO_TRANSFORM_DETAIL_VERIFY_STATES_HPP
#define STRETTO_TRANSFORM_DETAIL_VERIFY_STATES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/detail/verify_structure.hpp"

namespace stretto::detail {

/// The second pass of verify_chunks. It needs the matched structure, and reports to it. After a violation it continues
/// with the states of the plan, so one mistake is not reported again at every reader. O(operations of the plan + their
/// operands), with one question to the model for each operation, plus O(n log n) for n states that name orders of rows.
template <class G, class C>
class verify_states {
public:
    using kind = chunk_state::kind;

    verify_states(verify_structure<G>& structure, const C& chunks)
        : s_(structure), f_(structure.facts()), chunks_(chunks), state_(f_.first_component.back()) {}

    /// Checks operations and the splits before them, in the order of the plan, and then the names of orders.
    void check() {
        for (std::size_t k = 0; k < s_.plan().splits.size(); ++k) is_split_.push_back(false);
        for (std::size_t k = 0; k < s_.plan().operations.size(); ++k) check_operation(k);
        check_names();
    }

    /// The state of a component that a chunked operation produces.
    [[nodiscard]] const chunk_state& state(std::uint32_t component) const { return state_[component]; }

private:
    /// Checks operation k: its operands, the verdict of the model, its results, and its writes in place.
    void check_operation(std::size_t k) {
        const auto& plan = s_.plan();
        const auto& o = plan.operations[k];
        const std::uint32_t v = s_.vertex(k);
        gather_operands(k, v);
        const std::span<const chunk_state> said = plan.result_states(o);
        const std::span<chunk_state> results(state_.data() + f_.first_component[f_.first_result[v]],
                                             state_.data() + f_.first_component[f_.end_of_results(v)]);
        bool reached = false;
        for (const chunk_state& s : operands_) reached = reached || s.what != kind::whole;
        chunk_verdict verdict;
        if (!reached && makes_own_zeros(v, said)) {
            results[0] = said[0];
            verdict.possible = true;
        } else if (!reached) {
            s_.report(chunk_rule::not_reached, k, o.vertex);
            verdict.possible = false;  // models are not asked about operations that no token reaches
        } else {
            for (chunk_state& s : results) s = {kind::unset};
            verdict = chunks_.combine_rule(f_.vertices[v], plan.regions[o.region].tokens,
                                           std::span<const chunk_state>(operands_), results);
            if (!verdict.possible) s_.report(chunk_rule::refused_by_model, k, o.vertex, o.vertex, verdict.reason);
            for (std::size_t c = 0; verdict.possible && c < results.size(); ++c) {
                if (results[c].what != kind::unset) continue;
                s_.report_unset(k, o.vertex, c);
                results[c] = said[c];  // so that the check can continue
            }
            if (verdict.possible && makes_own_zeros(v, said) && results[0].what == kind::whole) results[0] = said[0];
        }
        if (!verdict.possible)
            for (std::size_t c = 0; c < results.size(); ++c) results[c] = said[c];  // so that the check can continue
        bool same = true, whole = true;
        for (std::size_t c = 0; c < results.size(); ++c) {
            same = alike(said[c], results[c], k) && same;
            whole = whole && results[c].what == kind::whole;
        }
        if (!same) s_.report(chunk_rule::result_state, k, o.vertex);
        check_extents(k, v);
        const bool writes = !f_.writes[v].empty();
        if (o.once && (!whole || results.empty() || writes)) s_.report(chunk_rule::once_differs, k, o.vertex);
        if (o.sum_widens && !(s_.may_be_widened(k) && is_widening(v)))
            s_.report(chunk_rule::widening_misplaced, k, o.vertex);
        const bool chain = o.is_chain() && !o.once && is_chain_of_one(o.chained, v);
        if (o.is_chain() && !chain) s_.report(chunk_rule::chain_misplaced, k, o.vertex);
        if (writes) check_writes(k, v, chain && verdict.chain);
    }

    /// Whether a sum widens as v does, which makes one addend of another. Precondition: v has one operand, of its
    /// region, and one result.
    [[nodiscard]] bool is_widening(std::uint32_t v) const {
        const auto is_addend = [&](std::uint32_t x) {
            return f_.components(x) == 1 && state_[f_.first_component[x]].what == kind::addend;
        };
        return is_addend(f_.operands[v][0]) && is_addend(f_.first_result[v]) &&
               detail::sum_widens(chunks_, f_.vertices[v]);
    }

    /// Whether the plan says that every chunk makes the zeros of v for itself, and v does make zeros.
    [[nodiscard]] bool makes_own_zeros(std::uint32_t v, std::span<const chunk_state> said) const {
        return said.size() == 1 && said[0] == chunk_state{kind::addend, -1, 0, 0, 0} && f_.writes[v].empty() &&
               detail::makes_zeros(chunks_, f_.vertices[v]);
    }

    /// The state of component c of x as region r sees it.
    [[nodiscard]] chunk_state seen_in(std::uint32_t r, std::uint32_t x, std::uint32_t c) const {
        if (s_.chunked_in(r, f_.producer[x])) return state_[c];
        const std::uint32_t split = s_.split_of(r, x);
        if (split == verify_none) return {};
        return {kind::sliced, static_cast<std::int8_t>(s_.plan().splits[split].dim)};
    }

    /// Finds the states of the operands of operation k, and compares them with those in the plan.
    void gather_operands(std::size_t k, std::uint32_t v) {
        const auto& o = s_.plan().operations[k];
        const std::span<const chunk_state> said = s_.plan().operand_states(o);
        operands_.clear();
        for (std::uint32_t x : f_.operands[v]) {
            const std::uint32_t split = s_.split_of(o.region, x);
            if (split != verify_none && !is_split_[split]) {
                is_split_[split] = true;
                if (!can_split(x, split)) s_.report(chunk_rule::split_dim, split, producer(x), o.vertex);
                if (s_.made_at(split) != k) s_.report(chunk_rule::split_out_of_order, split, producer(x), o.vertex);
            }
            bool same = true, parts = false;
            for (std::uint32_t c = f_.first_component[x]; c < f_.first_component[x + 1]; ++c) {
                const chunk_state& told = said[operands_.size()];
                operands_.push_back(seen_in(o.region, x, c));
                same = alike(told, operands_.back(), k) && same;
                parts = parts || told.what != kind::whole;
            }
            const bool inside = s_.chunked_in(o.region, f_.producer[x]);
            if (!same)
                s_.report(
                    !inside && split == verify_none && parts ? chunk_rule::split_missing : chunk_rule::operand_state, k,
                    o.vertex, producer(x));
        }
    }

    /// Whether a value can be cut as this split of the plan says.
    [[nodiscard]] bool can_split(std::uint32_t x, std::uint32_t split) const {
        const auto& cut = s_.plan().splits[split];
        return chunks_.components_of(f_.values[x]) == 1 && is_multiple(x, 0, cut.dim, cut.region);
    }
    /// Whether a component has that dimension, with an extent that is a multiple of the tokens of region r.
    [[nodiscard]] bool is_multiple(std::uint32_t x, std::size_t component, std::size_t dim, std::uint32_t r) const {
        if (dim > INT8_MAX || dim >= chunks_.rank(f_.values[x], component)) return false;
        const std::int64_t extent = chunks_.extent(f_.values[x], component, dim);
        return extent >= 0 && extent % s_.plan().regions[r].tokens == 0;
    }

    /// Checks that the extents of sliced results are multiples of the tokens.
    void check_extents(std::size_t k, std::uint32_t v) {
        const auto& o = s_.plan().operations[k];
        for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x) {
            const bool tensor = chunks_.components_of(f_.values[x]) != 0;
            for (std::uint32_t c = f_.first_component[x]; c < f_.first_component[x + 1]; ++c)
                if (state_[c].what == kind::sliced &&
                    (!tensor || state_[c].dim < 0 ||
                     !is_multiple(x, c - f_.first_component[x], static_cast<std::size_t>(state_[c].dim), o.region)))
                    s_.report(chunk_rule::extent_indivisible, k, o.vertex);
        }
    }

    /// Whether v satisfies the conditions of a chain: it writes exactly one value, its operand at position `operand`,
    /// and its only result lives in the same memory; both are whole.
    [[nodiscard]] bool is_chain_of_one(std::size_t operand, std::uint32_t v) const {
        const auto operands = f_.operands[v], writes = f_.writes[v];
        if (operand >= operands.size() || writes.size() != 1 || operands[operand] != writes[0]) return false;
        const std::uint32_t result = f_.first_result[v], region = s_.plan().operations[s_.place(v)].region;
        if (f_.end_of_results(v) != result + 1 || f_.memory[result] != f_.memory[writes[0]]) return false;
        bool whole = true;
        for (std::uint32_t c = f_.first_component[writes[0]]; c < f_.first_component[writes[0] + 1]; ++c)
            whole = whole && seen_in(region, writes[0], c).what == kind::whole;
        for (std::uint32_t c = f_.first_component[result]; c < f_.first_component[result + 1]; ++c)
            whole = whole && state_[c].what == kind::whole;
        return whole;
    }

    /// Checks the writes in place of operation k, which runs chunk after chunk. `chained` says that it is a legal
    /// chain.
    void check_writes(std::size_t k, std::uint32_t v, bool chained) {
        const auto& o = s_.plan().operations[k];
        for (std::uint32_t w : f_.writes[v]) {
            const chunk_state before = seen_in(o.region, w, f_.first_component[w]);
            bool shared = false;
            for (std::uint32_t c = f_.first_component[w]; c < f_.first_component[w + 1]; ++c)
                shared = shared || seen_in(o.region, w, c).what == kind::whole;
            if (shared && !chained) s_.report(chunk_rule::shared_write, k, o.vertex, producer(w));
            for (std::uint32_t y : f_.operands[v]) {
                if (y == w || f_.memory[y] != f_.memory[w]) continue;
                bool own = s_.chunked_in(o.region, f_.producer[y]);  // whether each chunk has its own part of y
                for (std::uint32_t c = f_.first_component[y]; c < f_.first_component[y + 1]; ++c)
                    own = own && state_[c].what != kind::whole;
                if (!own) s_.report(chunk_rule::reads_what_it_writes, k, o.vertex, producer(y));
            }
            for (std::uint32_t x = f_.first_result[v]; x < f_.end_of_results(v); ++x) {
                if (f_.memory[x] != f_.memory[w] || f_.components(x) != 1 || f_.components(w) != 1) continue;
                chunk_state after = state_[f_.first_component[x]];
                // A view may have moved the dimension; the rest of the state must not change.
                after.dim = before.dim;
                if (!(after == before) && has_older_name(f_.memory[w], v))
                    s_.report(chunk_rule::state_changed_in_place, k, o.vertex, producer(w));
            }
        }
    }

    /// Whether this memory may be read after vertex v through a value that was made before v: by a later vertex or, if
    /// the value is an input of the step, by its owner.
    bool has_older_name(std::uint32_t memory, std::uint32_t v) {
        if (sharing_.rows() == 0) {
            for (std::uint32_t x = 0; x < f_.memory.size(); ++x) {
                sharing_.push(f_.memory[x]);
                sharing_.close_row();
            }
            sharing_ = sharing_.inverse(f_.memory.size());
        }
        for (std::uint32_t x : sharing_[memory]) {
            if (f_.producer[x] >= v) continue;
            const auto readers = f_.readers[x];
            if (f_.kind[f_.producer[x]] == op_kind::input || (!readers.empty() && readers.back() > v)) return true;
        }
        return false;
    }

    /// Whether two states agree up to the names of orders, which the plan may choose itself. The names are recorded for
    /// check_names.
    bool alike(const chunk_state& said, const chunk_state& is, std::size_t k) {
        const auto name = [&](std::uint32_t one, std::uint32_t other) {
            if (one != 0 && other != 0) names_.push_back({one, other, static_cast<std::uint32_t>(k)});
            return (one == 0) == (other == 0);
        };
        return name(said.order, is.order) && name(said.into, is.into) && said.what == is.what && said.dim == is.dim &&
               said.positions == is.positions;
    }

    /// Checks that the names of orders in the plan and those in the model correspond one to one.
    void check_names() {
        for (std::size_t side : {std::size_t{0}, std::size_t{1}}) {
            std::sort(names_.begin(), names_.end(), [&](const auto& a, const auto& b) {
                return a[side] != b[side] ? a[side] < b[side] : a[2] < b[2];
            });
            for (std::size_t n = 1; n < names_.size(); ++n)
                if (names_[n][side] == names_[n - 1][side] && names_[n][1 - side] != names_[n - 1][1 - side]) {
                    // One name on this side stands for two names on the other.
                    const std::size_t k = names_[n][2];
                    s_.report(chunk_rule::order_names, k, s_.plan().operations[k].vertex);
                    return;
                }
        }
    }

    [[nodiscard]] vertex_t<G> producer(std::uint32_t x) const { return f_.vertices[f_.producer[x]]; }

    verify_structure<G>& s_;
    const verify_facts<G>& f_;
    const C& chunks_;
    index_lists sharing_;                              // by memory: its values; empty until it is needed
    std::vector<chunk_state> state_;                   // by component
    std::vector<chunk_state> operands_;                // of one operation
    std::vector<char> is_split_;                       // by split: whether it has been checked
    std::vector<std::array<std::uint32_t, 3>> names_;  // the name in the plan, the name in the model, the operation
};

}  // namespace stretto::detail

#endif
