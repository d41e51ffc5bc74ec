#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/stalled_kernels.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::workspace;

namespace {

using nodes = std::vector<std::uint32_t>;

std::int64_t work_of(const compact_tasks& c, std::uint32_t n) {
    return c.kind[n] == compact_tasks::role::compute ? c.duration[n] : 0;
}

/// How long the lane stalls before a kernel runs, by the exact clock; in all, if there is no such kernel.
std::int64_t stall_before(const compact_tasks& c, const nodes& order, std::uint32_t kernel) {
    std::vector<std::int64_t> free(c.machines, 0), end(c.size(), 0);
    std::int64_t work = 0;
    for (std::uint32_t n : order) {
        if (n == kernel) break;
        work += work_of(c, n);
        if (c.kind[n] == compact_tasks::role::compute) free[0] += c.duration[n];
        if (c.kind[n] == compact_tasks::role::wait) free[0] = std::max(free[0], end[c.launch[n]]);
        if (c.kind[n] == compact_tasks::role::start)
            end[n] = free[c.machine[n]] = std::max(free[0], free[c.machine[n]]) + c.duration[n];
    }
    return free[0] - work;
}

/// The same before the kernel that runs before it; 0 before the first one.
std::int64_t stall_before_previous(const compact_tasks& c, const nodes& order, std::uint32_t kernel) {
    std::int64_t previous = 0;
    for (std::uint32_t n : order) {
        if (n == kernel) break;
        if (work_of(c, n) > 0) previous = stall_before(c, order, n);
    }
    return previous;
}

/// The work that comes after a kernel in an order and does not depend on it.
std::int64_t movable(const compact_tasks& c, const nodes& order, std::uint32_t kernel) {
    std::vector<bool> depends(c.size(), false);
    depends[kernel] = true;
    bool after = false;
    std::int64_t work = 0;
    for (std::uint32_t n : order) {
        for (std::uint32_t p : c.predecessors[n])
            if (depends[p]) depends[n] = true;
        if (after && !depends[n]) work += work_of(c, n);
        after = after || n == kernel;
    }
    return work;
}

}  // namespace

TEST_CASE("10^4 random steps: stalls, what could fill them, the best place first, and places apart") {
    std::size_t found = 0;
    stretto_check("stalled kernels", 10000, [&] {
        const task_graph g = support::graph_of((*support::scheduling_cases(60)).program());
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const nodes given = support::program_order(c.size());
        const std::vector<detail::stalled_kernel> all = detail::stalled_kernels(c, given, given, w);
        std::int64_t whole = 0;
        std::vector<std::int64_t> reached(c.size());
        for (std::uint32_t n : given) reached[n] = whole += work_of(c, n);
        found += all.size();
        const std::int64_t stalls = stall_before(c, given, detail::no_node);
        for (std::size_t k = 0; k < all.size(); ++k) {
            const detail::stalled_kernel& s = all[k];
            RC_ASSERT(s.stall == stall_before(c, given, s.kernel));
            RC_ASSERT(s.fillable == std::min(s.stall, movable(c, given, s.kernel)));
            RC_ASSERT(s.fillable > 0);
            RC_ASSERT(s.stall > stall_before_previous(c, given, s.kernel));
            RC_ASSERT(s.reached == reached[s.kernel]);
            if (k > 0) RC_ASSERT(s.fillable <= all[k - 1].fillable);
            for (std::size_t other = 0; other < k; ++other)
                RC_ASSERT(std::abs(s.reached - all[other].reached) >= whole / 12);
        }
        // A kernel after a stall that is longer than one thirty-second of all stalls is always considered.
        std::int64_t best = 0;
        for (std::uint32_t n : given) {
            if (work_of(c, n) == 0) continue;
            const std::int64_t stall = stall_before(c, given, n);
            if (stall - stall_before_previous(c, given, n) > stalls / 32 + 1)
                best = std::max(best, std::min(stall, movable(c, given, n)));
        }
        RC_ASSERT(best <= (all.empty() ? 0 : all[0].fillable));
    });
    CHECK(found > 0);
}
