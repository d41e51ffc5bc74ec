// The backend of devices: a rank is a device with a stream of kernels and, for each of its groups, a communicator of
// NCCL with a stream of its own. It is a template over the calls that it makes (backend/cuda_nccl/cuda_nccl_calls.hpp),
// of which backend/cuda_nccl/cuda_nccl_library.hpp has those to CUDA and NCCL. Nothing hangs: what takes longer than
// the deadline ends the run, as does an error that NCCL reports while it works, and the failure names the collective
// and its members.
//
// Longer than 300 lines: memory and captures belong to a rank, and a rank is what its calls are.
#ifndef STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_RANK_HPP
#define STRETTO_BACKEND_CUDA_NCCL_CUDA_NCCL_RANK_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_channel.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_lane.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_run.hpp"
#include "stretto/backend/detail/rank_lanes.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto {

template <cuda_nccl_calls A>
class cuda_nccl_rank;

/// A replay that was captured: a graph that the device launches as a whole. What was bound must outlive it.
template <cuda_nccl_calls A>
class cuda_nccl_capture {
public:
    /// As executor::replay. All ranks of a group replay what they have captured, or all what is bound.
    [[nodiscard]] std::optional<run_failure> replay() { return rank_->replay(*this); }

private:
    friend class cuda_nccl_rank<A>;
    cuda_nccl_capture() = default;

    cuda_nccl_rank<A>* rank_ = nullptr;
    detail::owned<typename A::graph_type, &A::end_graph> graph_;
    typename detail::cuda_nccl_lane<A>::host_calls calls_;
    std::vector<std::size_t> collectives_;  // by channel
};

/// One rank: the backend to which its program binds orders. Only one thread uses it, which has the device as its
/// current one. A kernel that can be called with a stream puts its work there; any other is a function of the host,
/// called when its turn has come, which may throw, and for which arenas must be `managed`.
///
/// All ranks must launch their collectives in one order, across all groups: NCCL asks for it, and for more than orders
/// of each group. What a failure says of `waiting` lanes names as `for_ranks` all other members of the group, since
/// nobody knows who of them is missing. After a failure a rank runs nothing any more.
template <cuda_nccl_calls A>
class cuda_nccl_rank
    : public detail::rank_lanes<cuda_nccl_rank<A>, detail::cuda_nccl_channel<A>, detail::cuda_nccl_event<A>> {
    using base = detail::rank_lanes<cuda_nccl_rank<A>, detail::cuda_nccl_channel<A>, detail::cuda_nccl_event<A>>;

public:
    using queue_type = detail::cuda_nccl_lane<A>;
    using arena_type = detail::cuda_nccl_memory<A>;
    using typename base::communicator_type, typename base::event_type;
    using stream_type = typename A::stream_type;

    /// Joins `ranks` ranks as number `rank`; all call it at the same time, with the same groups, and with the id that
    /// one of them has made. Each group gets a communicator of its own, also if its members are those of another one,
    /// and is used once, so that its connections are there. Precondition: as of host_world.
    [[nodiscard]] static expected<std::unique_ptr<cuda_nccl_rank>, run_failure> make(rank_id rank, std::size_t ranks,
                                                                                     const typename A::id_type& id,
                                                                                     const process_groups& groups,
                                                                                     cuda_nccl_options options = {}) {
        std::unique_ptr<cuda_nccl_rank> made(new cuda_nccl_rank(rank, options));
        if (!made->join(ranks, id, groups)) {
            made->drain();
            return unexpected(*made->run_.failure());
        }
        return expected<std::unique_ptr<cuda_nccl_rank>, run_failure>(std::move(made));
    }
    ~cuda_nccl_rank() {
        const std::vector<comm*> all = run_.comms;
        for (comm* c : all) {
            c->at.operation = "its end";
            if (!run_.failed()) run_.did("ncclCommFinalize", A::finish(c->handle), *c);
        }
        if (run_.failed()) {
            drain();
        } else {
            static_cast<void>(A::begin_group());
            for (comm* c : all) static_cast<void>(A::end(c->handle));
            static_cast<void>(A::end_group());
        }
        base::channels().clear();  // before the run that they refer to
    }

    [[nodiscard]] rank_id rank() const noexcept { return run_.rank(); }
    /// Of the compute lane.
    [[nodiscard]] stream_type stream() const noexcept { return compute_.stream(); }
    [[nodiscard]] queue_type& compute() noexcept { return compute_; }
    [[nodiscard]] event_type* make_events(std::size_t n) {
        event_type* const made = base::add_events(n);
        for (std::size_t k = 0; k < n && !run_.failed(); ++k) run_.make(made[k], "cudaEventCreate", A::make_event);
        return made;
    }
    /// Arenas must end before the rank.
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t alignment) {
        const device_memory kind = run_.options().memory;
        const auto n = static_cast<std::size_t>(size.count);
        arena_type made;
        if (run_.failed() || !detail::allocate<A>(made, n, kind).done()) return {};
        if (reinterpret_cast<std::uintptr_t>(made.data()) % alignment != 0) return {};
        made.release().run = &run_;
        for (std::size_t k = 0; kind == device_memory::registered && k < run_.comms.size(); ++k) {
            typename A::handle_type handle = {};
            if (!A::enter(handle, run_.comms[k]->handle, made.data(), std::max(n, std::size_t{1})).done()) return {};
            made.release().handles.emplace_back(run_.comms[k], handle);
        }
        return made;
    }
    /// A replay begins, or a collective by itself. What could not be captured is forgotten.
    void begin() {
        run_.refused.reset();
        compute_.begin();
        base::for_all_channels([](communicator_type& c) { return c.begin(), true; });
    }
    /// Of a replay: returns when all streams are done. While it is captured nothing runs, and nothing is waited for.
    [[nodiscard]] std::optional<run_failure> finish() {
        if (run_.now == form::replay && !run_.failed()) await_lanes();
        if (run_.failed()) drain();
        return run_.failed() ? run_.failure() : run_.refused;
    }

    /// Compares what all ranks have bound: whether they meet in the same collectives, with the same amounts, in the
    /// same order. Nothing is run. All call it; then replays need not find out by hanging. A difference ends the run.
    template <class Executor>
    [[nodiscard]] std::optional<run_failure> compare(Executor& bound) {
        run_.now = form::compare;
        std::optional<run_failure> failure = bound.replay();
        run_.now = form::replay;
        return failure;
    }

    /// Captures a replay. All ranks of the groups that take part call it. Amounts that the step measures cannot be
    /// captured, and the refusal ends no run.
    template <class Executor>
    [[nodiscard]] expected<cuda_nccl_capture<A>, run_failure> capture(Executor& bound) {
        cuda_nccl_capture<A> made;
        if (run_.failed()) return unexpected(*run_.failure());
        run_.now = form::capture;
        std::optional<run_failure> failure;
        const bool began = run_.did("cudaStreamBeginCapture", A::begin_capture(stream()));
        if (began && fork()) failure = bound.replay();
        else failure = finish();
        // What has been forked must be joined, and what has begun must end, also if it is thrown away.
        if (!run_.failed()) join_lanes();
        if (began) {
            const call_result ended = A::end_capture(made.graph_.slot(), stream());
            made.graph_.keep(ended.done());
            if (!failure) run_.did("cudaStreamEndCapture", ended);
        }
        run_.now = form::replay;
        base::for_all_channels([&](communicator_type& c) {
            made.collectives_.push_back(c.in_stream());
            return c.count(-static_cast<std::ptrdiff_t>(c.in_stream())), true;
        });
        made.rank_ = this;
        made.calls_ = compute_.take_calls();
        if (run_.failed()) failure = finish();
        if (failure) return unexpected(*std::move(failure));
        return expected<cuda_nccl_capture<A>, run_failure>(std::move(made));
    }

private:
    friend class cuda_nccl_capture<A>;
    using comm = detail::cuda_nccl_comm<A>;
    using form = typename detail::cuda_nccl_run<A>::form;

    cuda_nccl_rank(rank_id rank, cuda_nccl_options options) : run_(rank, options), compute_(run_) {}

    /// Calls f(queue) for every channel and then the lane of kernels until it returns false. Returns whether it never
    /// did.
    template <class F>
    bool for_all_queues(F f) {
        return base::for_all_channels(f) && f(compute_);
    }

    /// Makes the stream of kernels, the communicator of all ranks, and from it that of each group, in their order: a
    /// split is a collective of all ranks, members or not. Returns false after a failure.
    bool join(std::size_t ranks, const typename A::id_type& id, const process_groups& groups) {
        for (std::size_t r = 0; r < ranks; ++r) all_.push_back(static_cast<rank_id>(r));
        world_.at.operation = "joining";
        world_.at.members = &all_;
        const int ctas = run_.options().ctas;
        if (!run_.did("cudaSetDevice", A::use_device(run_.options().device)) || !compute_.make()) return false;
        if (!made(world_, "ncclCommInitRankConfig", A::join(world_.handle, ranks, id, rank(), ctas))) return false;
        world_.at.operation = "splitting";
        for (group_id g = 0; g < groups.group_count(); ++g) {
            const process_group group = groups.group_at(g);
            const std::size_t place = group.place_of(rank());
            const bool member = place < group.ranks.size();
            const std::string name = "group " + std::to_string(g);
            auto& channel = base::channels().emplace_back(std::make_unique<communicator_type>(run_, group));
            comm& c = channel->comm();
            world_.at.group = g;
            c.at = world_.at;
            const call_result split =
                A::split(c.handle, world_.handle, member ? 0 : -1, member ? place : 0, name.c_str(), ctas);
            if (!run_.did("ncclCommSplit", split, world_)) {
                if (!A::is_null(c.handle)) static_cast<void>(A::abort(c.handle));
                return false;
            }
            if (!member) channel.reset();
            else if (!made(c, "ncclCommSplit", {call_result::state::in_progress}) || !channel->make() ||
                     !channel->compare({}, true))
                return false;
        }
        return true;
    }
    /// Whether a communicator has been made, which is polled from now on.
    bool made(comm& c, const char* call, call_result r) {
        if (!r.failed() && !A::is_null(c.handle)) run_.comms.push_back(&c);
        return run_.did(call, r, c);
    }

    /// Lets the streams of channels begin after what is in that of kernels, or that one after all of them.
    bool fork() {
        event_type& e = compute_.end();
        return compute_.record(e) && base::for_all_channels([&](communicator_type& c) { return c.wait(e); });
    }
    bool join_lanes() {
        return base::for_all_channels(
            [&](communicator_type& c) { return c.record(c.end()) && compute_.wait(c.end()); });
    }

    /// Waits until all streams are done, collective by collective.
    void await_lanes() {
        const bool done = for_all_queues([](auto& q) { return q.record(q.end()); }) &&
                          base::for_all_channels([&](communicator_type& c) {
                              for (std::size_t k = 0; k < c.in_stream(); ++k)
                                  if (!await(c.at(k).ended, c.at(k).at)) return false;
                              return true;
                          }) &&
                          for_all_queues([&](auto& q) { return await(q.end(), q.site()); });
        if (done) run_.poll();  // for a last kernel that has thrown
    }
    bool await(const event_type& e, const detail::lane_site& at) {
        return run_.await("cudaEventQuery", [&] { return A::query(e.get()); }, at, [&] { give_up(); });
    }

    /// Ends the run because something takes too long: a collective that the device has begun, if there is one.
    void give_up() {
        run_failure f = compute_.site().failure(run_failure::reason::timeout, rank());
        if (!A::query(compute_.end().get()).done()) f.waiting.push_back(compute_.site().waiting(rank()));
        base::for_all_channels([&](communicator_type& c) {
            const auto* const open = c.first_open();
            if (open == nullptr) return true;
            f.waiting.push_back(open->at.waiting(rank()));
            if (f.group != no_group || !A::query(open->began.get()).done()) return true;
            f.group = open->at.group;
            f.sequence = open->at.sequence;
            f.task = open->at.task;
            f.detail = "cudaEventQuery is never done" + open->at.words();
            return true;
        });
        run_.fail(std::move(f));
    }
    /// After a failure: waits until streams are done, so that nobody uses what the caller will free. Communicators are
    /// aborted, so only kernels can take long, and after the deadline nobody waits for these.
    void drain() {
        const auto end = std::chrono::steady_clock::now() + run_.options().deadline;
        for_all_queues([&](auto& q) {
            if (!q.end().is_there() || !A::record(q.end().get(), q.stream()).done()) return true;
            const auto busy = [&] { return A::query(q.end().get()).is == call_result::state::in_progress; };
            for (detail::patience between(64); busy() && std::chrono::steady_clock::now() < end;) between.pause();
            return true;
        });
    }

    /// Launches a captured graph and waits for it. Its collectives count like those of a replay, and as nobody knows
    /// how far the graph is, a failure names the first group that takes part.
    [[nodiscard]] std::optional<run_failure> replay(cuda_nccl_capture<A>& captured) {
        begin();
        detail::lane_site at;
        auto count = captured.collectives_.begin();
        base::for_all_channels([&](communicator_type& c) {
            if (*count++ == 0 || at.members != nullptr) return true;
            at = c.site();
            at.sequence = c.sequence();
            at.task = no_task;
            at.operation = "a graph that was captured, whose first collectives are";
            return true;
        });
        if (!run_.failed() && run_.did("cudaGraphLaunch", A::launch(captured.graph_.get(), stream()), at) &&
            compute_.record(compute_.end()) &&
            run_.await("cudaEventQuery", [&] { return A::query(compute_.end().get()); }, at))
            run_.poll();
        count = captured.collectives_.begin();
        base::for_all_channels([&](communicator_type& c) {
            c.count(static_cast<std::ptrdiff_t>(*count++));
            return c.begin(), true;
        });
        if (run_.failed()) drain();
        return run_.failure();
    }

    detail::cuda_nccl_run<A> run_;
    std::vector<rank_id> all_;
    comm world_;
    queue_type compute_;
};

}  // namespace stretto

#endif
