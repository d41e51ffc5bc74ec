// Lets a thread that has little to do each time begin soon after it is woken, even where kernels keep all cores busy.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_SHORT_SLICE_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_SHORT_SLICE_HPP

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace stretto::detail {

/// Asks the system to run the calling thread in short slices. Linux (6.12 and newer) gives a core first to the thread
/// whose slice ends first, so a woken thread with a short slice does not wait for the slices of kernels, which are some
/// milliseconds long. It gets no more time than before, and needs no privilege. Without effect on older kernels, on
/// other systems, and on threads with a scheduling policy of their own. Source: sched(7), sched_setattr(2).
inline void ask_for_short_slice() noexcept {
#if defined(SYS_sched_setattr) && defined(SYS_sched_getattr)
    // Debian 12 has no declaration of it. The first version of the structure is enough.
    struct attributes {
        std::uint32_t size = sizeof(attributes), policy = 0;
        std::uint64_t flags = 0;
        std::int32_t nice = 0;
        std::uint32_t priority = 0;
        std::uint64_t runtime = 0, deadline = 0, period = 0;
    };
    attributes mine;
    constexpr std::uint32_t normal = 0;  // SCHED_OTHER
    if (::syscall(SYS_sched_getattr, 0, &mine, sizeof(mine), 0) != 0 || mine.policy != normal) return;
    mine.runtime = 100'000;  // nanoseconds, the shortest slice there is
    static_cast<void>(::syscall(SYS_sched_setattr, 0, &mine, 0));
#endif
}

}  // namespace stretto::detail

#endif
