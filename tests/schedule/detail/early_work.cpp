#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/early_work.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::workspace;
using support::legal;
using support::toy_program;

namespace {

using nodes = support::node_order;

nodes brought_forward(const compact_tasks& c, const nodes& order, std::uint32_t kernel, std::int64_t limit,
                      std::int64_t wanted, workspace& w) {
    const workspace::scope scratch(w);
    return detail::early_work(c, order, kernel, w).brought_forward(limit, wanted);
}

bool is_kernel(const compact_tasks& c, std::uint32_t n) { return c.kind[n] == compact_tasks::role::compute; }

/// The bytes that are alive while a kernel runs in an order.
std::int64_t alive_at(const compact_tasks& c, const nodes& order, std::uint32_t kernel) {
    std::vector<std::uint32_t> left(c.storage_uses.begin(), c.storage_uses.end());
    std::int64_t now = 0;
    for (std::uint32_t n : order) {
        now += c.allocation[n];
        if (n == kernel) return now;
        for (std::uint32_t s : c.touched[n])
            if (--left[s] == 0) now -= c.storage_bytes[s];
    }
    return now;
}

/// The nodes of a set, then the kernel, then the others; each in the given order.
nodes arranged(const nodes& order, const std::vector<bool>& first) {
    nodes made;
    for (std::uint32_t n : order)
        if (first[n]) made.push_back(n);
    for (std::uint32_t n : order)
        if (!first[n]) made.push_back(n);
    return made;
}

/// The work that an order has before a kernel, and program order has not.
std::int64_t moved_work(const compact_tasks& c, const nodes& order, std::uint32_t kernel) {
    std::int64_t work = 0;
    for (std::uint32_t n : order) {
        if (n == kernel) break;
        if (n > kernel && is_kernel(c, n)) work += c.duration[n];
    }
    return work;
}

/// The kernels of a step.
std::vector<std::uint32_t> kernels_of(const compact_tasks& c) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (is_kernel(c, n)) all.push_back(n);
    return all;
}

/// Adds a kernel that reads first results. Returns its position.
std::uint32_t add(toy_program& p, std::int64_t duration, std::int64_t allocates,
                  std::vector<support::toy_value> reads) {
    p.ops.push_back({.duration = {duration}, .operands = std::move(reads), .results = {{{allocates}, {}}}});
    return static_cast<std::uint32_t>(p.ops.size() - 1);
}

}  // namespace

TEST_CASE("of work that does not fit, that moves forward which needs least memory for its time") {
    toy_program p;
    const std::uint32_t kept = add(p, 1, 10, {});
    const std::uint32_t kernel = add(p, 1, 10, {{kept, 0}});
    // Two kernels could run early: they take as long, but the results of the second are much smaller.
    const std::uint32_t large = add(p, 100, 180, {{kept, 0}});
    const std::uint32_t small = add(p, 100, 30, {{kept, 0}});
    add(p, 1, 1, {{large, 0}, {small, 0}, {kernel, 0}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    REQUIRE(c.size() == 5);
    const nodes only_small{kept, small, kernel, large, 4};
    CHECK(brought_forward(c, given, kernel, 229, 1000, w) == only_small);
    CHECK(brought_forward(c, given, kernel, 50, 1000, w) == only_small);
    CHECK(brought_forward(c, given, kernel, 230, 1000, w) == nodes{kept, large, small, kernel, 4});
    CHECK(brought_forward(c, given, kernel, 230, 150, w) == only_small);
    CHECK(brought_forward(c, given, kernel, 230, 99, w).empty());
    CHECK(brought_forward(c, given, kernel, 49, 1000, w).empty());
    CHECK(brought_forward(c, given, kernel, 230, 0, w).empty());
}

TEST_CASE("a chain moves as far as its results are small") {
    toy_program p;
    const std::uint32_t input = add(p, 1, 10, {});
    const std::uint32_t kernel = add(p, 1, 10, {{input, 0}});
    // The first result is large, but only the second kernel reads it, whose own result is small; the third is large.
    const std::uint32_t first = add(p, 50, 90, {{input, 0}});
    const std::uint32_t second = add(p, 50, 20, {{first, 0}});
    const std::uint32_t third = add(p, 50, 90, {{second, 0}});
    add(p, 1, 1, {{third, 0}, {input, 0}, {kernel, 0}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    REQUIRE(c.size() == 6);
    CHECK(brought_forward(c, given, kernel, 60, 1000, w) == nodes{input, first, second, kernel, third, 5});
    // It fits at the kernel, but the first result needs more when it is made, and there is no way around it.
    // The input order needs 130 bytes. What the limit leaves free beside that is too little for the third result, and
    // then enough.
    const auto with_early_work = [&](std::int64_t limit) {
        return detail::with_early_work(c, given, kernel, limit, 1000, w);
    };
    REQUIRE(detail::peak_of(c, given, w) == 130);
    CHECK(with_early_work(149).empty());
    CHECK(with_early_work(150) == nodes{input, first, second, kernel, third, 5});
    CHECK(with_early_work(220) == nodes{input, first, second, third, kernel, 5});
}

TEST_CASE("a result takes the place of what it is made of, and then needs no memory") {
    toy_program p;
    const std::uint32_t kept = add(p, 1, 40, {}), again = add(p, 1, 40, {});
    const std::uint32_t kernel = add(p, 1, 60, {});
    // Only this kernel reads the second value, and makes as much of it.
    const std::uint32_t turned = add(p, 50, 40, {{again, 0}});
    const std::uint32_t added = add(p, 50, 30, {{kept, 0}});
    add(p, 1, 1, {{kept, 0}, {kernel, 0}, {turned, 0}, {added, 0}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w);
    REQUIRE(peak == 180);
    const auto with_early_work = [&](std::int64_t limit) {
        return detail::with_early_work(c, given, kernel, limit, 1000, w);
    };
    CHECK(with_early_work(peak) == nodes{kept, again, turned, kernel, added, 5});
    CHECK(with_early_work(peak + 29) == nodes{kept, again, turned, kernel, added, 5});
    CHECK(with_early_work(peak + 30) == nodes{kept, again, turned, added, kernel, 5});
}

TEST_CASE("10^4 random steps: a legal order in which no more work moves than wanted, nor than fits at the kernel") {
    std::size_t moves = 0, fits = 0;
    stretto_check("early work", 10000, [&](std::uint8_t share, std::uint8_t part) {
        const task_graph g = support::graph_of((*support::scheduling_cases(60)).program());
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const std::vector<std::uint32_t> kernels = kernels_of(c);
        if (kernels.empty()) return;
        const nodes given = support::program_order(c.size());
        const std::uint32_t kernel = *rc::gen::elementOf(kernels);
        const std::int64_t peak = detail::peak_of(c, given, w), limit = peak / 2 + peak * share / 256;
        std::int64_t all = 0;
        for (std::uint32_t n : kernels) all += c.duration[n];
        const std::int64_t wanted = all * part / 256;
        const nodes found = brought_forward(c, given, kernel, limit, wanted, w);
        const nodes within = detail::with_early_work(c, given, kernel, limit, wanted, w);
        if (!within.empty()) {
            ++fits;
            RC_ASSERT(legal(c, within));
            RC_ASSERT(detail::peak_of(c, within, w) <= limit);
            // It is the choice within what is alive at the kernel and what is left of the limit.
            const std::int64_t free = std::max<std::int64_t>(0, limit - peak);
            const nodes chosen = brought_forward(c, given, kernel, alive_at(c, given, kernel) + free, wanted, w);
            RC_ASSERT(!chosen.empty());
            if (detail::peak_of(c, chosen, w) <= limit) RC_ASSERT(within == chosen);
        }
        if (found.empty()) return;
        ++moves;
        RC_ASSERT(legal(c, found));
        RC_ASSERT(alive_at(c, found, kernel) <= limit);
        std::vector<bool> first(c.size(), false);
        for (std::uint32_t n : found) {
            if (n == kernel) break;
            first[n] = true;
        }
        const std::int64_t work = moved_work(c, found, kernel);
        for (std::uint32_t n = 0; n < kernel; ++n) RC_ASSERT(first[n]);
        RC_ASSERT(work > 0);
        RC_ASSERT(work <= wanted);
        RC_ASSERT(found == arranged(given, first));
    });
    if (support::runs_all_cases()) CHECK(moves > 1000);
    if (support::runs_all_cases()) CHECK(fits > 100);
}

TEST_CASE("10^4 small steps: no more work than in the best choice, and all of it if everything fits") {
    std::size_t best_found = 0, less = 0;
    double shares = 0;
    stretto_check("best early work", 10000, [&](std::uint8_t share) {
        const task_graph g = support::graph_of((*support::scheduling_cases(16)).program());
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const std::vector<std::uint32_t> kernels = kernels_of(c);
        if (kernels.empty() || c.size() > 14) return;
        const nodes given = support::program_order(c.size());
        const std::uint32_t kernel = *rc::gen::elementOf(kernels);
        const std::int64_t peak = detail::peak_of(c, given, w), limit = peak / 2 + peak * share / 256;
        const std::int64_t wanted = *rc::gen::element<std::int64_t>(50, 200, 1'000'000);
        std::int64_t best = 0, everything = 0;
        for (std::uint32_t set = 0; set < 1u << (c.size() - kernel - 1); ++set) {
            std::vector<bool> first(c.size(), false);
            std::int64_t work = 0;
            bool closed = true;
            for (std::uint32_t n = 0; n < c.size() && closed; ++n) {
                first[n] = n < kernel || (n > kernel && (set >> (n - kernel - 1) & 1) != 0);
                if (!first[n]) continue;
                for (std::uint32_t p : c.predecessors[n]) closed = closed && first[p];
                if (n > kernel && is_kernel(c, n)) work += c.duration[n];
            }
            if (!closed) continue;
            everything = std::max(everything, work);
            if (work <= wanted && alive_at(c, arranged(given, first), kernel) <= limit) best = std::max(best, work);
        }
        const nodes found = brought_forward(c, given, kernel, limit, wanted, w);
        const std::int64_t work = moved_work(c, found, kernel);
        RC_ASSERT(work <= best);
        if (best > 0) {
            ++(work == best ? best_found : less);
            shares += static_cast<double>(work) / static_cast<double>(best);
        }
        const nodes all = brought_forward(c, given, kernel, INT64_MAX / 4, INT64_MAX / 4, w);
        RC_ASSERT(all.empty() == (everything == 0));
        if (everything > 0) RC_ASSERT(moved_work(c, all, kernel) == everything);
    });
    MESSAGE("of " << best_found + less << " choices, " << best_found << " were the best; on average, "
                  << 100 * shares / static_cast<double>(best_found + less) << " % of the best was found");
    CHECK(best_found > less);
}
