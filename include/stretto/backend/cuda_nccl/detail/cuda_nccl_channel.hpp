// The communicator of one rank on a device. It puts collectives of NCCL into its stream, and lets members compare their
// operations by messages of NCCL, because NCCL itself compares nothing.
#ifndef STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_CHANNEL_HPP
#define STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_CHANNEL_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_calls.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/backend/detail/streams/stream_channel.hpp"
#include "stretto/backend/detail/streams/stream_memory.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// The channel of one group. `A` models cuda_nccl_calls. Only the thread of the rank uses it.
template <class A>
class cuda_nccl_channel : public stream_channel<A> {
    using base = stream_channel<A>;
    using base::run_, base::comm_, base::send_sizes, base::receive_sizes, base::ranks;

public:
    using base::size;
    using typename base::form;

    /// Makes a channel without a communicator. If it `always_compares`, members compare their operations before every
    /// collective.
    cuda_nccl_channel(stream_run<A>& run, const process_group& g, bool always_compares)
        : base(run, g), always_compares_(always_compares) {}

    /// Makes the stream, and memory for notes. Precondition: the communicator has been created.
    bool make() {
        const std::size_t n = 2 * size() * note_bytes;
        return base::make() && run_.did(allocate<A>(here_, n, device_memory::pinned), comm_.at) &&
               run_.did(allocate<A>(there_, n, device_memory::device), comm_.at);
    }

    /// Puts a collective into the stream, after its waits. Amounts that the step measures are awaited here, in the
    /// calling thread, because NCCL must know them when the collective is put; then members compare them. During a
    /// comparison only the notes of members move.
    bool launch(const collective_operation& o) {
        if (!run_.goes_on()) return false;
        base::name(o);
        const bool measured = !o.send_rows.empty();
        // It counts like a launch, so that a failure gives it the number that it has in a replay.
        if (run_.now == form::compare)
            return (measured || base::find_amounts(o)) && compare(o, measured) && (base::count(1), true);
        if (!base::find_amounts(o)) return false;
        // During a capture nothing runs, so there is nothing to compare.
        if ((measured || always_compares_) && run_.now != form::capture && !compare(o, false)) return false;
        return base::fly([&] { return post(o); });
    }
    /// Returns whether NCCL supports the reduction of an operation.
    [[nodiscard]] bool can(const collective_operation& o) const {
        return !reduces(o.kind) || A::can_reduce(o.element, o.reduction);
    }

    /// Compares the operations of all members before any of them begins, and also the amounts, unless they are `open`,
    /// which means not yet known. It waits for all members. Returns whether they agree; if not, the run fails.
    bool compare(const collective_operation& o, bool open) {
        const std::size_t n = size() * note_bytes;
        std::byte *const mine = here_.data(), *const theirs = mine + n, *const out = there_.data(), *const in = out + n;
        const bool shares = o.kind == transfer_kind::all_to_all;
        const auto note = [](std::byte* notes, std::size_t k) {
            return reinterpret_cast<std::uint64_t*>(notes) + k * note_length;
        };
        for (std::size_t k = 0; k < size(); ++k)
            write_note(o, open ? 0 : shares ? send_sizes()[k] : o.send_bytes, note(mine, k));
        // NCCL moves memory of the device: notes are copied there, exchanged, and copied back to the host.
        if (!run_.did(A::copy(out, mine, n, this->stream()), comm_.at)) return false;
        const bool told = exchange([&](std::size_t k, auto send, auto receive) {
            send(out + k * note_bytes, note_bytes);
            receive(in + k * note_bytes, note_bytes);
        });
        if (!told || !run_.did(A::copy(theirs, in, n, this->stream()), comm_.at) || !base::await_stream()) return false;
        auto wrong = first_difference(
            o, ranks(), [&](std::size_t k) { return read_note(note(theirs, k)); },
            [&](std::size_t k) { return open ? 0 : receive_sizes()[k]; },
            [&](std::size_t k) { return note(theirs, k)[note_length - 1]; });
        if (wrong) run_.fail(run_failure::reason::mismatch, comm_.at, *std::move(wrong));
        return !wrong;
    }

private:
    static constexpr std::size_t note_bytes = note_length * sizeof(std::uint64_t);

    /// Puts one group of sends and receives with every member, including itself. In separate calls, two members that
    /// send would wait for each other. Amounts of 0 are posted too, so that every send has a receive. `each(k, send,
    /// receive)` calls `send(address, bytes)` and `receive(address, bytes)` for member k.
    template <class Each>
    bool exchange(Each each) {
        if (!run_.did(A::begin_group(), comm_.at)) return false;
        call_result bad;
        const auto note = [&](call_result r) {
            if (r.failed() && !bad.failed()) bad = r;
        };
        for (std::size_t k = 0; k < size(); ++k)
            each(
                k,
                [&](const std::byte* from, std::size_t n) { note(A::send(from, n, k, comm_.handle, this->stream())); },
                [&](std::byte* to, std::size_t n) { note(A::receive(to, n, k, comm_.handle, this->stream())); });
        // A group is always closed, even after a failure in it. The first failed call is reported, as it says more.
        const call_result ended = A::end_group();
        return bad.failed() ? run_.did(bad, comm_.at) : run_.did(ended, comm_);
    }
    /// Passes an operation to NCCL, and waits until NCCL has accepted it. A barrier is an all-gather of one byte per
    /// member.
    bool post(const collective_operation& o) {
        const auto s = this->stream();
        auto& c = comm_.handle;
        switch (o.kind) {
            case transfer_kind::all_to_all: {
                std::size_t from = 0, to = 0;
                return exchange([&](std::size_t k, auto send, auto receive) {
                    send(o.send + from, send_sizes()[k]);
                    receive(o.receive + to, receive_sizes()[k]);
                    from += send_sizes()[k];
                    to += receive_sizes()[k];
                });
            }
            case transfer_kind::all_gather:
                return run_.did(A::all_gather(o.send, o.receive, o.send_bytes, c, s), comm_);
            case transfer_kind::broadcast:
                return run_.did(A::broadcast(o.send, o.receive, o.send_bytes, o.root, c, s), comm_);
            case transfer_kind::all_reduce:
                return run_.did(A::all_reduce(o.send, o.receive, o.send_bytes, o.element, o.reduction, c, s), comm_);
            case transfer_kind::reduce_scatter:
                return run_.did(A::reduce_scatter(o.send, o.receive, o.receive_bytes, o.element, o.reduction, c, s),
                                comm_);
            case transfer_kind::barrier:
                break;
        }
        return run_.did(A::all_gather(there_.data(), there_.data() + 1, 1, c, s), comm_);
    }

    bool always_compares_;
    stream_memory<A> here_, there_;  // notes to and from all members, on the host and on the device
};

}  // namespace stretto::detail

#endif
