// expect: name_returns_text_that_outlives_the_call
#include <string>

#include "stretto/testing/archetypes.hpp"
#include "stretto/transform/chunk_rules/value_history.hpp"

// A text that is gone when it is read.
struct dialect {
    stretto::chunk_rules::any_rule rule(stretto::archetypes::vertex) const;
    std::span<const stretto::tensor_type> components(stretto::archetypes::value) const;
#ifdef EXPECT_FAILURE
    std::string name(stretto::archetypes::vertex) const;
#else
    const std::string& name(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::chunk_dialect<stretto::archetypes::program> auto) {}
void use() { algorithm(dialect{}); }
