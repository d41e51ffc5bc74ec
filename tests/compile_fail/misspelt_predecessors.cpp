// expect: note:.*g\.predecessors\(v\)
#include <vector>

#include "stretto/core/concepts.hpp"

struct view {
    using vertex_type = int;
    std::vector<int> vertices() const;
    std::vector<int> successors(int) const;
#ifdef EXPECT_FAILURE
    std::vector<int> predecesors(int) const;
#else
    std::vector<int> predecessors(int) const;
#endif
    std::size_t index(int) const;
    std::size_t index_bound() const;
};

void algorithm(stretto::dependence_graph auto) {}
void use() { algorithm(view{}); }
