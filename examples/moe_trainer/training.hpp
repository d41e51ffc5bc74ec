// Makes steps of training: the state of every rank, the text from which it draws, and the results.
#ifndef MOE_TRAINER_TRAINING_HPP
#define MOE_TRAINER_TRAINING_HPP

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir.hpp"
#include "model.hpp"
#include "stretto/schedule/measured_span.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace trainer {

/// The values that one rank keeps from step to step, by the number of the input: its shares of weights, Adam's means,
/// and the biases towards idle experts.
using rank_state = std::map<tensor_id, std::vector<float>>;

/// The complete state of a training between two steps.
struct training_state {
    std::uint64_t seed = 1;
    std::int64_t steps = 0;  ///< how many have been made
    std::vector<rank_state> ranks;

    friend bool operator==(const training_state&, const training_state&) = default;
};

/// Returns the state before the first step. A weight has the same numbers on however many ranks it is distributed.
[[nodiscard]] training_state first_state(const training_step& s, std::uint64_t seed);

/// The bytes that a rank reads in a step, and those that should follow each. They depend only on the arguments of
/// draw(), so a training that is resumed draws the same text as an uninterrupted one. Precondition: the text is longer
/// than a sequence.
struct drawn_text {
    std::vector<std::int32_t> text, targets;
};
[[nodiscard]] drawn_text draw(const std::string& text, const model_shape& s, std::uint64_t seed, std::int64_t step,
                              std::int64_t rank);

/// Returns the entropy of single bytes, in nats: the loss of a model that knows the frequency of each byte and nothing
/// else.
[[nodiscard]] double unigram_entropy(const std::string& text);

/// Returns the inputs of Adam for a step, counted from 0: its rate, which rises and then falls, and the bias
/// corrections of its two means.
[[nodiscard]] std::vector<float> clock_of(std::int64_t step);

/// What to do in a run.
struct run_options {
    std::int64_t steps = 1;  ///< how many to make now
    bool timed = false;      ///< whether all ranks note when operations begin and end
    std::function<void(std::int64_t step, double loss, double milliseconds)> progress = {};
};

/// What a run has measured, by step. Further runs add to it. A loss is the mean over all tokens of all ranks, in nats;
/// the milliseconds are those of rank 0.
struct run_result {
    std::vector<double> losses = {}, milliseconds = {};
    std::vector<stretto::measured_span> times = {};  ///< of all ranks, if the run was timed
};

class transport;

/// Makes steps of `p`, in that order of its tasks, from `state`, which it changes. `p` is the program of `s`, or a form
/// of it. Returns nothing, or what has failed; then the state must not be used any more.
[[nodiscard]] std::optional<std::string> train(transport& on, const training_step& s, const program& p,
                                               const stretto::task_graph& tasks,
                                               const std::vector<stretto::task_id>& order, const std::string& text,
                                               const run_options& options, training_state& state, run_result& result);

}  // namespace trainer

#endif
