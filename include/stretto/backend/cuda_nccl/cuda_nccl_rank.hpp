// The backend for devices. A rank is a device with a stream of kernels and, for each of its groups, an NCCL
// communicator with a stream of its own. It is a template over the calls that it makes
// (backend/cuda_nccl/cuda_nccl_calls.hpp); backend/cuda_nccl/cuda_nccl_library.hpp implements them with CUDA and NCCL.
// Nothing hangs: an operation that takes longer than the deadline ends the run, as does an error that NCCL reports
// asynchronously, and the failure names the collective and its members.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_RANK_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_RANK_HPP

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_channel.hpp"
#include "stretto/backend/detail/streams/stream_rank.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto {

/// The options of a cuda_nccl_rank.
struct cuda_nccl_options {
    std::chrono::milliseconds deadline{60'000};  ///< how long the rank waits for any single operation
    int device = 0;
    device_memory memory = device_memory::device;  ///< the memory of arenas; `registered` memory comes from NCCL
    bool timed = false;  ///< whether the rank records when tasks begin and end (times); each record takes about 1 us
    int ctas = 0;  ///< the maximum number of thread blocks of each communicator, a power of two; 0 leaves it to NCCL
    bool always_compares =
        false;  ///< whether members compare before every collective, as `compare` does once; this waits each time
};

/// One rank. It is the backend to which its program binds orders. Only one thread may use it, and the device must be
/// that thread's current one; `make` sets it. A kernel that is callable with a stream puts its work there. Any other
/// kernel is a function of the host, which is called in its turn and may throw, and for which arenas must be `managed`.
/// `compare(bound)` lets ranks compare what they have bound before anything runs, and `capture(bound)` makes a graph of
/// a replay. Everything that is bound or captured must end before the rank.
///
/// All ranks must launch their collectives in one order across all groups: NCCL requires this, and not only an order
/// within each group. In a failure, the `for_ranks` of a `waiting` lane lists all other members of the group, because
/// it is unknown which of them is missing. After a failure a rank puts nothing more into its streams.
template <cuda_nccl_calls A>
class cuda_nccl_rank : public detail::stream_rank<detail::cuda_nccl_channel<A>, A> {
    using base = detail::stream_rank<detail::cuda_nccl_channel<A>, A>;

public:
    using typename base::communicator_type;

    /// Joins `ranks` ranks as number `rank`. All call it at the same time, with the same groups, and with the id that
    /// one of them has made. Each group gets a communicator of its own, even if its members are those of another one,
    /// and uses it once to establish its connections. Returns the rank, or the failure. Precondition: groups know their
    /// ranks, which are below `ranks`; `first_fault` finds nothing in them.
    [[nodiscard]] static expected<std::unique_ptr<cuda_nccl_rank>, run_failure> make(rank_id rank, std::size_t ranks,
                                                                                     const typename A::id_type& id,
                                                                                     const process_groups& groups,
                                                                                     cuda_nccl_options options = {}) {
        std::unique_ptr<cuda_nccl_rank> made(new cuda_nccl_rank(rank, options));
        if (!made->join(ranks, id, groups)) {
            made->drain();
            return unexpected(*made->run().failure());
        }
        return expected<std::unique_ptr<cuda_nccl_rank>, run_failure>(std::move(made));
    }
    /// Ends all communicators. All ranks destroy theirs at the same time; if one does not, the wait ends at the
    /// deadline.
    ~cuda_nccl_rank() {
        const std::vector<comm*> all = run().comms;
        for (comm* c : all) {
            c->at.operation = "its end";
            if (!run().failed()) run().did(A::finish(c->handle), *c);
        }
        if (run().failed()) {
            base::drain();
        } else {
            static_cast<void>(A::begin_group());
            for (comm* c : all) static_cast<void>(A::end(c->handle));
            static_cast<void>(A::end_group());
        }
    }

private:
    using comm = detail::stream_comm<A>;
    using base::run;

    cuda_nccl_rank(rank_id rank, cuda_nccl_options options)
        : base(rank, options.deadline, options.memory, options.timed), options_(options) {}

    /// Creates the stream of kernels, the communicator of all ranks, and from it that of each group, in the order of
    /// groups, because a split is a collective of all ranks, members or not. Returns whether the run continues.
    bool join(std::size_t ranks, const typename A::id_type& id, const process_groups& groups) {
        const rank_id me = base::rank();
        for (std::size_t r = 0; r < ranks; ++r) all_.push_back(static_cast<rank_id>(r));
        world_.at.operation = "joining";
        world_.at.members = &all_;
        if (!run().did(A::use_device(options_.device)) || !base::compute().make()) return false;
        if (!made(world_, A::join(world_.handle, ranks, id, me, options_.ctas))) return false;
        world_.at.operation = "splitting";
        for (group_id g = 0; g < groups.group_count(); ++g) {
            const process_group group = groups.group_at(g);
            const std::size_t place = group.place_of(me);
            const bool member = place < group.ranks.size();
            const std::string name = "group " + std::to_string(g);
            auto& channel = base::channels().emplace_back(
                std::make_unique<communicator_type>(run(), group, options_.always_compares));
            comm& c = channel->comm();
            world_.at.group = g;
            c.at = world_.at;
            const call_result split =
                A::split(c.handle, world_.handle, member ? 0 : -1, member ? place : 0, name.c_str(), options_.ctas);
            if (!run().did(split, world_)) {
                if (!A::is_null(c.handle)) static_cast<void>(A::abort(c.handle));
                return false;
            }
            if (!member) channel.reset();
            else if (!made(c, call_result{call_result::state::in_progress}.of(split.call)) || !channel->make() ||
                     !channel->compare({}, true))
                return false;
        }
        return true;
    }
    /// Waits until a communicator has been created, which is polled from now on. Returns whether the run continues.
    bool made(comm& c, call_result r) {
        if (!r.failed() && !A::is_null(c.handle)) run().comms.push_back(&c);
        return run().did(r, c);
    }

    cuda_nccl_options options_;
    std::vector<rank_id> all_;  // the members of `world_`
    comm world_;                // the communicator of all ranks, which only serves to make the others
};

/// A captured replay: a graph that the device launches as one. It must end before the rank and the bound order.
template <cuda_nccl_calls A>
using cuda_nccl_capture = typename cuda_nccl_rank<A>::capture_type;

}  // namespace stretto

#endif
