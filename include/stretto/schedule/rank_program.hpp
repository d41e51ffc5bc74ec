// A rank program lists the actions of one rank that decide whether ranks hang: launches of collectives, launches of its
// own work, and the points at which its host waits.
#ifndef STRETTO_SCHEDULE_RANK_PROGRAM_HPP
#define STRETTO_SCHEDULE_RANK_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/order_fingerprint.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// One action of the host of a rank. Each rank numbers its streams and actions independently.
struct rank_action {
    enum class form : std::uint8_t {
        collective,  ///< launches a collective on a stream
        kernel,      ///< launches work of this rank alone on a stream; it completes as soon as it begins
        host_wait,   ///< the host continues when the launches in `after` have completed
    };
    form what = form::collective;
    std::uint32_t stream = 0;  ///< a launch begins when all earlier launches on its stream have completed
    group_id group = 0;        ///< for a collective
    std::uint64_t call = 0;    ///< for a collective: identifies the call; all members of its group must agree
    std::vector<std::uint32_t> after = {};  ///< earlier launches, as positions in the program, for which it waits

    friend bool operator==(const rank_action&, const rank_action&) = default;
};

/// The actions of one rank, in the order in which its host performs them. The k-th collective that it launches on a
/// group is, for every k, the collective that the other members launch k-th on that group.
using rank_program = std::vector<rank_action>;

/// A model of how a device runs the collectives that are launched on it.
struct device_model {
    static constexpr std::uint32_t any_number = UINT32_MAX;

    std::uint32_t resident = any_number;  ///< how many collectives may be begun and incomplete at once; 1 or more
    /// True if the device begins collectives in the order in which its host launches them, as NCCL arranges under
    /// NCCL_LAUNCH_ORDER_IMPLICIT. Otherwise any collective that can begin may be next.
    bool in_launch_order = false;
};

/// An action that cannot begin, and the action of the same rank for which it waits. If the latter has begun, it is a
/// collective and waits for other members of its group.
struct blocked_action {
    enum class reason : std::uint8_t {
        stream,    ///< the blocker is before it on its stream
        event,     ///< its `after` lists the blocker
        host,      ///< its host waits for the blocker before it launches it
        order,     ///< collectives begin in launch order, and the blocker has not begun
        resident,  ///< the device holds no further collective until the blocker completes
    };
    rank_id rank = 0;
    std::uint32_t action = 0;
    reason why = reason::stream;
    std::uint32_t blocker = 0;

    friend bool operator==(const blocked_action&, const blocked_action&) = default;
};

namespace detail {

/// Returns a hash of the properties of `t` on which ranks must agree when they launch it.
[[nodiscard]] inline std::uint64_t call_number(const task_graph& g, task_id t) {
    word_hash hash;
    add_call(hash, g, t);
    return hash.value().high;
}

}  // namespace detail

/// Returns the program of a rank that issues the tasks in this order. Every group has a stream of its own, and kernels
/// share one stream. At a wait, the kernels' stream waits for a collective; a collective begins after the kernels
/// launched before it. At a task where the host reads a number, the host waits for all kernels launched before; it
/// waits nowhere else. All ranks may run this program, each with its own ranks behind the group ids. The k-th action
/// belongs to the k-th task in `order` that is a start, a wait for a start, or a task that synchronises. O(V + groups).
/// Precondition: in `order`, no wait comes before its start.
template <class = void>
[[nodiscard]] rank_program program_of(const task_graph& g, std::span<const task_id> order) {
    const auto kernels = static_cast<std::uint32_t>(g.groups);
    constexpr std::uint32_t none = UINT32_MAX;
    std::vector<std::uint32_t> action_of(g.size(), none);
    rank_program program;
    std::uint32_t last_kernel = none;
    for (const task_id t : order) {
        const auto next = static_cast<std::uint32_t>(program.size());
        if (g.kind[t] == op_kind::start) {
            rank_action& made = program.emplace_back();
            made.stream = made.group = g.group[t];
            made.call = detail::call_number(g, t);
            if (last_kernel != none) made.after = {last_kernel};
            action_of[t] = next;
        } else if (g.kind[t] == op_kind::wait && g.launch[t] != no_task && action_of[g.launch[t]] != none) {
            program.push_back({rank_action::form::kernel, kernels, 0, 0, {action_of[g.launch[t]]}});
            last_kernel = next;
        } else if (g.holds_host(t)) {
            // Kernels do not wait for other ranks, so all of them are complete as soon as the last wait before is.
            rank_action& made = program.emplace_back();
            made.what = rank_action::form::host_wait;
            if (last_kernel != none) made.after = {last_kernel};
        }
    }
    return program;
}

/// Returns the largest number of communicators that have a collective in flight at the same time: launched, and not
/// known to the kernels' stream to be complete. Ranks that all issue their tasks in this order cannot hang if their
/// devices hold that many collectives or begin them in launch order: the first of the incomplete collectives can then
/// begin on every rank. O(V + groups).
template <class = void>
[[nodiscard]] std::uint32_t communicators_in_flight(const task_graph& g, std::span<const task_id> order) {
    std::vector<std::uint32_t> launched(g.groups, 0), complete(g.groups, 0), place(g.size(), 0);
    std::uint32_t now = 0, most = 0;
    for (const task_id t : order) {
        if (g.kind[t] == op_kind::start) {
            const group_id group = g.group[t];
            if (launched[group] == complete[group] && ++now > most) most = now;
            place[t] = ++launched[group];
        } else if (g.kind[t] == op_kind::wait && g.launch[t] != no_task) {
            // Once a collective is complete, those launched before it on its stream are complete as well.
            const group_id group = g.group[g.launch[t]];
            if (place[g.launch[t]] <= complete[group]) continue;
            complete[group] = place[g.launch[t]];
            if (complete[group] == launched[group]) --now;
        }
    }
    return most;
}

}  // namespace stretto

#endif
