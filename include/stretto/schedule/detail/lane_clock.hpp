// Two clocks of the lane, for an order that is timed again and again (detail/timed_order.hpp): one for kernels that
// nothing slows down, and one for kernels that run slower while a channel transfers. Both advance by the work of many
// kernels at once, because between two launches or waits nothing else decides how long kernels take.
#ifndef STRETTO_SCHEDULE_DETAIL_LANE_CLOCK_HPP
#define STRETTO_SCHEDULE_DETAIL_LANE_CLOCK_HPP

#include <algorithm>
#include <cstdint>
#include <span>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"

namespace stretto::detail {

/// The clock of a lane that nothing slows down.
class plain_clock {
public:
    static constexpr bool slows_kernels = false;
    /// A moment of the lane.
    struct moment {
        std::int64_t work = 0;  ///< nanoseconds from the beginning of the step
        friend constexpr bool operator==(const moment&, const moment&) = default;
    };

    explicit plain_clock(const compact_tasks& c) : duration_(c.duration) {}

    /// Returns how long a node takes, by itself.
    [[nodiscard]] std::int64_t duration(std::uint32_t n) const { return duration_[n]; }
    /// Returns the time of a moment.
    [[nodiscard]] static std::int64_t time(moment m) noexcept { return m.work; }
    /// Lets the lane wait until `end`, unless it is past that.
    static void wait_until(moment& m, std::int64_t end) noexcept { m.work = std::max(m.work, end); }
    /// Launches a transfer that ends at `end`.
    static void launch(moment&, std::int64_t) noexcept {}

private:
    std::span<const std::int64_t> duration_;  // by node
};

/// The clock of a lane whose kernels run slower while at least one channel transfers. All transfers that have been
/// launched are in progress until the last of them ends: a channel makes no pause between those that queue. So until
/// that time all kernels are slow, and after it none is, until the next launch.
///
/// Kernels together are rounded like one kernel. So times may differ from those of the exact clock
/// (schedule/contention.hpp) by a few nanoseconds per kernel and transfer.
class contended_clock {
public:
    static constexpr bool slows_kernels = true;
    /// A moment of the lane, in a form in which the work of kernels can be added exactly.
    struct moment {
        std::int64_t work = 0;   ///< that kernels do from `quiet` on; if negative, that they still do before
        std::int64_t quiet = 0;  ///< when the last transfer ends that has been launched
        friend constexpr bool operator==(const moment&, const moment&) = default;
    };

    /// `duration` is by node, without contention.
    contended_clock(std::span<const std::int64_t> duration, contention c)
        : duration_(duration),
          slow_(static_cast<double>(c.numerator) / static_cast<double>(c.denominator)),
          done_(static_cast<double>(c.denominator) / static_cast<double>(c.numerator)) {}

    [[nodiscard]] std::int64_t duration(std::uint32_t n) const { return duration_[n]; }
    /// Returns by how much kernels become longer that run all through a transfer of this length.
    [[nodiscard]] std::int64_t slowdown(std::int64_t transfer) const noexcept {
        return transfer - times(transfer, done_);
    }
    [[nodiscard]] std::int64_t time(moment m) const noexcept {
        return m.work >= 0 ? m.quiet + m.work : m.quiet - times(-m.work, slow_);
    }
    void wait_until(moment& m, std::int64_t end) const noexcept {
        if (end > time(m)) m = at(end, m.quiet);
    }
    void launch(moment& m, std::int64_t end) const noexcept {
        if (end > m.quiet) m = at(time(m), end);
    }

private:
    [[nodiscard]] moment at(std::int64_t time, std::int64_t quiet) const noexcept {
        return {time >= quiet ? time - quiet : -times(quiet - time, done_), quiet};
    }
    /// A single product of doubles is the same on every machine.
    [[nodiscard]] static std::int64_t times(std::int64_t duration, double factor) noexcept {
        return static_cast<std::int64_t>(static_cast<double>(duration) * factor);
    }

    std::span<const std::int64_t> duration_;  // by node
    double slow_;  // the time that a kernel takes for each nanosecond of work during transfers
    double done_;  // the inverse
};

}  // namespace stretto::detail

#endif
