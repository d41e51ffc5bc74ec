#include "stretto/core/linear_model.hpp"

#include <doctest/doctest.h>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

using archetypes::vertex;

struct without_alike {
    linear_kind linearity(vertex) const { return linear_kind::other; }
};
struct kind_is_a_truth {
    bool linearity(vertex) const { return true; }
    bool alike(vertex, vertex) const { return true; }
};

}  // namespace

TEST_CASE("a linear model tells what adds, and what is alike") {
    static_assert(linear_model<archetypes::sums, archetypes::dataflow>);
    static_assert(!linear_model<without_alike, archetypes::dataflow>);
    static_assert(!linear_model<kind_is_a_truth, archetypes::dataflow>);
    static_assert(!linear_model<archetypes::sums, archetypes::graph>);  // it is about values
    const archetypes::sums model(0);
    CHECK(model.linearity(archetypes::detail::at(5)) == linear_kind::sum);
    CHECK(model.linearity(archetypes::detail::at(3)) == linear_kind::same);
}
