// Captured steps made small enough to be executed, with the interpreter as what executes them.
#ifndef STRETTO_TESTS_SUPPORT_SHRUNKEN_STEP_HPP
#define STRETTO_TESTS_SUPPORT_SHRUNKEN_STEP_HPP

#include <cstdint>
#include <string>

#include "stretto/aten/interpretation.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "support/shrink_capture.hpp"

namespace support {

/// How a captured step is made small and run.
struct shrunken_recipe {
    stretto::shrink_options extents;
    stretto::aten::interpreter_options run;
};

/// 5 MoE layers, 8 experts, groups of 8, 4 and 2 GPUs -> 4 ranks with 2 sequences of 32 tokens each.
shrunken_recipe titan_moe_recipe();
/// 11 MoE layers, 16 experts, 8 ranks with 2 sequences of 4 tokens each.
shrunken_recipe moe_ep_step_recipe();
/// The steps of other families of models: 2 or 3 MoE layers, else the same.
shrunken_recipe family_recipe();
/// 2 ranks of a dense step.
shrunken_recipe llama_fsdp_recipe();
/// 16 ranks of a dense step with sequences of 64 tokens; the loss in 8 parts.
shrunken_recipe titan_llama3_recipe();

/// The step on small extents, or the first reason why it is not consistent.
stretto::expected<stretto::capture, stretto::diagnostic> shrink(const stretto::capture& step,
                                                                const stretto::capture_tensors& tensors,
                                                                const shrunken_recipe& recipe);

struct shrunken_step {
    stretto::capture step;
    stretto::capture_tensors tensors;
    shrunken_recipe recipe;
};

/// The step in a file on small extents, with so many tokens; if that is 0, with what the recipe says. Ends the test
/// case if there is none.
shrunken_step read_shrunken(const std::string& path, shrunken_recipe recipe, std::int64_t tokens);

}  // namespace support

#endif
