// What a consumer of the range_v3 component does: pipe the vertices of a graph.
#include <cstdint>
#include <cstdio>
#include <range/v3/algorithm/count_if.hpp>
#include <range/v3/view/filter.hpp>

#include "stretto/core/index_lists.hpp"
#include "stretto/interop/range_v3.hpp"
#include "stretto/views/snapshot.hpp"

int main() {
    stretto::index_lists successors;  // 0 -> 1, 0 -> 2
    successors.push(1);
    successors.push(2);
    for (int row = 0; row < 3; ++row) successors.close_row();
    const stretto::index_lists predecessors = successors.inverse(3);
    const stretto::snapshot_view g(successors, predecessors);
    auto odd = g.vertices() | ranges::views::filter([](std::uint32_t v) { return v % 2 == 1; });
    const auto leaves = ranges::count_if(odd, [&](std::uint32_t v) { return g.successors(v).empty(); });
    std::printf("%d\n", static_cast<int>(leaves));
    return leaves == 1 ? 0 : 1;
}
