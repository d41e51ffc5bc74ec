// What a consumer of the boost_graph component does: sort a Boost graph with us, and a view of ours with Boost.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/interop/boost_graph.hpp"
#include "stretto/interop/boost_view.hpp"

int main() {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS> ir(3);
    add_edge(2, 0, ir);
    add_edge(0, 1, ir);
    const stretto::boost_view view(ir);
    const auto order = stretto::topological_sort(view);
    std::vector<std::size_t> backwards;
    const stretto::boost_graph graph(view);
    boost::topological_sort(graph, std::back_inserter(backwards));
    if (!order || order->size() != 3 || backwards.size() != 3) return 1;
    for (std::size_t i = 0; i < 3; ++i) std::printf("%zu\n", (*order)[i]);
    return (*order)[0] == 2 && backwards[2] == 2 ? 0 : 1;
}
