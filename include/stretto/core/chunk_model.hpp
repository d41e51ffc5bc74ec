// interval of the rows of a region's tokens. Running an operation once per chunk, each time on that chunk's parts,
// yields the parts of the results. The state of a value says what those parts have to do with the value itself.
#ifndef STRETTO_CORE_CHUNK_MODEL_HPP
#define STRETTO_CORE_CHUNK_MODEL_HPP

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/has_member.hpp"

namespace stretto {

/// The state of a tensor (or number) under chunking. Chunk models make and read states. The planner copies them whole
/// from operation to operation; it looks at `what` and `dim`, and where a value leaves its region, at `positions` and
/// `into` as well. The verifier compares whole states, with the names of orders up to renaming.
struct chunk_state {
    enum class kind : std::uint8_t {
        whole,     ///< the same in every chunk; computed once and shared
        sliced,    ///< the parts, one after the other along `dim`, are the value
        permuted,  ///< the parts together have the rows of the value along `dim`, each once, in an order of their own
        addend,    ///< the parts sum to the value
        opaque,    ///< there are parts, but no way from them to the value is known
        unset      ///< nobody has said: a result before `combine_rule` has set it; never in a plan
    };
    kind what = kind::whole;
    std::int8_t dim = -1;  ///< for sliced and permuted; for opaque: the dimension that parts share out, or -1

    /// If the value holds integers that count rows from the first row of the chunk, this is how much every token before
    /// the chunk adds to them. Row numbers of a tensor that is sliced with n rows per token have n here, and what is
    /// gathered from that tensor, or scattered into it, with such integers stays within the chunk. If the value is a
    /// number and an addend, its share is exactly this much per token. 0 means neither.
    std::int64_t positions = 0;

    /// The order that the rows of a permuted or opaque value are in, by a name that the model chooses. Two values go
    /// together row by row only if their rows are in the same order. If the value is a number and an addend, this is
    /// the order whose rows it counts. 0 means none.
    std::uint32_t order = 0;

    /// If the value holds integers that are a permutation of the numbers of rows, this is the order of the value whose
    /// rows they number. 0 means none.
    std::uint32_t into = 0;

    friend bool operator==(const chunk_state&, const chunk_state&) = default;
};

/// A verdict on one operation under chunking.
struct chunk_verdict {
    bool possible = true;

    /// Why it is not possible, for people: a literal, or text of the model, which may write the next reason over it.
    /// Whoever keeps a reason copies it before asking again.
    std::string_view reason = {};

    /// The operation adds an addend, in place, to a value that all chunks share. Its clones together do what the
    /// operation does if they run one after the other, and if what reads the result runs after the last of them.
    bool chain = false;

    /// A refusal may name the component of an operand that is whole, and that would have to be cut along `wanted_dim`
    /// for the operation to run per chunk. -1 names none.
    std::int32_t wanted = -1;
    std::int8_t wanted_dim = -1;

    /// The operation rounds an addend, or keeps it from being rounded, because it changes the type of its elements.
    /// Parts are then converted before they are summed, as if every chunk were computed by itself.
    bool converts = false;

    /// A refusal is inherent if the operation itself cannot run per chunk, such as a cumulative sum along the rows. If
    /// it is not, other states of the operands may make it possible, and what left them in these may be the cause.
    bool inherent = false;

    /// A refusal is the model's own fault if it contradicts the program, as a rule does that names an operand which is
    /// not there. No state of the operands would help. check_chunk_model reports it; a plan keeps the operation whole.
    bool model_faulty = false;
};

/// The rows of one chunk among those of the region's tokens.
struct chunk_interval {
    std::int64_t first = 0;
    std::int64_t count = 0;
    friend bool operator==(const chunk_interval&, const chunk_interval&) = default;
};

/// The share of one chunk in an amount that lies along the tokens (rows, bytes, nanoseconds). If the amount is a
/// multiple of the tokens, it is exactly so much per token; otherwise the shares of all chunks add up to the amount.
[[nodiscard]] constexpr std::int64_t share_of(std::int64_t amount, std::int64_t tokens, chunk_interval chunk) {
    std::int64_t until_last = 0, until_first = 0;
    if (!__builtin_mul_overflow(amount, chunk.first + chunk.count, &until_last) &&
        !__builtin_mul_overflow(amount, chunk.first, &until_first))
        return until_last / tokens - until_first / tokens;
    __extension__ typedef __int128 wide;  // bytes times rows may overflow 64 bits, and wide divisions are slow
    const wide all = amount;
    return static_cast<std::int64_t>(all * (chunk.first + chunk.count) / tokens - all * chunk.first / tokens);
}

namespace detail {

STRETTO_MEMBER_NAME(makes_zeros);

// An optional member is either missing, or as documented.
template <class M, class G>
concept makes_zeros_returns_bool = !has_makes_zeros<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.makes_zeros(v) } -> std::convertible_to<bool>;
};

}  // namespace detail

/// How a program can be chunked.
///
/// `components_of(x)` is the number of tensors that x consists of (none for a number, which has one state). `rank(x,
/// component)` and `extent(x, component, dim)` are about one of them.
///
/// `combine_rule(v, tokens, operands, results)` gets in `operands` the states of all components of the operands of v,
/// in order, of which not all are whole. It sets `results`, the states of all components of the results of v, or says
/// why v cannot run per chunk. Every result is `unset` to begin with. A rule that finds v possible and leaves one unset
/// is an error of the model, which plan_chunks and verify_chunks report: it must say of a result that is the same in
/// every chunk that it is whole. `tokens` is the number of rows of the region; a sliced extent is a multiple of it. The
/// model must refuse an operation that it does not know, and not guess.
///
/// A model may also have `makes_zeros(v)`: v does nothing but fill fresh memory, its only result, with zeros. Every
/// chunk may then have zeros of its own, because a sum of zeros is zero.
template <class M, class G>
concept chunk_model =
    dataflow_graph<G> &&
    requires(const M& m, const vertex_t<G> v, const value_t<G> x, std::size_t component, std::size_t dim,
             std::int64_t tokens, std::span<const chunk_state> operands, std::span<chunk_state> results) {
        { m.components_of(x) } -> std::convertible_to<std::size_t>;
        { m.rank(x, component) } -> std::convertible_to<std::size_t>;
        { m.extent(x, component, dim) } -> std::convertible_to<std::int64_t>;
        { m.combine_rule(v, tokens, operands, results) } -> std::same_as<chunk_verdict>;
    } &&
    detail::makes_zeros_returns_bool<M, G>;

namespace detail {

/// Whether the model says that v makes zeros; false if it says nothing of it.
template <class M, class V>
[[nodiscard]] constexpr bool makes_zeros(const M& m, const V& v) {
    if constexpr (has_makes_zeros<M, V>) return m.makes_zeros(v);
    else return false;
}

}  // namespace detail

}  // namespace stretto

#endif
