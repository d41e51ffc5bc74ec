#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/contention.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

/// A collective of `transfer` ns, and behind its start one kernel of `work` ns.
simulation one_kernel(std::int64_t transfer, std::int64_t work, contention c) {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {transfer}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {work}});
    const task_graph g = support::graph_of(p);
    return simulate(g, support::program_order(g.size()), c);
}

/// The clock as the page of the format has it: all transfers in one list, searched at every change.
struct plain_clock {
    std::vector<std::pair<std::int64_t, std::int64_t>> transfers;
    std::int64_t end_of(std::int64_t t, std::int64_t work, contention c) const {
        while (work > 0) {
            std::int64_t busy = -1, until = t + work;
            for (const auto& [begin, end] : transfers) {
                if (begin <= t && t < end) busy = std::max(busy, end);
                if (begin > t) until = std::min(until, begin);
            }
            if (busy < 0) {
                work -= until - t;
                t = until;
                continue;
            }
            const std::int64_t done = (busy - t) * c.denominator / c.numerator;
            if (work <= done) return t + (work * c.numerator + c.denominator - 1) / c.denominator;
            work -= done;
            t = busy;
        }
        return t;
    }
};

}  // namespace

TEST_CASE("a kernel under a transfer takes the factor, and the rest of it runs at full speed") {
    CHECK(one_kernel(100, 40, {5, 4}).makespan.count == 100);
    CHECK(one_kernel(100, 40, {5, 4}).compute.count == 50);
    CHECK(one_kernel(100, 80, {5, 4}).compute.count == 100);
    CHECK(one_kernel(100, 81, {5, 4}).compute.count == 101);
    CHECK(one_kernel(100, 200, {3, 2}).compute.count == 234);  // 66 in the first 100 ns, then 134
    CHECK(one_kernel(100, 200, {3, 2}).slowed[1].count == 34);
    CHECK(one_kernel(0, 200, {3, 2}).compute.count == 200);
}

TEST_CASE("parts of nanoseconds are rounded against the kernel") {
    CHECK(one_kernel(10, 1, {3, 2}).compute.count == 2);
    CHECK(one_kernel(10, 5, {1 << 20, (1 << 20) - 1}).compute.count == 6);
    CHECK(one_kernel(1, 1, {3, 2}).compute.count == 2);  // nothing is done in the first, all in the second
}

TEST_CASE("contention 1 is the clock without") {
    const simulation s = one_kernel(100, 40, {7, 7});
    CHECK(s.slowed.empty());
    CHECK(s.compute.count == 40);
    CHECK_FALSE(contention{1, 2}.valid());
    CHECK_FALSE(contention{1, 0}.valid());
    CHECK_FALSE(contention{(1 << 20) + 1, 1}.valid());
}

TEST_CASE("times that contention could make longer than 2^62 are refused") {
    toy_program p;
    for (int k = 0; k < 2; ++k) p.ops.push_back({.duration = {std::int64_t{1} << 60}});
    const task_graph g = support::graph_of(p);
    CHECK(times_fit(g, {1, 1}));
    CHECK(times_fit(g, {2, 1}));
    CHECK_FALSE(times_fit(g, {5, 2}));
}

TEST_CASE("property: the clock under contention is that of the format's page") {
    int slower = 0;
    stretto_check("contention", 2000, [&] {
        const auto scheduled = *support::scheduling_cases(60);
        const toy_program p = scheduled.program();
        const task_graph g = support::graph_of(p);
        const auto picks = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
        const support::task_order order = support::random_order(g, picks);
        const contention factors[] = {{1, 1}, {5, 4}, {3, 2}, {2, 1}, {1001, 1000}};
        const contention c = factors[*rc::gen::inRange<std::size_t>(0, 5)];
        const simulation s = simulate(g, order, c);

        plain_clock clock;
        std::int64_t t = 0, exposed = 0, compute = 0, latest = 0;
        std::vector<std::int64_t> free(g.groups, 0), end(g.size(), 0);
        for (const task_id v : order) {
            if (g.kind[v] == op_kind::start) {
                const std::int64_t begin = std::max(t, free[g.group[v]]);
                end[v] = free[g.group[v]] = begin + g.duration[v].count;
                clock.transfers.push_back({begin, end[v]});
                RC_ASSERT(s.begin[v].count == begin);
            } else if (g.kind[v] == op_kind::wait && g.launch[v] != no_task) {
                exposed += std::max<std::int64_t>(0, end[g.launch[v]] - t);
                t = std::max(t, end[g.launch[v]]);
            } else if (g.kind[v] == op_kind::compute) {
                RC_ASSERT(s.begin[v].count == t);
                end[v] = clock.end_of(t, g.duration[v].count, c);
                compute += end[v] - t;
                t = end[v];
                RC_ASSERT(s.end(g, v).count == t);
            }
            latest = std::max({latest, t, end[v]});
        }
        RC_ASSERT(s.makespan.count == latest);
        RC_ASSERT(s.exposed.count == exposed);
        RC_ASSERT(s.compute.count == compute);
        const simulation plain = simulate(g, order);
        RC_ASSERT(plain.makespan <= s.makespan);
        if (plain.makespan < s.makespan) ++slower;
    });
    if (support::runs_all_cases()) CHECK(slower > 300);
}
