#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/ordered_tasks.hpp"
#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/workspace.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::no_node;
using detail::ordered_tasks;
using support::await;
using support::kernel;
using support::launch;
using support::toy_program;

namespace {

task_graph three_and_an_exchange() {
    toy_program p;
    p.ops = {kernel(10), launch(0, 5, {{0, 0}}), await(1), kernel(20), kernel(30, {{2, 0}})};
    return support::graph_of(p);
}

std::int64_t critical(const compact_tasks& c) {
    detail::workspace w;
    return detail::longest_paths(c, w).critical;
}

}  // namespace

TEST_CASE("a pair is a dependence, and the rest of the graph stays as it was") {
    const task_graph g = three_and_an_exchange();
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    REQUIRE(c.size() == 5);
    const ordered_tasks same = detail::with_precedences(c, {});
    CHECK(same.tasks.kind == c.kind);
    CHECK(same.tasks.duration == c.duration);
    CHECK(same.tasks.machine == c.machine);
    CHECK(same.tasks.launch == c.launch);
    CHECK(same.tasks.machines == c.machines);
    CHECK(critical(same.tasks) == 10 + 5 + 30);
    const ordered_tasks more = detail::with_precedences(c, {{3, 4}, {0, 3}});
    CHECK(more.tasks.predecessors.items() == c.predecessors.items() + 2);
    CHECK(critical(more.tasks) == 10 + 20 + 30);
}

TEST_CASE("a pair against program order is left out") {
    const task_graph g = three_and_an_exchange();
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const ordered_tasks made = detail::with_precedences(c, {{4, 3}, {3, 0, 100}});
    CHECK(made.tasks.predecessors.items() == c.predecessors.items());
    CHECK(made.tasks.size() == c.size());
}

TEST_CASE("time between two nodes, before one and after one is a node without a machine") {
    const task_graph g = three_and_an_exchange();
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const ordered_tasks between = detail::with_precedences(c, {{0, 4, 40}});
    REQUIRE(between.tasks.size() == 6);
    CHECK(between.number == std::vector<std::uint32_t>{0, 1, 2, 3, 5});
    CHECK(between.tasks.machine[4] == c.machines);
    CHECK(between.tasks.launch[2] == 1);
    CHECK(critical(between.tasks) == 10 + 40 + 30);
    CHECK(critical(detail::with_precedences(c, {{no_node, 4, 70}}).tasks) == 70 + 30);
    CHECK(critical(detail::with_precedences(c, {{0, no_node, 70}}).tasks) == 10 + 70);
    CHECK(critical(detail::with_precedences(c, {{no_node, 3, 7}, {3, 4}, {4, no_node, 9}}).tasks) == 7 + 20 + 30 + 9);
}
