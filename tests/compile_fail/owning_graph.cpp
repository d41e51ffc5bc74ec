// expect: note:.*is_trivially_copyable
#include <cstddef>
#include <vector>

#include "stretto/core/concepts.hpp"

// The graph itself is not a view of it: passing it by value would copy it.
struct graph {
    using vertex_type = int;
    std::vector<std::vector<int>> next;
};

struct view {
    using vertex_type = int;
    const graph* g;
};

void algorithm(stretto::graph_view auto) {}
#ifdef EXPECT_FAILURE
void use(graph g) { algorithm(g); }
#else
void use(const graph& g) { algorithm(view{&g}); }
#endif
