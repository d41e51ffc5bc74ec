// Runs a training from its arguments to its last file.
#ifndef MOE_TRAINER_SESSION_HPP
#define MOE_TRAINER_SESSION_HPP

#include <cstdint>
#include <string>

#include "forms.hpp"
#include "model.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/schedule/memory.hpp"
#include "transport.hpp"

namespace trainer {

/// What a command line requests.
struct arguments {
    mesh ranks = {2, 2};
    model_shape shape = {};
    bool chooses_chunks = true;  ///< otherwise `chunks` has the sequences of each chunk
    std::vector<std::int64_t> chunks = {};
    stretto::host_link link = {.latency = {200'000}, .bytes_per_second = 40'000'000};
    stretto::memory_budget memory_limit = stretto::memory_budget::times_input_peak(1.5);
    std::int64_t steps = 300;
    std::uint64_t seed = 1;
    std::string text = "/usr/share/common-licenses/GPL-3", trace = {}, step_file = {}, report = {}, checkpoint = {},
                resume = {};
    std::int64_t checkpoint_every = 0;  ///< steps between checkpoints; 0: only after the last step
    place_of_ranks where = place_of_ranks::host;
    bool real_time = false;
    std::string blas = {};  ///< the library that multiplies matrices; none: loops of the trainer's own
};

/// Trains. Prints results to standard output, progress and errors to standard error. Returns the exit status: 0; 1 if
/// the run fails or forms of a step differ in a bit; 2 if the arguments, or files that they name, cannot be used.
[[nodiscard]] int run_session(const arguments& a);

/// The arguments of a command line, or the exit status if there is nothing to run.
struct parsed_arguments {
    arguments made = {};
    int status = -1;  ///< the exit status; -1 if the arguments are to be run
};
/// Parses a command line. Prints help, or what is wrong.
[[nodiscard]] parsed_arguments parse(int argc, const char* const* argv);

}  // namespace trainer

#endif
