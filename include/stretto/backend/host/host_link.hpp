// Computes the time that collectives take on an emulated link. With such a link, a machine without a network shows how
// much communication a network would allow to hide.
#ifndef STRETTO_BACKEND_HOST_HOST_LINK_HPP
#define STRETTO_BACKEND_HOST_HOST_LINK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// An emulated link. A collective is complete on a rank, at the earliest, `latency` plus the time for the rank's bytes
/// after all members have begun it. The thread of the channel sleeps meanwhile and leaves its core to kernels. Without
/// a bandwidth no link is emulated, whatever the latency, and collectives run at the speed of memory.
struct host_link {
    nanoseconds latency = {};
    std::int64_t bytes_per_second = 0;

    /// Returns whether a link is emulated.
    [[nodiscard]] constexpr bool is_emulated() const noexcept { return bytes_per_second > 0; }
    /// Returns the time of a collective that moves this many bytes over the link; 0 if no link is emulated.
    [[nodiscard]] constexpr nanoseconds duration(bytes moved) const noexcept {
        if (!is_emulated()) return {};
        return latency + nanoseconds{static_cast<std::int64_t>(static_cast<double>(moved.count) * 1e9 /
                                                               static_cast<double>(bytes_per_second))};
    }
};

/// Returns the bytes of an operation that cross the link of member `place` of a group of `members`, in the direction
/// with more of them, if every member sends and receives as little as the operation allows. For an all-to-all, the
/// amounts are those in `send_sizes` and `receive_sizes`, which the operation does not contain if they are measured.
/// O(members).
[[nodiscard]] inline bytes bytes_on_link(const collective_operation& o, std::size_t members, std::size_t place,
                                         std::span<const std::size_t> send_sizes,
                                         std::span<const std::size_t> receive_sizes) {
    const auto share = [&](std::size_t whole) { return static_cast<std::int64_t>(whole - whole / members); };
    switch (o.kind) {
        case transfer_kind::all_gather:
            return {share(o.receive_bytes)};
        case transfer_kind::reduce_scatter:
            return {share(o.send_bytes)};
        case transfer_kind::all_reduce:
            return {2 * share(o.send_bytes)};
        case transfer_kind::all_to_all: {
            std::size_t sent = 0, received = 0;
            for (std::size_t k = 0; k < members; ++k) {
                if (k == place) continue;
                sent += send_sizes[k];
                received += receive_sizes[k];
            }
            return {static_cast<std::int64_t>(std::max(sent, received))};
        }
        case transfer_kind::broadcast:
            return {members > 1 ? static_cast<std::int64_t>(o.send_bytes) : 0};
        case transfer_kind::barrier:
            break;
    }
    return {};
}
/// Returns the bytes of an operation whose amounts are all given.
[[nodiscard]] inline bytes bytes_on_link(const collective_operation& o, std::size_t members, std::size_t place) {
    return bytes_on_link(o, members, place, o.send_sizes, o.receive_sizes);
}

}  // namespace stretto

#endif
