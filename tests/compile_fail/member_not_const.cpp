// expect: note:.*(g\.successors\(v\)|'this' argument.*const)
#include <vector>

#include "stretto/core/concepts.hpp"

// A view is read-only: its members are const.
struct view {
    using vertex_type = int;
#ifdef EXPECT_FAILURE
    std::vector<int> successors(int);
#else
    std::vector<int> successors(int) const;
#endif
};

void algorithm(stretto::adjacency_graph auto) {}
void use() { algorithm(view{}); }
