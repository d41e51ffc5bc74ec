// What benchmarks of collectives share, whether ranks are threads or processes.
#ifndef STRETTO_BENCH_SUPPORT_COLLECTIVE_RUNS_HPP
#define STRETTO_BENCH_SUPPORT_COLLECTIVE_RUNS_HPP

#include <cstddef>
#include <vector>

#include "stretto/backend/collective_operation.hpp"

namespace bench {

/// The collectives that are measured, and what a rank receives in each, in bytes.
inline constexpr stretto::transfer_kind measured_collectives[] = {stretto::transfer_kind::all_to_all,
                                                                  stretto::transfer_kind::all_gather};
inline constexpr std::size_t measured_sizes[] = {4'096, 262'144, 16'777'216};

[[nodiscard]] constexpr const char* name_of(stretto::transfer_kind kind) {
    return kind == stretto::transfer_kind::all_gather ? "all-gather" : "all-to-all";
}

/// What a rank sends and receives, `received` bytes in all, an equal share from each.
struct collective_buffers {
    std::vector<std::byte> from, to;
    stretto::collective_operation operation;

    collective_buffers(stretto::transfer_kind kind, std::size_t ranks, std::size_t received)
        : from(received, std::byte{1}), to(received) {
        operation.kind = kind;
        operation.send = from.data();
        operation.receive = to.data();
        operation.send_bytes = kind == stretto::transfer_kind::all_gather ? received / ranks : received;
        operation.receive_bytes = received;
        operation.send_sizes.assign(ranks, received / ranks);
        operation.receive_sizes = operation.send_sizes;
    }
};

}  // namespace bench

#endif
