// What chunking asks of an operation: given how its operands fall into parts, how do its results? A chunk is an
// interval of the rows of a region's tokens; running an operation once per chunk, each on its own parts, gives the
// parts of the results. The state of a value says what those parts have to do with the value itself.
#ifndef STRETTO_CORE_CHUNK_MODEL_HPP
#define STRETTO_CORE_CHUNK_MODEL_HPP

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/core/dataflow_concepts.hpp"

namespace stretto {

/// The state of a tensor (or number) under chunking.
struct chunk_state {
    enum class kind : std::uint8_t {
        whole,     ///< the same in every chunk: computed once and shared
        sliced,    ///< the parts, one behind the other along `dim`, are the value
        permuted,  ///< the parts have among them the rows of the value along `dim`, each once, in an order of their own
        addend,    ///< the parts sum to the value
        opaque     ///< there are parts, and no way from them to the value is known
    };
    kind what = kind::whole;
    std::int8_t dim = -1;  ///< of sliced and permuted; of opaque: the dimension whose extent is a part's share, or -1

    /// Integers that are positions of rows within the chunk: row r of a tensor that is sliced along a dimension with
    /// `positions` rows a token. Gathering from it or scattering into it with them stays within the chunk. 0: not such.
    std::int64_t positions = 0;

    friend bool operator==(const chunk_state&, const chunk_state&) = default;
};

/// A verdict on one operation under chunking.
struct chunk_verdict {
    bool possible = true;
    std::string_view reason;  ///< why not, for people; lives as long as the model or is a literal
};

/// `components_of(x)`: how many tensors x consists of (none: a number, which has one state). `rank(x, component)`,
/// `extent(x, component, dim)`: of one of them.
/// `combine_rule(v, tokens, operands, results)`: `operands` has the states of all components of the operands of v in
/// order; not all are whole. Fills `results`, the states of all components of the results of v, or says why v cannot
/// run per chunk. `tokens` is the number of rows of the region: a sliced extent is a whole multiple of it. An operation
/// that the model does not know must be refused, not guessed.
template <class M, class G>
concept chunk_model =
    dataflow_graph<G> &&
    requires(const M& m, const vertex_t<G> v, const value_t<G> x, std::size_t component, std::size_t dim,
             std::int64_t tokens, std::span<const chunk_state> operands, std::span<chunk_state> results) {
        { m.components_of(x) } -> std::convertible_to<std::size_t>;
        { m.rank(x, component) } -> std::convertible_to<std::size_t>;
        { m.extent(x, component, dim) } -> std::convertible_to<std::int64_t>;
        { m.combine_rule(v, tokens, operands, results) } -> std::same_as<chunk_verdict>;
    };

}  // namespace stretto

#endif
