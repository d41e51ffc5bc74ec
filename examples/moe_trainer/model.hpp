// Builds the network and a step of its training as a program: a decoder whose layers send every token to a few of many
// experts, on ranks that share experts and weights.
#ifndef MOE_TRAINER_MODEL_HPP
#define MOE_TRAINER_MODEL_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir.hpp"

namespace trainer {

/// The extents of the network. Each rank has `batch` sequences per step.
struct model_shape {
    std::int64_t vocabulary = 256, width = 64, heads = 4, layers = 2;
    std::int64_t experts = 8, chosen = 2, hidden = 64,
                 shared = 128;  ///< inner widths of an expert and of the shared one
    std::int64_t sequence = 64, batch = 8;
    bool rounds = false;  ///< rows are rounded to 16 bits (bf16) before they travel

    friend bool operator==(const model_shape&, const model_shape&) = default;
};

/// A weight, of which each rank holds a share, and Adam's means of its gradient and of the square of that. All three
/// are inputs of the step.
struct weight {
    std::string name;
    extents shape;                ///< of the whole weight; for experts, of those that one rank of a block has
    stretto::group_id group = 0;  ///< the ranks over which it is sharded
    bool is_of_experts = false;
    tensor_id share = 0, mean = 0, square = 0;
};

/// One step of training. `expert_bias` is by layer. Inputs have the same numbers in copies and rewritten forms of `p`.
struct training_step {
    model_shape shape;
    program p;
    tensor_id text = 0, targets = 0, seed = 0, clock = 0;
    std::vector<weight> weights;
    std::vector<tensor_id> expert_bias;
};

/// Returns what is wrong with a shape on so many ranks, as a sentence with a remedy. Returns nothing if the step can be
/// built.
[[nodiscard]] std::optional<std::string> fault_of(const model_shape& s, const mesh& m);

/// Returns the step as an author would write it: weights are gathered where a module begins, gradients are summed over
/// ranks where they are complete, and every collective is waited for where it is launched. Precondition: fault_of finds
/// nothing.
[[nodiscard]] training_step build_step(const model_shape& s, const mesh& m);

}  // namespace trainer

#endif
