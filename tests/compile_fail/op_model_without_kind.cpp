// expect: note:.*m\.kind\(v\)
#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"

struct model {
#ifdef EXPECT_FAILURE
    stretto::op_kind kinds(stretto::archetypes::vertex) const;
#else
    stretto::op_kind kind(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::op_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
