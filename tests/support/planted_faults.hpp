// What ranks can do wrong with collectives, at every place of a run, and what a backend must say of it. Every backend
// whose members compare what they have come for is asked the same.
#ifndef STRETTO_TESTS_SUPPORT_PLANTED_FAULTS_HPP
#define STRETTO_TESTS_SUPPORT_PLANTED_FAULTS_HPP

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/process_group.hpp"

namespace support {

/// A run of collectives, each of another kind, in which rank `who` does something wrong at collective `where`.
struct planted_fault {
    enum class kind : std::uint8_t {
        drop,             ///< leaves the collective out
        repeat,           ///< performs it twice
        swap,             ///< performs the next one first
        other_kind,       ///< performs a barrier instead
        other_size,       ///< sends less
        other_element,    ///< takes the bytes for other numbers
        other_reduction,  ///< reduces in another way, or would if that collective did
        other_root,       ///< expects it from another rank, or would if that collective did
        other_id,         ///< takes it for another collective of the step
        other_chunk,      ///< takes it for that of another chunk
        late,             ///< comes only when the others have had enough of it
        leave,            ///< returns before
        fail,             ///< throws before
    };
    static constexpr kind kinds[] = {
        kind::drop,          kind::repeat,          kind::swap,       kind::other_kind, kind::other_size,
        kind::other_element, kind::other_reduction, kind::other_root, kind::other_id,   kind::other_chunk,
        kind::late,          kind::leave,           kind::fail};
    /// Collectives of a run, one of each kind that moves anything.
    static constexpr std::uint32_t length = 5;

    kind what;
    stretto::rank_id who;
    std::uint32_t where;

    /// Long enough that a rank which has lost its processor is not taken for one that is late.
    [[nodiscard]] std::chrono::milliseconds deadline() const {
        return std::chrono::milliseconds(what == kind::late ? 250 : 20'000);
    }
};

/// Those that there are among `ranks` ranks, at least two: of each kind and at each place by each rank. A rank is late
/// only once at each place, since that takes as long as the deadline.
[[nodiscard]] inline std::vector<planted_fault> planted_faults(stretto::rank_id ranks) {
    using kind = planted_fault::kind;
    std::vector<planted_fault> all;
    for (const kind what : planted_fault::kinds)
        for (stretto::rank_id who = 0; who < ranks; ++who)
            for (std::uint32_t where = 0; where < planted_fault::length; ++where) {
                if (what == kind::swap && where + 1 == planted_fault::length) continue;
                if (what == kind::late && who != where % ranks) continue;
                all.push_back({what, who, where});
            }
    return all;
}

/// What the collectives of a run move: each rank has one.
struct fault_buffers {
    std::vector<std::byte> sent, received;
    explicit fault_buffers(std::size_t ranks) : sent(32 * ranks, std::byte{1}), received(32 * ranks) {}
};

/// Collective `k` of a run.
[[nodiscard]] inline stretto::collective_operation collective_of_run(std::uint32_t k, std::size_t ranks,
                                                                     fault_buffers& memory) {
    using stretto::transfer_kind;
    constexpr transfer_kind kinds[] = {transfer_kind::all_gather, transfer_kind::all_reduce, transfer_kind::all_to_all,
                                       transfer_kind::reduce_scatter, transfer_kind::broadcast};
    stretto::collective_operation o;
    o.kind = kinds[k];
    o.element = stretto::element_type::i32;
    o.reduction = stretto::reduction_kind::sum;
    o.send = memory.sent.data();
    o.receive = memory.received.data();
    o.send_bytes = o.kind == transfer_kind::all_gather ? 32 : 32 * ranks;
    o.receive_bytes = o.kind == transfer_kind::reduce_scatter ? 32 : 32 * ranks;
    if (o.kind == transfer_kind::all_to_all) o.send_sizes.assign(ranks, 32), o.receive_sizes = o.send_sizes;
    o.logical_id = k + 1;
    o.task = 10 + k;
    return o;
}

/// The run of one rank. Returns when a collective has failed, or after the last one.
template <class Rank>
void perform_with_fault(Rank& rank, std::size_t ranks, const planted_fault& fault) {
    using kind = planted_fault::kind;
    fault_buffers memory(ranks);
    std::vector<stretto::collective_operation> steps;
    for (std::uint32_t k = 0; k < planted_fault::length; ++k) steps.push_back(collective_of_run(k, ranks, memory));
    const bool guilty = rank.rank() == fault.who;
    if (guilty) {
        const auto at = steps.begin() + fault.where;
        switch (fault.what) {
            case kind::drop:
                steps.erase(at);
                break;
            case kind::repeat:
                steps.insert(at, stretto::collective_operation(*at));
                break;
            case kind::swap:
                std::swap(*at, *(at + 1));
                break;
            case kind::other_kind:
                at->kind = stretto::transfer_kind::barrier;
                break;
            case kind::other_size:
                if (!at->send_sizes.empty()) {  // to one rank
                    at->send_sizes[(fault.who + 1) % ranks] -= 4;
                    at->send_bytes -= 4;
                } else {
                    at->send_bytes = at->send_bytes / 32 * 28;
                    at->receive_bytes = at->receive_bytes / 32 * 28;
                }
                break;
            case kind::other_element:
                at->element = stretto::element_type::f32;
                break;
            case kind::other_reduction:
                at->reduction = stretto::reduction_kind::max;
                break;
            case kind::other_root:
                at->root = 1;
                break;
            case kind::other_id:
                at->logical_id += 100;
                break;
            case kind::other_chunk:
                at->chunk = 1;
                break;
            case kind::late:
            case kind::leave:
            case kind::fail:
                break;
        }
    }
    for (std::uint32_t k = 0; k < steps.size(); ++k) {
        if (guilty && k == fault.where) {
            if (fault.what == kind::leave) return;
            if (fault.what == kind::fail) throw std::runtime_error("gone");
            if (fault.what == kind::late) std::this_thread::sleep_for(3 * fault.deadline());
        }
        if (rank.perform(0, steps[k])) return;
    }
}

/// The ranks that have reached that collective wait for a rank that has not. Others may not have reached it yet, or may
/// still be completing an earlier one, if the machine gave them no processor.
inline void check_waiting_for(const stretto::run_failure& f, stretto::rank_id missing, std::uint32_t sequence) {
    std::size_t channels = 0;
    for (const stretto::waiting_lane& w : f.waiting) {
        if (w.lane == 0) continue;
        CHECK(w.rank != missing);
        if (w.sequence < sequence) continue;
        ++channels;
        CHECK(w.sequence == sequence);
        CHECK(std::count(w.for_ranks.begin(), w.for_ranks.end(), missing) == 1);
    }
    CHECK(channels >= 1);
}

/// Whether a backend has found that fault. If ranks do not agree about which failure was the first (`agreed`), others
/// may notice that a rank has gone before it has said why.
inline void check_found(const planted_fault& fault, const std::optional<stretto::run_failure>& found, bool agreed) {
    using kind = planted_fault::kind;
    using why = stretto::run_failure::reason;
    REQUIRE(found);
    if (fault.what == kind::fail) {
        CHECK((found->why == why::rank_threw || (!agreed && found->why == why::rank_left)));
        CHECK(found->rank == fault.who);
        if (found->why == why::rank_threw) CHECK(found->detail == "gone");
        return;
    }
    CHECK(found->group == 0);
    const bool last = fault.where + 1 == planted_fault::length;
    if (fault.what == kind::late) {
        CHECK(found->why == why::timeout);
        CHECK(found->rank != fault.who);
        CHECK(found->sequence == fault.where);
        CHECK(found->task == 10 + fault.where);
        check_waiting_for(*found, fault.who, fault.where);
    } else if (fault.what == kind::repeat && last) {
        // The others have gone.
        CHECK(found->why == why::rank_left);
        CHECK(found->rank != fault.who);
        CHECK(found->sequence == planted_fault::length);
    } else if (fault.what == kind::leave || (fault.what == kind::drop && last)) {
        CHECK(found->why == why::rank_left);
        CHECK(found->rank == fault.who);
        CHECK(found->sequence == fault.where);
        check_waiting_for(*found, fault.who, fault.where);
    } else {
        // What is repeated is noticed at the next one.
        CHECK(found->why == why::mismatch);
        CHECK(found->sequence == fault.where + (fault.what == kind::repeat));
        CHECK(found->task >= 10);
        CHECK(found->detail != "");
    }
}

}  // namespace support

#endif
