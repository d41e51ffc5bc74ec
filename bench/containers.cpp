// Measures what it costs that a user's view returns a fresh container per call, and which container costs least: the
// same graph through views that copy their neighbours and values into a std::vector, a boost::container::small_vector
// or a boost::container::static_vector, and through one that returns spans of what the IR holds, which is the floor.
// Times are processor time of this thread, the least of several runs; ratios are to the spans of the same run.

#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "stretto/analysis/liveness.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

namespace {

using id = std::uint32_t;

/// Every operation reads up to four earlier ones and has one result, which has its number.
struct program {
    std::vector<std::vector<id>> reads, readers, own;
    explicit program(id size) : reads(size), readers(size), own(size) {
        std::uint64_t state = 42;
        const auto below = [&](id bound) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            return static_cast<id>(((state >> 32) * bound) >> 32);
        };
        for (id v = 0; v < size; ++v) {
            own[v] = {v};
            for (id k = v == 0 ? 0 : 1 + below(4); k > 0; --k) {
                id u = v - 1 - below(v < 64 ? v : 64);
                while (readers[u].size() >= 8) u = u == 0 ? v - 1 : u - 1;
                reads[v].push_back(u);
                readers[u].push_back(v);
            }
        }
    }
};

template <class Range>
struct view {
    using vertex_type = id;
    using value_type = id;
    const program* p;
    const std::vector<id>* order;

    static Range fresh(const std::vector<id>& held) { return Range(held.begin(), held.end()); }
    const std::vector<id>& vertices() const { return *order; }
    Range successors(id v) const { return fresh(p->readers[v]); }
    Range predecessors(id v) const { return fresh(p->reads[v]); }
    std::size_t index(id v) const { return v; }
    std::size_t index_bound() const { return p->reads.size(); }
    Range operands(id v) const { return fresh(p->reads[v]); }
    Range results(id v) const { return fresh(p->own[v]); }
    id producer(id x) const { return x; }
    Range consumers(id x) const { return fresh(p->readers[x]); }
};

struct model {
    stretto::op_kind kind(id) const { return stretto::op_kind::compute; }
};

struct times {
    double sort, tasks, liveness;
};

template <class Range>
times measure(const program& p, const std::vector<id>& order, bool smoke) {
    const view<Range> g{&p, &order};
    const int runs = smoke ? 1 : 9;
    const double seconds = smoke ? 0 : 0.3;
    return {bench::least_seconds([&] { bench::keep(stretto::topological_sort(g)); }, runs, seconds),
            bench::least_seconds([&] { bench::keep(stretto::make_task_graph(g, model{})); }, runs, seconds),
            bench::least_seconds([&] { bench::keep(stretto::liveness_of(g, model{})); }, runs, seconds)};
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments given = bench::read_arguments(argc, argv);
    const id size = given.smoke ? 100 : 20'000;
    const program p(size);
    std::vector<id> order(size);
    for (id v = 0; v < size; ++v) order[v] = v;

    const times floor = measure<std::span<const id>>(p, order, given.smoke);
    const auto print = [&](const char* name, const times& t) {
        std::printf("%-20s %8.2f %12.2f %10.2f\n", name, t.sort / floor.sort, t.tasks / floor.tasks,
                    t.liveness / floor.liveness);
    };
    std::printf("%-20s %8s %12s %10s   (ratios to spans: %.0f, %.0f, %.0f ns per operation)\n", "returned per call",
                "sort", "task graph", "liveness", 1e9 * floor.sort / size, 1e9 * floor.tasks / size,
                1e9 * floor.liveness / size);
    print("span", floor);
    print("vector", measure<std::vector<id>>(p, order, given.smoke));
    print("small_vector<4>", measure<boost::container::small_vector<id, 4>>(p, order, given.smoke));
    print("small_vector<8>", measure<boost::container::small_vector<id, 8>>(p, order, given.smoke));
    print("static_vector<8>", measure<boost::container::static_vector<id, 8>>(p, order, given.smoke));
    return 0;
}
