// A count for which threads wait, first by spinning and then by sleeping. While a thread sleeps, it states in a station
// what it waits for.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_HOST_WORD_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_HOST_WORD_HPP

#include <atomic>
#include <chrono>
#include <cstdint>

#include "stretto/core/language.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// Returns the current time in nanoseconds since an epoch that all threads of the process share. It is monotonic.
[[nodiscard]] inline std::int64_t host_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct host_event;

/// What the thread of a lane is doing, so that a watchdog can report why it makes no progress. Only that thread writes.
struct host_station {
    std::atomic<std::int64_t> since = 0;  ///< the host_now() at which it began to wait; 0 while it does not wait
    std::atomic<task_id> task = no_task;  ///< the task that it has begun last
    /// The event for which it waits or has waited last, or null. Stores of an event release and loads acquire, because
    /// the reader accesses the event, which another thread has made.
    std::atomic<const host_event*> event = nullptr;
    std::atomic<bool> meeting = false;  ///< whether it waits for other members of its group
};

/// A count that only grows, modulo 2^31, until it is closed. All waits for a closed word fail at once.
class host_word {
public:
    /// Returns true when the count has reached `target`, or false when the word is closed. Precondition: the count is
    /// less than 2^30 away from `target`.
    bool await(std::uint32_t target, host_station& station) {
        // A kernel or a copy often ends within a microsecond; a system call takes longer than that.
        std::uint32_t bits = bits_.load(std::memory_order_acquire);
        for (int spins = 0; spins < 128 && !settled(bits, target); ++spins)
            bits = bits_.load(std::memory_order_acquire);
        if (!settled(bits, target)) {
            station.since.store(host_now(), std::memory_order_relaxed);
            do {
                bits_.wait(bits, std::memory_order_acquire);
                bits = bits_.load(std::memory_order_acquire);
            } while (!settled(bits, target));
            station.since.store(0, std::memory_order_relaxed);
        }
        return (bits & closed) == 0;
    }
    /// Adds one to the count. Threads that waited for it see everything that this thread did before.
    void advance() {
        bits_.fetch_add(2, std::memory_order_acq_rel);
        bits_.notify_all();
    }
    /// Makes all current and later waits return false. It cannot be undone, because a run that was given up is over.
    void close() {
        bits_.fetch_or(closed, std::memory_order_acq_rel);
        bits_.notify_all();
    }
    [[nodiscard]] bool is_closed() const { return (bits_.load(std::memory_order_acquire) & closed) != 0; }

private:
    static constexpr std::uint32_t closed = 1;
    /// Returns whether there is nothing to wait for. The count has reached the target if their difference modulo 2^31
    /// is in the lower half.
    [[nodiscard]] static bool settled(std::uint32_t bits, std::uint32_t target) {
        return (bits & closed) != 0 || (((bits >> 1) - target) & 0x7fffffffu) < 0x40000000u;
    }
    std::atomic<std::uint32_t> bits_ = 0;  // twice the count, plus one if it is closed
};

/// An event in a lane. It has its own cache line, because the threads of two lanes access it.
struct alignas(64) host_event {
    host_word done;                       ///< how often it has been reached
    std::uint32_t recorded = 0;           ///< how often its record was put; only the putting thread uses it
    std::atomic<task_id> task = no_task;  ///< the task after which it was recorded last
};

}  // namespace stretto::detail

#endif
