// Captured steps in chunks, executed against themselves whole: small extents, real operators, all ranks.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/compare_runs.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

void check_step(const support::shrunken_step& small, std::int64_t tokens,
                const std::vector<std::vector<module_chunks>>& all_settings) {
    const support::shrunken_recipe& recipe = small.recipe;
    const capture& step = small.step;
    const support::named_inputs inputs = support::make_named_inputs(step, small.tensors, recipe.run.ranks, 7);
    const interpretation whole = support::run_named(step, small.tensors, recipe.run, inputs);

    const std::vector<capture_token_symbol> symbols = token_symbols(step, small.tensors);
    REQUIRE(!symbols.empty());
    REQUIRE(symbols[0].value == tokens);
    const capture_modules modules = modules_of(step);
    for (std::size_t n = 0; n < all_settings.size(); ++n) {
        const std::vector<module_chunks>& settings = all_settings[n];
        const bool by_module = !settings[0].pattern.empty();
        const chunk_options options{.skip_refused = true, .slices_from = n % 2 == 0 ? INT64_MAX : 0};
        const auto regions = regions_in_chunks(modules, settings);
        REQUIRE(regions);
        const auto made = support::chunk_step(step, small.tensors, *regions, symbols[0].dimensions, options);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
        const capture& chunked = made->step;
        const chunk_counts counts = made->plan.counts();
        CHECK(counts.chunked > step.size() / (by_module ? 6 : 2));
        std::size_t exchanges = 0;  // that stay whole
        for (std::uint32_t v = 0; v < step.size(); ++v)
            exchanges += step.kind(v) == op_kind::start && step.collective(v) == collective_kind::all_to_all;
        for (const auto& o : made->plan.operations)
            exchanges -= step.collective(o.vertex) == collective_kind::all_to_all && !o.once;
        CHECK((exchanges == 0 || by_module));
        // Everything in chunks leaves sums alone.
        CHECK((counts.concats != 0) == (by_module && n % 2 == 0));
        CHECK((counts.empties != 0) == (by_module && n % 2 != 0));
        const auto chunked_tensors = capture_tensors::read(chunked);
        REQUIRE(chunked_tensors);

        const support::agreement in_order =
            support::compare_runs(whole, support::run_named(chunked, *chunked_tensors, recipe.run, inputs));
        MESSAGE(step.name() << " in " << made->plan.regions[0].sizes.size() << " chunks"
                            << std::string(by_module ? ", by module: " : ": ") << in_order.bitwise << " of "
                            << in_order.entries << " tensors bit for bit, the others within " << in_order.worst << " ("
                            << in_order.where << ")");
        CHECK(in_order.worst < 1e-12);
        CHECK(in_order.bitwise > in_order.entries / 4);

        // In the order that the scheduler finds, nothing changes at all.
        const interpretation chunked_run = support::run_named(chunked, *chunked_tensors, recipe.run, inputs);
        const auto scheduled = plan_overlap(capture_view{&chunked}, capture_op_model{&chunked});
        REQUIRE(scheduled);
        const std::vector<std::uint32_t> order(scheduled->order.begin(), scheduled->order.end());
        const auto different =
            compare(chunked_run, support::run_named(chunked, *chunked_tensors, recipe.run, inputs, &order));
        CHECK_MESSAGE(different.empty(), (different.empty() ? std::string() : different[0].message()));
    }
}

void check_step(const std::string& path, const support::shrunken_recipe& recipe, std::int64_t tokens,
                const std::vector<std::vector<module_chunks>>& all_settings) {
    check_step(support::read_shrunken(path, recipe, tokens), tokens, all_settings);
}

/// The step with every vector of counts, as a router has made it out of a histogram, computed from the ends of groups:
/// a running sum with a zero in front, and the differences of neighbouring elements of that.
capture with_counts_from_ends(const capture& step) {
    capture_builder made = capture_builder::like(step);
    std::vector<std::uint32_t> now(step.size());
    const auto vector_of = [](std::int64_t n) { return R"([{"shape":[)" + std::to_string(n) + R"(],"dtype":"i64"}])"; };
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node node = node_of(step, v);
        for (auto* list : {&node.inputs, &node.aliases, &node.writes})
            for (std::uint32_t& u : *list) u = now[u];
        now[v] = made.append(node);
        const bool counts = step.op(v) == "aten._to_copy.default" && step.op(step.inputs(v)[0]) == "aten.histc.default";
        if (!counts) continue;
        const std::string name(step.name(v)), of_counts(step.outputs(v));
        const std::int64_t n = std::atoll(of_counts.c_str() + of_counts.find("[", 1) + 1);
        const auto add = [&](const char* called, const char* op, op_kind kind, std::vector<std::uint32_t> reads,
                             std::string_view arguments, const std::string& outputs) {
            capture_node own;
            const std::string full = name + called;
            own.name = full;
            own.op = op;
            own.kind = kind;
            own.inputs = std::move(reads);
            if (kind == op_kind::view) own.aliases = own.inputs;
            own.allocation = bytes{kind == op_kind::view ? 0 : 8 * n + 8};
            own.outputs = outputs;
            own.fields = node_of(step, v).fields;
            std::erase_if(own.fields, [](const json_field& f) { return f.key == "args" || f.key == "kwargs"; });
            own.fields.push_back({"args", arguments});
            if (op == std::string_view("aten.zeros.default")) own.fields.push_back({"kwargs", R"({"dtype":"i64"})"});
            return made.append(own);
        };
        const std::uint32_t ends =
            add("_ends", "aten.cumsum.default", op_kind::compute, {now[v]}, R"(["%0",0])", of_counts);
        const std::uint32_t zero = add("_zero", "aten.zeros.default", op_kind::compute, {}, "[[1]]", vector_of(1));
        const std::uint32_t bounds =
            add("_bounds", "aten.cat.default", op_kind::compute, {zero, ends}, R"([["%0","%1"],0])", vector_of(n + 1));
        const std::uint32_t above =
            add("_above", "aten.slice.Tensor", op_kind::view, {bounds}, R"(["%0",0,1,9223372036854775807])", of_counts);
        const std::uint32_t below =
            add("_below", "aten.slice.Tensor", op_kind::view, {bounds}, R"(["%0",0,0,-1])", of_counts);
        now[v] = add("_apart", "aten.sub.Tensor", op_kind::compute, {above, below}, R"(["%0","%1"])", of_counts);
    }
    auto built = std::move(made).build();
    REQUIRE_MESSAGE(built, (built ? std::string() : built.error().message()));
    return *std::move(built);
}

/// Everything that the tokens reach, in chunks of these sizes.
std::vector<module_chunks> whole_step(std::vector<std::int64_t> sizes) {
    return {{"", pass_direction::both, std::move(sizes)}};
}

}  // namespace

TEST_CASE("the step of the examples computes the same in chunks") {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", "/moe_ep_step.json.gz");
    if (!path.empty())
        check_step(path, support::moe_ep_step_recipe(), 4,
                   {whole_step({2, 2}),
                    whole_step({1, 3}),
                    whole_step({1, 1, 1, 1}),
                    {{"layers.*.moe", pass_direction::both, {1, 1, 2}},
                     {"layers.2.moe", pass_direction::both, {3, 1}},
                     {"layers.5.moe", pass_direction::backward, {2, 2}},
                     {"layers.7", pass_direction::forward, {1, 3}}}});
}

TEST_CASE("steps that compute activations again, and gather parameters again, compute the same in chunks") {
    for (const char* name : {"/moe_recompute_selective.json.gz", "/moe_recompute_layers.json.gz"}) {
        const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", name);
        if (path.empty()) continue;
        check_step(path, support::moe_ep_step_recipe(), 6,
                   {whole_step({3, 3}),
                    whole_step({2, 3, 1}),
                    whole_step({2, 2, 2}),
                    {{"layers.*.moe", pass_direction::both, {2, 4}}}});
    }
}

TEST_CASE("steps of other families of models, with recomputation and offloading, compute the same in chunks") {
    for (const char* name : {"/qwen3_full.json.gz", "/qwen3_selective.json.gz", "/gpt_oss_full.json.gz",
                             "/gpt_oss_selective.json.gz", "/llama4_full.json.gz", "/llama4_offload.json.gz"}) {
        CAPTURE(name);
        const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", name);
        if (path.empty()) continue;
        check_step(path, support::family_recipe(), 6,
                   {whole_step({3, 3}), whole_step({2, 3, 1}), {{"layers.*.moe", pass_direction::both, {2, 4}}}});
    }
}

TEST_CASE("a step that takes counts from the ends of groups computes the same in chunks") {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", "/gpt_oss_full.json.gz");
    if (path.empty()) return;
    const support::shrunken_step given = support::read_shrunken(path, support::family_recipe(), 6);
    capture step = with_counts_from_ends(given.step);
    CHECK(step.size() > given.step.size() + 6);
    auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    check_step({std::move(step), *std::move(tensors), given.recipe}, 6,
               {whole_step({3, 3}), whole_step({2, 3, 1}), {{"layers.*.moe", pass_direction::both, {2, 4}}}});
}

TEST_CASE("the mixture-of-experts step of the reference computes the same in chunks") {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", "/titan_moe.json.gz");
    if (!path.empty())
        check_step(path, support::titan_moe_recipe(), 7,
                   {whole_step({4, 3}),
                    whole_step({1, 2, 4}),
                    whole_step({2, 2, 2, 1}),
                    whole_step({1, 1, 1, 1, 1, 1, 1}),
                    {{"layers.*.moe", pass_direction::both, {4, 3}},
                     {"layers.2", pass_direction::both, {1, 2, 4}},
                     {"layers.3.moe", pass_direction::backward, {6, 1}}}});
}
