#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using support::toy_program;

namespace {

std::vector<std::uint32_t> row(const index_lists& lists, std::size_t r) { return {lists[r].begin(), lists[r].end()}; }

/// An order of nodes that respects their dependences: the ready node that `picks` names goes next.
std::vector<std::uint32_t> random_nodes(const compact_tasks& c, const std::vector<std::uint8_t>& picks) {
    std::vector<std::uint32_t> order, ready;
    std::vector<std::size_t> unmet(c.size());
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if ((unmet[n] = c.predecessors[n].size()) == 0) ready.push_back(n);
    while (!ready.empty()) {
        const std::size_t k = picks.empty() ? 0 : picks[order.size() % picks.size()] % ready.size();
        const std::uint32_t n = ready[k];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(k));
        order.push_back(n);
        for (std::uint32_t s : c.successors[n])
            if (--unmet[s] == 0) ready.push_back(s);
    }
    return order;
}

}  // namespace

TEST_CASE("views fold into what they need; what needs two nodes, or allocates, stays") {
    toy_program p;
    p.groups = 2;
    p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});                                     // 0
    p.ops.push_back({.kind = op_kind::view, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});          // 1
    p.ops.push_back({.duration = {10}, .operands = {{1, 0}}, .results = {{{16}, {}}}});                    // 2
    p.ops.push_back({.kind = op_kind::view, .operands = {{2, 0}, {1, 0}}, .results = {{{0}, {{2, 0}}}}});  // 3
    p.ops.push_back({.kind = op_kind::start, .group = 1, .duration = {30}, .results = {{{32}, {}}}});      // 4
    p.ops.push_back({.kind = op_kind::wait, .operands = {{4, 0}}, .results = {{{0}, {{4, 0}}}}});          // 5
    p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}, .results = {{{0}, {{3, 0}}}}});          // 6
    p.ops.push_back({.kind = op_kind::view, .operands = {{5, 0}, {6, 0}}, .results = {{{0}, {{5, 0}}}}});  // 7
    p.ops.push_back({.kind = op_kind::view, .operands = {{2, 0}}, .results = {{{4}, {{2, 0}}}}});          // 8
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    using role = compact_tasks::role;
    CHECK(c.task == std::vector<task_id>{2, 4, 5, 7, 8});
    CHECK(c.kind == std::vector<role>{role::compute, role::start, role::wait, role::weightless, role::weightless});
    CHECK(c.duration == std::vector<std::int64_t>{10, 30, 0, 0, 0});
    CHECK(c.allocation == std::vector<std::int64_t>{16, 32, 0, 0, 4});
    CHECK(c.machines == 2);
    CHECK(c.machine == std::vector<std::uint32_t>{0, 1, 2, 2, 2});
    CHECK(c.groups == std::vector<group_id>{1});
    CHECK(c.launch[2] == 1);
    CHECK(c.preamble == std::vector<task_id>{0, 1});
    CHECK(row(c.followers, 0) == std::vector<task_id>{3, 6});
    CHECK(row(c.predecessors, 2) == std::vector<std::uint32_t>{1});
    CHECK(row(c.predecessors, 3) == std::vector<std::uint32_t>{2, 0});
    CHECK(row(c.successors, 0) == std::vector<std::uint32_t>{3, 4});
    CHECK(detail::expand(c, std::vector<std::uint32_t>{1, 0, 4, 2, 3}) ==
          std::vector<task_id>{0, 1, 4, 2, 3, 6, 8, 5, 7});
}

TEST_CASE("only groups that launch collectives have a machine, in the order of their ids") {
    toy_program p;
    p.groups = group_limit;
    for (const group_id group : {group_limit - 1, 7u, 300u, 7u})
        p.ops.push_back({.kind = op_kind::start, .group = group, .duration = {30}, .results = {{{32}, {}}}});
    p.ops.push_back({.duration = {10}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    CHECK(c.machines == 4);
    CHECK(c.machine == std::vector<std::uint32_t>{3, 1, 2, 1, 0});
    CHECK(c.groups == std::vector<group_id>{7, 300, group_limit - 1});
}

TEST_CASE("nodes in program order stand for the step itself: legal, as fast, and no more memory") {
    stretto_check("expanded in order", 4000, [] {
        const toy_program p = (*support::scheduling_cases(60)).program();
        const task_graph g = support::graph_of(p);
        detail::workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        for (std::uint32_t x = 0; x < c.storage_bytes.size(); ++x)
            RC_ASSERT(c.storage_uses[x] == c.touched.inverse(c.storage_bytes.size())[x].size());
        const support::task_order order = detail::expand(c, support::program_order(c.size()));
        const support::storage_facts facts = support::facts_of(p);
        const std::string reason = support::illegality(p, facts, order);
        if (!reason.empty()) RC_FAIL(reason);
        const support::naive_figures input = support::figures_of(p, facts, support::program_order(g.size())),
                                     found = support::figures_of(p, facts, order);
        RC_ASSERT(found.makespan == input.makespan);
        RC_ASSERT(found.exposed == input.exposed);
        // A view in the middle of nowhere may have been the last to name a storage; folded, it comes earlier.
        RC_ASSERT(found.peak <= input.peak);
    });
}

TEST_CASE("any order of nodes that respects their dependences is a legal order, and its peak is that of the nodes") {
    stretto_check("expanded", 4000, [](const std::vector<std::uint8_t>& picks) {
        const toy_program p = (*support::scheduling_cases(60)).program();
        const task_graph g = support::graph_of(p);
        detail::workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const std::vector<std::uint32_t> nodes = random_nodes(c, picks);
        RC_ASSERT(nodes.size() == c.size());
        const support::task_order order = detail::expand(c, nodes);
        const support::storage_facts facts = support::facts_of(p);
        const std::string reason = support::illegality(p, facts, order);
        if (!reason.empty()) RC_FAIL(reason);
        RC_ASSERT(detail::peak_of(c, nodes, w) == support::figures_of(p, facts, order).peak);
    });
}
