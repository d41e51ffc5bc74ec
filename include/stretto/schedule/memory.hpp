// The live bytes of an order follow from which storages exist when. Aliases and asynchronous readers are taken into
// account.
#ifndef STRETTO_SCHEDULE_MEMORY_HPP
#define STRETTO_SCHEDULE_MEMORY_HPP

#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/schedule/detail/workspace.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The memory that is live while an order is executed.
struct memory_profile {
    bytes peak;               ///< the maximum of `live`
    task_id peak_at;          ///< the first task, in the order, at which the peak is reached
    std::vector<bytes> live;  ///< by position: after the allocations of that task and before its releases
};

namespace detail {

/// Returns the peak of `order` and leaves `live` empty. The live bytes at each position are passed to see(live)
/// instead, one task after the other. O(V + E).
template <class See>
[[nodiscard]] memory_profile find_peak(const task_graph& g, std::span<const task_id> order, workspace& w, See see) {
    const workspace::scope scratch(w);
    const std::span<task_id> last = w.take<task_id>(g.allocation.size());
    for (task_id t : order)
        for (value_id s : g.touched[t]) last[s] = t;
    memory_profile profile{{}, order.empty() ? no_task : order.front(), {}};
    bytes live;
    for (task_id t : order) {
        if (g.kind[t] != op_kind::input)
            for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x) live += g.allocation[x];
        see(live);
        if (live > profile.peak) {
            profile.peak = live;
            profile.peak_at = t;
        }
        for (value_id s : g.touched[t])
            if (last[s] == t) live -= g.allocation[s];
    }
    return profile;
}

}  // namespace detail

/// Computes the live bytes of `order`. A task allocates its results when it is reached. A storage is freed after the
/// last task in `order` that reads, writes or aliases it; storages that a start reads stay live until its wait. Inputs
/// are not counted, and neither they nor the values that the output reads are ever freed. The result is exact. O(V +
/// E). Precondition: `order` has every task once and respects dependences.
template <class = void>
[[nodiscard]] memory_profile profile_memory(const task_graph& g, std::span<const task_id> order) {
    detail::workspace w;
    std::vector<bytes> live;
    live.reserve(order.size());
    memory_profile profile = detail::find_peak(g, order, w, [&](bytes now) { live.push_back(now); });
    profile.live = std::move(live);
    return profile;
}

/// Returns the peak of the input order, in which tasks are executed by ascending number. O(V + E).
template <class = void>
[[nodiscard]] bytes peak_of_input(const task_graph& g) {
    detail::workspace w;
    std::vector<task_id> given(g.size());
    for (task_id t = 0; t < g.size(); ++t) given[t] = t;
    return detail::find_peak(g, given, w, [](bytes) {}).peak;
}

/// The peak of live bytes that a schedule may have: an amount, or a multiple of the peak of the input order. The
/// scheduled step may be a variant of another step, such as the same step in chunks. The input order of a variant says
/// little about the available memory, and its peak may exceed the limit. The budget of a variant therefore records the
/// peak of the original step.
class memory_budget {
public:
    /// Makes a budget of an amount; `unlimited_bytes` means no limit.
    constexpr memory_budget(bytes amount) noexcept : amount_(amount) {}
    /// Makes a budget of `factor` times the peak of the input order, rounded down. With 1.0, a schedule needs no more
    /// memory than the input order. Precondition: the factor is not NaN and not negative.
    static constexpr memory_budget times_input_peak(double factor) {
        STRETTO_ASSERT(factor >= 0, "a limit is no negative multiple of a peak, and no NaN");
        memory_budget b{bytes{}};
        b.factor_ = factor;
        return b;
    }

    /// Makes a budget of an amount for a variant of a step. `step_peak` is the peak of the input order of the original
    /// step. Precondition: it is not negative.
    static constexpr memory_budget of_variant(bytes amount, bytes step_peak) noexcept {
        memory_budget b{amount};
        b.step_peak_ = step_peak;
        return b;
    }

    /// Returns the limit in bytes for a step whose input order has the given peak; it is `unlimited_bytes` if it does
    /// not fit 64 bits.
    [[nodiscard]] constexpr bytes limit(bytes input_peak) const noexcept {
        if (factor_ < 0) return amount_;
        if (factor_ == 1) return input_peak;
        const double product = factor_ * static_cast<double>(input_peak.count);
        return product < 9.2e18 ? bytes{static_cast<std::int64_t>(product)} : unlimited_bytes;
    }

    /// Returns the peak of which limits are multiples: that of the original step if this is the budget of a variant,
    /// otherwise the given one.
    [[nodiscard]] constexpr bytes unit(bytes input_peak) const noexcept {
        return step_peak_.count < 0 ? input_peak : step_peak_;
    }

private:
    bytes amount_;
    bytes step_peak_{-1};  // negative if the step is no variant of another
    double factor_ = -1;   // negative if the budget is an amount
};

}  // namespace stretto

#endif
