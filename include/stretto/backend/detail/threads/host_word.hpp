// A count that threads wait for, with a spin before the sleep, and the place where a thread says for what it waits.
#ifndef STRETTO_BACKEND_DETAIL_THREADS_HOST_WORD_HPP
#define STRETTO_BACKEND_DETAIL_THREADS_HOST_WORD_HPP

#include <atomic>
#include <chrono>
#include <cstdint>

#include "stretto/core/language.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// Now, in nanoseconds from some moment on that all threads of the process share. It never goes back.
[[nodiscard]] inline std::int64_t host_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct host_event;

/// What the thread of a lane does, for whoever wants to know why it does not go on. Only that thread writes.
struct host_station {
    std::atomic<std::int64_t> since = 0;  ///< when it began to wait; 0 while it does not wait
    std::atomic<task_id> task = no_task;  ///< at which it is
    /// For which it waits, if it is one. Stored to be acquired: whoever reads it looks into the event, which another
    /// thread has made.
    std::atomic<const host_event*> event = nullptr;
    std::atomic<bool> meeting = false;  ///< whether it waits for other members of its group
};

/// A count that only grows, modulo 2^31, until it is closed. Whoever waits for a count of a closed word is turned away.
class host_word {
public:
    /// Returns when the count has reached `target`, with true, or when the word is closed. Precondition: the count is
    /// not more than 2^30 from `target`.
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
    /// Adds one to the count. Whatever this thread has done before is seen by those who have waited for it.
    void advance() {
        bits_.fetch_add(2, std::memory_order_acq_rel);
        bits_.notify_all();
    }
    /// Turns away all who wait, now and later. It is not undone: a run that has been given up is over.
    void close() {
        bits_.fetch_or(closed, std::memory_order_acq_rel);
        bits_.notify_all();
    }
    [[nodiscard]] bool is_closed() const { return (bits_.load(std::memory_order_acquire) & closed) != 0; }

private:
    static constexpr std::uint32_t closed = 1;
    /// Whether there is nothing to wait for: the distance to the target, modulo 2^31, is not negative.
    [[nodiscard]] static bool settled(std::uint32_t bits, std::uint32_t target) {
        return (bits & closed) != 0 || (((bits >> 1) - target) & 0x7fffffffu) < 0x40000000u;
    }
    std::atomic<std::uint32_t> bits_ = 0;  // twice the count, and whether it is closed
};

/// A mark in a lane. It has a cache line of its own, since the threads of two lanes watch it.
struct alignas(64) host_event {
    host_word done;                       ///< how often it has been reached
    std::uint32_t recorded = 0;           ///< how often it has been put into a queue; of the thread that puts
    std::atomic<task_id> task = no_task;  ///< the one that it comes after
};

}  // namespace stretto::detail

#endif
