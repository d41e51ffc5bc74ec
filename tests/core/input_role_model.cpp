#include "stretto/core/input_role_model.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

struct without_places {
    input_role role(archetypes::value) const { return input_role::other; }
};
struct role_is_a_number {
    int role(archetypes::value) const { return 0; }
    int place(archetypes::value) const { return 0; }
};

}  // namespace

TEST_CASE("an input role model tells parameters, and their registration order") {
    static_assert(input_role_model<archetypes::roles, archetypes::dataflow>);
    static_assert(!input_role_model<without_places, archetypes::dataflow>);
    static_assert(!input_role_model<role_is_a_number, archetypes::dataflow>);
    static_assert(!input_role_model<archetypes::roles, archetypes::graph>);  // it is about values
    const archetypes::roles model(0);
    const archetypes::value weight(archetypes::detail::at(0), 0), made(archetypes::detail::at(3), 0);
    CHECK(model.role(weight) == input_role::parameter);
    CHECK(std::uint32_t(model.place(weight)) == 0);
    CHECK(std::uint32_t(model.place(made)) == no_place);
}
