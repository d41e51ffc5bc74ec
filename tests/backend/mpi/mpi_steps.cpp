// Captured steps, made small and executed on ranks that are processes: whole, in chunks and in buckets. What comes out
// is what the interpreter computes in the same order, bit for bit. Every process interprets all ranks and compares its
// own.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/mpi/mpi_session.hpp"
#include "capture/tiny_step.hpp"
#include "stretto/backend/mpi/mpi_world.hpp"
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
using mpi_test::everywhere, mpi_test::here;

namespace {

interpretation interpreted(const capture& step, const capture_tensors& tensors, interpreter_options options,
                           const support::named_inputs& inputs, bool keep,
                           const std::vector<std::uint32_t>* order = nullptr) {
    options.keep_everything = keep;
    return support::run_named(step, tensors, options, inputs, order);
}

/// Executes `step`, of which the interpreter has kept everything in `kept`. A step in buckets, which the interpreter
/// does not know, is compared with what it makes of the step without them.
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
    interpretation before;  // what the inputs are before the step runs
    for (const interpreted_entry& e : due.inputs) {
        before.inputs.push_back(e);
        before.inputs.back().by_rank = inputs.find(e.name)->second;
    }

    const support::groups_of_ranks groups(options, plan->tasks.groups);
    support::executed_step done = support::unexecuted(s, plan->tasks, before, options.ranks);
    const auto world = mpi_world::make(MPI_COMM_WORLD, groups.all);
    REQUIRE(world);
    std::string wrong;
    const auto failure = (*world)->run([&](mpi_rank& rank) {
        wrong = support::execute_on_rank(rank, groups, s, plan->tasks, *order, before, options, 2, done);
    });
    if (failure) wrong = explain(*failure, [&](task_id t) { return std::string(step.name(t)); });
    CHECK(wrong == "");
    // What other processes have made, they compare.
    for (const auto part : {&interpretation::inputs, &interpretation::outputs})
        for (std::size_t k = 0; k < (done.made.*part).size() && k < (due.*part).size(); ++k)
            for (std::size_t r = 0; r < options.ranks; ++r)
                if (r != here.rank()) (done.made.*part)[k].by_rank[r] = (due.*part)[k].by_rank[r];
    const auto different = compare(due, done.made);
    CHECK_MESSAGE(different.empty(), (different.empty() ? std::string() : different[0].message()));
    const bool all = everywhere(wrong.empty() && different.empty());
    REQUIRE(all);
}

/// Whole, in buckets, and in chunks of those sizes.
void check_forms(const char* file, support::shrunken_recipe recipe, std::int64_t tokens,
                 const std::vector<std::int64_t>& sizes) {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", file);
    if (path.empty() || recipe.run.ranks != here.size()) return;
    recipe.run.rings = 0;  // ranks that are processes add in their order, wherever an element lies
    if (tokens != 0) recipe.extents.symbols = {{"u0", tokens}};
    const auto captured = support::read_capture(path);
    REQUIRE(captured);
    const auto captured_tensors = capture_tensors::read(*captured);
    REQUIRE(captured_tensors);
    const auto step = support::shrink(*captured, *captured_tensors, recipe);
    REQUIRE_MESSAGE(step, support::complaint(step));
    const auto tensors = capture_tensors::read(*step);
    REQUIRE(tensors);
    const auto inputs = support::make_named_inputs(*step, *tensors, recipe.run.ranks, 7);
    const interpretation kept = interpreted(*step, *tensors, recipe.run, inputs, true);
    check_execution(*step, inputs, recipe.run, kept);

    if (!sizes.empty()) {
        const std::vector<module_chunks> settings = {{"", pass_direction::both, sizes}};
        const auto regions = regions_in_chunks(modules_of(*step), settings);
        REQUIRE(regions);
        const auto symbols = token_symbols(*step, *tensors);
        REQUIRE(!symbols.empty());
        const auto made = support::chunk_step(*step, *tensors, *regions, symbols[0].dimensions, {.skip_refused = true});
        REQUIRE(made);
        const auto chunk_tensors = capture_tensors::read(made->step);
        REQUIRE(chunk_tensors);
        check_execution(made->step, inputs, recipe.run,
                        interpreted(made->step, *chunk_tensors, recipe.run, inputs, true));
    }

    const traffic_tags<capture_view> tags = traffic_of(*step);
    const buckets_by_traffic<capture_view> choose{&tags};
    const auto buckets = plan_capture_buckets(*step, *tensors, choose, {.most_bytes = {4'096}});
    REQUIRE(buckets);
    CHECK(buckets->buckets.size() > 2);
    const auto bucketed_step = bucketed(*step, *tensors, *buckets);
    REQUIRE(bucketed_step);
    interpretation due = kept;
    // Inputs and outputs have other numbers there.
    for (auto* entries : {&due.inputs, &due.outputs})
        for (interpreted_entry& e : *entries) {
            std::uint32_t v = 0;
            while (bucketed_step->name(v) != e.name) ++v;
            e.vertex = v;
        }
    const support::bucketed_run run = support::in_buckets(*step, kept, *bucketed_step);
    check_execution(*bucketed_step, inputs, recipe.run, run.made, &run, &due);
}

}  // namespace

TEST_CASE("a dense step on two processes computes what the interpreter does") {
    support::shrunken_recipe r;
    r.extents.extents = {{64, 2}, {128, 4}, {1024, 32}, {3072, 96}, {4096, 8}, {8192, 16}, {128256, 16}};
    r.extents.group_sizes = {2};
    r.run.ranks = 2;
    check_forms("/llama_fsdp_forward.json.gz", r, 0, {});
}

TEST_CASE("a step of experts on eight processes computes what the interpreter does, whole, in chunks and in buckets") {
    check_forms("/moe_ep_step.json.gz", support::moe_ep_step_recipe(), 4, {1, 3});
}
