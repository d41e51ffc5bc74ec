#include "stretto/core/module_model.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

using archetypes::vertex;

struct borrows {
    std::string_view path(vertex) const { return "layers.0"; }
    pass_direction direction(vertex) const { return pass_direction::forward; }
};
struct owns {
    std::string path(vertex) const { return "layers.0"; }
    pass_direction direction(vertex) const { return pass_direction::both; }
};
struct without_direction {
    std::string path(vertex) const { return "layers.0"; }
};
struct direction_is_a_truth : without_direction {
    bool direction(vertex) const { return true; }
};
struct of_other_vertices {
    std::string path(int) const { return ""; }
    pass_direction direction(int) const { return pass_direction::both; }
};

}  // namespace

TEST_CASE("a module model tells the path and the direction of vertices") {
    static_assert(module_model<borrows, archetypes::graph> && module_model<owns, archetypes::graph>);
    static_assert(module_model<archetypes::modules, archetypes::graph>);
    static_assert(!module_model<without_direction, archetypes::graph>);
    static_assert(!module_model<direction_is_a_truth, archetypes::graph>);
    static_assert(!module_model<of_other_vertices, archetypes::graph>);
    static_assert(!module_model<borrows, int>);
    const archetypes::modules model(0);
    const std::string_view ffn = model.path(archetypes::detail::at(3));
    CHECK(ffn == "layers.0.ffn");
    CHECK(model.direction(archetypes::detail::at(5)) == pass_direction::backward);
}
