// expect: note:.*G::vertex_type|note:.*vertex_type
#include "stretto/core/concepts.hpp"

struct view {
#ifndef EXPECT_FAILURE
    using vertex_type = int;
#endif
};

void algorithm(stretto::graph_view auto) {}
void use() { algorithm(view{}); }
