#include "stretto/capture/capture_chunks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
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
