#include "support/shrunken_step.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/aten/interpreter.hpp"
#include "stretto/capture/capture_view.hpp"
#include "support/read_step.hpp"

namespace support {

shrunken_recipe titan_moe_recipe() {
    shrunken_recipe r;
    r.extents.extents = {{16, 2},   {32, 2},   {64, 4},   {128, 8},   {192, 12},  {256, 16},  {320, 20}, {384, 24},
                         {448, 28}, {512, 32}, {576, 36}, {1024, 16}, {2048, 16}, {3072, 24}, {4096, 32}};
    r.extents.symbols = {{"u0", 2}};
    r.extents.group_sizes = {4, 4, 1};
    r.run.ranks = 4;
    r.run.groups = {stretto::strided_groups(4, 4), stretto::strided_groups(4, 4), stretto::strided_groups(4, 1)};
    return r;
}
shrunken_recipe moe_ep_step_recipe() {
    shrunken_recipe r;
    r.extents.extents = {{32, 1}, {64, 2}, {128, 4}, {256, 8}, {512, 16}, {1024, 32}, {1536, 8}, {4096, 8}};
    r.extents.symbols = {{"u0", 2}};
    r.run.ranks = 8;
    return r;
}
shrunken_recipe family_recipe() {
    shrunken_recipe r = moe_ep_step_recipe();
    r.extents.extents.push_back({129, 5});  // the positions, and the sink that attention may look at instead
    return r;
}

shrunken_recipe llama_fsdp_recipe() {
    shrunken_recipe r;
    r.extents.extents = {{64, 2}, {128, 4}, {1024, 32}, {3072, 96}, {4096, 8}, {8192, 16}, {128256, 16}};
    r.extents.group_sizes = {2};
    r.run.ranks = 2;
    return r;
}

shrunken_recipe titan_llama3_recipe() {
    shrunken_recipe r;
    r.extents.extents = {{8, 2},     {16, 1},    {32, 8},    {64, 4},     {96, 6},     {128, 8},   {224, 1},
                         {512, 8},   {1024, 16}, {1536, 24}, {2004, 4},   {2048, 32},  {2560, 40}, {3072, 48},
                         {3584, 56}, {4096, 64}, {6144, 96}, {14336, 16}, {128256, 64}};
    r.extents.symbols = {{"u0", 2}};
    r.extents.group_sizes = {16};
    r.run.ranks = 16;
    return r;
}

stretto::expected<stretto::capture, stretto::diagnostic> shrink(const stretto::capture& step,
                                                                const stretto::capture_tensors& tensors,
                                                                const shrunken_recipe& recipe) {
    const auto execute = [&](stretto::capture_view view, stretto::capture_op_model ops,
                             stretto::shrunken_tensor_model model)
        -> stretto::expected<std::vector<stretto::executed_node>, stretto::diagnostic> {
        stretto::aten::interpreter_options options = recipe.run;
        options.recorded = stretto::aten::recorded_types::ignored;
        options.balanced_routing = true;
        options.keep_everything = true;
        stretto::aten::input_options zeros;  // the extents of tables are not known yet, but position 0 is there
        zeros.ranks = options.ranks;
        zeros.integers_below = 1;
        const auto inputs = stretto::aten::make_inputs(view, ops, model, zeros);
        const auto done =
            stretto::aten::interpret(view, ops, model, [&](std::uint32_t v) { return std::span(inputs[v]); }, options);
        if (!done)
            return stretto::unexpected(stretto::diagnostic{.file = {},
                                                           .byte = {},
                                                           .node = static_cast<std::uint32_t>(done.error().vertex),
                                                           .node_name = done.error().name,
                                                           .field = {},
                                                           .cause = done.error().message(),
                                                           .hint = {}});
        std::vector<stretto::executed_node> nodes(step.size());
        for (std::size_t v = 0; v < done->values.size(); ++v) {
            if (done->values[v].empty()) continue;
            const stretto::aten::interpreted_value& x = done->values[v][0][0];
            for (const stretto::aten::tensor& t : x.tensors) nodes[v].shapes.push_back(t.shape());
            if (x.is_number) nodes[v].number = x.scalar.integer;
        }
        return nodes;
    };
    return stretto::shrink_capture(step, tensors, recipe.extents, execute);
}

shrunken_step read_shrunken(const std::string& path, shrunken_recipe recipe, std::int64_t tokens) {
    if (tokens != 0) recipe.extents.symbols = {{"u0", tokens}};
    const auto captured = read_capture(path);
    REQUIRE(captured);
    const auto captured_tensors = read_tensors(*captured);
    REQUIRE(captured_tensors);
    auto small = shrink(*captured, *captured_tensors, recipe);
    REQUIRE_MESSAGE(small, (small ? std::string() : small.error().message()));
    auto tensors = read_tensors(*small);
    REQUIRE(tensors);
    return {*std::move(small), *std::move(tensors), std::move(recipe)};
}

}  // namespace support
