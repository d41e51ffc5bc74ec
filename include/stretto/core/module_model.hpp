// Where in the model that is trained a vertex comes from: the module that it belongs to, and whether it computes
// forward or backward. Frameworks keep both for debugging; here they say which vertices are a layer.
#ifndef STRETTO_CORE_MODULE_MODEL_HPP
#define STRETTO_CORE_MODULE_MODEL_HPP

#include <concepts>
#include <cstdint>
#include <string_view>

#include "stretto/core/concepts.hpp"

namespace stretto {

enum class pass_direction : std::uint8_t {
    forward,
    backward,
    both  ///< of a vertex: it does not say; of a choice of vertices: either
};

/// `path(v)`: the module of v, its components separated by dots ("layers.3.moe"), outermost first; empty if v does not
/// say. What is returned may own the text or refer to it: it is read while the returned object lives, and copied.
/// `direction(v)`: forward or backward; both if v does not say.
///
/// Frameworks leave out what they insert themselves, so a model may leave gaps: step_modules fills them.
template <class M, class G>
concept module_model =
    graph_view<G> && std::copy_constructible<M> && requires(const M& m, const typename G::vertex_type v) {
        { m.path(v) } -> std::convertible_to<std::string_view>;
        { m.direction(v) } -> std::same_as<pass_direction>;
    };

}  // namespace stretto

#endif
