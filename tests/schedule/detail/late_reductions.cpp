#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/late_reductions.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::workspace;
using support::legal;
using support::toy_program;
using support::toy_value;

namespace {

using nodes = support::node_order;

/// A forward pass keeps activations. The loss is computed in parts: a kernel makes a small value, another one a large
/// gradient of it, which is reduced at once; and a third one continues. Then the backward pass frees the activations.
struct step_in_parts {
    toy_program p;
    std::vector<std::uint32_t> waits;

    struct sizes {
        std::int64_t activation = 30, value = 4, gradient = 40, reduction = 20;
    };

    step_in_parts(std::size_t parts, std::size_t layers, sizes s) {
        std::vector<toy_value> activations, values, reduced;
        for (std::size_t k = 0; k < layers; ++k)
            activations.push_back({add(10, s.activation, k == 0 ? std::vector<toy_value>{} : last(activations)), 0});
        for (std::size_t k = 0; k < parts; ++k) {
            values.push_back({add(10, s.value, last(activations)), 0});
            const std::uint32_t gradient = add(2, s.gradient, last(values));
            p.ops.push_back({.kind = op_kind::start,
                             .duration = {s.reduction},
                             .operands = {{gradient, 0}},
                             .results = {{{1}, {}}}});
            const auto start = static_cast<std::uint32_t>(p.ops.size() - 1);
            p.ops.push_back({.kind = op_kind::wait, .operands = {{start, 0}}, .results = {{{0}, {{start, 0}}}}});
            waits.push_back(start + 1);
            reduced.push_back({start + 1, 0});
        }
        std::vector<toy_value> reads = values;
        for (std::size_t k = layers; k-- > 0;) {
            reads.push_back(activations[k]);
            reads = {{add(20, 4, reads), 0}};
        }
        reduced.push_back(reads[0]);
        p.ops.push_back({.kind = op_kind::output, .operands = reduced});
    }
    std::uint32_t add(std::int64_t duration, std::int64_t allocates, std::vector<toy_value> reads) {
        p.ops.push_back({.duration = {duration}, .operands = std::move(reads), .results = {{{allocates}, {}}}});
        return static_cast<std::uint32_t>(p.ops.size() - 1);
    }
    static std::vector<toy_value> last(const std::vector<toy_value>& all) { return {all.back()}; }
};

nodes moved(const compact_tasks& c, const nodes& order, const std::vector<std::uint32_t>& waits, std::int64_t limit,
            workspace& w) {
    const workspace::scope scratch(w);
    return detail::late_reductions(c, order, w).moved(waits, limit);
}

std::size_t place_of(const nodes& order, std::uint32_t n) {
    return static_cast<std::size_t>(std::ranges::find(order, n) - order.begin());
}

}  // namespace

TEST_CASE("gradients of a loss in parts are made and reduced where backward has freed activations") {
    const step_in_parts s(3, 8, {});
    const task_graph g = support::graph_of(s.p);
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const nodes given = support::program_order(c.size());
    REQUIRE(c.size() == 8 + 3 * 4 + 8);
    const std::int64_t peak = detail::peak_of(c, given, w);
    REQUIRE(peak == 8 * 30 + 3 * 4 + 40 + 3);

    // In the given order, each reduction stalls the lane, and all of them do so as long.
    CHECK(detail::reductions_to_move(c, given, w) == s.waits);
    const nodes order = moved(c, given, s.waits, peak, w);
    REQUIRE(!order.empty());
    CHECK(legal(c, order));
    CHECK(detail::peak_of(c, order, w) <= peak);
    for (const std::uint32_t wait : s.waits) CHECK(place_of(order, wait) > 8 + 3 * 2);  // behind all parts of the loss

    // The lane then never waits for them. No order is faster.
    schedule_options options;
    options.memory_limit = bytes{peak};
    const auto found = list_schedule(g, options);
    REQUIRE(found);
    CHECK(found->makespan().count == 8 * 10 + 3 * 12 + 8 * 20);
    CHECK(found->gap() == 0);
}

TEST_CASE("if what they are made of does not fit for all of them, the first ones stay") {
    // The values are as large as half of a gradient, so only some can be kept until there is room.
    const step_in_parts s(4, 8, {.value = 15});
    const task_graph g = support::graph_of(s.p);
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(g, w);
    const nodes given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w);
    const nodes order = moved(c, given, s.waits, peak, w);
    // Values are read by backward in any case, so they cost nothing.
    REQUIRE(!order.empty());
    CHECK(legal(c, order));
    CHECK(detail::peak_of(c, order, w) <= peak);
    for (const std::uint32_t wait : s.waits) CHECK(place_of(order, wait) > 8 + 4);
}

TEST_CASE("nothing moves where it would not fit, and collectives on which much depends never do") {
    const step_in_parts s(3, 8, {});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(s.p), w);
    const nodes given = support::program_order(c.size());
    const std::int64_t peak = detail::peak_of(c, given, w);
    CHECK(moved(c, given, s.waits, peak / 2, w).empty());
    CHECK(moved(c, given, {}, peak, w).empty());
    const step_in_parts short_of_work(3, 1, {.reduction = 21});  // too little is left to hide a reduction
    const compact_tasks little = detail::make_compact_tasks(support::graph_of(short_of_work.p), w);
    CHECK(moved(little, support::program_order(little.size()), {short_of_work.waits.back()}, 1000, w).empty());

    toy_program chain;
    chain.ops.push_back({.duration = {1}, .results = {{{4}, {}}}});
    chain.ops.push_back({.kind = op_kind::start, .duration = {5}, .operands = {{0, 0}}, .results = {{{4}, {}}}});
    chain.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    chain.ops.push_back({.duration = {6}, .operands = {{2, 0}}, .results = {{{4}, {}}}});
    const compact_tasks stalls = detail::make_compact_tasks(support::graph_of(chain), w);
    CHECK(detail::reductions_to_move(stalls, support::program_order(stalls.size()), w).empty());
    chain.ops.back().duration = {5};
    const compact_tasks ends = detail::make_compact_tasks(support::graph_of(chain), w);
    CHECK(detail::reductions_to_move(ends, support::program_order(ends.size()), w) == nodes{2});
}

TEST_CASE("whatever the step, an order with moved reductions is legal and within the limit") {
    std::size_t orders = 0, some = 0, changed = 0;
    const auto check = [&](const task_graph& g, std::int64_t beyond) {
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(g, w);
        const nodes given = support::program_order(c.size());
        const std::int64_t limit = detail::peak_of(c, given, w) + beyond;
        std::vector<std::uint32_t> waits;
        for (std::uint32_t n = 0; n < c.size(); ++n)
            if (c.kind[n] == compact_tasks::role::wait && c.launch[n] != detail::no_node) waits.push_back(n);
        const nodes order = moved(c, given, waits, limit, w);
        ++orders;
        if (order.empty()) return;
        ++some;
        RC_ASSERT(legal(c, order));
        RC_ASSERT(detail::peak_of(c, order, w) <= limit);
        changed += order != given;
    };
    stretto_check("random steps", 20'000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(24);
        check(support::graph_of(problem.program()), *rc::gen::inRange(0, 20));
    });
    stretto_check("steps in parts", 10'000, [&](const std::vector<std::uint8_t>& numbers) {
        const auto pick = [&](std::size_t k, int most) {
            return numbers.empty() ? 1 : 1 + numbers[k % numbers.size()] * (static_cast<int>(k) + 3) % most;
        };
        const step_in_parts s(static_cast<std::size_t>(pick(0, 6)), static_cast<std::size_t>(pick(1, 6)),
                              {pick(2, 40), pick(3, 20), pick(4, 60), pick(5, 60)});
        check(support::graph_of(s.p), pick(6, 10) - 1);
    });
    MESSAGE(some << " of " << orders << " steps have such an order, " << changed << " another one than given");
    if (support::runs_all_cases()) CHECK(changed > orders / 20);
}
