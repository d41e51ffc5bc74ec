// expect: symbolic_extent_returns_text_that_outlives_the_call
#include <string>

#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/archetypes.hpp"

// A text of a string that is gone when it is read, in a class from which nothing can inherit.
struct model final {
    std::string_view operation(stretto::archetypes::vertex) const;
    std::span<const stretto::tensor_argument> arguments(stretto::archetypes::vertex) const;
    std::span<const stretto::named_tensor_argument> named_arguments(stretto::archetypes::vertex) const;
    std::span<const stretto::tensor_type> components(stretto::archetypes::value) const;
#ifdef EXPECT_FAILURE
    std::string symbolic_extent(stretto::archetypes::value, std::size_t, std::size_t) const;
#else
    std::string_view symbolic_extent(stretto::archetypes::value, std::size_t, std::size_t) const;
#endif
};

void algorithm(stretto::tensor_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
