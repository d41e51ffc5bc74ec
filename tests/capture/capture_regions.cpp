#include "stretto/capture/capture_regions.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "support/chunk_step.hpp"
#include "support/example_step.hpp"
#include "support/plan_complaints.hpp"
#include "support/small_step.hpp"

using namespace stretto;
using support::small_step;

namespace {

using detail::common_module;
using node_list = std::vector<std::uint32_t>;

/// Two layers, forward and backward: 1 a.f (layers.0), 2 b.f (layers.0.ffn), 3 c.f (layers.1), 4 c.b (layers.1),
/// 5 b.b (layers.0.ffn), 6 sum of 4 and 5 without a path, 7 a sum of 2 parts of layers.0 without a path or direction.
small_step two_layers() {
    return small_step()
        .add("x", "placeholder", "input", {}, {-4, 3})
        .add("a", "aten.neg.default", "compute", {"x"}, {-4, 3}, "null", R"(,"fqn":"layers.0","direction":"forward")")
        .add("b", "aten.neg.default", "compute", {"a"}, {-4, 3}, "null",
             R"(,"fqn":"layers.0.ffn","direction":"forward")")
        .add("c", "aten.neg.default", "compute", {"b"}, {-4, 3}, "null", R"(,"fqn":"layers.1","direction":"forward")")
        .add("gc", "aten.neg.default", "compute", {"c"}, {-4, 3}, "null", R"(,"fqn":"layers.1","direction":"backward")")
        .add("gb", "aten.neg.default", "compute", {"gc"}, {-4, 3}, "null",
             R"(,"fqn":"layers.0.ffn","direction":"backward")")
        .add("between", "aten.add.Tensor", "compute", {"gc", "gb"}, {-4, 3}, "null", R"(,"direction":"backward")")
        .add("within", "aten.add.Tensor", "compute", {"a", "b"}, {-4, 3})
        .add("lone", "aten.neg.default", "compute", {"x"}, {-4, 3})
        .add("out", "output", "output", {"between", "within", "lone"}, {});
}

std::string shown(const std::vector<module_region>& regions) {
    std::string text;
    for (const module_region& r : regions) {
        text += (text.empty() ? "" : "; ") + r.module + (r.direction == capture_direction::forward ? " f" : " b");
        for (std::uint32_t v : r.nodes) text += " " + std::to_string(v);
    }
    return text;
}

}  // namespace

TEST_CASE("patterns match the beginning of a path, component by component") {
    CHECK(matched_module("layers.3.moe.router", "layers.3") == "layers.3");
    CHECK(matched_module("layers.3.moe.router", "layers.*") == "layers.3");
    CHECK(matched_module("layers.3.moe.router", "layers.*.moe") == "layers.3.moe");
    CHECK(matched_module("layers.3", "layers.3") == "layers.3");
    CHECK(matched_module("layers.30", "layers.3").empty());
    CHECK(matched_module("layers.3", "layers.3.moe").empty());
    CHECK(matched_module("layers.3", "*.*") == "layers.3");
    CHECK(matched_module("layers", "*.*").empty());
    CHECK(matched_module("layers.3", "layer*").empty());
    CHECK(matched_module("", "*").empty());
    CHECK(matched_module("layers.3", "").empty());
    CHECK(matched_module("layers.3", "layers..3").empty());
    CHECK(common_module("layers.3.ffn", "layers.3.moe") == "layers.3");
    CHECK(common_module("layers.3", "layers.3.moe") == "layers.3");
    CHECK(common_module("layers.3", "layers.30") == "layers");
    CHECK(common_module("norm", "layers.30").empty());
    CHECK(common_module("norm", "norm") == "norm");
}

TEST_CASE("nodes without a path lie where all that they read lies") {
    const capture step = two_layers().made();
    const capture_modules modules(step);
    CHECK(modules.path(0).empty());
    CHECK(modules.path(2) == "layers.0.ffn");
    CHECK(modules.path(6) == "layers");
    CHECK(modules.path(7) == "layers.0");
    CHECK(modules.path(8).empty());
    CHECK(modules.direction(6) == capture_direction::backward);
    CHECK(modules.direction(7) == capture_direction::forward);
    CHECK(modules.direction(8) == capture_direction::both);
}

TEST_CASE("one region a module and direction, backward behind forward") {
    const capture step = two_layers().made();
    const capture_modules modules(step);
    CHECK(shown(capture_regions(modules, "layers.*")) == "layers.0 f 1 2 7; layers.0 b 5; layers.1 f 3; layers.1 b 4");
    CHECK(shown(capture_regions(modules, "layers")) == "layers f 1 2 3 7; layers b 4 5 6");
    CHECK(shown(capture_regions(modules, "layers.*.ffn", capture_direction::backward)) == "layers.0.ffn b 5");
    CHECK(shown(capture_regions(modules, "norm")).empty());
}

TEST_CASE("nodes with equal sizes are one region, and the last setting counts") {
    const capture step = two_layers().made();
    const capture_modules modules(step);
    const auto regions = [&](std::vector<module_chunks> settings) {
        const auto made = regions_in_chunks(step, modules, settings);
        std::string text;
        if (!made) return "setting " + std::to_string(made.error());
        for (const auto& r : *made) {
            text += text.empty() ? "" : "; ";
            for (std::int64_t size : r.sizes) text += std::to_string(size);
            text += ":";
            for (std::uint32_t v : r.candidates) text += " " + std::to_string(v);
        }
        return text;
    };
    const auto both = capture_direction::both, backward = capture_direction::backward;
    CHECK(regions({{"", both, {2, 2}}}) == "22: 1 2 3 4 5 6 7 8");
    CHECK(regions({{"layers.*", both, {2, 2}}}) == "22: 1 2 3 4 5 7");
    CHECK(regions({{"layers.0", both, {2, 2}}, {"layers.1", both, {2, 2}}}) == "22: 1 2 3 4 5 7");
    CHECK(regions({{"layers.0", both, {2, 2}}, {"layers.1", both, {1, 3}}}) == "22: 1 2 5 7; 13: 3 4");
    CHECK(regions({{"", both, {2, 2}}, {"", backward, {1, 3}}, {"layers.0.ffn", both, {4}}}) == "22: 1 3 7 8; 13: 4 6");
    CHECK(regions({{"layers.0.ffn", both, {4}}, {"", both, {2, 2}}}) == "22: 1 2 3 4 5 6 7 8");
    CHECK(regions({{"layers.0", both, {4}}}).empty());
    CHECK(regions({{"layers.0", both, {2, 2}}, {"layers.7", both, {2, 2}}}) == "setting 1");
    CHECK(regions({{"layers.1", both, {2, 2}}, {"norm", backward, {2, 2}}}) == "setting 1");
}

TEST_CASE("every mixture-of-experts block of a captured step, forward and backward, in chunks of many sizes") {
    const auto [step, tensors] = support::moe_ep_step();
    const capture_modules modules(step);
    const token_symbol tokens = token_symbols_of(step)[0];
    const auto blocks = capture_regions(modules, "layers.*.moe");
    REQUIRE(blocks.size() == 2 * 11);
    for (std::size_t k = 0; k < blocks.size(); ++k) {
        CHECK(blocks[k].module == blocks[k - k % 2].module);
        CHECK(blocks[k].direction == (k % 2 == 0 ? capture_direction::forward : capture_direction::backward));
    }
    std::vector<std::vector<std::int64_t>> all_sizes = {{1, tokens.value - 1}, {100, 0, 56, 100}};
    for (std::size_t k : {1u, 2u, 3u, 4u, 7u}) all_sizes.push_back(equal_chunks(tokens.value, k));
    for (const std::vector<std::int64_t>& sizes : all_sizes) {
        // Forward and backward of a block belong together; blocks may, and here do not.
        std::vector<capture_chunk_region> regions;
        for (const module_region& block : blocks) {
            if (block.direction == capture_direction::forward) regions.push_back({{}, sizes});
            regions.back().candidates.insert(regions.back().candidates.end(), block.nodes.begin(), block.nodes.end());
        }
        const auto made = support::chunk_step(step, tensors, regions, tokens.dimensions, {.skip_refused = true});
        REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
        if (sizes.size() == 1) {
            CHECK(made->plan.empty());
            continue;
        }
        std::set<std::pair<std::uint32_t, bool>> exchanges;
        std::size_t starts = 0;
        for (const auto& o : made->plan.operations)
            if (step.collective(o.vertex) == collective_kind::all_to_all) {
                ++starts;
                exchanges.insert({o.region, modules.direction(o.vertex) == capture_direction::backward});
            }
        CHECK(exchanges.size() == blocks.size());
        std::size_t whole = 0;
        for (std::uint32_t v = 0; v < step.size(); ++v) whole += step.collective(v) == collective_kind::all_to_all;
        CHECK(starts == whole);
        CHECK(support::complaints_about(step, made->step) == "");
    }
}

TEST_CASE("forward and backward of a block as regions of their own, in different chunks") {
    const auto [step, tensors] = support::moe_ep_step();
    const capture_modules modules(step);
    const token_symbol tokens = token_symbols_of(step)[0];
    std::vector<capture_chunk_region> regions;
    for (module_region& block : capture_regions(modules, "layers.*.moe")) {
        const bool forward = block.direction == capture_direction::forward;
        regions.push_back(
            {std::move(block.nodes), forward ? equal_chunks(tokens.value, 3) : std::vector<std::int64_t>{100, 156}});
    }
    const auto made = support::chunk_step(step, tensors, regions, tokens.dimensions, {.skip_refused = true});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    std::set<std::uint32_t> cut;
    for (const auto& o : made->plan.operations) cut.insert(o.region);
    CHECK(cut.size() == regions.size());
    CHECK(support::complaints_about(step, made->step) == "");

    // Rows that forward has left in the order of its chunks cannot be made whole, so much of it runs whole.
    const auto strict = support::chunk_step(step, tensors, regions, tokens.dimensions);
    REQUIRE(!strict);
    CHECK(strict.error().field.starts_with("region "));
    CHECK(strict.error().hint == "leave it out of the region, or let what cannot be cut stay whole");
}
