#include "stretto/capture/isolate_capture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/capture/check_plan.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "support/example_step.hpp"

using namespace stretto;

namespace {

/// The step with all collectives on its first group.
capture on_one_group(const capture& step) {
    capture_builder made = capture_builder::like(step);
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node n = node_of(step, v);
        n.group = 0;
        made.append(n);
    }
    return *std::move(made).build();
}

nanoseconds best(const capture& step) {
    const auto plan = plan_overlap(capture_view{&step}, capture_op_model{&step});
    REQUIRE(plan);
    return plan->certificate.makespan();
}

}  // namespace

TEST_CASE("expert parallelism on the communicator of the parameters: what isolation buys") {
    const capture shared = on_one_group(support::moe_ep_step().step);
    const auto plan = plan_isolation(capture_view{&shared}, capture_op_model{&shared}, shared);
    REQUIRE(plan);
    CHECK(plan->duplicates == std::vector<group_duplicate>{{0, 1}});
    const capture apart = isolated(shared, *plan);

    REQUIRE(apart.groups().size() == shared.groups().size() + 1);
    CHECK(apart.groups().back().name == "1.2");
    CHECK(apart.groups().back().duplicate_of == 0);
    CHECK(apart.groups().back().size == shared.groups()[0].size);
    std::size_t moved = 0;
    for (std::uint32_t v = 0; v < shared.size(); ++v) {
        if (shared.kind(v) != op_kind::start) continue;
        CHECK((apart.group(v) == 2) == (shared.collective(v) == collective_kind::all_to_all));
        if (apart.group(v) != shared.group(v)) ++moved;
    }
    CHECK(moved == plan->moves.size());
    CHECK(moved > 50);
    CHECK(plan_isolation(capture_view{&apart}, capture_op_model{&apart}, apart)->moves.empty());

    const auto report = check_plan(shared, apart);
    CHECK_MESSAGE(report.violations.empty(), "a judge of plans knows what a duplicate is");
    CHECK(best(apart) < best(shared));
}

TEST_CASE("a step whose exchanges have their communicator stays as it is") {
    const capture step = support::moe_ep_step().step;
    const auto plan = plan_isolation(capture_view{&step}, capture_op_model{&step}, step);
    REQUIRE(plan);
    CHECK(plan->moves.empty());
    CHECK(isolated(step, *plan) == step);
}
