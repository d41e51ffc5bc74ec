// Captured steps made small enough to be executed, with the interpreter as what executes them.
#ifndef STRETTO_TESTS_SUPPORT_SHRUNKEN_STEP_HPP
#define STRETTO_TESTS_SUPPORT_SHRUNKEN_STEP_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/interop/capture.hpp"
#include "stretto/interop/capture_tensors.hpp"
#include "stretto/interop/capture_view.hpp"
#include "stretto/interop/diagnostic.hpp"
#include "stretto/interop/shrink_capture.hpp"
#include "stretto/testing/interpreter.hpp"

namespace support {

/// A capture_tensor_model that knows the names of its vertices, for the messages of the interpreter.
struct named_tensor_model : stretto::capture_tensor_model {
    [[nodiscard]] std::string_view name(std::uint32_t v) const noexcept { return step->name(v); }
};

/// How a captured step is made small and run.
struct shrunken_recipe {
    stretto::shrink_options extents;
    stretto::testing::interpreter_options run;
};

/// 5 MoE layers, 8 experts, groups of 8, 4 and 2 GPUs -> 4 ranks with 2 sequences of 32 tokens each.
inline shrunken_recipe titan_moe_recipe() {
    shrunken_recipe r;
    r.extents.extents = {{16, 2},   {32, 2},   {64, 4},   {128, 8},   {192, 12},  {256, 16},  {320, 20}, {384, 24},
                         {448, 28}, {512, 32}, {576, 36}, {1024, 16}, {2048, 16}, {3072, 24}, {4096, 32}};
    r.extents.symbols = {{"u0", 2}};
    r.extents.group_sizes = {4, 4, 1};
    r.run.ranks = 4;
    r.run.groups = {{4, 1}, {4, 1}, {1, 1}};
    return r;
}
/// 26 MoE layers, 64 experts, groups of 64, 8 and 8 GPUs -> 8 ranks with 1 sequence of 64 tokens each. The exchange
/// names every one of its 8 ranks, so there cannot be fewer.
inline shrunken_recipe titan_16b_recipe() {
    shrunken_recipe r;
    r.extents.extents = {
        {16, 1},    {128, 32},  {192, 96},   {256, 64},   {512, 8},   {576, 72},  {1024, 16},
        {1408, 8},  {1536, 24}, {2048, 32},  {2560, 40},  {2816, 16}, {3072, 96}, {3072, 48, "aten.slice."},
        {3584, 56}, {4096, 64}, {10944, 16}, {102400, 64}};
    r.extents.symbols = {{"u0", 1}};
    r.extents.group_sizes = {8, 8, 1};
    r.run.ranks = 8;
    r.run.groups = {{8, 1}, {8, 1}, {1, 1}};
    return r;
}
/// 11 MoE layers, 16 experts, 8 ranks with 2 sequences of 4 tokens each.
inline shrunken_recipe moe_ep_step_recipe() {
    shrunken_recipe r;
    r.extents.extents = {{32, 1}, {64, 2}, {128, 4}, {256, 8}, {512, 16}, {1024, 32}, {1536, 8}, {4096, 8}};
    r.extents.symbols = {{"u0", 2}};
    r.run.ranks = 8;
    return r;
}

/// The step on small extents, or the first reason why it is not consistent.
inline stretto::expected<stretto::capture, stretto::diagnostic> shrink(const stretto::capture& step,
                                                                       const stretto::capture_tensors& tensors,
                                                                       const shrunken_recipe& recipe) {
    const auto execute = [&](stretto::capture_view view, stretto::capture_op_model ops,
                             stretto::shrunken_tensor_model model)
        -> stretto::expected<std::vector<stretto::executed_node>, stretto::diagnostic> {
        stretto::testing::interpreter_options options = recipe.run;
        options.recorded = stretto::testing::recorded_types::ignored;
        options.balanced_routing = true;
        options.keep_everything = true;
        stretto::testing::input_options zeros;  // the extents of tables are not known yet, but position 0 is there
        zeros.ranks = options.ranks;
        zeros.integers_below = 1;
        const auto inputs = stretto::testing::make_inputs(view, ops, model, zeros);
        const auto done = stretto::testing::interpret(
            view, ops, model, [&](std::uint32_t v) { return std::span(inputs[v]); }, options);
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
            const stretto::testing::interpreted_value& x = done->values[v][0][0];
            for (const stretto::testing::tensor& t : x.tensors) nodes[v].shapes.push_back(t.shape());
            if (x.is_number) nodes[v].number = x.scalar.integer;
        }
        return nodes;
    };
    return stretto::shrink_capture(step, tensors, recipe.extents, execute);
}

}  // namespace support

#endif
