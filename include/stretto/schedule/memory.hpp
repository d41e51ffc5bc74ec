// The live bytes of an order: which storages exist when, with aliases and asynchronous readers taken into account.
#ifndef STRETTO_SCHEDULE_MEMORY_HPP
#define STRETTO_SCHEDULE_MEMORY_HPP

#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/workspace.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The memory of an order over its tasks.
struct memory_profile {
    bytes peak;               ///< the maximum of `live`
    task_id peak_at;          ///< the first task, in the order, at which it is reached
    std::vector<bytes> live;  ///< by position: after the allocations of that task, before what it frees
};

namespace detail {

/// The peak of `order`. The live bytes at each position are not stored, but passed to see(live), one task after the
/// other.
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

/// The live bytes under `order`. A task allocates its results when it is reached. A storage is freed after the last
/// task in `order` that reads, writes or aliases it, and what a start reads stays until its wait. Inputs are not
/// counted; like what the output reads, they are never freed. Exact; O(V + E).
template <class = void>
[[nodiscard]] memory_profile profile_memory(const task_graph& g, std::span<const task_id> order) {
    detail::workspace w;
    std::vector<bytes> live;
    live.reserve(order.size());
    memory_profile profile = detail::find_peak(g, order, w, [&](bytes now) { live.push_back(now); });
    profile.live = std::move(live);
    return profile;
}

/// How many bytes a schedule may have live at its peak: an amount, or a multiple of what the input order needs.
class memory_budget {
public:
    /// An amount; `unlimited_bytes` means no limit.
    constexpr memory_budget(bytes amount) noexcept : amount_(amount) {}
    /// `factor` times the peak of the input order, rounded down. With 1.0 a schedule needs no byte more than the input
    /// order.
    static constexpr memory_budget times_input_peak(double factor) noexcept {
        memory_budget b{bytes{}};
        b.factor_ = factor;
        return b;
    }

    /// The limit in bytes for a step whose input order has the given peak.
    [[nodiscard]] constexpr bytes limit(bytes input_peak) const noexcept {
        if (factor_ < 0) return amount_;
        if (factor_ == 1) return input_peak;
        const double product = factor_ * static_cast<double>(input_peak.count);
        return product < 9.2e18 ? bytes{static_cast<std::int64_t>(product)} : unlimited_bytes;
    }

private:
    bytes amount_;
    double factor_ = -1;  // negative if the budget is an amount
};

}  // namespace stretto

#endif
