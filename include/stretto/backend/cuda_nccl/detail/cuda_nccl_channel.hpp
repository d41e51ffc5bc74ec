// The communicator of one rank on a device: a stream of collectives of NCCL.
#ifndef STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_CHANNEL_HPP
#define STRETTO_BACKEND_CUDA_NCCL_DETAIL_CUDA_NCCL_CHANNEL_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/cuda_nccl/detail/cuda_nccl_run.hpp"
#include "stretto/backend/detail/collective_rules.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto::detail {

/// What a rank has come for, as it tells each other one.
struct cuda_nccl_header {
    transfer_kind kind = transfer_kind::barrier;
    reduction_kind reduction = reduction_kind::none;
    element_type element = element_type::other;
    std::uint32_t root = 0, chunk = 0;
    std::uint64_t logical_id = 0, size = 0;  ///< of an all-to-all: to the one that is told
};

template <class A>
class cuda_nccl_channel {
public:
    using event_type = cuda_nccl_event<A>;
    using run_type = cuda_nccl_run<A>;
    using form = typename run_type::form;

    cuda_nccl_channel(run_type& run, const process_group& g)
        : run_(run), group_(g.id), ranks_(g.ranks.begin(), g.ranks.end()), place_(g.place_of(run.rank())) {}

    /// Makes what belongs to the communicator, whose handle is there.
    bool make() {
        const std::size_t n = size() * (sizeof(cuda_nccl_header) + 16);
        name({});
        if (!stream_.make(run_, true) || !end_.make(run_, comm_.at) || !told_.make(run_, comm_.at)) return false;
        if (!run_.did("cudaMallocHost", allocate<A>(here_, 2 * n, device_memory::pinned), comm_.at)) return false;
        if (!run_.did("cudaMalloc", allocate<A>(there_, 2 * n, device_memory::device), comm_.at)) return false;
        send_sizes_.reserve(size());
        receive_sizes_.reserve(size());
        reserve(8);
        return !run_.failed();
    }

    bool wait(event_type& e) { return run_.now == form::compare || e.wait(run_, stream_.get(), comm_.at); }
    bool record(event_type& e) { return run_.now == form::compare || e.record(run_, stream_.get(), comm_.at); }
    bool launch(const collective_operation& o) {
        if (!run_.goes_on()) return false;
        name(o);
        const bool measured = !o.send_rows.empty();
        if (run_.now == form::compare) return (measured || find_amounts(o)) && compare(o, measured);
        if (measured && run_.now == form::capture) {
            run_.refused = run_failure{run_failure::reason::call_failed,
                                       run_.rank(),
                                       group_,
                                       comm_.at.sequence,
                                       o.task,
                                       "amounts that the step measures cannot be captured",
                                       {}};
            return false;
        }
        if (!find_amounts(o)) return false;
        const bool compares = measured || (run_.options().always_compares && run_.now == form::replay);
        if (compares && !compare(o, false)) return false;
        // While it is captured, nothing runs that could be marked.
        if (run_.now == form::capture) return post(o) && (++launched_, true);
        if (launched_ - first_ >= marks_.size()) reserve(marks_.size() + 1);
        if (run_.failed()) return false;
        mark& m = marks_[launched_ - first_];
        m.at = comm_.at;
        if (!m.began.record(run_, stream_.get(), m.at) || !post(o)) return false;
        ++launched_;
        return m.ended.record(run_, stream_.get(), m.at);
    }
    /// Makes two events for each of so many verbs, more than enough: whoever gives up says at which collective.
    void reserve(std::size_t verbs) {
        while (marks_.size() < verbs && !run_.failed()) {
            mark& m = marks_.emplace_back();
            if (!m.began.make(run_, comm_.at) || !m.ended.make(run_, comm_.at)) marks_.pop_back();
        }
    }
    [[nodiscard]] bool can(const collective_operation& o) const {
        return (o.kind != transfer_kind::reduce_scatter && o.kind != transfer_kind::all_reduce) ||
               A::can_reduce(o.element, o.reduction);
    }
    [[nodiscard]] std::size_t size() const noexcept { return ranks_.size(); }
    [[nodiscard]] std::size_t place() const noexcept { return place_; }

    /// A collective that is in the stream since `begin`.
    struct mark {
        event_type began = {}, ended = {};
        cuda_nccl_site at = {};
    };
    void begin() { first_ = launched_; }
    [[nodiscard]] std::size_t in_stream() const noexcept { return launched_ - first_; }
    [[nodiscard]] const mark& at(std::size_t k) const { return marks_[k]; }
    /// After a replay of a graph with so many collectives, or one that was captured.
    void count(std::ptrdiff_t n) { launched_ = static_cast<std::uint32_t>(launched_ + n); }

    [[nodiscard]] group_id group() const noexcept { return group_; }
    [[nodiscard]] std::uint32_t sequence() const noexcept { return launched_; }
    [[nodiscard]] const cuda_nccl_site& site() const noexcept { return comm_.at; }
    [[nodiscard]] cuda_nccl_comm<A>& comm() noexcept { return comm_; }
    [[nodiscard]] typename A::stream_type stream() const noexcept { return stream_.get(); }
    [[nodiscard]] event_type& end() noexcept { return end_; }

    /// Compares what all members have come for, before any of it is begun; amounts too, unless they are `open`. It
    /// waits until all have come.
    bool compare(const collective_operation& o, bool open) {
        constexpr std::size_t length = sizeof(cuda_nccl_header);
        const std::size_t n = size() * length;
        std::byte *const mine = here_.get(), *const theirs = mine + n, *const out = there_.get(), *const in = out + n;
        const bool shares = o.kind == transfer_kind::all_to_all;
        for (std::size_t k = 0; k < size(); ++k) {
            const cuda_nccl_header h{o.kind,
                                     o.reduction,
                                     o.element,
                                     o.root,
                                     o.chunk,
                                     o.logical_id,
                                     open ? 0 : shares ? send_sizes_[k] : o.send_bytes};
            std::memcpy(mine + k * length, &h, length);
        }
        if (!run_.did("cudaMemcpyAsync", A::copy(out, mine, n, stream_.get()), comm_.at)) return false;
        const bool told = exchange([&](std::size_t k, auto send, auto receive) {
            send(out + k * length, length);
            receive(in + k * length, length);
        });
        if (!told || !run_.did("cudaMemcpyAsync", A::copy(theirs, in, n, stream_.get()), comm_.at)) return false;
        if (!await_stream()) return false;
        for (std::size_t k = 0; k < size(); ++k) {
            cuda_nccl_header h;
            std::memcpy(&h, theirs + k * length, length);
            heard_.kind = h.kind, heard_.reduction = h.reduction, heard_.element = h.element;
            heard_.root = h.root, heard_.chunk = h.chunk, heard_.logical_id = h.logical_id;
            const std::size_t here = open ? 0 : shares ? receive_sizes_[k] : o.send_bytes;
            if (agree(o, here, heard_, h.size)) continue;
            run_.fail(run_failure::reason::mismatch, comm_.at, difference(o, here, heard_, h.size, ranks_[k]));
            return false;
        }
        return true;
    }

private:
    void name(const collective_operation& o) { comm_.at = {group_, launched_, o.task, name_of(o.kind), &ranks_}; }
    /// What is aborted elsewhere ends, too, without having moved anything; so the communicator is asked afterwards.
    bool await_stream() {
        return told_.record(run_, stream_.get(), comm_.at) &&
               run_.await("cudaEventQuery", [&] { return told_.query(); }, comm_.at) && run_.poll();
    }
    /// Finds what is sent to each member and received. Amounts that the step measures are fetched, after what measures
    /// them.
    bool find_amounts(const collective_operation& o) {
        if (o.send_rows.empty()) return !find_sizes(o, ranks_, send_sizes_, receive_sizes_);
        measured_ = o;
        auto* fetched = reinterpret_cast<std::int64_t*>(here_.get());
        for (auto* const rows : {&measured_.send_rows, &measured_.receive_rows})
            for (const std::int64_t*& at : *rows) {
                if (at == nullptr) continue;
                if (!run_.did("cudaMemcpyAsync", A::copy(fetched, at, 8, stream_.get()), comm_.at)) return false;
                at = fetched++;
            }
        if (!await_stream()) return false;
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
                    note("ncclSend", A::send(from, n, k, comm_.handle, stream_.get()));
                },
                [&](std::byte* to, std::size_t n) {
                    note("ncclRecv", A::receive(to, n, k, comm_.handle, stream_.get()));
                });
        const call_result ended = A::end_group();  // a group is closed, whatever happens in it
        return bad.failed() ? run_.did(call, bad, comm_.at) : run_.did(call, ended, comm_);
    }
    bool post(const collective_operation& o) {
        const auto& s = stream_.get();
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
        return run_.did("ncclAllGather", A::all_gather(there_.get(), there_.get() + 1, 1, c, s), comm_);
    }

    run_type& run_;
    group_id group_;
    std::vector<rank_id> ranks_;
    std::size_t place_;
    cuda_nccl_comm<A> comm_;
    cuda_nccl_stream<A> stream_;
    event_type end_, told_;
    cuda_nccl_memory<A> here_, there_;  // what is told and heard, on both sides
    std::vector<mark> marks_;
    std::vector<std::size_t> send_sizes_, receive_sizes_;
    collective_operation measured_, heard_;
    std::uint32_t launched_ = 0, first_ = 0;
};

}  // namespace stretto::detail

#endif
