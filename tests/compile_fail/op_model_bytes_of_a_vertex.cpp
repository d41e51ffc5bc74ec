// expect: bytes_of_returns_bytes
#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional member that is not as documented would be ignored.
struct model {
    stretto::op_kind kind(stretto::archetypes::vertex) const;
#ifdef EXPECT_FAILURE
    stretto::bytes bytes_of(stretto::archetypes::vertex) const;
#else
    stretto::bytes bytes_of(stretto::archetypes::value) const;
#endif
};

void algorithm(stretto::op_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
