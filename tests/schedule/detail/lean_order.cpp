#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/lean_order.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::workspace;
using support::legal;
using support::toy_program;

namespace {

using nodes = support::node_order;

struct lean {
    nodes order;
    std::int64_t peak;
};

lean lean_order_of(const compact_tasks& c, const nodes& given, std::int64_t enough, workspace& w) {
    const workspace::scope scratch(w);
    detail::lean_order search(c, given, w);
    const nodes order = search.run(enough);
    return {order, search.peak()};
}

/// The least peak of all orders: for every set of nodes that can have run, the least peak of the ways to it.
std::int64_t least_peak(const compact_tasks& c) {
    std::vector<std::int64_t> peak(std::size_t{1} << c.size(), INT64_MAX);
    peak[0] = 0;
    std::vector<std::uint32_t> users(c.storage_bytes.size(), 0);
    for (std::uint32_t n = 0; n < c.size(); ++n)
        for (std::uint32_t s : c.touched[n]) users[s] |= 1u << n;
    for (std::uint32_t ran = 0; ran < peak.size(); ++ran) {
        if (peak[ran] == INT64_MAX) continue;
        std::int64_t live = 0;
        for (std::uint32_t n = 0; n < c.size(); ++n)
            if (ran >> n & 1) live += c.allocation[n];
        for (std::uint32_t s = 0; s < users.size(); ++s)
            if ((users[s] & ~ran) == 0) live -= c.storage_bytes[s];
        for (std::uint32_t n = 0; n < c.size(); ++n) {
            bool ready = (ran >> n & 1) == 0;
            for (std::uint32_t p : c.predecessors[n]) ready = ready && (ran >> p & 1) != 0;
            if (!ready) continue;
            std::int64_t& next = peak[ran | 1u << n];
            next = std::min(next, std::max(peak[ran], live + c.allocation[n]));
        }
    }
    return peak.back();
}

/// Adds a kernel of one nanosecond that reads first results. Returns its position.
std::uint32_t add(toy_program& p, std::int64_t allocates, std::vector<support::toy_value> reads) {
    p.ops.push_back({.duration = {1}, .operands = std::move(reads), .results = {{{allocates}, {}}}});
    return static_cast<std::uint32_t>(p.ops.size() - 1);
}

}  // namespace

TEST_CASE("two chunks side by side become one after the other") {
    toy_program p;
    std::uint32_t halves[2][3];
    for (auto& half : halves) half[0] = add(p, 1, {});
    for (auto& half : halves) half[1] = add(p, 100, {{half[0], 0}});
    for (auto& half : halves) half[2] = add(p, 100, {{half[1], 0}});
    std::uint32_t small[2];
    for (int k = 0; k < 2; ++k) small[k] = add(p, 1, {{halves[k][2], 0}});
    add(p, 1, {{small[0], 0}, {small[1], 0}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    REQUIRE(detail::peak_of(c, given, w) == 300);  // three of the large values
    const lean found = lean_order_of(c, given, 0, w);
    CHECK(legal(c, found.order));
    CHECK(found.peak == 201);
    CHECK(found.peak == least_peak(c));
}

TEST_CASE("what is made long before it is used moves behind the peak, and what could be freed before it does") {
    toy_program p;
    const std::uint32_t early = add(p, 50, {});   // read by the last kernel alone
    const std::uint32_t source = add(p, 70, {});  // its only reader is light, and comes late
    const std::uint32_t large = add(p, 200, {});  // the peak
    const std::uint32_t result = add(p, 10, {{large, 0}});
    const std::uint32_t light = add(p, 1, {{source, 0}});
    add(p, 1, {{early, 0}, {result, 0}, {light, 0}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    REQUIRE(detail::peak_of(c, given, w) == 330);
    const lean found = lean_order_of(c, given, 0, w);
    CHECK(legal(c, found.order));
    CHECK(found.peak == least_peak(c));
    CHECK(found.peak == 210);
}

TEST_CASE("an order that is good enough stays as it is") {
    const toy_program p = support::seeded_program(3, 200);
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const nodes given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w);
    CHECK(lean_order_of(c, given, peak, w).order == given);
}

TEST_CASE("10^4 random steps: a legal order that is no higher than the given one, and how high it says it is") {
    stretto_check("lean orders", 10000, [](std::uint8_t share) {
        const task_graph g = support::graph_of((*support::scheduling_cases(80)).program());
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        if (c.size() == 0) return;
        const nodes given = support::program_order(c.size());
        const std::int64_t peak = detail::peak_of(c, given, w), enough = peak * share / 256;
        const lean found = lean_order_of(c, given, enough, w);
        RC_ASSERT(legal(c, found.order));
        RC_ASSERT(found.peak == detail::peak_of(c, found.order, w));
        RC_ASSERT(found.peak <= peak);
        // From the order that it has found it finds none that is higher.
        RC_ASSERT(lean_order_of(c, found.order, enough, w).peak <= found.peak);
    });
}

TEST_CASE("10^4 small steps: never below the least peak of all orders, and nearly always there") {
    std::size_t higher = 0, least = 0;
    stretto_check("least peaks", 10000, [&] {
        const task_graph g = support::graph_of((*support::scheduling_cases(14)).program());
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        if (c.size() == 0 || c.size() > 12) return;
        const nodes given = support::program_order(c.size());
        const std::int64_t best = least_peak(c);
        const std::int64_t found = lean_order_of(c, given, 0, w).peak;
        RC_ASSERT(found >= best);
        if (detail::peak_of(c, given, w) == best) return;
        ++(found == best ? least : higher);
    });
    MESSAGE("of " << least + higher << " orders that were not the least, " << least << " have become it");
    CHECK(least > higher);
}
