#include "stretto/capture/reduce_capture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_reducer.hpp"
#include "stretto/capture/check_plan.hpp"
#include "support/compare_runs.hpp"
#include "support/prop.hpp"
#include "support/read_step.hpp"
#include "support/reduction_step.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using support::reduction_step;

namespace {

reduced_capture reduced(const capture& step) {
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    auto plan = plan_capture_reductions(step, *tensors);
    REQUIRE_MESSAGE(plan, support::complaint(plan));
    auto made = reduce_capture(step, *tensors, *std::move(plan));
    REQUIRE_MESSAGE(made, support::complaint(made));
    return *std::move(made);
}

support::agreement agreement_of(const capture& step, const capture& after, const aten::interpreter_options& options) {
    const auto tensors = capture_tensors::read(step), after_tensors = capture_tensors::read(after);
    REQUIRE((tensors && after_tensors));
    const support::named_inputs inputs = support::make_named_inputs(step, *tensors, options.ranks, 11);
    return support::compare_runs(support::run_named(step, *tensors, options, inputs),
                                 support::run_named(after, *after_tensors, options, inputs));
}

std::string complaints(const plan_report& r) {
    std::string lines;
    for (const plan_violation& v : r.violations) lines += "\n  " + v.message();
    return lines;
}

}  // namespace

TEST_CASE("parts of a gradient, reduced once") {
    reduction_step s;
    SUBCASE("additions in place name the operand that they write") {}
    SUBCASE("they name the collective in whose result they write") { s.names_owners = true; }
    const std::string x = s.input();
    std::vector<std::string> gradients, parts;
    for (int k = 0; k < 3; ++k) {
        gradients.push_back(s.kernel("aten.neg.default", {x}));
        parts.push_back(s.reduced(gradients.back(), true));
    }
    const std::string first = s.alias(parts[0]), total = s.add_in_place(s.add_in_place(first, parts[1]), parts[2]);
    s.output({s.alias(total)});
    const capture step = s.d.build();
    const reduced_capture made = reduced(step);
    const capture& after = made.step;

    REQUIRE(made.plan.reductions.size() == 1);
    CHECK(after.size() == step.size() - 3 - 3 - 2 + 2 + 1 + 1);  // starts, waits, sums; additions, start, wait
    const auto start = after.find("r8_of_sum");
    REQUIRE(start);
    CHECK(after.field(*start, "members") == R"(["r2","r5","r8"])");
    CHECK(after.field(*start, "sums") == "[\"" + first + "\",\"a11\",\"" + total + "\"]");
    CHECK(after.field(*start, "args") == R"(["%0","sum",2,"0"])");
    CHECK(after.payload(*start) == bytes{64});
    CHECK(after.duration(*start) == step.duration(*step.find("r8")));
    const auto result = after.find(total);
    REQUIRE(result);
    CHECK(after.kind(*result) == op_kind::view);
    CHECK(after.op(*result) == "aten.alias.default");
    CHECK(std::vector<std::uint32_t>(after.aliases(*result).begin(), after.aliases(*result).end()) ==
          std::vector{*start});
    const std::uint32_t sum = after.inputs(*start)[0];
    CHECK(after.op(sum) == "aten.add_.Tensor");
    CHECK(after.allocation(sum) == bytes{0});
    CHECK(after.duration(sum) == nanoseconds{100 + 3 * 64});
    REQUIRE(made.summands.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) CHECK(after.name(made.summands[k]) == gradients[k]);

    const plan_report report = check_plan(step, after);
    CHECK_MESSAGE(report.legal(), complaints(report));
    CHECK(report.after.collectives == 1);
    CHECK(report.after.makespan < report.before.makespan);
    const support::agreement same = agreement_of(step, after, {.ranks = 2});
    CHECK(same.worst < 1e-14);
}

TEST_CASE("a step without such sums stays as it is") {
    const capture step = support::sample_step().build();
    const reduced_capture made = reduced(step);
    CHECK(made.plan.empty());
    CHECK(made.step == step);
    CHECK(made.summands.empty());
}

TEST_CASE("any step computes the same reduced once: whole numbers exactly, floats but for rounding") {
    std::size_t steps = 0, found = 0, bitwise = 0, entries = 0;
    stretto_check("random steps", 3000, [&](const std::vector<std::uint8_t>& bytes) {
        for (const char* type : {"i64", "f64"}) {
            const capture step = support::random_reduction_step(bytes, type).d.build();
            const reduced_capture made = reduced(step);
            ++steps;
            if (made.plan.empty()) continue;
            ++found;
            const plan_report report = check_plan(step, made.step);
            RC_ASSERT(complaints(report) == "");
            RC_ASSERT(report.after.collectives + made.plan.saved() == report.before.collectives);
            const support::agreement same = agreement_of(step, made.step, {.ranks = 2});  // checks whole numbers itself
            RC_ASSERT(same.worst < 1e-12);
            bitwise += same.bitwise;
            entries += same.entries;
        }
    });
    MESSAGE(found << " of " << steps << " steps reduce once; " << bitwise << " of " << entries
                  << " tensors bit for bit");
    if (support::runs_all_cases()) CHECK(found > steps / 12);
}

TEST_CASE("the steps of torchtitan's own models reduce the gradient of their output layer once") {
    for (const char* name : {"/titan_qwen3_full.json.gz", "/titan_qwen3_selective.json.gz",
                             "/titan_llama3_8b_full.json.gz", "/titan_llama3_8b_selective.json.gz"}) {
        CAPTURE(name);
        const auto step = support::read_capture(support::captured_step("STRETTO_EXAMPLE_GRAPHS", name));
        REQUIRE(step);
        const reduced_capture made = reduced(*step);
        REQUIRE(made.plan.reductions.size() == 1);
        CHECK(made.plan.reductions[0].members.size() == 8);  // the loss is computed in eight parts
        const plan_report report = check_plan(*step, made.step);
        CHECK_MESSAGE(report.legal(), complaints(report));
    }
}

TEST_CASE("a captured step computes the same reduced once") {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", "/titan_moe.json.gz");
    if (path.empty()) return;
    support::shrunken_recipe recipe = support::titan_moe_recipe();
    recipe.extents.symbols = {{"u0", 4}};
    const auto captured = support::read_capture(path);
    REQUIRE(captured);
    const auto tensors = capture_tensors::read(*captured);
    REQUIRE(tensors);
    const auto step = support::shrink(*captured, *tensors, recipe);
    REQUIRE_MESSAGE(step, support::complaint(step));
    const reduced_capture made = reduced(*step);
    REQUIRE(made.plan.reductions.size() == 1);
    CHECK(made.plan.reductions[0].members.size() == 8);
    const support::agreement same = agreement_of(*step, made.step, recipe.run);
    MESSAGE(same.bitwise << " of " << same.entries << " tensors bit for bit, the others within " << same.worst);
    CHECK(same.worst < 1e-12);
    CHECK(same.bitwise + 4 >= same.entries);  // one gradient, on four ranks
}
