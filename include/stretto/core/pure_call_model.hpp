// Which operations are functions of what they read, and which of them are the same function. A step that computes
// something again, to save the memory of keeping it, has it twice; whoever knows that both are the same value need not
// know why there are two (analysis/value_numbers.hpp).
#ifndef STRETTO_CORE_PURE_CALL_MODEL_HPP
#define STRETTO_CORE_PURE_CALL_MODEL_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "stretto/core/concepts.hpp"
#include "stretto/core/has_member.hpp"

namespace stretto {

namespace detail {

STRETTO_MEMBER_NAME(copied_operand);

// An optional member is either missing, or as documented.
template <class M, class G>
concept copied_operand_returns_position =
    !has_copied_operand<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
        { m.copied_operand(v) } -> std::same_as<std::size_t>;
    };

}  // namespace detail

/// `is_pure(v)`: the results of v depend on nothing but its operator, its arguments and the contents of its operands,
/// up to rounding. What reads random numbers without their state, memory that nobody has written, or a clock is not
/// pure; if in doubt, an operation is not. A collective is pure if it gives all ranks the same for the same: the ranks
/// of a step run one program, so what is one value on one rank is one value on every rank. An operation that writes in
/// place can be pure: its results follow from what was there before.
///
/// `same_call(u, v)`: two pure operations have the same operator, and the same arguments in the same places; operands
/// in the same places may be any values. It is an equivalence. `hash_of_call(v)` is equal for equal calls.
///
/// `copied_operand(v)` is optional: the position of the operand whose contents the only result of v, which is pure,
/// has, wherever it puts them: what is offloaded and loaded again is what it was. SIZE_MAX, as without the member:
/// there is none, or it is not known.
template <class M, class G>
concept pure_call_model = graph_view<G> && std::copy_constructible<M> &&
                          requires(const M& m, const typename G::vertex_type u, const typename G::vertex_type v) {
                              { m.is_pure(v) } -> std::same_as<bool>;
                              { m.same_call(u, v) } -> std::same_as<bool>;
                              { m.hash_of_call(v) } -> std::same_as<std::uint64_t>;
                          } && detail::copied_operand_returns_position<M, G>;

/// The accessor fills in the default.
template <graph_view G, pure_call_model<G> M>
[[nodiscard]] constexpr std::size_t copied_operand_of(const M& calls, vertex_t<G> v) {
    if constexpr (detail::has_copied_operand<M, vertex_t<G>>) return calls.copied_operand(v);
    else return SIZE_MAX;
}

/// The model of a program of which nothing is known: no operation is pure.
struct no_pure_calls {
    template <handle V>
    [[nodiscard]] bool is_pure(V) const noexcept {
        return false;
    }
    template <handle V>
    [[nodiscard]] bool same_call(V, V) const noexcept {
        return false;
    }
    template <handle V>
    [[nodiscard]] std::uint64_t hash_of_call(V) const noexcept {
        return 0;
    }
};

}  // namespace stretto

#endif
