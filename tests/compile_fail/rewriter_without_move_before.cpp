// expect: note:.*r\.move_before\(v, at\)
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/archetypes.hpp"

struct rewriter {
#ifdef EXPECT_FAILURE
    void move_after(stretto::archetypes::vertex, stretto::archetypes::vertex);
#else
    void move_before(stretto::archetypes::vertex, stretto::archetypes::vertex);
#endif
};

void apply(stretto::ordering_rewriter<stretto::archetypes::program> auto) {}
void use() { apply(rewriter{}); }
