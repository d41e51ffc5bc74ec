#include "stretto/tune/detail/bucket_contraction.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/plan_buckets.hpp"
#include "support/priced_reductions.hpp"
#include "support/prop.hpp"
#include "support/rebuilt_buckets.hpp"
#include "support/same_tasks.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::priced_reductions;
using support::reduction_bucket_costs;
using support::reduction_node;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

using table_plan = bucket_plan<std::uint32_t, std::uint32_t>;

nanoseconds moving(bytes moved) { return reduction_bucket_costs().of_moving(moved); }

/// Lets some operations look at collectives before their waits: as views, and as kernels.
reduction_program looking_in_flight(reduction_program p, std::size_t every) {
    std::size_t count = 0;
    for (std::uint32_t v : p.order) {
        reduction_node& n = p.nodes[v];
        if (n.op != mix && n.op != same && n.op != add) continue;
        const std::uint32_t read = n.operands[0];
        if (p.nodes[read].op == wait && ++count % every == 0) n.operands[0] = p.nodes[read].operands[0];
    }
    return p;
}

/// A plan of the table, where starts are labelled by turns.
table_plan plan_of(const step_table& step, const bucket_options& options, std::uint32_t labels,
                   const std::vector<char>& casts) {
    const auto together = [&](std::uint32_t v) {
        return bucket_choice{.label = v * 7 % labels, .place = v, .cast = casts[v] != 0};
    };
    struct model : step_table_model {
        collective_call call(std::uint32_t v) const {
            collective_call c;
            c.kind = collective(v);
            c.reduction = reduces(c.kind) ? reduction_kind::sum : reduction_kind::none;
            c.element = element_type::f32;
            return c;
        }
    };
    const auto plan = plan_buckets(step_table_view{&step}, model{{&step}}, together, options, reduction_bucket_costs{});
    RC_ASSERT(plan.has_value());
    return *plan;
}

}  // namespace

TEST_CASE("the contracted tasks are those of the program written in buckets and built anew, number by number") {
    std::size_t merged = 0, in_flight = 0, written = 0, without_values = 0, reused = 0, casts_left = 0;
    stretto_check("random programs, several plans each", 10000, [&](const std::vector<std::uint8_t>& data) {
        reduction_program p = support::random_traffic(data);
        if (data.size() % 2 == 0) p = looking_in_flight(p, 1 + data.size() % 5);
        const auto step = numbered_step<reduction_view>::read(reduction_view{&p}, priced_reductions{{&p}});
        RC_ASSERT(step.has_value());
        const step_table& table = step->table();
        std::vector<char> casts;
        for (std::uint32_t v : step->vertices())
            casts.push_back(p.nodes[v].op == support::reduction_op::start && p.sends_cast(v));
        auto tasks = detail::bucket_contraction<>::of(table);
        RC_ASSERT(tasks.has_value());
        bucketed_tasks made;
        std::size_t before = 0;
        for (std::uint32_t k = 0; k < 4; ++k) {
            bucket_options o;
            if ((data.size() + k) % 3 == 1) o.mode = bucket_mode::coalesced;
            if (k % 2 == 1) o.most_members = 2;
            const table_plan plan = plan_of(table, o, 1 + k, casts);
            if (plan.empty()) continue;
            const auto fault = tasks->contract(plan, moving, made);
            RC_ASSERT(!fault);
            const auto anew = support::rebuilt_buckets(plan, table).run(moving);
            RC_ASSERT(anew.has_value());
            support::check_identical_tasks(made.graph, anew->graph);
            RC_ASSERT(made.original == anew->original);
            RC_ASSERT(made.role == anew->role);
            merged += plan.saved();
            reused += before != 0 && before != made.original.size();
            before = made.original.size();
            for (const auto& b : plan.buckets) casts_left += b.casts.size();
            written += made.graph.writes.items() > 0;
            without_values += table.controls.items() > 0;
            for (task_id t = 0; t < made.graph.size(); ++t)
                for (value_id x : made.graph.operands[t])
                    in_flight += made.graph.kind[made.graph.storage_owner[x]] == op_kind::start &&
                                 made.graph.kind[t] == op_kind::compute;
        }
    });
    if (!support::runs_all_cases()) return;
    CHECK(merged > 10000);
    CHECK(in_flight > 200);
    CHECK(written > 2000);
    CHECK(without_values > 1000);
    CHECK(reused > 1000);
    CHECK(casts_left > 500);
}

TEST_CASE("a plan without buckets gives the tasks of the step, and costs that are none are an error") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.start(x), b = p.start(x);
    p.output({p.op(wait, {a}), p.op(wait, {b})});
    const auto step = numbered_step<reduction_view>::read(reduction_view{&p}, priced_reductions{{&p}});
    REQUIRE(step);
    auto tasks = detail::bucket_contraction<>::of(step->table());
    REQUIRE(tasks);
    bucketed_tasks made;
    CHECK_FALSE(tasks->contract({}, moving, made));
    support::check_identical_tasks(made.graph, tasks->whole());

    table_plan plan = plan_of(step->table(), {}, 1, std::vector<char>(p.nodes.size(), false));
    REQUIRE(plan.buckets.size() == 1);
    using why = task_graph_error::reason;
    const auto fault_with = [&](auto change) {
        table_plan changed = plan;
        change(changed.buckets[0]);
        const auto fault = tasks->contract(changed, moving, made);
        REQUIRE(fault);
        return fault->why;
    };
    CHECK(fault_with([](auto& bucket) { bucket.merged = nanoseconds{-1}; }) == why::negative_duration);
    CHECK(fault_with([](auto& bucket) { bucket.payload = bytes{-1}; }) == why::negative_bytes);
    CHECK(fault_with([](auto& bucket) { bucket.received = bytes{-1}; }) == why::negative_bytes);
    CHECK(fault_with([](auto& bucket) { bucket.merged = nanoseconds{std::int64_t{1} << 62}; }) == why::overflow);
    CHECK(fault_with([](auto& bucket) { bucket.payload = bytes{std::int64_t{1} << 62}; }) == why::overflow);
    CHECK_FALSE(tasks->contract(plan, moving, made));
}
