#include "stretto/capture/bucket_capture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/plan_drafts.hpp"
#include "stretto/capture/capture_bucketer.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/testing/check_bucket_costs.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/example_step.hpp"
#include "support/prop.hpp"
#include "support/reduction_step.hpp"

using namespace stretto;

namespace {

struct made_buckets {
    capture_bucket_plan plan;
    capture step;
};

made_buckets in_buckets(const capture& step, const bucket_options& options = {}, bool all = false) {
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const traffic_tags<capture_view> tags = traffic_of(step);
    const buckets_by_traffic<capture_view> choose{&tags};
    const auto everything = [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v}; };
    auto plan = all ? plan_capture_buckets(step, *tensors, everything, options)
                    : plan_capture_buckets(step, *tensors, choose, options);
    REQUIRE_MESSAGE(plan, support::complaint(plan));
    auto made = bucketed(step, *tensors, *plan);
    REQUIRE_MESSAGE(made, support::complaint(made));
    return {*std::move(plan), *std::move(made)};
}

std::string complaints(const plan_report& r) {
    std::string lines;
    for (const plan_violation& v : r.violations) lines += "\n  " + v.message();
    return lines;
}

}  // namespace

TEST_CASE("a bucket of which one member has unknown results lists those of the others") {
    support::draft d = support::sample_step();
    d["gather2"].outputs = d["full2"].outputs = "[ ]";
    const capture step = d.build();
    const made_buckets made = in_buckets(step);
    REQUIRE(!made.plan.buckets.empty());
    const auto start = made.step.find("gather1_bucket");
    REQUIRE(start);
    CHECK(made.step.outputs(*start) == support::tensor("800", "bf16"));
    CHECK(capture_tensors::read(made.step));
}

TEST_CASE("two gathers in a bucket whose pack does their casts, as the format says it") {
    const capture step = support::sample_step().build();
    const made_buckets made = in_buckets(step);
    REQUIRE(made.plan.buckets.size() == 2);  // the scatters have one too
    CHECK(made.plan.buckets[0].payload == bytes{400});
    const capture& after = made.step;
    const auto pack = after.find("gather1_pack"), start = after.find("gather1_bucket");
    const auto wait = after.find("full1_bucket"), unpack = after.find("full1_unpack"), view = after.find("full2");
    REQUIRE((pack && start && wait && unpack && view));
    CHECK(after.op(*pack) == "stretto.pack");
    CHECK(after.field(*pack, "absorbs") == R"(["cast1","cast2"])");
    CHECK(after.duration(*pack) == nanoseconds{100 + 800 + 400});
    CHECK(after.allocation(*pack) == bytes{400});
    CHECK(after.field(*start, "members") == R"(["gather1","gather2"])");
    CHECK(after.payload(*start) == bytes{400});
    CHECK(after.duration(*start) == nanoseconds{1400});
    CHECK(after.duration(*unpack) == nanoseconds{100 + 2 * 3200});
    CHECK(after.kind(*view) == op_kind::view);
    CHECK(after.inputs(*view)[0] == *unpack);
    for (const char* gone : {"cast1", "cast2", "gather1", "gather2"}) CHECK(!after.find(gone));
    CHECK(made.plan.buckets[0].merged == nanoseconds{1400});
    CHECK(made.plan.buckets[0].copies == nanoseconds{100 + 800 + 400 + 100 + 2 * 3200 - 1400});
    const plan_report report = check_plan(step, after);
    CHECK_MESSAGE(report.legal(), complaints(report));

    const made_buckets at_once = in_buckets(step, {.mode = bucket_mode::coalesced});
    const auto grouped = at_once.step.find("gather1_bucket");
    REQUIRE(grouped);
    CHECK(at_once.step.field(*grouped, "coalesced") == "true");
    CHECK(!at_once.step.find("gather1_pack"));
    CHECK(at_once.step.find("cast1").has_value());
    const plan_report other = check_plan(step, at_once.step);
    CHECK_MESSAGE(other.legal(), complaints(other));
}

TEST_CASE("a collective that is named where its memory is written stays out of buckets: plans repeat that name") {
    for (const bool by_start : {true, false}) {
        support::reduction_step s;
        const std::string first = s.start(s.input(), true);
        support::draft_node arrived = support::wait("arrived", first, s.d[first].outputs);
        arrived.op = "_c10d_functional.wait_tensor.default";
        s.push(arrived);
        std::vector<std::string> sums;
        for (int k = 0; k < 2; ++k) sums.push_back(s.kernel("aten.neg.default", {s.reduced(s.input(), true)}));
        const std::string written = s.add_in_place("arrived", sums[0]);
        if (by_start) s.d[written].writes = {first};
        s.output({written, sums[1]});
        const capture step = s.d.build();
        const made_buckets made = in_buckets(step, {}, true);
        REQUIRE(made.plan.buckets.size() == 1);
        CHECK(made.plan.buckets[0].members.size() == (by_start ? 2 : 3));
        CHECK(made.step.find(first).has_value() == by_start);
        const plan_report report = check_plan(step, made.step);
        CHECK_MESSAGE(report.legal(), complaints(report));
        const auto after = made.step.find(written);
        REQUIRE(after);
        REQUIRE(made.step.writes(*after).size() == 1);
        CHECK(made.step.name(made.step.writes(*after)[0]) == (by_start ? first : "arrived"));
    }
}

TEST_CASE("costs of a capture are a model; a collective without a table costs in proportion") {
    const capture step = support::sample_step().build();
    const auto checked = check_bucket_costs(capture_view{&step}, capture_op_model{&step}, capture_bucket_costs{&step});
    REQUIRE(checked);
    CHECK(checked->starts == 6);
    support::reduction_step s;
    const std::string x = s.input();
    const std::string r = s.start(x, false);
    s.output({s.push(support::wait("w", r, s.d[r].outputs))});
    const capture unpriced = s.d.build();
    const std::uint32_t v = *unpriced.find(r);
    CHECK(capture_bucket_costs{&unpriced}.of_merged(v, {128}) == 2 * unpriced.duration(v));
    CHECK(capture_bucket_costs{&unpriced}.of_merged(v, {1}) == unpriced.duration(v));
}

TEST_CASE("limits of zero, and steps without anything to merge") {
    const capture step = support::sample_step().build();
    const auto tensors = capture_tensors::read(step);
    const auto nothing = [](std::uint32_t) { return bucket_choice{}; };
    const auto refused = plan_capture_buckets(step, *tensors, nothing, {.most_bytes = {0}});
    REQUIRE(!refused);
    CHECK(refused.error().message().find("a limit is zero") != std::string::npos);
    const auto plan = plan_capture_buckets(step, *tensors, nothing);
    REQUIRE(plan);
    CHECK(*bucketed(step, *tensors, *plan) == step);
}

TEST_CASE("buckets chosen with the schedule: what was tried is what the written step takes, legal and never slower") {
    const capture& step = support::moe_ep_step().step;
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const traffic_tags<capture_view> tags = traffic_of(step);
    const buckets_by_traffic<capture_view> choose{&tags};
    const auto before = make_task_graph(capture_view{&step}, capture_op_model{&step});
    REQUIRE(before);
    const bytes peak = peak_of_input(*before);
    std::size_t merged = 0;
    for (const contention c : {contention{1, 1}, contention{3, 2}})
        for (const bytes limit : {peak, unlimited_bytes}) {
            if (!support::runs_all_cases() && c.none() != (limit == peak)) continue;
            bucket_search_options o;
            o.memory_limit = limit;
            o.step_peak = peak;
            o.under = c;
            const auto found = search_capture_buckets(step, *tensors, choose, o);
            REQUIRE_MESSAGE(found, support::complaint(found));
            REQUIRE(found->has_value());
            schedule_options how;
            how.memory_limit = memory_budget::of_variant(limit, peak);
            how.under = c;
            const auto whole = list_schedule(*before, how);
            REQUIRE(whole);
            CHECK((*found)->makespan <= whole->makespan());
            const auto made = bucketed(step, *tensors, (*found)->plan);
            REQUIRE_MESSAGE(made, support::complaint(made));
            const auto after = make_task_graph(capture_view{&*made}, capture_op_model{&*made});
            REQUIRE(after);
            const auto scheduled = list_schedule(*after, how);
            REQUIRE(scheduled);
            CHECK(scheduled->makespan() == (*found)->makespan);
            CHECK(scheduled->memory().peak == (*found)->peak);
            CHECK(scheduled->memory().peak <= limit);
            const plan_report report = check_plan(step, *made);
            CHECK_MESSAGE(report.legal(), complaints(report));
            merged += (*found)->plan.saved();
        }
    CHECK(merged > 0);
    const auto refused = search_capture_buckets(step, *tensors, choose, {.limits = {.most_members = 0}});
    REQUIRE(!refused);
    CHECK(refused.error().message().find("a limit is zero") != std::string::npos);
}

TEST_CASE("after chunks: buckets are of whole collectives, and packs read what the step knows by name") {
    const support::example_step whole = support::moe_ep_step();
    const auto tokens = token_symbols(whole.step, whole.tensors)[0];
    const std::int64_t half = tokens.value / 2;
    const auto regions = regions_in_chunks(
        modules_of(whole.step), std::vector<module_chunks>{{"", pass_direction::both, {tokens.value - half, half}}});
    REQUIRE(regions);
    const auto chunked =
        support::chunk_step(whole.step, whole.tensors, *regions, tokens.dimensions, {.skip_refused = true});
    REQUIRE(chunked);
    const capture& step = chunked->step;
    const made_buckets made = in_buckets(step);
    CHECK(made.plan.saved() > 0);
    std::size_t joined = 0;
    for (const capture_bucket& b : made.plan.buckets) {
        for (std::uint32_t m : b.members) CHECK(whole.step.find(step.name(m)).has_value());
        for (std::uint32_t x : b.parts) CHECK(whole.step.find(step.name(x)).has_value());
        for (std::uint32_t c : b.casts) CHECK(whole.step.find(step.name(c)).has_value());
    }
    for (std::uint32_t v = 0; v < step.size(); ++v)
        joined += step.kind(v) == op_kind::start && whole.step.find(step.name(v)) &&
                  !whole.step.find(step.name(step.inputs(v)[0]));
    CHECK(joined > 0);  // there were some to leave out
    const plan_report report = check_plan(whole.step, made.step);
    CHECK_MESSAGE(report.legal(), complaints(report));
}

TEST_CASE("a step of a mixture of experts in buckets: legal, scheduled and certified, and bucketed once") {
    const capture& step = support::moe_ep_step().step;
    const made_buckets made = in_buckets(step, {.most_bytes = {1 << 20}});
    CHECK(made.plan.saved() > 10);
    const plan_report report = check_plan(step, made.step);
    CHECK_MESSAGE(report.legal(), complaints(report));
    CHECK(report.after.collectives + made.plan.saved() == report.before.collectives);

    const auto scheduled = plan_overlap(capture_view{&made.step}, capture_op_model{&made.step});
    REQUIRE(scheduled);
    CHECK(scheduled->certificate.makespan() <= report.after.makespan);
    std::vector<std::uint32_t> order(scheduled->order.begin(), scheduled->order.end());
    const auto written = reordered(made.step, order);
    REQUIRE(written);
    const plan_report final_report = check_plan(step, *written);
    CHECK_MESSAGE(final_report.legal(), complaints(final_report));
    CHECK(final_report.after.makespan == scheduled->certificate.makespan());

    const made_buckets again = in_buckets(made.step, {}, true);
    for (const capture_bucket& b : again.plan.buckets)
        for (std::uint32_t s : b.members) CHECK(!made.step.field(s, "members"));
}

TEST_CASE("any step in buckets is a legal plan of it") {
    std::size_t steps = 0, found = 0;
    stretto_check("random steps", 2000, [&](const std::vector<std::uint8_t>& data) {
        const capture step = support::random_reduction_step(data, "f64").d.build();
        const bucket_options options{.mode = data.size() % 3 == 0 ? bucket_mode::coalesced : bucket_mode::pack};
        const made_buckets made = in_buckets(step, options, true);
        ++steps;
        if (made.plan.empty()) return;
        ++found;
        const plan_report report = check_plan(step, made.step);
        RC_ASSERT(complaints(report) == "");
        RC_ASSERT(report.after.collectives + made.plan.saved() == report.before.collectives);
    });
    if (support::runs_all_cases()) CHECK(found > steps / 5);
}
