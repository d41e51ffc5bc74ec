// Captured steps in buckets, and in chunks with buckets, executed against themselves whole: small extents, real
// operators, all ranks. What a bucket reduces and scatters on one ring has the bits that its members have apart.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capture/lowered_buckets.hpp"
#include "capture/tiny_step.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/compare_runs.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

/// Puts `step` in buckets, lowers them and runs the result with the inputs of `whole` and `apart`, which are what
/// `original` and `step` make.
void check_buckets(const capture& original, const capture& step, const interpretation& whole,
                   const interpretation& apart, const interpreter_options& run, const support::named_inputs& inputs,
                   const bucket_options& options) {
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const traffic_tags<capture_view> tags = traffic_of(step);
    const buckets_by_traffic<capture_view> choose{&tags};
    const auto plan = plan_capture_buckets(step, *tensors, choose, options);
    REQUIRE_MESSAGE(plan, support::complaint(plan));
    REQUIRE(plan->saved() > 2);
    const auto made = bucketed(step, *tensors, *plan);
    REQUIRE_MESSAGE(made, support::complaint(made));
    const plan_report report = check_plan(original, *made);
    CHECK(report.legal());

    const capture program = support::lowered(step, *tensors, *made);
    const auto program_tensors = capture_tensors::read(program);
    REQUIRE(program_tensors);
    const interpretation merged = support::run_named(program, *program_tensors, run, inputs);
    const support::agreement found = support::compare_runs(apart, merged);
    bool everywhere = false;  // whether something is reduced on every rank
    for (const capture_bucket& b : plan->buckets)
        everywhere = everywhere || step.collective(b.members[0]) == collective_kind::all_reduce;
    MESSAGE(std::string(step.name()) << std::string(&step == &original ? ": " : " in chunks: ") << plan->buckets.size()
                                     << " buckets, " << plan->saved() << " launches saved, " << found.bitwise << " of "
                                     << found.entries << " tensors bit for bit");
    if (!everywhere || options.mode == bucket_mode::coalesced)
        CHECK_MESSAGE(found.bitwise == found.entries, found.where);
    CHECK(found.worst < 1e-12);
    CHECK(support::compare_runs(whole, merged).worst < 1e-12);
}

void check_step(const std::string& path, const support::shrunken_recipe& recipe, std::int64_t tokens,
                const std::vector<std::vector<std::int64_t>>& chunks) {
    const support::shrunken_step small = support::read_shrunken(path, recipe, tokens);
    const capture& step = small.step;
    const support::named_inputs inputs = support::make_named_inputs(step, small.tensors, recipe.run.ranks, 7);
    const interpretation whole = support::run_named(step, small.tensors, recipe.run, inputs);

    for (const bytes limit : {bytes{4'096}, unlimited_bytes})
        for (const payload_order order : {payload_order::registration, payload_order::execution})
            check_buckets(step, step, whole, whole, recipe.run, inputs, {.most_bytes = limit, .order = order});
    check_buckets(step, step, whole, whole, recipe.run, inputs, {.mode = bucket_mode::coalesced});

    const std::vector<capture_token_symbol> symbols = token_symbols(step, small.tensors);
    for (const std::vector<std::int64_t>& sizes : chunks) {
        REQUIRE(!symbols.empty());
        const std::vector<module_chunks> settings = {{"", pass_direction::both, sizes}};
        const auto regions = regions_in_chunks(modules_of(step), settings);
        REQUIRE(regions);
        const auto made =
            support::chunk_step(step, small.tensors, *regions, symbols[0].dimensions, {.skip_refused = true});
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
        const auto chunked_tensors = capture_tensors::read(made->step);
        REQUIRE(chunked_tensors);
        const interpretation apart = support::run_named(made->step, *chunked_tensors, recipe.run, inputs);
        check_buckets(step, made->step, whole, apart, recipe.run, inputs, {.most_bytes = {4'096}});
        check_buckets(step, made->step, whole, apart, recipe.run, inputs, {.mode = bucket_mode::coalesced});
    }
}

}  // namespace

TEST_CASE("dense steps compute the same in buckets") {
    for (const char* name : {"/llama_fsdp_forward.json.gz", "/llama_fsdp_backward.json.gz"})
        if (const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", name); !path.empty())
            check_step(path, support::llama_fsdp_recipe(), 0, {});
}

TEST_CASE("a step of experts computes the same in buckets, and in chunks with buckets") {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", "/moe_ep_step.json.gz");
    if (!path.empty()) check_step(path, support::moe_ep_step_recipe(), 4, {{2, 2}, {1, 2, 1}});
}

TEST_CASE("a step that exchanges and gathers on one group computes the same in buckets, and in chunks with buckets") {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", "/moe_shared_group.json.gz");
    if (!path.empty()) check_step(path, support::moe_ep_step_recipe(), 4, {{1, 3}});
}

TEST_CASE("steps that compute activations again compute the same in buckets, and in chunks with buckets") {
    for (const char* name : {"/moe_recompute_selective.json.gz", "/moe_recompute_layers.json.gz"})
        if (const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", name); !path.empty())
            check_step(path, support::moe_ep_step_recipe(), 4, {{3, 1}});
}

TEST_CASE("the mixture-of-experts step of the reference computes the same in buckets, and in chunks with buckets") {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", "/titan_moe.json.gz");
    if (!path.empty()) check_step(path, support::titan_moe_recipe(), 7, {{4, 3}, {1, 2, 4}});
}
