// expect: note:.*g\.index\(v\)
#include <vector>

#include "stretto/core/concepts.hpp"

struct view {
    using vertex_type = int;
    std::vector<int> vertices() const;
    std::vector<int> successors(int) const;
    std::vector<int> predecessors(int) const;
#ifndef EXPECT_FAILURE
    std::size_t index(int) const;
#endif
    std::size_t index_bound() const;
};

void algorithm(stretto::indexed_graph auto) {}
void use() { algorithm(view{}); }
