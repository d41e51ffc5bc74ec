// expect: g\.consumers\(x\)
#include <array>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/views/numbered.hpp"

// What a view lacks is named through the numbers that it was given.
struct view {
    using vertex_type = int;
    using value_type = int;
    std::vector<int> vertices() const;
    std::vector<int> operands(int) const;
    std::array<int, 1> results(int) const;
    int producer(int) const;
#ifdef EXPECT_FAILURE
    std::vector<int> users(int) const;
#else
    std::vector<int> consumers(int) const;
#endif
};

void algorithm(stretto::dataflow_graph auto) {}
void use(const stretto::numbering<int>& numbers) { algorithm(stretto::views::numbered(view{}, numbers)); }
