// Which operations are functions of their operands, and which of them are the same function. A step that recomputes a
// value to save the memory of keeping it contains the computation twice. With this model analysis/value_numbers.hpp
// recognises that both give the same value, without knowing why there are two.
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

// An optional member is either missing or as documented.
template <class M, class G>
concept copied_operand_returns_position =
    !has_copied_operand<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
        { m.copied_operand(v) } -> std::same_as<std::size_t>;
    };

}  // namespace detail

/// `is_pure(v)`: the results of v depend only on its operator, its arguments and the contents of its operands, up to
/// rounding. An operation that reads random numbers without explicit state, uninitialised memory or a clock is not
/// pure; in doubt, return false. A collective is pure if equal inputs give all ranks equal results: the ranks of a step
/// run one program, so values that are equal on one rank are equal on every rank. An operation that writes in place can
/// be pure: its results follow from the contents before the write.
///
/// `same_call(u, v)`: two pure operations have the same operator, and the same arguments in the same places; operands
/// in the same places may be any values. It is an equivalence. `hash_of_call(v)` is equal for equal calls.
///
/// `copied_operand(v)` is optional: the position of the operand whose contents the only result of v has, where v is
/// pure. It does not matter where the result is stored: a value that is offloaded and reloaded is unchanged. SIZE_MAX,
/// the default, means that there is none, or that it is not known.
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

/// The model for a program of which nothing is known: no operation is pure.
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
