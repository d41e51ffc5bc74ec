// Where the ranks of a training are: threads of this process, processes that MPI connects, or devices. The last two are
// modules beside the program, loaded when they are asked for, so that it starts where there is no MPI and no CUDA.
#ifndef MOE_TRAINER_TRANSPORT_HPP
#define MOE_TRAINER_TRANSPORT_HPP

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "training.hpp"

namespace trainer {

/// What a run has measured on one rank: by step, its own loss (a sum over its tokens) and how long the step has taken;
/// and when operations began and ended, if the run was timed.
struct rank_result {
    std::vector<float> losses = {};
    std::vector<double> milliseconds = {};
    std::vector<stretto::measured_span> times = {};
};

/// Steps that all ranks make together, from `state`, which they change.
struct rank_job {
    const training_step& step;
    const program& p;
    const stretto::task_graph& tasks;
    const stretto::checked_order& order;
    const std::string& text;
    const run_options& options;
    training_state& state;
    std::vector<rank_result> results;  ///< by rank
};

struct transport_options {
    std::size_t ranks = 1;
    stretto::host_link link = {};  ///< of ranks that are threads, which have no other
    bool real_time = false;        ///< threads go before those of other processes, channels first
};

class transport {
public:
    transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    virtual ~transport() = default;

    /// Runs the job on all ranks. Afterwards each process has the state and the results of all of them. Nothing, or
    /// what has happened, as a sentence; then the state is no longer that of a training.
    [[nodiscard]] virtual std::optional<std::string> run(rank_job& job) = 0;
    /// Whether this process speaks for all.
    [[nodiscard]] virtual bool is_first() const { return true; }
    /// The largest of what the processes say: all of them go on, or none does. All call it.
    [[nodiscard]] virtual int worst_of(int status) { return status; }
    /// Whether the link of the options is the one that ranks have.
    [[nodiscard]] virtual bool has_emulated_link() const { return false; }
};

[[nodiscard]] std::unique_ptr<transport> ranks_as_threads(const transport_options& o);

enum class place_of_ranks {
    host,
    mpi,
    nccl
};
/// An error says what is missing, with a hint.
[[nodiscard]] stretto::expected<std::unique_ptr<transport>, std::string> open_transport(place_of_ranks where,
                                                                                        const transport_options& o);

/// What a module has, under this name: a transport, or null and what is wrong.
using transport_maker = transport*(const transport_options& o, std::string& wrong);
constexpr const char* name_of_transport_maker = "moe_trainer_transport";

}  // namespace trainer

#endif
