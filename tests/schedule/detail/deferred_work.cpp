#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/memory.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

/// One layer of a backward pass: a kernel makes the gradient of an activation, a second one reads it and makes that of
/// the weight, which is reduced on a channel.
struct layer {
    std::int64_t pass = 0, weight = 0, reduction = 0;     // nanoseconds
    std::int64_t activation = 0, gradient = 0, part = 0;  // bytes; `part` is what is left of the gradient
    group_id channel = 0;
};

/// The layers, one after the other, each of which reads the gradient that the one before has made, and the last kernel,
/// whose result is reduced as well.
toy_program backward(const std::vector<layer>& layers, const layer& last) {
    toy_program p;
    p.groups = 2;
    std::vector<support::toy_value> results;
    const auto reduce = [&](std::uint32_t gradient, const layer& l) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.kind = op_kind::start,
                         .group = l.channel,
                         .duration = {l.reduction},
                         .operands = {{gradient, 0}},
                         .results = {{{l.part}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at, 0}}, .results = {{{0}, {{at, 0}}}}});
        results.push_back({at + 1, 0});
    };
    std::vector<support::toy_value> passed;
    for (const layer& l : layers) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.duration = {l.pass}, .operands = passed, .results = {{{l.activation}, {}}}});
        p.ops.push_back({.duration = {l.weight}, .operands = {{at, 0}}, .results = {{{l.gradient}, {}}}});
        passed = {{at, 0}};
        reduce(at + 1, l);
    }
    const auto at = static_cast<std::uint32_t>(p.ops.size());
    p.ops.push_back({.duration = {last.pass}, .operands = passed, .results = {{{last.gradient}, {}}}});
    reduce(at, last);
    p.ops.push_back({.kind = op_kind::output, .operands = results});
    return p;
}

bytes peak_of_input(const task_graph& g) { return profile_memory(g, support::program_order(g.size())).peak; }

}  // namespace

TEST_CASE("a gradient that could be made during the last reduction is made before it where memory leaves no room") {
    // Without a limit the kernel of 8 runs while the last gradient is reduced, for 20. At the last kernel it keeps an
    // activation of 400 alive until it has run, and leaves a part of 100.
    const task_graph g = support::graph_of(
        backward({{2, 8, 2, 400, 400, 100, 1}, {2, 0, 0, 400, 0, 0, 1}}, {2, 0, 20, 0, 3000, 100, 0}));
    const std::int64_t peak = peak_of_input(g).count;
    CHECK(peak == 100 + 400 + 3000);
    CHECK(bound_below(g).value.count == 2 + 2 + 2 + 20);
    CHECK(support::optimal_makespan(g) == 26);
    const lower_bound bound = bound_below(g, bytes{peak});
    CHECK(bound.value.count == 2 + 8 + 2 + 2 + 20);
    CHECK(bound.kind == bound_kind::deferral);
    CHECK(support::optimal_makespan(g, peak) == 34);
    // With room for the other activation, nothing is proved.
    CHECK(bound_below(g, bytes{peak + 300}).value == bound_below(g).value);
}

TEST_CASE("what would need the channel of the last reduction is not put off, though memory leaves room for that") {
    // The kernel of 6 keeps nothing alive. After the last kernel, its reduction would follow the last one.
    const task_graph g =
        support::graph_of(backward({{0, 6, 15, 0, 400, 100, 0}, {2, 18, 2, 400, 400, 100, 1}, {2, 0, 0, 400, 0, 0, 1}},
                                   {2, 0, 20, 0, 3000, 100, 0}));
    const std::int64_t peak = peak_of_input(g).count;
    CHECK(bound_below(g).value.count == 2 + 2 + 2 + 20 + 15);
    const lower_bound bound = bound_below(g, bytes{peak});
    CHECK(bound.value.count == 6 + 2 + 18 + 2 + 2 + 20);
    CHECK(bound.kind == bound_kind::deferral);
    CHECK(support::optimal_makespan(g, peak) == 50);
}

TEST_CASE("on small graphs no order within a limit is faster than the bound") {
    std::size_t raised = 0, tight = 0, tried = 0;
    stretto_check("backward passes", 6000, [&](const std::vector<std::uint8_t>& numbers) {
        const auto pick = [&](std::size_t k, int most) {
            return numbers.empty() ? 1 : numbers[k % numbers.size()] * (static_cast<int>(k) + 3) % most;
        };
        std::vector<layer> layers;
        for (std::size_t k = 0; k < 2; ++k)
            layers.push_back({pick(8 * k, 4), pick(8 * k + 1, 9), pick(8 * k + 2, 12), 16 * pick(8 * k + 3, 6),
                              16 * pick(8 * k + 4, 6), 16 * pick(8 * k + 5, 3),
                              static_cast<group_id>(pick(8 * k + 6, 2))});
        const layer last{pick(20, 4), 0, 4 + pick(21, 30), 0, 16 * (5 + pick(22, 12)), 16, 0};
        toy_program p = backward(layers, last);
        // A layer in some steps reads nothing of the one before, and may be put off as a whole.
        if (pick(23, 4) == 1) p.ops[4].operands.clear();
        const task_graph g = support::graph_of(p);
        const std::int64_t peak = peak_of_input(g).count;
        for (std::int64_t limit = std::max(least_peak(g).value.count, peak - 16); limit < peak + 64; limit += 8) {
            const lower_bound bound = bound_below(g, bytes{limit});
            const std::int64_t optimum = support::optimal_makespan(g, limit);
            RC_ASSERT(bound.value.count <= optimum);
            RC_ASSERT(bound.value >= bound_below(g).value);
            ++tried;
            if (bound.kind != bound_kind::deferral) continue;
            ++raised;
            tight += bound.value.count == optimum;
        }
    });
    stretto_check("random steps", 8000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(9);
        toy_program p = problem.program();
        if (p.ops.size() > 9) p.ops.resize(9);
        const task_graph g = support::graph_of(p);
        const std::int64_t peak = peak_of_input(g).count;
        for (const std::int64_t limit : {least_peak(g).value.count, peak, problem.limit({peak}).count}) {
            const lower_bound bound = bound_below(g, bytes{limit});
            RC_ASSERT(bound.value.count <= support::optimal_makespan(g, limit));
            raised += bound.kind == bound_kind::deferral;
        }
    });
    MESSAGE(raised << " of " << tried << " bounds are raised, " << tight << " to the best makespan within the limit");
    if (!support::runs_all_cases()) return;
    CHECK(raised > 100);
    CHECK(tight > 50);
}
