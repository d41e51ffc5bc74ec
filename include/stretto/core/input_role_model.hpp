// The roles of a step's inputs in the model that is trained. A graph only shows that the values exist before the step
// begins; their roles must come from whoever built the step. They determine which collectives gather parameters.
#ifndef STRETTO_CORE_INPUT_ROLE_MODEL_HPP
#define STRETTO_CORE_INPUT_ROLE_MODEL_HPP

#include <concepts>
#include <cstdint>

#include "stretto/core/dataflow_concepts.hpp"

namespace stretto {

/// What an input of a step is in the trained model.
enum class input_role : std::uint8_t {
    parameter,   ///< a weight, or this rank's shard of one
    buffer,      ///< state that is kept but not trained, such as the counts of tokens per expert
    activation,  ///< data of this step: tokens, and values that a forward step saved for its backward step
    gradient,    ///< an existing gradient: of the loss, or of earlier micro-batches
    other,       ///< something else, or unknown
};

/// Stands for "has no place in the registration order".
inline constexpr std::uint32_t no_place = UINT32_MAX;

/// `role(x)` is the role of x, a result of an input of the graph. `place(x)` is the position of a parameter in the
/// order in which the model registers its parameters; each parameter has its own, and everything else has no_place.
/// Frameworks lay out merged payloads in that order.
template <class M, class G>
concept input_role_model = dataflow_graph<G> && std::copy_constructible<M> && requires(const M& m, const value_t<G> x) {
    { m.role(x) } -> std::same_as<input_role>;
    { m.place(x) } -> std::convertible_to<std::uint32_t>;
};

}  // namespace stretto

#endif
