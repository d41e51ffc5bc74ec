// expect: synchronises_returns_bool
#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional member that is not as documented would be ignored.
struct model {
    stretto::op_kind kind(stretto::archetypes::vertex) const;
#ifdef EXPECT_FAILURE
    void synchronises(stretto::archetypes::vertex) const;
#else
    bool synchronises(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::op_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
