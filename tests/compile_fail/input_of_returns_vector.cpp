// expect: whose memory outlives the call
#include <cstdint>
#include <vector>

#include "stretto/aten/interpreter.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;
using aten::interpreted_value;

// The interpreter reads the inputs after the call, when a vector that was returned by value is gone.
auto use(const archetypes::program& view, const archetypes::kinds& ops, const archetypes::tensors& tensors,
         const std::vector<archetypes::vertex>& order, const std::vector<interpreted_value>& by_rank) {
#ifdef EXPECT_FAILURE
    const auto input_of = [&](archetypes::vertex) -> std::vector<interpreted_value> { return by_rank; };
#else
    const auto input_of = [&](archetypes::vertex) -> const std::vector<interpreted_value>& { return by_rank; };
#endif
    return aten::interpret_in_order(view, order, ops, tensors, input_of, {});
}
