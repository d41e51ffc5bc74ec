#include "support/edge_graph.hpp"

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include "support/shuffle.hpp"

namespace support {

std::ostream& operator<<(std::ostream& out, const edge_graph& g) {
    out << g.size << " vertices, listed as";
    for (std::uint32_t v : g.order) out << ' ' << v;
    out << "; edges";
    for (auto [u, v] : g.edges) out << ' ' << u << "->" << v;
    return out;
}

rc::Gen<edge_graph> random_edge_graphs(bool acyclic) {
    return rc::gen::exec([acyclic] {
        edge_graph g;
        g.size = *rc::gen::inRange<std::uint32_t>(0, 31);
        if (g.size > 0) {
            const auto end = rc::gen::inRange<std::uint32_t>(0, g.size);
            g.edges =
                *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(rc::gen::pair(end, end));
        }
        if (acyclic) {
            std::erase_if(g.edges, [](auto e) { return e.first == e.second; });
            for (auto& [u, v] : g.edges)
                if (u > v) std::swap(u, v);
        }
        g.order = shuffled(g.size, *rc::gen::inRange<std::uint64_t>(0, 100));
        return g;
    });
}

}  // namespace support

template class rc::Gen<support::edge_graph>;
