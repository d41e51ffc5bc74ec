// Runs steps on the ranks of a training: threads of this process, processes that MPI connects, or devices. The last two
// are modules beside the program, loaded on demand, so that it starts where there is no MPI and no CUDA.
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

/// What a run has measured on one rank: for each step, its own loss (a sum over its tokens) and the duration; and when
/// operations began and ended, if the run was timed.
struct rank_result {
    std::vector<float> losses = {};
    std::vector<double> milliseconds = {};
    std::vector<stretto::measured_span> times = {};
};

/// A number of steps that all ranks make together, from `state`, which they change.
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
    stretto::host_link link = {};  ///< for ranks that are threads, which have no other link
    bool real_time = false;        ///< whether threads have priority over other processes, channels first
};

/// The ranks of a training, wherever they are.
class transport {
public:
    transport() = default;
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    virtual ~transport() = default;

    /// Runs the job on all ranks. Afterwards each process has the state and the results of all of them. Returns
    /// nothing, or a sentence that says what has failed; then the state must not be used any more.
    [[nodiscard]] virtual std::optional<std::string> run(rank_job& job) = 0;
    /// Returns whether this process prints and writes files for all.
    [[nodiscard]] virtual bool is_first() const { return true; }
    /// Returns the largest status of all processes, so that all of them continue, or none does. All processes must call
    /// it.
    [[nodiscard]] virtual int worst_of(int status) { return status; }
    /// Returns whether the ranks use the link of the options.
    [[nodiscard]] virtual bool has_emulated_link() const { return false; }
};

/// Returns ranks that are threads of this process.
[[nodiscard]] std::unique_ptr<transport> ranks_as_threads(const transport_options& o);

enum class place_of_ranks {
    host,
    mpi,
    nccl
};
/// Returns the ranks at that place. The error says what is missing, with a hint.
[[nodiscard]] stretto::expected<std::unique_ptr<transport>, std::string> open_transport(place_of_ranks where,
                                                                                        const transport_options& o);

/// The function that a module exports under this name. It returns a transport, or null and sets `wrong`.
using transport_maker = transport*(const transport_options& o, std::string& wrong);
constexpr const char* name_of_transport_maker = "moe_trainer_transport";

}  // namespace trainer

#endif
