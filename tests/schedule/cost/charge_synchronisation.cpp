#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/cost/charge_synchronisation.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/reading_model.hpp"

using namespace stretto;
using support::reading_model;
using support::toy_program;

namespace {

nanoseconds makespan(const task_graph& g) {
    std::vector<task_id> order(g.size());
    std::iota(order.begin(), order.end(), task_id{0});
    return simulate(g, order).makespan;
}

/// The program with a kernel of its own behind every place where the host reads a number: it reads and makes nothing,
/// and takes the charge. What it stands for is written down, and not added to anything.
toy_program with_idle_kernels(const toy_program& p, const std::vector<char>& reads, nanoseconds charge) {
    toy_program made;
    made.groups = p.groups;
    std::vector<std::uint32_t> now;  // by operation of p
    const auto rename = [&](std::vector<support::toy_value>& all) {
        for (support::toy_value& x : all) x.op = now[x.op];
    };
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
        now.push_back(static_cast<std::uint32_t>(made.ops.size()));
        support::toy_op op = p.ops[v];
        rename(op.operands);
        rename(op.effects);
        for (support::toy_result& r : op.results) rename(r.aliases);
        const bool lane = op.kind == op_kind::compute || op.kind == op_kind::view;
        made.ops.push_back(std::move(op));
        if (reads[v] != 0 && lane) made.ops.push_back({.duration = charge});
    }
    return made;
}

}  // namespace

TEST_CASE("property: the step takes as long as with a kernel that does nothing wherever the host has read a number") {
    std::size_t charged = 0;
    stretto_check("charged", 200, [&](const std::vector<std::uint8_t>& drawn) {
        const toy_program p = *support::random_programs({.max_ops = 24});
        const std::vector<char> reads = support::marks_of(p, drawn);
        const nanoseconds charge{*rc::gen::inRange<std::int64_t>(0, 50)};
        const auto g =
            make_task_graph(support::program_view{&p}, charge_synchronisation(reading_model(p, reads), charge));
        RC_ASSERT(g.has_value());
        RC_ASSERT(makespan(*g) == makespan(support::graph_of(with_idle_kernels(p, reads, charge))));
        if (makespan(*g) > makespan(support::graph_of(p))) ++charged;
    });
    if (support::runs_all_cases()) CHECK(charged > 40);
}

TEST_CASE("without a charge, and for a model that does not know, everything is as it was") {
    const toy_program p = {.ops = {{.kind = op_kind::input, .results = {{{8}, {}}}},
                                   {.duration = {5}, .operands = {{0, 0}}, .results = {{{8}, {}}}},
                                   {.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}}}};
    const std::vector<char> reads = {1, 0, 1};
    const charge_synchronisation free_of_charge(reading_model(p, reads), nanoseconds{});
    CHECK(free_of_charge.kind(2u) == op_kind::view);
    CHECK(free_of_charge.duration(1u) == nanoseconds{5});
    const charge_synchronisation unknown(support::program_model{&p}, nanoseconds{7});
    CHECK(unknown.kind(2u) == op_kind::view);
    CHECK(unknown.duration(2u) == nanoseconds{0});
    const charge_synchronisation charged(reading_model(p, reads), nanoseconds{7});
    CHECK(charged.kind(2u) == op_kind::compute);
    CHECK(charged.duration(2u) == nanoseconds{7});
    CHECK(charged.kind(0u) == op_kind::input);
    CHECK(charged.duration(1u) == nanoseconds{5});
}

TEST_CASE("a charge hides no duration that is wrong") {
    toy_program p = {.ops = {{.duration = {-1}, .results = {{{8}, {}}}}}};
    const std::vector<char> reads = {1};
    const auto charged = [&] { return charge_synchronisation(reading_model(p, reads), nanoseconds{7}); };
    CHECK(charged().duration(0u) == nanoseconds{-1});
    CHECK_FALSE(make_task_graph(support::program_view{&p}, charged()));
    p.ops[0].duration = {INT64_MAX - 3};
    CHECK(charged().duration(0u) == nanoseconds{INT64_MAX});
    CHECK_FALSE(make_task_graph(support::program_view{&p}, charged()));
}
