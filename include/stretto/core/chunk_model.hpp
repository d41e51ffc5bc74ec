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

/// The state of a tensor (or number) under chunking. Made and read by chunk models; who carries states from operation
/// to operation copies them whole and looks at `what` and `dim` only.
struct chunk_state {
    enum class kind : std::uint8_t {
        whole,     ///< the same in every chunk: computed once and shared
        sliced,    ///< the parts, one behind the other along `dim`, are the value
        permuted,  ///< the parts have among them the rows of the value along `dim`, each once, in an order of their own
        addend,    ///< the parts sum to the value
        opaque,    ///< there are parts, and no way from them to the value is known
        unset      ///< nobody has said: a result before `combine_rule` has filled it in. Never a state of a plan
    };
    kind what = kind::whole;
    std::int8_t dim = -1;  ///< of sliced and permuted; of opaque: the dimension whose extent is a part's share, or -1

    /// Of integers that count rows from the first of the chunk: how much every token in front of the chunk adds to
    /// them. Row r of a tensor that is sliced with n rows a token has n here, and what is gathered from that tensor or
    /// scattered into it with such integers stays within the chunk. Of a number that is an addend: its share is exactly
    /// so much a token. 0: neither.
    std::int64_t positions = 0;

    /// Of permuted and opaque: which order the rows are in, a name that the model gives. Two values go together row by
    /// row only if they are in the same. Of a number that is an addend: the order whose rows it counts. 0: none.
    std::uint32_t order = 0;

    /// Of integers that are a permutation of the numbers of rows: of a value in which order.
    std::uint32_t into = 0;

    friend bool operator==(const chunk_state&, const chunk_state&) = default;
};

/// A verdict on one operation under chunking.
struct chunk_verdict {
    bool possible = true;

    /// Why not, for people: a literal, or text of the model, which may write the next reason over it. Whoever keeps a
    /// reason copies it before asking again.
    std::string_view reason = {};

    /// The operation adds an addend, in place, to a value that all chunks share. Its clones together do what it does if
    /// they run one behind the other, and what reads the result runs after the last of them.
    bool chain = false;

    /// Of a refusal: the component of an operand that is whole and would have to be cut along `wanted_dim` for the
    /// operation to run per chunk; -1: no such thing is known.
    std::int32_t wanted = -1;
    std::int8_t wanted_dim = -1;

    /// The operation rounds an addend, or keeps it from being rounded: it changes the type of its elements. Parts are
    /// converted before they are summed, as if every chunk were computed by itself.
    bool converts = false;
};

/// The rows of one chunk among those of the region's tokens.
struct chunk_interval {
    std::int64_t first = 0;
    std::int64_t count = 0;
    friend bool operator==(const chunk_interval&, const chunk_interval&) = default;
};

/// How much of an amount that lies along the tokens (rows, bytes, nanoseconds) is a chunk's: exactly so much a token
/// where the amount is a multiple of the tokens, and shares that add up to it otherwise.
[[nodiscard]] constexpr std::int64_t share_of(std::int64_t amount, std::int64_t tokens, chunk_interval chunk) {
    __extension__ typedef __int128 wide;  // bytes times rows overflow 64 bits
    const wide all = amount;
    return static_cast<std::int64_t>(all * (chunk.first + chunk.count) / tokens - all * chunk.first / tokens);
}

/// `components_of(x)`: how many tensors x consists of (none: a number, which has one state). `rank(x, component)`,
/// `extent(x, component, dim)`: of one of them.
/// `combine_rule(v, tokens, operands, results)`: `operands` has the states of all components of the operands of v in
/// order; not all are whole. Fills `results`, the states of all components of the results of v, or says why v cannot
/// run per chunk. Every result is `unset` to begin with; a rule that finds v possible and leaves one unset is an error
/// of the model, which plan_chunks and verify_chunks report: a result that is the same in every chunk must be said to
/// be whole. `tokens` is the number of rows of the region: a sliced extent is a whole multiple of it. An operation that
/// the model does not know must be refused, not guessed.
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
