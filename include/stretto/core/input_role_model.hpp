// What the inputs of a step are to the model that is trained. Only who made the step knows; a graph shows values that
// are there before it begins, and no more. Which collectives gather parameters follows from it.
#ifndef STRETTO_CORE_INPUT_ROLE_MODEL_HPP
#define STRETTO_CORE_INPUT_ROLE_MODEL_HPP

#include <concepts>
#include <cstdint>

#include "stretto/core/dataflow_concepts.hpp"

namespace stretto {

enum class input_role : std::uint8_t {
    parameter,   ///< a weight, or this rank's shard of one
    buffer,      ///< state that is kept and not trained, such as the counts of tokens per expert
    activation,  ///< data of this step: tokens, and what a forward step has saved for its backward step
    gradient,    ///< a gradient that is there already: of the loss, or of earlier micro-batches
    other,       ///< something else, or not known
};

/// Stands for "has no place in the registration order".
inline constexpr std::uint32_t no_place = UINT32_MAX;

/// `role(x)` says what x is, a result of an input of the graph. `place(x)` is the place of a parameter in the order in
/// which the model registers its parameters, and differs from that of every other one; it is no_place for everything
/// that is no parameter. Frameworks lay out merged payloads in that order.
template <class M, class G>
concept input_role_model = dataflow_graph<G> && std::copy_constructible<M> && requires(const M& m, const value_t<G> x) {
    { m.role(x) } -> std::same_as<input_role>;
    { m.place(x) } -> std::convertible_to<std::uint32_t>;
};

}  // namespace stretto

#endif
