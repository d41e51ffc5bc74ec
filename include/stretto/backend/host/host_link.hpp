// The time that collectives take on an emulated link: it lets a machine without a network show what a network would
// allow to hide.
#ifndef STRETTO_BACKEND_HOST_HOST_LINK_HPP
#define STRETTO_BACKEND_HOST_HOST_LINK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// An emulated link: data that a rank sends to others, or receives from them, arrives `latency` plus the time for its
/// bytes after all members have begun the collective. Threads sleep meanwhile, and do not compute. Without a bandwidth,
/// no link is emulated, and collectives run at the speed of memory.
struct host_link {
    nanoseconds latency = {};
    std::int64_t bytes_per_second = 0;

    [[nodiscard]] constexpr bool is_emulated() const noexcept { return bytes_per_second > 0; }
    /// The time of a collective that moves this many bytes.
    [[nodiscard]] constexpr nanoseconds duration(bytes moved) const noexcept {
        if (!is_emulated()) return {};
        return latency + nanoseconds{static_cast<std::int64_t>(static_cast<double>(moved.count) * 1e9 /
                                                               static_cast<double>(bytes_per_second))};
    }
};

/// The bytes of an operation that cross the link of a rank in a group of `members`, in the direction with more. For an
/// all-to-all, the amounts are those in `send_sizes` and `receive_sizes`.
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
[[nodiscard]] inline bytes bytes_on_link(const collective_operation& o, std::size_t members, std::size_t place) {
    return bytes_on_link(o, members, place, o.send_sizes, o.receive_sizes);
}

}  // namespace stretto

#endif
