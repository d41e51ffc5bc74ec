#include "stretto/capture/capture_part_costs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "stretto/capture/capture_chunks.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/testing/check_part_costs.hpp"
#include "stretto/tune/try_chunks.hpp"
#include "support/chunk_step.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

using regions = std::vector<capture_chunk_region>;

static_assert(part_cost_model<capture_part_costs, capture_view>);

std::vector<std::uint32_t> all_of(const index_lists& lists) {
    std::vector<std::uint32_t> all;
    for (std::size_t k = 0; k < lists.rows(); ++k) {
        all.push_back(UINT32_MAX);
        all.insert(all.end(), lists[k].begin(), lists[k].end());
    }
    return all;
}
template <class T>
std::vector<std::int64_t> counts_of(const std::vector<T>& amounts) {
    std::vector<std::int64_t> counts;
    for (const T& a : amounts) counts.push_back(a.count);
    return counts;
}

}  // namespace

TEST_CASE("the tasks of a step in chunks are those of the step that would be written") {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    const auto step = support::read_capture(std::string(graphs) + "/moe_ep_step.json.gz");
    REQUIRE(step);
    const auto tensors = support::read_tensors(*step);
    REQUIRE(tensors);
    const std::vector<capture_token_symbol> symbols = token_symbols(*step, *tensors);
    const std::uint32_t half = static_cast<std::uint32_t>(step->size()) / 2;
    regions two = {{{}, {100, 156}}, {{}, {64, 64, 128}}};
    for (std::uint32_t v = 0; v < step->size(); ++v)
        if (step->kind(v) != op_kind::input && step->kind(v) != op_kind::output)
            two[v < half ? 0 : 1].candidates.push_back(v);
    chunk_options options{.skip_refused = true};
    SUBCASE("concatenated") {}
    SUBCASE("slice by slice") { options.slices_from = 0; }
    const auto made = support::chunk_step(*step, *tensors, two, symbols[0].dimensions, options);
    REQUIRE(made);
    const auto tasks =
        try_chunks(made->plan, capture_view{&*step}, capture_op_model{&*step}, part_costs_of(*step, *tensors));
    REQUIRE(tasks);
    const task_graph& graph = tasks->graph;
    CHECK((made->plan.counts().empties == 0) == (options.slices_from != 0));
    const auto written = make_task_graph(capture_view{&made->step}, capture_op_model{&made->step});
    REQUIRE(written);
    CHECK(graph.size() > 2 * step->size());
    for (std::uint32_t t = 0; t < graph.size(); ++t) {
        const auto origin = made->step.field(t, "origin");
        const std::string name(origin ? origin->substr(1, origin->size() - 2) : made->step.name(t));
        if (origin || step->find(name)) CHECK(step->name(tasks->original[t]) == name);
    }
    CHECK(graph.kind == written->kind);
    CHECK(counts_of(graph.duration) == counts_of(written->duration));
    CHECK(graph.collective == written->collective);
    CHECK(graph.group == written->group);
    CHECK(counts_of(graph.payload) == counts_of(written->payload));
    CHECK(counts_of(graph.allocation) == counts_of(written->allocation));
    CHECK(all_of(graph.storages) == all_of(written->storages));
    CHECK(all_of(graph.writes) == all_of(written->writes));
    CHECK(all_of(graph.predecessors) == all_of(written->predecessors));
}

TEST_CASE("costs of the parts of a captured step can be believed") {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    for (const char* name : {"/moe_ep_step.json.gz", "/llama_fsdp_forward.json.gz"}) {
        const auto step = support::read_capture(std::string(graphs) + name);
        REQUIRE(step);
        const auto tensors = support::read_tensors(*step);
        REQUIRE(tensors);
        const auto numbers = value_numbers_of(*step, *tensors);
        const fresh_capture_chunk_model chunks(*step, *tensors, numbers);
        const auto found = check_part_costs(capture_view{&*step}, capture_op_model{&*step}, capture_chunk_model(chunks),
                                            part_costs_of(*step, *tensors));
        CHECK_MESSAGE(found, found.error().message());
        if (found) CHECK(found->operations > 100);
    }
}
