// Where in a model the vertices of its training step come from: the module to which each belongs, and whether it
// computes forward or backward. Frameworks keep both for debugging; here they determine which vertices form a layer.
#ifndef STRETTO_CORE_MODULE_MODEL_HPP
#define STRETTO_CORE_MODULE_MODEL_HPP

#include <concepts>
#include <cstdint>
#include <string_view>

#include "stretto/core/concepts.hpp"

namespace stretto {

/// Whether a vertex computes forward or backward.
enum class pass_direction : std::uint8_t {
    forward,
    backward,
    both  ///< for a vertex: unknown; for a choice of vertices: either
};

/// `path(v)` is the module of v: its components from the outermost, separated by dots ("layers.3.moe"); empty if
/// unknown. The result may own the text or refer to it; callers read it while the returned object lives, and copy what
/// they keep. `direction(v)` is forward or backward, or both if unknown.
///
/// Frameworks provide neither for operations that they insert themselves. A model may therefore leave gaps, which
/// step_modules fills.
template <class M, class G>
concept module_model =
    graph_view<G> && std::copy_constructible<M> && requires(const M& m, const typename G::vertex_type v) {
        { m.path(v) } -> std::convertible_to<std::string_view>;
        { m.direction(v) } -> std::same_as<pass_direction>;
    };

}  // namespace stretto

#endif
