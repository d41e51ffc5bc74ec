// Memory on which streams operate: its allocation, and its release, which also ends its registration with
// communicators.
#ifndef STRETTO_BACKEND_DETAIL_STREAMS_STREAM_MEMORY_HPP
#define STRETTO_BACKEND_DETAIL_STREAMS_STREAM_MEMORY_HPP

#include <cstddef>
#include <utility>
#include <vector>

#include "stretto/backend/detail/memory_block.hpp"
#include "stretto/backend/detail/streams/stream_run.hpp"

namespace stretto::detail {

/// Frees memory of the given kind, after it has unregistered the memory from its communicators, in the order of
/// registration. After a failure the communicators are gone, so the memory is only freed.
template <class A>
struct stream_memory_release {
    device_memory kind = device_memory::device;
    const stream_run<A>* run = nullptr;
    std::vector<std::pair<stream_comm<A>*, typename A::handle_type>> handles = {};

    void operator()(std::byte* memory) const noexcept {
        for (std::size_t k = 0; k < handles.size() && !run->failed(); ++k)
            static_cast<void>(A::leave(handles[k].first->handle, handles[k].second));
        static_cast<void>(A::release(memory, kind));
    }
};

/// A block of memory; empty until `allocate` has filled it.
template <class A>
using stream_memory = memory_block<stream_memory_release<A>>;

/// Allocates `size` bytes and stores them in `to`. For a size of 0 it allocates one byte, so that there is an address.
template <class A>
[[nodiscard]] call_result allocate(stream_memory<A>& to, std::size_t size, device_memory kind) {
    void* made = nullptr;
    const call_result r = A::allocate(made, size == 0 ? 1 : size, kind);
    if (r.done()) to = {static_cast<std::byte*>(made), size, {kind}};
    return r;
}

}  // namespace stretto::detail

#endif
