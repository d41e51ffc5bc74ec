// Steps of training: the memory of every rank, the text it draws from, and what comes of it.
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

/// What one rank keeps from step to step, by the number of the input: its shares of weights, what Adam remembers of
/// them, and the biases towards idle experts.
using rank_state = std::map<tensor_id, std::vector<float>>;

/// Everything that a training is, between two steps.
struct training_state {
    std::uint64_t seed = 1;
    std::int64_t steps = 0;  ///< that have been made
    std::vector<rank_state> ranks;

    friend bool operator==(const training_state&, const training_state&) = default;
};

/// The state before the first step. A weight has the same numbers on however many ranks it is spread.
[[nodiscard]] training_state first_state(const training_step& s, std::uint64_t seed);

/// The bytes that a rank reads in a step, and those that should follow each. Depends on its arguments alone, so that a
/// training that is resumed draws what an uninterrupted one does. Precondition: the text is longer than a sequence.
struct drawn_text {
    std::vector<std::int32_t> text, targets;
};
[[nodiscard]] drawn_text draw(const std::string& text, const model_shape& s, std::uint64_t seed, std::int64_t step,
                              std::int64_t rank);

/// In nats per byte: the loss of who knows how frequent each byte is, and nothing else.
[[nodiscard]] double unigram_entropy(const std::string& text);

/// What Adam is told of a step, from 0: its rate, which rises and falls, and how much of the two means is there yet.
[[nodiscard]] std::vector<float> clock_of(std::int64_t step);

struct run_options {
    std::int64_t steps = 1;  ///< to make now
    bool timed = false;      ///< whether all ranks note when operations begin and end
    std::function<void(std::int64_t step, double loss, double milliseconds)> progress = {};
};

/// What a run has measured, by step; further runs add to it. A loss is the mean over all tokens of all ranks, in nats;
/// times are those of rank 0.
struct run_result {
    std::vector<double> losses = {}, milliseconds = {};
    std::vector<stretto::measured_span> times = {};  ///< of all ranks, if the run was timed
};

class transport;

/// Makes steps of `p`, in that order of its tasks, from `state`, which it changes. `p` is the program of `s`, or a form
/// of it. On failure it says what has happened, and the state is no longer that of a training.
[[nodiscard]] std::optional<std::string> train(transport& on, const training_step& s, const program& p,
                                               const stretto::task_graph& tasks,
                                               const std::vector<stretto::task_id>& order, const std::string& text,
                                               const run_options& options, training_state& state, run_result& result);

}  // namespace trainer

#endif
