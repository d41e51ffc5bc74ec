// The graphs that an analysis is measured on: captured and synthetic steps, and shapes that are hard for some analysis.
#ifndef STRETTO_BENCH_SUPPORT_GRAPH_COLLECTION_HPP
#define STRETTO_BENCH_SUPPORT_GRAPH_COLLECTION_HPP

#include <cstdint>
#include <filesystem>
#include <initializer_list>

#include "support/captured_steps.hpp"
#include "support/graph_families.hpp"
#include "support/synthetic_step.hpp"

namespace bench {

/// Calls `report(name, graph)` for every captured step, then for seven graphs of each size, in nodes.
template <class Report>
void for_each_graph(const std::filesystem::path& checkout, std::initializer_list<std::uint32_t> sizes, Report report) {
    for (const named_graph& step : captured_steps(checkout)) report(step.name, step.graph);
    for (std::uint32_t size : sizes) {
        {
            const synthetic_step step = make_synthetic_step(size);
            const plain_graph g = plain_graph_of(synthetic_view{&step});
            report("synthetic step", g);
            report("4 micro-batches of it", replicas(g, 4, true));
        }
        report("random, 2 reads", random_dag(size, 2, size));
        report("random, 2 near reads", random_dag(size, 2, 64));
        report("butterfly, width 64", butterfly(size, 64));
        report("long spine", long_spine(size));
        report("star", star(size));
    }
}

}  // namespace bench

#endif
