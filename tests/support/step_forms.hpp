// Captured steps, made small and executed on the ranks of a world: whole, in chunks and in buckets. What comes out is
// what the interpreter computes in the same order, bit for bit.
#ifndef STRETTO_TESTS_SUPPORT_STEP_FORMS_HPP
#define STRETTO_TESTS_SUPPORT_STEP_FORMS_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
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

namespace support {

/// A step in the order of the scheduler, as a world executes it, and what must come out.
struct ordered_step {
    const executable_step& step;
    const stretto::task_graph& tasks;
    const stretto::checked_order& order;
    const stretto::aten::interpretation& before;  ///< what the inputs are
    const stretto::aten::interpretation& due;
    const stretto::aten::interpreter_options& options;
};

/// `World` executes: `execute(ordered_step)` gives an executed_step, in which other processes may stand for their own
/// parts, and `finish(ordered_step, right)` is called in the end.
template <class World>
class step_forms {
public:
    explicit step_forms(World& world) : world_(world) {}

    /// Whole, in buckets, and in chunks of each of those sizes. Nothing if the step is not in the folder that is named
    /// by the variable of the environment.
    void check(const char* file, shrunken_recipe recipe, std::int64_t tokens,
               const std::vector<std::vector<std::int64_t>>& chunks, const char* folder = "STRETTO_EXAMPLE_GRAPHS") {
        using namespace stretto;
        const std::string path = captured_step(folder, file);
        if (path.empty()) return;
        recipe.run.rings = 0;  // ranks of a world add in their order, wherever an element lies
        const shrunken_step small = read_shrunken(path, recipe, tokens);
        const capture& step = small.step;
        const interpreter_options& options = small.recipe.run;
        const named_inputs inputs = make_named_inputs(step, small.tensors, options.ranks, 7);
        const interpretation kept = interpreted(step, small.tensors, options, inputs, true);
        check_execution(step, inputs, options, kept);

        const std::vector<capture_token_symbol> symbols = token_symbols(step, small.tensors);
        for (const std::vector<std::int64_t>& sizes : chunks) {
            REQUIRE(!symbols.empty());
            const std::vector<module_chunks> settings = {{"", pass_direction::both, sizes}};
            const auto regions = regions_in_chunks(modules_of(step), settings);
            REQUIRE(regions);
            const auto made = chunk_step(step, small.tensors, *regions, symbols[0].dimensions, {.skip_refused = true});
            REQUIRE(made);
            const auto tensors = capture_tensors::read(made->step);
            REQUIRE(tensors);
            check_execution(made->step, inputs, options, interpreted(made->step, *tensors, options, inputs, true));
        }

        const traffic_tags<capture_view> tags = traffic_of(step);
        const buckets_by_traffic<capture_view> choose{&tags};
        const auto buckets = plan_capture_buckets(step, small.tensors, choose, {.most_bytes = {4'096}});
        REQUIRE(buckets);
        CHECK(buckets->buckets.size() > 2);
        const auto bucketed_step = bucketed(step, small.tensors, *buckets);
        REQUIRE(bucketed_step);
        interpretation due = kept;
        // Inputs and outputs have other numbers there.
        for (auto* entries : {&due.inputs, &due.outputs})
            for (interpreted_entry& e : *entries) {
                std::uint32_t v = 0;
                while (bucketed_step->name(v) != e.name) ++v;
                e.vertex = v;
            }
        const bucketed_run run = in_buckets(step, kept, *bucketed_step);
        check_execution(*bucketed_step, inputs, options, run.made, &run, &due);
    }

private:
    using interpretation = stretto::aten::interpretation;
    using interpreted_entry = stretto::aten::interpreted_entry;
    using interpreter_options = stretto::aten::interpreter_options;

    static interpretation interpreted(const stretto::capture& step, const stretto::capture_tensors& tensors,
                                      interpreter_options options, const named_inputs& inputs, bool keep,
                                      const std::vector<std::uint32_t>* order = nullptr) {
        options.keep_everything = keep;
        return run_named(step, tensors, options, inputs, order);
    }

    /// Executes `step`, of which the interpreter has kept everything in `kept`. It is compared with what the
    /// interpreter makes of it in the same order; a step in buckets, which the interpreter does not know, with what it
    /// makes of the step without them.
    void check_execution(const stretto::capture& step, const named_inputs& inputs, const interpreter_options& options,
                         const interpretation& kept, const bucketed_run* buckets = nullptr,
                         const interpretation* without_buckets = nullptr) {
        CAPTURE(step.name());
        const auto tensors = stretto::capture_tensors::read(step);
        REQUIRE(tensors);
        const executable_step s(step, *tensors, kept, buckets);
        const auto plan = stretto::plan_overlap(stretto::capture_view{&step}, s.ops());
        REQUIRE(plan);
        const auto order = stretto::check_order(plan->tasks, plan->certificate.order());
        REQUIRE(order.has_value());
        const std::vector<std::uint32_t> vertices(order->order().begin(), order->order().end());
        const interpretation due =
            without_buckets ? *without_buckets : interpreted(step, *tensors, options, inputs, false, &vertices);
        interpretation before;
        for (const interpreted_entry& e : due.inputs) {
            before.inputs.push_back(e);
            before.inputs.back().by_rank = inputs.find(e.name)->second;
        }

        const ordered_step all{s, plan->tasks, *order, before, due, options};
        const executed_step done = world_.execute(all);
        CHECK(done.wrong == "");
        const auto different = compare(due, done.made);
        const bool right = done.wrong.empty() && different.empty();
        if (done.wrong.empty()) CHECK_MESSAGE(right, (different.empty() ? std::string() : different[0].message()));
        world_.finish(all, right);
    }

    World& world_;
};

}  // namespace support

#endif
