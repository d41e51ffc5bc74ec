// Which operations are functions of what they read, and which of them are the same function. A step that computes
// something again, to save the memory of keeping it, has it twice; whoever knows that both are the same value need not
// know why there are two (analysis/value_numbers.hpp).
#ifndef STRETTO_CORE_PURE_CALL_MODEL_HPP
#define STRETTO_CORE_PURE_CALL_MODEL_HPP

#include <concepts>
#include <cstdint>

#include "stretto/core/concepts.hpp"

namespace stretto {

/// `is_pure(v)`: the results of v depend on nothing but its operator, its arguments and the contents of its operands,
/// up to rounding. What reads random numbers without their state, memory that nobody has written, or a clock is not
/// pure; if in doubt, an operation is not. A collective is pure if it gives all ranks the same for the same: the ranks
/// of a step run one program, so what is one value on one rank is one value on every rank. An operation that writes in
/// place can be pure: its results follow from what was there before.
///
/// `same_call(u, v)`: two pure operations have the same operator, and the same arguments in the same places; operands
/// in the same places may be any values. It is an equivalence. `hash_of_call(v)` is equal for equal calls.
template <class M, class G>
concept pure_call_model = graph_view<G> && std::copy_constructible<M> &&
                          requires(const M& m, const typename G::vertex_type u, const typename G::vertex_type v) {
                              { m.is_pure(v) } -> std::same_as<bool>;
                              { m.same_call(u, v) } -> std::same_as<bool>;
                              { m.hash_of_call(v) } -> std::same_as<std::uint64_t>;
                          };

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
