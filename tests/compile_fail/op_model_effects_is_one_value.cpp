// expect: effects_returns_values
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional member that is not as documented would be ignored.
struct model {
    stretto::op_kind kind(stretto::archetypes::vertex) const;
#ifdef EXPECT_FAILURE
    stretto::archetypes::value effects(stretto::archetypes::vertex) const;
#else
    std::vector<stretto::archetypes::value> effects(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::op_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
