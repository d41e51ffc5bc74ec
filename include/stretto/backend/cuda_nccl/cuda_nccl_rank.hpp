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
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_channel.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_lane.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_run.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto {

template <cuda_nccl_calls A>
class cuda_nccl_rank;

/// Memory of a rank, before which it must end.
template <cuda_nccl_calls A>
class cuda_nccl_arena {
public:
    [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    friend class cuda_nccl_rank<A>;
    cuda_nccl_arena() = default;

    detail::cuda_nccl_memory<A> memory_;
    std::size_t size_ = 0;
};

/// A replay that was captured: a graph that the device launches as a whole. What was bound must outlive it.
template <cuda_nccl_calls A>
class cuda_nccl_capture {
public:
    cuda_nccl_capture(cuda_nccl_capture&& other) noexcept
        : rank_(std::exchange(other.rank_, nullptr)),
          graph_(other.graph_),
          calls_(std::move(other.calls_)),
          collectives_(std::move(other.collectives_)) {}
    cuda_nccl_capture& operator=(cuda_nccl_capture&&) = delete;
    ~cuda_nccl_capture() {
        if (rank_ != nullptr) static_cast<void>(A::end_graph(graph_));
    }
    /// As executor::replay. All ranks of a group replay what they have captured, or all what is bound.
    [[nodiscard]] std::optional<run_failure> replay() { return rank_->replay(*this); }

private:
    friend class cuda_nccl_rank<A>;
    cuda_nccl_capture() = default;

    cuda_nccl_rank<A>* rank_ = nullptr;
    typename A::graph_type graph_ = {};
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
class cuda_nccl_rank {
public:
    using queue_type = detail::cuda_nccl_lane<A>;
    using communicator_type = detail::cuda_nccl_channel<A>;
    using arena_type = cuda_nccl_arena<A>;
    using event_type = detail::cuda_nccl_event<A>;
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
    cuda_nccl_rank(const cuda_nccl_rank&) = delete;
    cuda_nccl_rank& operator=(const cuda_nccl_rank&) = delete;
    ~cuda_nccl_rank() {
        std::vector<comm*> all = run_.comms;
        for (comm* c : all) {
            c->at.operation = "its end";
            if (!run_.failed()) run_.did("ncclCommFinalize", A::finish(c->handle), *c);
        }
        if (run_.failed()) {
            drain();
            return;
        }
        static_cast<void>(A::begin_group());
        for (comm* c : all) static_cast<void>(A::end(c->handle));
        static_cast<void>(A::end_group());
    }

    [[nodiscard]] rank_id rank() const noexcept { return run_.rank(); }
    /// Of the compute lane.
    [[nodiscard]] stream_type stream() const noexcept { return compute_.stream(); }
    [[nodiscard]] queue_type& compute() noexcept { return compute_; }
    [[nodiscard]] communicator_type* channel(group_id group) {
        return group < channels_.size() ? channels_[group].get() : nullptr;
    }
    [[nodiscard]] event_type* make_events(std::size_t n) {
        std::vector<event_type>& made = events_.emplace_back(n);
        for (event_type& e : made)
            if (run_.failed() || !e.make(run_)) break;
        return made.data();
    }
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t alignment) {
        const device_memory kind = run_.options().memory;
        const std::size_t n = std::max(static_cast<std::size_t>(size.count), std::size_t{1});
        arena_type made;
        made.size_ = static_cast<std::size_t>(size.count);
        if (run_.failed() || !detail::allocate<A>(made.memory_, n, kind).done()) return {};
        if (reinterpret_cast<std::uintptr_t>(made.data()) % alignment != 0) return {};
        made.memory_.get_deleter().run = &run_;
        if (kind == device_memory::registered)
            for (comm* c : run_.comms) {
                typename A::handle_type handle = {};
                if (!A::enter(handle, c->handle, made.data(), n).done()) return {};
                made.memory_.get_deleter().handles.emplace_back(c, handle);
            }
        return made;
    }
    void begin() {
        run_.refused.reset();
        compute_.begin();
        for_each_channel([](communicator_type& c) { c.begin(); });
    }
    [[nodiscard]] std::optional<run_failure> finish() {
        if (run_.now == form::replay && !run_.failed()) await_lanes();
        if (run_.failed()) drain();
        return run_.failed() ? run_.failure() : run_.refused;
    }
    /// Performs one collective outside of any order, with all other members of its group. Precondition: this rank is a
    /// member of the group.
    [[nodiscard]] std::optional<run_failure> perform(group_id group, const collective_operation& operation) {
        communicator_type* const members = channel(group);
        STRETTO_ASSERT(members != nullptr, "a rank performs collectives with groups of which it is a member");
        begin();
        members->launch(operation);
        return finish();
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
            const call_result ended = A::end_capture(made.graph_, stream());
            if (ended.done()) made.rank_ = this;
            if (!failure) run_.did("cudaStreamEndCapture", ended);
        }
        run_.now = form::replay;
        for_each_channel([&](communicator_type& c) {
            made.collectives_.push_back(c.in_stream());
            c.count(-static_cast<std::ptrdiff_t>(c.in_stream()));
        });
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

    template <class F>
    void for_each_channel(F f) {
        for (const auto& c : channels_)
            if (c) f(*c);
    }

    bool join(std::size_t ranks, const typename A::id_type& id, const process_groups& groups) {
        for (std::size_t r = 0; r < ranks; ++r) all_.push_back(static_cast<rank_id>(r));
        world_.at.operation = "joining";
        world_.at.members = &all_;
        const int ctas = run_.options().ctas;
        if (!run_.did("cudaSetDevice", A::use_device(run_.options().device)) || !compute_.make()) return false;
        if (!made(world_, "ncclCommInitRankConfig", A::join(world_.handle, ranks, id, rank(), ctas))) return false;
        for (group_id g = 0; g < groups.group_count(); ++g) {
            const process_group group = groups.group_at(g);
            const std::size_t place = group.place_of(rank());
            const bool member = place < group.ranks.size();
            const std::string name = "group " + std::to_string(g);
            channels_.push_back(std::make_unique<communicator_type>(run_, group));
            communicator_type& c = *channels_.back();
            world_.at.group = c.comm().at.group = g;
            world_.at.operation = c.comm().at.operation = "splitting";
            c.comm().at.members = world_.at.members;
            const call_result split =
                A::split(c.comm().handle, world_.handle, member ? 0 : -1, member ? place : 0, name.c_str(), ctas);
            if (!run_.did("ncclCommSplit", split, world_)) {
                if (!A::is_null(c.comm().handle)) static_cast<void>(A::abort(c.comm().handle));
                return false;
            }
            if (!member) channels_.back().reset();
            else if (!made(c.comm(), "ncclCommSplit", {call_result::state::in_progress}) || !c.make() ||
                     !c.compare({}, true))
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
        return compute_.end().record(run_, stream(), {}) &&
               for_all_channels([&](communicator_type& c) { return compute_.end().wait(run_, c.stream(), c.site()); });
    }
    bool join_lanes() {
        return for_all_channels([&](communicator_type& c) {
            return c.end().record(run_, c.stream(), c.site()) && c.end().wait(run_, stream(), c.site());
        });
    }
    template <class F>
    bool for_all_channels(F f) {
        for (const auto& c : channels_)
            if (c && !f(*c)) return false;
        return true;
    }

    /// Waits until all streams are done, collective by collective.
    void await_lanes() {
        if (!compute_.end().record(run_, stream(), {.task = compute_.task()})) return;
        for (const auto& c : channels_) {
            if (!c) continue;
            if (!c->end().record(run_, c->stream(), c->site())) return;
            for (std::size_t k = 0; k < c->in_stream(); ++k)
                if (!await(c->at(k).ended, c->at(k).at)) return;
        }
        for (const auto& c : channels_)
            if (c && !await(c->end(), c->site())) return;
        if (await(compute_.end(), {.task = compute_.task()})) run_.poll();  // for a last kernel that has thrown
    }
    bool await(const event_type& e, const detail::cuda_nccl_site& at) {
        return run_.await("cudaEventQuery", [&] { return e.query(); }, at, [&] { give_up(); });
    }

    /// Ends the run because something takes too long: a collective that the device has begun, if there is one.
    void give_up() {
        run_failure f;
        f.why = run_failure::reason::timeout;
        f.rank = rank();
        f.task = compute_.task();
        if (!compute_.end().query().done()) {
            waiting_lane& w = f.waiting.emplace_back();
            w.rank = rank();
            w.task = compute_.task();
        }
        for_each_channel([&](communicator_type& c) {
            std::size_t k = 0;
            while (k < c.in_stream() && c.at(k).ended.query().done()) ++k;
            if (k == c.in_stream()) return;
            const detail::cuda_nccl_site& at = c.at(k).at;
            waiting_lane w{rank(), 1 + at.group, at.group, at.task, at.sequence, {}, {}};
            for (const rank_id r : *at.members)
                if (r != rank()) w.for_ranks.push_back(r);
            f.waiting.push_back(w);
            if (f.group != no_group || !c.at(k).began.query().done()) return;
            f.group = at.group;
            f.sequence = at.sequence;
            f.task = at.task;
            f.detail = "cudaEventQuery is never done" + at.words();
        });
        run_.fail(std::move(f));
    }
    /// After a failure: waits until streams are done, so that nobody uses what the caller will free. Communicators are
    /// aborted, so only kernels can take long, and after the deadline nobody waits for these.
    void drain() {
        using clock = std::chrono::steady_clock;
        const clock::time_point end = clock::now() + run_.options().deadline;
        const auto empty = [&](event_type& e, stream_type s) {
            if (!e.made() || !e.record(s).done()) return;
            while (e.query().is == call_result::state::in_progress && clock::now() < end) std::this_thread::yield();
        };
        empty(compute_.end(), stream());
        for_each_channel([&](communicator_type& c) { empty(c.end(), c.stream()); });
    }

    [[nodiscard]] std::optional<run_failure> replay(cuda_nccl_capture<A>& graph) {
        begin();
        detail::cuda_nccl_site at;
        std::size_t channel = 0;
        for_each_channel([&](communicator_type& c) {
            if (graph.collectives_[channel++] != 0 && at.members == nullptr)
                at = {c.group(), c.sequence(), no_task, "a graph that was captured, whose first collectives are",
                      c.site().members};
        });
        if (!run_.failed() && run_.did("cudaGraphLaunch", A::launch(graph.graph_, stream()), at) &&
            compute_.end().record(run_, stream(), at) &&
            run_.await("cudaEventQuery", [&] { return compute_.end().query(); }, at))
            run_.poll();
        channel = 0;
        for_each_channel([&](communicator_type& c) {
            c.count(static_cast<std::ptrdiff_t>(graph.collectives_[channel++]));
            c.begin();
        });
        if (run_.failed()) drain();
        return run_.failure();
    }

    detail::cuda_nccl_run<A> run_;
    std::vector<rank_id> all_;
    comm world_;
    std::deque<std::vector<event_type>> events_;
    queue_type compute_;
    std::vector<std::unique_ptr<communicator_type>> channels_;  // by group
};

}  // namespace stretto

#endif
