#include "stretto/schedule/detail/cut_network.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using stretto::detail::cut_network;

namespace {

struct edge {
    std::uint32_t from, to;
    std::int64_t capacity;
};

/// What a set of vertices on the side of the source costs.
std::int64_t cost(const std::vector<edge>& edges, std::uint32_t at_source) {
    std::int64_t all = 0;
    for (const edge& e : edges)
        if ((at_source >> e.from & 1) != 0 && (at_source >> e.to & 1) == 0) all += e.capacity;
    return all;
}

}  // namespace

TEST_CASE("10^5 random networks: no set of vertices costs less than the cut, and who may stay with the source does") {
    cut_network network;
    stretto_check("cuts", 100000, [&](const std::vector<std::uint8_t>& picks, std::uint8_t count) {
        const std::uint32_t vertices = 2 + count % 6;
        std::vector<edge> edges;
        for (std::size_t k = 0; k + 2 < picks.size(); k += 3) {
            const std::uint32_t from = picks[k] % vertices, to = picks[k + 1] % vertices;
            if (from == to || from == network.sink || to == network.source) continue;
            const bool never = picks[k + 2] % 8 == 7 && !(from == network.source && to == network.sink);
            edges.push_back({from, to, never ? 100'000 : picks[k + 2] % 8});
        }
        network.clear();
        for (std::uint32_t v = 2; v < vertices; ++v) RC_ASSERT(network.add() == v);
        for (const edge& e : edges) network.connect(e.from, e.to, e.capacity);
        network.saturate();
        if (vertices > 2) network.prefer_source(2);
        network.divide();
        std::uint32_t found = 0;
        for (std::uint32_t v = 0; v < vertices; ++v)
            if (network.on_source_side(v)) found |= 1u << v;
        RC_ASSERT((found & 3) == 1);

        std::int64_t least = INT64_MAX, least_with_2 = INT64_MAX;
        for (std::uint32_t set = 1; set < 1u << vertices; set += 2) {
            if ((set & 2) != 0) continue;
            least = std::min(least, cost(edges, set));
            if ((set & 4) != 0) least_with_2 = std::min(least_with_2, cost(edges, set));
        }
        RC_ASSERT(cost(edges, found) == least);
        if (vertices > 2) RC_ASSERT(((found & 4) != 0) == (least_with_2 == least));
    });
}

TEST_CASE("10^5 random networks: raising capacities and saturating again cuts like a network made with them") {
    cut_network raised, made;
    stretto_check("raised", 100000, [&](const std::vector<std::uint8_t>& picks, std::uint8_t count) {
        const std::uint32_t vertices = 2 + count % 6;
        std::vector<edge> edges;
        for (std::size_t k = 0; k + 2 < picks.size(); k += 3) {
            const std::uint32_t from = picks[k] % vertices, to = picks[k + 1] % vertices;
            if (from == to || from == raised.sink || to == raised.source) continue;
            edges.push_back({from, to, picks[k + 2] % 8});
        }
        const auto begin = [&](cut_network<>& network) {
            network.clear();
            for (std::uint32_t v = 2; v < vertices; ++v) static_cast<void>(network.add());
        };
        begin(raised);
        for (std::uint32_t k = 0; k < edges.size(); ++k)
            RC_ASSERT(raised.connect(edges[k].from, edges[k].to, edges[k].capacity) == k);
        for (int round = 0; round < 3; ++round) {
            raised.saturate();
            raised.divide();
            begin(made);
            for (const edge& e : edges) made.connect(e.from, e.to, e.capacity);
            made.saturate();
            made.divide();
            for (std::uint32_t v = 0; v < vertices; ++v) RC_ASSERT(raised.on_source_side(v) == made.on_source_side(v));
            for (std::uint32_t k = 0; k < edges.size(); ++k) {
                const std::int64_t by = (picks[k] >> (2 * round)) % 4;
                edges[k].capacity += by;
                raised.raise(k, by);
            }
        }
    });
}
