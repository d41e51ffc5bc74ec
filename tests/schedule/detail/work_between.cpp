#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/detail/memory_precedences.hpp"
#include "stretto/schedule/detail/work_between.hpp"
#include "stretto/schedule/memory.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::no_node;
using detail::node_pair;
using support::kernel;
using support::toy_program;

namespace {

std::int64_t peak_of_program(const task_graph& g) {
    return profile_memory(g, support::program_order(g.size())).peak.count;
}

/// Kernels beside two others with a large scratch value each, the peaks. One of the first kind reads `bytes` that the
/// first peak has made, so it should not come late; one of the second kind makes so many for the second peak, and reads
/// nothing, so it should not come early.
struct beside {
    bool reads;
    std::int64_t work, bytes;
};
toy_program two_peaks(std::int64_t scratch, const std::vector<beside>& others) {
    toy_program p;
    p.ops.push_back(kernel(1));
    p.ops[0].results = {{{4}, {}}};
    p.ops.push_back({.duration = {5}, .operands = {{0, 0}}, .results = {{{4}, {}}, {{scratch}, {}}}});
    std::vector<support::toy_value> results, of_second{{1, 0}};
    for (const beside& o : others) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        if (o.reads) {
            p.ops[1].results.push_back({{o.bytes}, {}});
            const auto made = static_cast<std::uint32_t>(p.ops[1].results.size() - 1);
            p.ops.push_back({.duration = {o.work}, .operands = {{1, made}}, .results = {{{0}, {}}}});
            results.push_back({at, 0});
        } else {
            p.ops.push_back({.duration = {o.work}, .operands = {{0, 0}}, .results = {{{o.bytes}, {}}}});
            of_second.push_back({at, 0});
        }
    }
    results.push_back({static_cast<std::uint32_t>(p.ops.size()), 0});
    p.ops.push_back({.duration = {5}, .operands = of_second, .results = {{{4}, {}}, {{scratch}, {}}}});
    p.ops.push_back({.duration = {1}, .operands = results, .results = {{{0}, {}}}});
    return p;
}

/// All that is found of a step within a limit, by tasks.
std::vector<node_pair> found_in(const task_graph& g, std::int64_t limit) {
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const detail::forced_memory forced(c, w);
    detail::work_between between(c, forced, w);
    std::vector<node_pair> pairs =
        detail::memory_precedences(c, forced, w).within(limit, [&](std::size_t place, auto side) {
            between.add(place, side, limit);
        });
    static_cast<void>(between.append_to(pairs));
    for (node_pair& pair : pairs) {
        if (pair.first != no_node) pair.first = c.task[pair.first];
        if (pair.then != no_node) pair.then = c.task[pair.then];
    }
    return pairs;
}

/// Calls see(order) for every order of the tasks that keeps dependences and the limit.
template <class See>
void each_order(const task_graph& g, std::int64_t limit, See see) {
    std::vector<task_id> order;
    std::vector<char> done(g.size(), 0);
    const auto extend = [&](const auto& self) -> void {
        if (order.size() == g.size()) {
            if (profile_memory(g, order).peak.count <= limit) see(order);
            return;
        }
        for (task_id t = 0; t < g.size(); ++t) {
            bool ready = done[t] == 0;
            for (const task_id p : g.predecessors[t]) ready = ready && done[p] != 0;
            if (!ready) continue;
            order.push_back(t);
            done[t] = 1;
            self(self);
            done[t] = 0;
            order.pop_back();
        }
    };
    extend(extend);
}

/// Whether an order keeps a pair: which one comes first, and how much of kernels is between.
bool keeps(const task_graph& g, const std::vector<task_id>& order, const node_pair& pair) {
    bool inside = pair.first == no_node;
    std::int64_t work = 0;
    for (const task_id t : order) {
        if (t == pair.then) return inside && work >= pair.apart;
        if (inside && g.kind[t] == op_kind::compute) work += g.duration[t].count;
        if (t == pair.first) inside = true;
    }
    return pair.then == no_node && work >= pair.apart;
}

}  // namespace

TEST_CASE("between two kernels lies what finds no room before the one and after the other") {
    const task_graph g =
        support::graph_of(two_peaks(1000, {{true, 7, 100}, {false, 9, 100}, {true, 2, 60}, {false, 3, 60}}));
    const std::int64_t peak = peak_of_program(g);
    std::int64_t between = 0;
    for (const node_pair& pair : found_in(g, peak)) {
        each_order(g, peak, [&](const std::vector<task_id>& order) { CHECK(keeps(g, order, pair)); });
        if (pair.first == 1 && pair.then == 6) between = std::max(between, pair.apart);
    }
    std::int64_t least = INT64_MAX;
    each_order(g, peak, [&](const std::vector<task_id>& order) {
        std::int64_t work = 0;
        bool inside = false;
        for (const task_id t : order) {
            if (t == 6) break;
            if (inside) work += g.duration[t].count;
            inside = inside || t == 1;
        }
        least = std::min(least, work);
    });
    MESSAGE("between: " << between << " of " << least);
    CHECK(least == 7 + 9 + 2 + 3);
    CHECK(between > 9 + 3);
    CHECK(between <= least);
    // With room for everything, nothing is known.
    for (const node_pair& pair : found_in(g, peak + 10000)) CHECK((pair.first == no_node || pair.then == no_node));
}

TEST_CASE("on small graphs every order within the limit has that work between its kernels") {
    std::size_t orders = 0, times = 0;
    const auto check = [&](const task_graph& g, std::int64_t limit) {
        const std::vector<node_pair> pairs = found_in(g, limit);
        if (pairs.empty()) return;
        for (const node_pair& pair : pairs) times += pair.first != no_node && pair.then != no_node && pair.apart > 0;
        each_order(g, limit, [&](const std::vector<task_id>& order) {
            ++orders;
            for (const node_pair& pair : pairs) RC_ASSERT(keeps(g, order, pair));
        });
    };
    stretto_check("two peaks", 1500, [&](const std::vector<std::uint8_t>& numbers) {
        const auto pick = [&](std::size_t k, int most) {
            return numbers.empty() ? 1 : numbers[k % numbers.size()] * (static_cast<int>(k) + 3) % most;
        };
        std::vector<beside> others;
        for (std::size_t k = 0; k < 3; ++k)
            others.push_back({pick(3 * k, 2) == 1, pick(3 * k + 1, 12), 16 * pick(3 * k + 2, 8)});
        const task_graph g = support::graph_of(two_peaks(16 * (10 + pick(9, 40)), others));
        const std::int64_t peak = peak_of_program(g);
        for (std::int64_t limit = std::max(least_peak(g).value.count, peak - 32); limit < peak + 48; limit += 16)
            check(g, limit);
    });
    stretto_check("random steps", 2000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(8);
        toy_program p = problem.program();
        if (p.ops.size() > 8) p.ops.resize(8);
        const task_graph g = support::graph_of(p);
        for (const std::int64_t limit : {least_peak(g).value.count, peak_of_program(g)}) check(g, limit);
    });
    MESSAGE(times << " times between kernels, " << orders << " orders");
    CHECK(orders > 0);
    if (!support::runs_all_cases()) return;
    CHECK(times > 100);
}
