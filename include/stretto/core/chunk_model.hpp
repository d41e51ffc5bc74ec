// What chunking must know about an operation: how its results are divided into parts, given how its operands are. A
// chunk is an interval of the rows of a region's tokens. Running an operation once per chunk, each time on that chunk's
// parts, yields the parts of the results. The state of a value says what those parts have to do with the value itself.
#ifndef STRETTO_CORE_CHUNK_MODEL_HPP
#define STRETTO_CORE_CHUNK_MODEL_HPP

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/has_member.hpp"

namespace stretto {

/// The state of a tensor (or number) under chunking. Chunk models read and set states. The planner copies them
/// unchanged from operation to operation; it reads only `what` and `dim` and, where a value leaves its region,
/// `positions` and `into`. The verifier compares whole states, and the names of orders up to renaming.
struct chunk_state {
    enum class kind : std::uint8_t {
        whole,     ///< the same in every chunk; computed once and shared
        sliced,    ///< the parts, concatenated along `dim`, are the value
        permuted,  ///< together the parts have each row of the value along `dim` exactly once, in an order of their own
        addend,    ///< the parts sum to the value
        opaque,    ///< there are parts, but no known way to make the value from them
        unset      ///< not set yet: a result before `combine_rule` has set it; never in a plan
    };
    kind what = kind::whole;
    std::int8_t dim = -1;  ///< for sliced and permuted; for opaque: the dimension that is divided among parts, or -1

    /// If the value holds integers that count rows from the first row of the chunk, this is the number of rows by which
    /// every token before the chunk shifts them. Row numbers of a tensor that is sliced with n rows per token have n
    /// here, and gathering from that tensor, or scattering into it, with such integers stays within the chunk. If the
    /// value is a number and an addend, its share is exactly this much per token. 0 means neither.
    std::int64_t positions = 0;

    /// The order of the rows of a permuted or opaque value, by a name that the model chooses. Two values may be
    /// combined row by row only if their rows are in the same order. If the value is a number and an addend, this is
    /// the order whose rows it counts. 0 means none.
    std::uint32_t order = 0;

    /// If the value holds integers that are a permutation of row numbers, this is the order of the value whose rows
    /// they number. 0 means none.
    std::uint32_t into = 0;

    friend bool operator==(const chunk_state&, const chunk_state&) = default;
};

/// The verdict on one operation under chunking.
struct chunk_verdict {
    bool possible = true;

    /// Why it is not possible, for people: a literal, or text of the model, which the next call may overwrite. To keep
    /// a reason, copy it before calling the model again.
    std::string_view reason = {};

    /// The operation adds an addend, in place, to a value that all chunks share. Its clones together have the same
    /// effect if they run one after the other and readers of the result run after the last of them.
    bool chain = false;

    /// A refusal may name the component of an operand that is whole, but would have to be cut along `wanted_dim` for
    /// the operation to run per chunk. -1 names none.
    std::int32_t wanted = -1;
    std::int8_t wanted_dim = -1;

    /// The operation rounds an addend, or keeps it from being rounded, because it changes the element type. Parts are
    /// then converted before they are summed, as if every chunk were computed by itself.
    bool converts = false;

    /// A refusal is inherent if the operation itself cannot run per chunk, such as a cumulative sum along the rows. If
    /// it is not, other states of the operands may make it possible, and the operation that produced the present states
    /// may be the cause.
    bool inherent = false;

    /// A refusal is the model's own fault if it contradicts the program, for example if a rule names an operand that
    /// does not exist. No other states would help. check_chunk_model reports it; a plan keeps the operation whole.
    bool model_faulty = false;
};

/// The rows of one chunk among those of the region's tokens.
struct chunk_interval {
    std::int64_t first = 0;
    std::int64_t count = 0;
    friend bool operator==(const chunk_interval&, const chunk_interval&) = default;
};

/// The share of one chunk in an amount that is distributed along the tokens (rows, bytes, nanoseconds). If the amount
/// is a multiple of the tokens, the share is exact; otherwise it is rounded so that the shares of all chunks add up to
/// it. Precondition: `tokens` is positive.
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
STRETTO_MEMBER_NAME(sum_widens);

// An optional member is either missing, or as documented.
template <class M, class G>
concept makes_zeros_returns_bool = !has_makes_zeros<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.makes_zeros(v) } -> std::convertible_to<bool>;
};
template <class M, class G>
concept sum_widens_returns_bool = !has_sum_widens<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.sum_widens(v) } -> std::convertible_to<bool>;
};

}  // namespace detail

/// How a program can be chunked.
///
/// `components_of(x)` is the number of tensors in x (none for a number, which has one state). `rank(x, component)` and
/// `extent(x, component, dim)` describe one of them.
///
/// `combine_rule(v, tokens, operands, results)` receives in `operands` the states of all components of the operands of
/// v, in order; at least one is not whole. It sets `results`, the states of all components of the results of v, or says
/// why v cannot run per chunk. Every result is initially `unset`. If a rule accepts v and leaves a result unset, that
/// is an error of the model, which plan_chunks and verify_chunks report: a result that is the same in every chunk must
/// be set to whole. `tokens` is the number of rows of the region; a sliced extent is a multiple of it. The model must
/// refuse operations that it does not know.
///
/// A model may also have `makes_zeros(v)`, which says that v only fills fresh memory, its only result, with zeros.
/// Every chunk may then make zeros of its own, because a sum of zeros is zero.
///
/// A model may also have `sum_widens(v)`, which says that v only converts the elements of its only operand, a single
/// tensor, to a wider type, and that a sum does the same by itself: if x has the wider type, the sum of x and the
/// operand of v is, bit for bit, that of x and the result of v. Sums of parts then convert all parts but the first.
/// Without the member, no operation is such a conversion.
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
    detail::makes_zeros_returns_bool<M, G> && detail::sum_widens_returns_bool<M, G>;

namespace detail {

/// Whether the model says that v makes zeros; false if the model has no `makes_zeros`.
template <class M, class V>
[[nodiscard]] constexpr bool makes_zeros(const M& m, const V& v) {
    if constexpr (has_makes_zeros<M, V>) return m.makes_zeros(v);
    else return false;
}
/// Whether the model says that a sum converts the operand of v as v does; false if the model has no `sum_widens`.
template <class M, class V>
[[nodiscard]] constexpr bool sum_widens(const M& m, const V& v) {
    if constexpr (has_sum_widens<M, V>) return m.sum_widens(v);
    else return false;
}

}  // namespace detail

}  // namespace stretto

#endif
