// expect: components_returns_span_that_outlives_the_call
#include <vector>

#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/archetypes.hpp"

// A span of a vector that is gone when it is read.
struct model {
    std::string_view operation(stretto::archetypes::vertex) const;
    std::span<const stretto::tensor_argument> arguments(stretto::archetypes::vertex) const;
    std::span<const stretto::named_tensor_argument> named_arguments(stretto::archetypes::vertex) const;
#ifdef EXPECT_FAILURE
    std::vector<stretto::tensor_type> components(stretto::archetypes::value) const;
#else
    const std::vector<stretto::tensor_type>& components(stretto::archetypes::value) const;
#endif
};

void algorithm(stretto::tensor_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
