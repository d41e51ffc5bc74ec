// The ways of cutting the operands of one operation that a chunk model accepts, as a planner would find them.
//
// Checks of costs and of rewriters need valid parts, and only the model knows which parts are valid. So the model is
// queried as plan_chunks does it: one operand is cut, and as long as the refusal names another operand that must be cut
// too, that operand is cut and the query is repeated.
#ifndef STRETTO_TESTING_DETAIL_ACCEPTED_CUTS_HPP
#define STRETTO_TESTING_DETAIL_ACCEPTED_CUTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// One way of cutting an operation along tokens.
struct accepted_cut {
    std::int64_t tokens = 0;
    std::vector<chunk_state> operands, results;  ///< by component
    std::vector<std::size_t> dims;               ///< by operand: the cut dimension; finding::none if it is whole
};

/// The number of states that a value has: one for each component, and one for a number.
template <class C, class X>
[[nodiscard]] std::size_t states_of(const C& chunks, const X& x) {
    return std::max<std::size_t>(1, chunks.components_of(x));
}
/// The states of these values, by component, if all of them are whole.
template <class C, class X>
[[nodiscard]] std::vector<chunk_state> whole_states(const C& chunks, const std::vector<X>& values) {
    std::size_t n = 0;
    for (const X& x : values) n += states_of(chunks, x);
    const chunk_state whole{chunk_state::kind::whole};
    return std::vector<chunk_state>(n, whole);
}

/// Finds the ways to cut one operation. Each begins with one operand of one tensor, which is sliced along one
/// dimension; what a refusal asks for is sliced as well.
template <class G, class C>
class accepted_cuts {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    accepted_cuts(const C& chunks, const V& v, const std::vector<X>& operands, const std::vector<X>& results)
        : chunks_(chunks), vertex_(v), operands_(operands), results_(results) {}

    /// Calls f(cut) for each way until f returns true. Ways in which clones would form a chain are left out.
    template <class F>
    void for_each(F f) const {
        for (std::size_t k = 0; k < operands_.size(); ++k) {
            if (chunks_.components_of(operands_[k]) != 1) continue;
            for (std::size_t d = 0; d < chunks_.rank(operands_[k], 0); ++d) {
                std::int64_t tokens = chunks_.extent(operands_[k], 0, d);
                if (tokens < 2) continue;
                if (tokens % 2 == 0 && tokens > 2) tokens /= 2;  // two rows per token
                accepted_cut way{tokens, whole_states(chunks_, operands_), whole_states(chunks_, results_),
                                 std::vector<std::size_t>(operands_.size(), finding::none)};
                slice(way, k, d);
                if (accepts(way) && f(way)) return;
            }
        }
    }

private:
    /// Whether the model accepts the way, after cutting what it asks for; `way` then has the states of the results.
    /// Each round cuts one operand more, which bounds the number of questions; a model that asks for the same operand
    /// again and again is refused. Sliced operands hold a whole number of rows per token, and so an extent that is no
    /// multiple of the tokens ends the search.
    [[nodiscard]] bool accepts(accepted_cut& way) const {
        for (std::size_t round = 0; round <= operands_.size(); ++round) {
            for (chunk_state& s : way.results) s = {chunk_state::kind::unset};
            const chunk_verdict verdict = chunks_.combine_rule(vertex_, way.tokens, way.operands, way.results);
            if (verdict.possible) return !verdict.chain;
            if (verdict.wanted < 0 || verdict.wanted_dim < 0) return false;
            const std::size_t wanted = operand_of(static_cast<std::size_t>(verdict.wanted));
            const auto dim = static_cast<std::size_t>(verdict.wanted_dim);
            if (wanted == finding::none || chunks_.components_of(operands_[wanted]) != 1 ||
                dim >= chunks_.rank(operands_[wanted], 0) ||
                chunks_.extent(operands_[wanted], 0, dim) % way.tokens != 0)
                return false;
            slice(way, wanted, dim);
        }
        return false;
    }
    /// The operand to which a component belongs.
    [[nodiscard]] std::size_t operand_of(std::size_t component) const {
        for (std::size_t k = 0; k < operands_.size(); ++k) {
            const std::size_t n = states_of(chunks_, operands_[k]);
            if (component < n) return k;
            component -= n;
        }
        return finding::none;
    }
    /// Makes operand k sliced wherever it is read.
    void slice(accepted_cut& way, std::size_t k, std::size_t dim) const {
        std::size_t first = 0;
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            if (operands_[i] == operands_[k]) {
                way.dims[i] = dim;
                way.operands[first] = {chunk_state::kind::sliced, static_cast<std::int8_t>(dim)};
            }
            first += states_of(chunks_, operands_[i]);
        }
    }

    const C& chunks_;
    V vertex_;
    const std::vector<X>&operands_, &results_;
};

}  // namespace stretto::detail

#endif
