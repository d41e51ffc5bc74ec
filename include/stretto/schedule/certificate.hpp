// A certificate states the quality of an order of a step, with proof: its exact times and memory, a bound that no order
// can beat, and the reason for each collective that stays exposed. The scheduler returns a certificate with the order
// that it finds; `certify` makes one for any order, whatever its source.
#ifndef STRETTO_SCHEDULE_CERTIFICATE_HPP
#define STRETTO_SCHEDULE_CERTIFICATE_HPP

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/order_fingerprint.hpp"
#include "stretto/schedule/rank_program.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/verify.hpp"

namespace stretto {

namespace detail {
struct schedule_maker;
}

/// A legal order and its certificate. Only `certify` and the scheduler (list_schedule.hpp) make one.
class schedule {
public:
    [[nodiscard]] const std::vector<task_id>& order() const noexcept { return order_; }
    [[nodiscard]] nanoseconds makespan() const noexcept { return times_.makespan; }
    /// Returns the exact times of all tasks by the clock under contention.
    [[nodiscard]] const simulation& times() const noexcept { return times_; }
    [[nodiscard]] const memory_profile& memory() const noexcept { return memory_; }
    /// Returns the limit that the peak of the order keeps, and for which the bound holds.
    [[nodiscard]] bytes memory_limit() const noexcept { return limit_; }

    /// Returns the contention under which the times were computed: how much slower kernels run during transfers.
    [[nodiscard]] contention under() const noexcept { return under_; }

    /// Returns a lower bound by the same clock: no order of this step whose peak memory is within the limit is faster.
    [[nodiscard]] const lower_bound& bound() const noexcept { return bound_; }
    /// Returns makespan / bound - 1. The makespan exceeds that of an optimal order by at most this share of the latter,
    /// so 0 proves that this order is optimal.
    [[nodiscard]] double gap() const noexcept {
        if (bound_.value.count == 0) return 0;
        return static_cast<double>((times_.makespan - bound_.value).count) / static_cast<double>(bound_.value.count);
    }
    /// Returns how long each collective is exposed, and why, in the order of the starts.
    [[nodiscard]] const std::vector<collective_exposure>& exposures() const noexcept { return exposures_; }
    /// Returns a fingerprint of which collectives are issued in which order; see fingerprint_of.
    [[nodiscard]] const order_fingerprint& fingerprint() const noexcept { return fingerprint_; }
    /// Returns the verdict on deadlock. Ranks that all issue this order cannot hang if their devices begin collectives
    /// in the order of their launches, or hold at least this many at once (communicators_in_flight).
    [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }

private:
    schedule() = default;
    friend struct detail::schedule_maker;

    std::vector<task_id> order_;
    simulation times_;
    memory_profile memory_;
    bytes limit_;
    contention under_;
    lower_bound bound_;
    std::vector<collective_exposure> exposures_;
    order_fingerprint fingerprint_;
    std::uint32_t in_flight_ = 0;
};

namespace detail {

/// Writes certificates of orders that are known to be legal and to stay within the limit. `starved` lists, in ascending
/// order, the waits during which only the memory limit held kernels back.
struct schedule_maker {
    template <class = void>
    [[nodiscard]] static schedule make(const task_graph& g, std::vector<task_id> order, order_figures figures,
                                       bytes limit, contention under, const lower_bound& bound,
                                       std::span<const task_id> starved) {
        schedule s;
        s.order_ = std::move(order);
        s.times_ = std::move(figures.times);
        s.memory_ = std::move(figures.memory);
        s.limit_ = limit;
        s.under_ = under;
        s.bound_ = bound;
        s.exposures_ = explain_exposure(g, s.order_, s.times_, starved);
        s.fingerprint_ = fingerprint_of(g, s.order_);
        s.in_flight_ = communicators_in_flight(g, s.order_);
        return s;
    }
};

}  // namespace detail

/// Returns the certificate of an order, or the first violation (schedule/verify.hpp). The times and the bound take
/// contention into account. Only a scheduler knows which kernels the memory limit held back: an exposure has the
/// reason `memory` only if its wait is among `starved`, which ascend. The result is deterministic. O((V + E) log V),
/// plus the times of verify_order and of the simulation. Precondition: the contention is valid, and times_fit holds.
template <class = void>
[[nodiscard]] expected<schedule, order_violation> certify(const task_graph& g, std::vector<task_id> order,
                                                          bytes limit = unlimited_bytes, contention under = {},
                                                          std::span<const task_id> starved = {}) {
    STRETTO_ASSERT(under.valid() && times_fit(g, under),
                   "the contention is not valid, or it makes times longer than 2^62");
    expected<order_figures, order_violation> figures = verify_order(g, order, limit);
    if (!figures) return unexpected(figures.error());
    if (!under.none()) figures->times = simulate(g, order, under);
    const lower_bound bound = detail::bound_below(g, limit, under, detail::enough_for(figures->times.makespan));
    return detail::schedule_maker::make(g, std::move(order), *std::move(figures), limit, under, bound, starved);
}

}  // namespace stretto

#endif
