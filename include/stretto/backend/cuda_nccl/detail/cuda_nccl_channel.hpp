// The communicator of one rank on a device: a stream of collectives of NCCL.
#ifndef STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_CHANNEL_HPP
#define STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_CHANNEL_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_run.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// A stream of its own, in which collectives have priority over kernels, because others wait for them.
template <class A>
class cuda_nccl_channel : public cuda_nccl_queue<A> {
    using base = cuda_nccl_queue<A>;
    using base::run_, base::comm_;

public:
    using typename base::event_type, typename base::form;

    cuda_nccl_channel(cuda_nccl_run<A>& run, const process_group& g)
        : base(run), group_(g.id), ranks_(g.ranks.begin(), g.ranks.end()), place_(g.place_of(run.rank())) {}

    /// Makes what belongs to the communicator, whose handle is there.
    bool make() {
        const std::size_t n = 2 * size() * note_bytes;
        name({});
        send_sizes_.reserve(size());
        receive_sizes_.reserve(size());
        if (!base::make(true) || !run_.did("cudaMallocHost", allocate<A>(here_, n, device_memory::pinned), comm_.at) ||
            !run_.did("cudaMalloc", allocate<A>(there_, n, device_memory::device), comm_.at))
            return false;
        reserve(8);
        return !run_.failed();
    }

    /// Puts a collective into the stream, behind what it waits for. Amounts that the step measures are waited for here,
    /// in the thread that launches, because NCCL wants them from the host. In a comparison the notes of all members are
    /// all that moves.
    bool launch(const collective_operation& o) {
        if (!run_.goes_on()) return false;
        name(o);
        const bool measured = !o.send_rows.empty(), captured = run_.now == form::capture;
        if (run_.now == form::compare) return (measured || find_amounts(o)) && compare(o, measured);
        if (measured && captured) {
            run_.refused = comm_.at.failure(run_failure::reason::call_failed, run_.rank(),
                                            "amounts that the step measures cannot be captured");
            return false;
        }
        if (!find_amounts(o)) return false;
        // While it is captured nothing runs, so that there is nothing to compare, or to mark.
        if (captured) return post(o) && (++launched_, true);
        if ((measured || run_.options().always_compares) && !compare(o, false)) return false;
        if (in_stream() == flights_.size()) reserve(flights_.size() + 1);
        if (run_.failed()) return false;
        flight& m = flights_[in_stream()];
        m.at = comm_.at;
        if (!this->record(m.began) || !post(o)) return false;
        ++launched_;
        return this->record(m.ended);
    }
    /// Makes two events for each of so many verbs, more than enough: whoever gives up says at which collective, and a
    /// replay makes none.
    void reserve(std::size_t verbs) {
        while (flights_.size() < verbs && !run_.failed()) {
            flight& m = flights_.emplace_back();
            if (!run_.make(m.began, "cudaEventCreate", A::make_event, comm_.at) ||
                !run_.make(m.ended, "cudaEventCreate", A::make_event, comm_.at))
                flights_.pop_back();
        }
    }
    [[nodiscard]] bool can(const collective_operation& o) const {
        return !reduces(o.kind) || A::can_reduce(o.element, o.reduction);
    }
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] std::size_t place() const noexcept { return place_; }

    /// A collective that is in the stream since `begin`: events before and behind it, and what to say of it.
    struct flight {
        event_type began = {}, ended = {};
        lane_site at = {};
    };
    /// A replay begins; the events of the one before are used again.
    void begin() { first_ = launched_; }
    [[nodiscard]] std::size_t in_stream() const noexcept { return launched_ - first_; }
    [[nodiscard]] const flight& at(std::size_t k) const { return flights_[k]; }
    /// The first collective since `begin` that is not complete, or null.
    [[nodiscard]] const flight* first_open() const {
        for (std::size_t k = 0; k < in_stream(); ++k)
            if (!A::query(flights_[k].ended.get()).done()) return &flights_[k];
        return nullptr;
    }
    /// After a replay of a graph with so many collectives, or one that was captured.
    void count(std::ptrdiff_t n) { launched_ = static_cast<std::uint32_t>(launched_ + n); }

    [[nodiscard]] std::uint32_t sequence() const noexcept { return launched_; }
    [[nodiscard]] cuda_nccl_comm<A>& comm() noexcept { return comm_; }

    /// Compares what all members have come for, before any of it is begun; amounts too, unless they are `open`. It
    /// waits until all have come.
    bool compare(const collective_operation& o, bool open) {
        const std::size_t n = size() * note_bytes;
        std::byte *const mine = here_.data(), *const theirs = mine + n, *const out = there_.data(), *const in = out + n;
        const bool shares = o.kind == transfer_kind::all_to_all;
        const auto note = [](std::byte* notes, std::size_t k) {
            return reinterpret_cast<std::uint64_t*>(notes) + k * note_length;
        };
        for (std::size_t k = 0; k < size(); ++k)
            write_note(o, open ? 0 : shares ? send_sizes_[k] : o.send_bytes, note(mine, k));
        // NCCL moves memory of the device: notes go there, to the others, and come back to where the host reads them.
        if (!run_.did("cudaMemcpyAsync", A::copy(out, mine, n, this->stream()), comm_.at)) return false;
        const bool told = exchange([&](std::size_t k, auto send, auto receive) {
            send(out + k * note_bytes, note_bytes);
            receive(in + k * note_bytes, note_bytes);
        });
        if (!told || !run_.did("cudaMemcpyAsync", A::copy(theirs, in, n, this->stream()), comm_.at)) return false;
        if (!base::await_stream()) return false;
        auto wrong = first_difference(
            o, ranks_, [&](std::size_t k) { return read_note(note(theirs, k)); },
            [&](std::size_t k) { return open ? 0 : receive_sizes_[k]; },
            [&](std::size_t k) { return note(theirs, k)[note_length - 1]; });
        if (wrong) run_.fail(run_failure::reason::mismatch, comm_.at, *std::move(wrong));
        return !wrong;
    }

private:
    static constexpr std::size_t note_bytes = note_length * sizeof(std::uint64_t);

    /// From here on a failure of the communicator is one at this operation.
    void name(const collective_operation& o) { comm_.at = {group_, launched_, o.task, name_of(o.kind), &ranks_}; }
    /// Finds what is sent to each member and received. Amounts that the step measures are fetched, after what measures
    /// them.
    bool find_amounts(const collective_operation& o) {
        if (o.send_rows.empty()) return !find_sizes(o, ranks_, send_sizes_, receive_sizes_);
        measured_ = o;
        // They may lie on the device, and the operation of the caller, which is bound, names them again next time.
        auto* fetched = reinterpret_cast<std::int64_t*>(here_.data());
        for (auto* const rows : {&measured_.send_rows, &measured_.receive_rows})
            for (const std::int64_t*& at : *rows) {
                if (at == nullptr) continue;
                if (!run_.did("cudaMemcpyAsync", A::copy(fetched, at, 8, this->stream()), comm_.at)) return false;
                at = fetched++;
            }
        if (!base::await_stream()) return false;
        std::optional<std::string> wrong = find_sizes(measured_, ranks_, send_sizes_, receive_sizes_);
        if (wrong) run_.fail(run_failure::reason::overflow, comm_.at, *std::move(wrong));
        return !wrong;
    }

    /// One group of sends and receives with every member, itself among them: apart, two members that send would wait
    /// for each other. Amounts of 0 are posted too, because the others do not know of them.
    template <class Each>
    bool exchange(Each each) {
        if (!run_.did("ncclGroupStart", A::begin_group(), comm_.at)) return false;
        const char* call = "ncclGroupEnd";
        call_result bad;
        const auto note = [&](const char* what, call_result r) {
            if (r.failed() && !bad.failed()) call = what, bad = r;
        };
        for (std::size_t k = 0; k < size(); ++k)
            each(
                k,
                [&](const std::byte* from, std::size_t n) {
                    note("ncclSend", A::send(from, n, k, comm_.handle, this->stream()));
                },
                [&](std::byte* to, std::size_t n) {
                    note("ncclRecv", A::receive(to, n, k, comm_.handle, this->stream()));
                });
        // A group is closed, whatever happens in it; what is told is the first call that has failed, which says more.
        const call_result ended = A::end_group();
        return bad.failed() ? run_.did(call, bad, comm_.at) : run_.did(call, ended, comm_);
    }
    /// Hands an operation to NCCL, and waits until that has taken it. A barrier is a gather of a byte each.
    bool post(const collective_operation& o) {
        const auto s = this->stream();
        auto& c = comm_.handle;
        switch (o.kind) {
            case transfer_kind::all_to_all: {
                std::size_t from = 0, to = 0;
                return exchange([&](std::size_t k, auto send, auto receive) {
                    send(o.send + from, send_sizes_[k]);
                    receive(o.receive + to, receive_sizes_[k]);
                    from += send_sizes_[k];
                    to += receive_sizes_[k];
                });
            }
            case transfer_kind::all_gather:
                return run_.did("ncclAllGather", A::all_gather(o.send, o.receive, o.send_bytes, c, s), comm_);
            case transfer_kind::broadcast:
                return run_.did("ncclBroadcast", A::broadcast(o.send, o.receive, o.send_bytes, o.root, c, s), comm_);
            case transfer_kind::all_reduce:
                return run_.did("ncclAllReduce",
                                A::all_reduce(o.send, o.receive, o.send_bytes, o.element, o.reduction, c, s), comm_);
            case transfer_kind::reduce_scatter:
                return run_.did("ncclReduceScatter",
                                A::reduce_scatter(o.send, o.receive, o.receive_bytes, o.element, o.reduction, c, s),
                                comm_);
            case transfer_kind::barrier:
                break;
        }
        return run_.did("ncclAllGather", A::all_gather(there_.data(), there_.data() + 1, 1, c, s), comm_);
    }

    group_id group_;
    std::vector<rank_id> ranks_;
    std::size_t place_;
    cuda_nccl_memory<A> here_, there_;  // notes and amounts, for as many members as tell and are told; on both sides
    std::vector<flight> flights_;
    std::vector<std::size_t> send_sizes_, receive_sizes_;
    collective_operation measured_;
    std::uint32_t launched_ = 0, first_ = 0;
};

}  // namespace stretto::detail

#endif
