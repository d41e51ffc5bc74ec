#include "stretto/schedule/plan_overlap.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/transform/reorder.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

namespace {

using namespace stretto;

/// x -> gather -> wait -> use, and independent work behind it that could hide the gather.
support::toy_program gather_and_independent_work() {
    support::toy_program p;
    p.ops = {
        {.kind = op_kind::input, .results = {{.size = {8}}}},
        {.kind = op_kind::start,
         .collective = collective_kind::all_gather,
         .duration = {100},
         .payload = {8},
         .operands = {{0, 0}},
         .results = {{.size = {64}}}},
        {.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{.aliases = {{1, 0}}}}},
        {.kind = op_kind::compute, .duration = {30}, .operands = {{2, 0}}, .results = {{.size = {16}}}},
        {.kind = op_kind::compute, .duration = {80}, .operands = {{0, 0}}, .results = {{.size = {16}}}},
        {.kind = op_kind::output, .operands = {{3, 0}, {4, 0}}},
    };
    return p;
}

template <class IR>
constexpr bool can_move = requires(IR ir) { ir.rewriter(); };

}  // namespace

TEST_CASE_TEMPLATE("independent work runs under the gather, and the certificate proves it optimal", IR,
                   STRETTO_TOY_IRS) {
    IR ir(gather_and_independent_work());
    const auto plan = plan_overlap(ir.view(), ir.model(), {.memory_limit = unlimited_bytes});
    REQUIRE(plan);
    CHECK(plan->certificate.makespan().count == 130);
    CHECK(plan->certificate.bound().value.count == 130);
    CHECK(plan->certificate.gap() == 0);
    REQUIRE(plan->certificate.exposures().size() == 1);
    CHECK(plan->certificate.exposures()[0].exposed.count == 20);
    CHECK(plan->certificate.exposures()[0].reason == exposure_reason::dependence);
    const auto vertices = support::vertices_of(ir.view());
    CHECK(plan->vertices == vertices);
    const std::vector expected_order{vertices[0], vertices[1], vertices[4], vertices[2], vertices[3], vertices[5]};
    CHECK(plan->order == expected_order);
}

TEST_CASE("the output ends the program, however early its operands are there") {
    support::toy_program p = gather_and_independent_work();
    p.ops[5].operands = {{3, 0}};
    std::swap(p.ops[3], p.ops[4]);  // the use of the gather comes last and is what the output does not read
    p.ops[5].operands = {{3, 0}};
    support::soa_ir ir(p);
    const auto plan = plan_overlap(ir.view(), ir.model(), {.memory_limit = unlimited_bytes});
    REQUIRE(plan);
    CHECK(plan->certificate.makespan().count == 130);
    CHECK(plan->order.back() == plan->vertices.back());
}

TEST_CASE("a limit below what program order needs has no plan; the error names the peak and where it is") {
    support::soa_ir ir(gather_and_independent_work());
    const auto plan = plan_overlap(ir.view(), ir.model(), {.memory_limit = bytes{10}});
    REQUIRE_FALSE(plan);
    CHECK(plan.error().why == overlap_reason::memory_limit);
    CHECK(plan.error().memory.limit.count == 10);
    CHECK(plan.error().memory.input_peak.count == 80);
    CHECK(plan.error().memory.at == 3);
    CHECK(plan.error().vertex == support::vertices_of(ir.view())[3]);
}

TEST_CASE("a model that contradicts itself has no plan; the error names the task") {
    support::toy_program p = gather_and_independent_work();
    p.ops[3].duration = {-1};
    support::soa_ir ir(p);
    const auto plan = plan_overlap(ir.view(), ir.model());
    REQUIRE_FALSE(plan);
    CHECK(plan.error().why == overlap_reason::graph);
    CHECK(plan.error().graph.why == task_graph_error::reason::negative_duration);
    CHECK(plan.error().graph.task == 3);
    CHECK(plan.error().vertex == support::vertices_of(ir.view())[3]);
}

TEST_CASE("the plan, applied to each toy IR, makes its program order as fast and as small as certified") {
    stretto_check("apply what was planned", 400, [] {
        const support::toy_program program = *support::random_programs();
        support::for_each_toy_ir(program, [](auto& ir) {
            using IR = std::remove_cvref_t<decltype(ir)>;
            const auto tasks = make_task_graph(ir.view(), ir.model());
            RC_ASSERT(tasks.has_value());
            std::vector<task_id> input(tasks->size());
            for (task_id t = 0; t < tasks->size(); ++t) input[t] = t;
            const bytes limit = profile_memory(*tasks, input).peak;
            const auto plan = plan_overlap(ir.view(), ir.model());  // in the peak of the input
            RC_ASSERT(plan.has_value());
            RC_ASSERT(plan->certificate.memory_limit() == limit);
            RC_ASSERT(verify_order(*tasks, plan->certificate.order(), limit).has_value());
            if constexpr (can_move<IR>) {
                const auto moves = plan_reorder(ir.view(), plan->order);
                RC_ASSERT(moves.has_value());
                apply(*moves, ir.rewriter());
                RC_ASSERT(support::vertices_of(ir.view()) == plan->order);
                const auto after = make_task_graph(ir.view(), ir.model());
                RC_ASSERT(after.has_value());
                RC_ASSERT(simulate(*after, input).makespan == plan->certificate.makespan());
                RC_ASSERT(profile_memory(*after, input).peak <= limit);
            }
        });
    });
}
