// expect: note:.*g\.producer\(x\)
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"

struct view {
    using vertex_type = int;
    using value_type = long;
    std::vector<long> operands(int) const;
    std::vector<long> results(int) const;
#ifndef EXPECT_FAILURE
    int producer(long) const;
#endif
    std::vector<int> consumers(long) const;
};

void algorithm(stretto::dataflow_graph auto) {}
void use() { algorithm(view{}); }
