#include "stretto/capture/capture_chunks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/aten/aten_dialect.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/tune/try_chunks.hpp"
#include "support/chunk_step.hpp"
#include "support/read_step.hpp"

using namespace stretto;

TEST_CASE("what is searched on a captured step is what is written of it") {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    const auto step = support::read_capture(std::string(graphs) + "/moe_ep_step.json.gz");
    REQUIRE(step);
    const auto tensors = support::read_tensors(*step);
    REQUIRE(tensors);
    const auto tokens = token_symbols(*step, *tensors)[0];
    const capture_view view{&*step};
    const capture_op_model ops{&*step};
    const auto best = search_chunks(view, ops, capture_chunks(*step, *tensors), part_costs_of(*step, *tensors),
                                    units_by_module(view, ops, modules_of(*step)),
                                    token_rows<std::uint32_t>{tokens.value, tokens.dimensions},
                                    {.most = 3, .task_budget = 2000, .whole = nanoseconds{INT64_MAX}});
    REQUIRE(best);
    REQUIRE(best->pays());
    const auto made =
        support::chunk_step(*step, *tensors, best->regions, tokens.dimensions, trial_chunk_options(best->slices));
    REQUIRE(made);
    const auto written = make_task_graph(capture_view{&made->step}, capture_op_model{&made->step});
    REQUIRE(written);
    CHECK(list_schedule(*written, {unlimited_bytes})->makespan() == best->makespan);
}

TEST_CASE("the steps of torchtitan's own model run in chunks: all of their attention, experts and exchanges") {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    for (const char* name : {"/titan_qwen3_full.json.gz", "/titan_qwen3_selective.json.gz"}) {
        CAPTURE(name);
        const auto step = support::read_capture(std::string(graphs) + name);
        REQUIRE(step);
        const auto tensors = support::read_tensors(*step);
        REQUIRE(tensors);
        const auto tokens = token_symbols(*step, *tensors)[0];
        CHECK(tokens.value == 8);
        const auto regions =
            regions_in_chunks(modules_of(*step), std::vector<module_chunks>{{"", pass_direction::both, {3, 5}}});
        REQUIRE(regions);
        const auto made = support::chunk_step(*step, *tensors, *regions, tokens.dimensions);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
        CHECK(made->kept_whole.empty());
        CHECK(check_plan(*step, made->step).legal());
    }
}

TEST_CASE("no rule of the ATen dialect names an operand that a captured operation does not have") {
    std::size_t rules = 0;
    for (const char* folder : {"STRETTO_EXAMPLE_GRAPHS", "STRETTO_REFERENCE_GRAPHS"})
        for (const std::string& path : support::captured_steps(folder)) {
            const auto step = support::read_capture(path);
            REQUIRE(step);
            const auto tensors = support::read_tensors(*step);
            REQUIRE(tensors);
            const capture_view view{&*step};
            const aten_dialect<capture_view, capture_tensor_model> dialect(capture_tensor_model{&*step, &*tensors});
            for (const std::uint32_t v : view.vertices()) {
                std::size_t operands = 0;
                for ([[maybe_unused]] const std::uint32_t x : view.operands(v)) ++operands;
                const auto names = dialect.rule(v).missing_operand(operands);
                CHECK_MESSAGE(!names.is_missing(), path << ": " << dialect.name(v) << ": " << names.part());
                ++rules;
            }
        }
    CHECK(rules > 1000);
}
