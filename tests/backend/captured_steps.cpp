// Captured steps, made small and executed on ranks that are threads: whole, in chunks and in buckets. What comes out is
// what the interpreter computes in the same order, bit for bit.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/backend/check_log.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/compare_runs.hpp"
#include "support/read_step.hpp"
#include "support/shrunken_step.hpp"
#include "support/step_on_ranks.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

/// The step with its inputs as the interpreter takes them, and everything that it makes in program order.
interpretation interpreted(const capture& step, const capture_tensors& tensors, interpreter_options options,
                           const support::named_inputs& inputs, bool keep,
                           const std::vector<std::uint32_t>* order = nullptr) {
    options.keep_everything = keep;
    return support::run_named(step, tensors, options, inputs, order);
}

/// What the inputs are before the step runs.
interpretation before(const interpretation& done, const support::named_inputs& inputs) {
    interpretation all;
    for (const interpreted_entry& e : done.inputs) {
        all.inputs.push_back(e);
        all.inputs.back().by_rank = inputs.find(e.name)->second;
    }
    return all;
}

/// What the lanes of a rank are told orders everything that must be ordered, and nothing twice. Without any wait, a
/// fault is found; which ones are left out is drawn from `seed`, since each takes a check of the whole log.
void check_waits(const task_graph& g, const checked_order& order, std::uint32_t seed) {
    const auto program = plan_lanes(g, order);
    REQUIRE(program);
    const run_log log = log_of(*program);
    const auto found = check_log(g, program->arena, log);
    CHECK_MESSAGE(found.empty(),
                  (found.empty() ? std::string() : explain(found[0], [](task_id t) { return std::to_string(t); })));
    std::vector<std::size_t> waits;
    for (std::size_t k = 0; k < log.size(); ++k)
        if (log[k].what == log_entry::form::wait) waits.push_back(k);
    REQUIRE(!waits.empty());
    std::mt19937 random(seed);
    for (int k = 0; k < 4; ++k) {
        const std::size_t at = waits[random() % waits.size()];
        run_log without = log;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(at));
        const auto faults = check_log(g, program->arena, without);
        CHECK((!faults.empty() && is_fault(faults[0])));
    }
}

/// Executes `step`, of which the interpreter has kept everything in `kept`. It is compared with what the interpreter
/// makes of it in the same order; a step in buckets, which the interpreter does not know, with what it
/// makes of the step without them.
void check_execution(const capture& step, const support::named_inputs& inputs, const interpreter_options& options,
                     const interpretation& kept, const support::bucketed_run* buckets = nullptr,
                     const interpretation* without_buckets = nullptr) {
    CAPTURE(step.name());
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const support::executable_step s(step, *tensors, kept, buckets);
    const auto plan = plan_overlap(capture_view{&step}, s.ops());
    REQUIRE(plan);
    const auto order = check_order(plan->tasks, plan->certificate.order());
    REQUIRE(order.has_value());
    const std::vector<std::uint32_t> vertices(order->order().begin(), order->order().end());
    const interpretation due =
        without_buckets ? *without_buckets : interpreted(step, *tensors, options, inputs, false, &vertices);

    const support::executed_step done = support::run_on_ranks(s, plan->tasks, *order, before(due, inputs), options, 2);
    CHECK(done.wrong == "");
    if (!done.wrong.empty()) return;
    const auto different = compare(due, done.made);
    CHECK_MESSAGE(different.empty(), (different.empty() ? std::string() : different[0].message()));
    const auto begin = std::chrono::steady_clock::now();
    check_waits(plan->tasks, *order, 1);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::size_t exchanged = 0;
    for (task_id t = 0; t < plan->tasks.size(); ++t)
        exchanged += plan->tasks.kind[t] == op_kind::start && s.ops().call(t).input_sizes.size() > 0;
    MESSAGE(step.name() << ": " << step.size() << " operations, " << exchanged << " exchanges of measured amounts, on "
                        << options.ranks << " ranks: the interpreter's bits; waits in " << seconds << " s");
}

void check_execution(const capture& step, const support::named_inputs& inputs, const interpreter_options& options) {
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    check_execution(step, inputs, options, interpreted(step, *tensors, options, inputs, true));
}

struct small_step {
    capture step;
    capture_tensors tensors;
    support::shrunken_recipe recipe;
};

small_step small(const std::string& path, support::shrunken_recipe recipe, std::int64_t tokens) {
    if (tokens != 0) recipe.extents.symbols = {{"u0", tokens}};
    recipe.run.rings = 0;  // ranks that are threads add in their order, wherever an element lies
    const auto captured = support::read_capture(path);
    REQUIRE(captured);
    const auto captured_tensors = capture_tensors::read(*captured);
    REQUIRE(captured_tensors);
    auto made = support::shrink(*captured, *captured_tensors, recipe);
    REQUIRE_MESSAGE(made, support::complaint(made));
    auto tensors = capture_tensors::read(*made);
    REQUIRE(tensors);
    return {*std::move(made), *std::move(tensors), recipe};
}

/// Whole, in chunks, and in buckets.
void check_forms(const char* file, const support::shrunken_recipe& recipe, std::int64_t tokens,
                 const std::vector<std::vector<std::int64_t>>& chunks) {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", file);
    if (path.empty()) return;
    const small_step s = small(path, recipe, tokens);
    const auto inputs = support::make_named_inputs(s.step, s.tensors, s.recipe.run.ranks, 7);
    check_execution(s.step, inputs, s.recipe.run);
    const std::vector<capture_token_symbol> symbols = token_symbols(s.step, s.tensors);
    for (const std::vector<std::int64_t>& sizes : chunks) {
        REQUIRE(!symbols.empty());
        const std::vector<module_chunks> settings = {{"", pass_direction::both, sizes}};
        const auto regions = regions_in_chunks(modules_of(s.step), settings);
        REQUIRE(regions);
        const auto made =
            support::chunk_step(s.step, s.tensors, *regions, symbols[0].dimensions, {.skip_refused = true});
        REQUIRE(made);
        check_execution(made->step, inputs, s.recipe.run);
    }
    const traffic_tags<capture_view> tags = traffic_of(s.step);
    const buckets_by_traffic<capture_view> choose{&tags};
    const auto buckets = plan_capture_buckets(s.step, s.tensors, choose, {.most_bytes = {4'096}});
    REQUIRE(buckets);
    CHECK(buckets->buckets.size() > 2);
    MESSAGE(s.step.name() << ": " << buckets->buckets.size() << " buckets, " << buckets->saved() << " launches saved");
    const auto bucketed_step = bucketed(s.step, s.tensors, *buckets);
    REQUIRE(bucketed_step);
    const interpretation kept = interpreted(s.step, s.tensors, s.recipe.run, inputs, true);
    interpretation due = kept;
    // Inputs and outputs have other numbers there.
    for (auto* entries : {&due.inputs, &due.outputs})
        for (interpreted_entry& e : *entries) {
            std::uint32_t v = 0;
            while (bucketed_step->name(v) != e.name) ++v;
            e.vertex = v;
        }
    const support::bucketed_run run = support::in_buckets(s.step, kept, *bucketed_step);
    check_execution(*bucketed_step, inputs, s.recipe.run, run.made, &run, &due);
}

support::shrunken_recipe llama_recipe() {
    support::shrunken_recipe r;
    r.extents.extents = {{64, 2}, {128, 4}, {1024, 32}, {3072, 96}, {4096, 8}, {8192, 16}, {128256, 16}};
    r.extents.group_sizes = {2};
    r.run.ranks = 2;
    return r;
}

}  // namespace

TEST_CASE("dense steps on two ranks compute what the interpreter does") {
    check_forms("/llama_fsdp_forward.json.gz", llama_recipe(), 0, {});
    check_forms("/llama_fsdp_backward.json.gz", llama_recipe(), 0, {});
}

TEST_CASE("a step of experts on ranks computes what the interpreter does, whole, in chunks and in buckets") {
    check_forms("/moe_ep_step.json.gz", support::moe_ep_step_recipe(), 4, {{1, 3}});
}

TEST_CASE("a step that exchanges and gathers on one group computes what the interpreter does on ranks") {
    check_forms("/moe_shared_group.json.gz", support::moe_ep_step_recipe(), 4, {{2, 2}});
}

TEST_CASE("steps of other families of models compute what the interpreter does on ranks") {
    check_forms("/qwen3_selective.json.gz", support::family_recipe(), 4, {{2, 1, 1}});
    check_forms("/gpt_oss_full.json.gz", support::family_recipe(), 4, {{3, 1}});
    check_forms("/llama4_offload.json.gz", support::family_recipe(), 4, {{2, 2}});
}

TEST_CASE("steps that compute activations again compute what the interpreter does on ranks") {
    check_forms("/moe_recompute_selective.json.gz", support::moe_ep_step_recipe(), 4, {{2, 1, 1}});
    check_forms("/moe_recompute_layers.json.gz", support::moe_ep_step_recipe(), 4, {{3, 1}});
}
