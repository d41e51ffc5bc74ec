#include "stretto/capture/capture_module_model.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/example_step.hpp"
#include "support/plan_complaints.hpp"
#include "support/small_step.hpp"

using namespace stretto;
using support::small_step;

TEST_CASE("paths and directions are what the fields say, decoded") {
    const capture step =
        small_step()
            .add("x", "placeholder", "input", {}, {-4, 3}, "null", R"(,"fqn":"layers.0","direction":"forward")")
            .add("a", "aten.neg.default", "compute", {"x"}, {-4, 3}, "null",
                 R"(,"fqn":"layers.0","direction":"forward")")
            .add("b", "aten.neg.default", "compute", {"a"}, {-4, 3}, "null",
                 R"(,"fqn":"a\"b.\u0063","direction":"back\u0077ard")")
            .add("c", "aten.neg.default", "compute", {"b"}, {-4, 3}, "null", R"(,"fqn":7,"direction":"sideways")")
            .add("d", "aten.neg.default", "compute", {"c"}, {-4, 3}, "null", R"(,"fqn":"")")
            .add("out", "output", "output", {"d"}, {})
            .made();
    const capture_module_model model{&step};
    CHECK(model.path(1) == "layers.0");
    CHECK(model.direction(1) == pass_direction::forward);
    CHECK(model.path(2) == "a\"b.c");
    CHECK(model.direction(2) == pass_direction::backward);
    CHECK(model.path(3).empty());
    CHECK(model.direction(3) == pass_direction::both);
    CHECK(model.path(4).empty());
    CHECK(model.path(5).empty());
    // What does not say belongs to what it reads.
    const capture_modules modules = modules_of(step);
    CHECK(modules.path(0).empty());
    CHECK(modules.path(3) == "a\"b.c");
    CHECK(modules.direction(4) == pass_direction::backward);
}

TEST_CASE("every mixture-of-experts block of a captured step, forward and backward, in chunks of many sizes") {
    const auto [step, tensors] = support::moe_ep_step();
    const capture_modules modules = modules_of(step);
    const capture_token_symbol tokens = token_symbols(step, tensors)[0];
    const auto blocks = module_regions(modules, "layers.*.moe");
    REQUIRE(blocks.size() == 2 * 11);
    for (std::size_t k = 0; k < blocks.size(); ++k) {
        CHECK(blocks[k].module == blocks[k - k % 2].module);
        CHECK(blocks[k].direction == (k % 2 == 0 ? pass_direction::forward : pass_direction::backward));
    }
    std::vector<std::vector<std::int64_t>> all_sizes = {{1, tokens.value - 1}, {100, 0, 56, 100}};
    for (std::size_t k : {1u, 2u, 3u, 4u, 7u}) all_sizes.push_back(equal_chunks(tokens.value, k));
    for (const std::vector<std::int64_t>& sizes : all_sizes) {
        // Forward and backward of a block belong together; blocks may, and here do not.
        std::vector<capture_chunk_region> regions;
        for (const module_region<std::uint32_t>& block : blocks) {
            if (block.direction == pass_direction::forward) regions.push_back({{}, sizes});
            regions.back().candidates.insert(regions.back().candidates.end(), block.vertices.begin(),
                                             block.vertices.end());
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
                exchanges.insert({o.region, modules.direction(o.vertex) == pass_direction::backward});
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
    const capture_modules modules = modules_of(step);
    const capture_token_symbol tokens = token_symbols(step, tensors)[0];
    std::vector<capture_chunk_region> regions;
    for (module_region<std::uint32_t>& block : module_regions(modules, "layers.*.moe")) {
        const bool forward = block.direction == pass_direction::forward;
        regions.push_back(
            {std::move(block.vertices), forward ? equal_chunks(tokens.value, 3) : std::vector<std::int64_t>{100, 156}});
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
