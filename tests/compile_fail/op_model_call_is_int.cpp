// expect: call_returns_collective_call
#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional member that is not as documented would be ignored.
struct model {
    stretto::op_kind kind(stretto::archetypes::vertex) const;
#ifdef EXPECT_FAILURE
    int call(stretto::archetypes::vertex) const;
#else
    stretto::collective_call call(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::op_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
