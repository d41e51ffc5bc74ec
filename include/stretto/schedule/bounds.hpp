// Lower bounds on the step: no legal order, with any amount of memory, is faster.
#ifndef STRETTO_SCHEDULE_BOUNDS_HPP
#define STRETTO_SCHEDULE_BOUNDS_HPP

#include <algorithm>
#include <numeric>
#include <vector>

#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/ready_set.hpp"
#include "stretto/schedule/detail/sorted_by_key.hpp"
#include "stretto/schedule/detail/spine_bound.hpp"

namespace stretto {

/// What makes a step at least as long as its lower bound.
enum class bound_kind : std::uint8_t {
    load,           ///< one machine (the lane or a channel) is busy that long
    critical_path,  ///< a chain of dependences takes that long
    jackson,        ///< heads, work and tails on one machine (Jackson's preemptive schedule; Carlier 1982)
    spine,          ///< work enclosed between points of the critical path, summed along it
};

struct lower_bound {
    nanoseconds value;
    bound_kind kind = bound_kind::load;
    std::uint32_t machine = 0;  ///< of load and jackson: 0 the compute lane, 1 + group a channel
};

namespace detail {

/// Jackson's preemptive schedule of one machine: at each moment the released job with the longest tail runs.
/// Its maximum of completion + tail is a lower bound for the non-preemptive problem. O(n log n).
template <class = void>
[[nodiscard]] inline std::int64_t jackson_bound(const compact_tasks& c, const path_lengths& l,
                                                const std::vector<std::uint32_t>& jobs) {
    std::vector<std::int64_t> head, negated_tail, left;
    head.reserve(jobs.size());
    negated_tail.reserve(jobs.size());
    left.reserve(jobs.size());
    for (std::uint32_t n : jobs) {
        head.push_back(l.head[n]);
        negated_tail.push_back(-l.tail[n]);
        left.push_back(c.duration[n]);
    }
    const std::vector<std::uint32_t> arrivals = sorted_by_key(head), by_tail = sorted_by_key(negated_tail);
    std::vector<std::uint32_t> rank(jobs.size());
    for (std::uint32_t r = 0; r < by_tail.size(); ++r) rank[by_tail[r]] = r;

    ready_set released(static_cast<std::uint32_t>(jobs.size()));  // ranks: the longest tail comes first
    std::int64_t now = 0, best = 0;
    for (std::size_t next = 0;;) {
        std::uint32_t longest = released.next(0);
        if (longest == UINT32_MAX) {
            if (next == arrivals.size()) break;
            now = std::max(now, head[arrivals[next]]);
        }
        for (; next < arrivals.size() && head[arrivals[next]] <= now; ++next) {
            released.insert(rank[arrivals[next]]);
            longest = std::min(longest, rank[arrivals[next]]);
        }
        const std::uint32_t job = by_tail[longest];
        const std::int64_t until = next < arrivals.size() ? head[arrivals[next]] : INT64_MAX;
        if (left[job] > until - now) {
            left[job] -= until - now;
            now = until;
            continue;
        }
        now += left[job];
        best = std::max(best, now - negated_tail[job]);
        released.erase(longest);
    }
    return best;
}

template <class = void>
[[nodiscard]] inline lower_bound bound_below(const compact_tasks& c, std::uint32_t window = 64) {
    path_lengths lengths = longest_paths(c);
    std::vector<std::vector<std::uint32_t>> jobs(c.machines);
    for (std::vector<std::uint32_t>& of_machine : jobs) of_machine.reserve(c.size());
    std::vector<std::int64_t> load(c.machines, 0);
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (c.machine[n] < c.machines && c.duration[n] > 0) {
            jobs[c.machine[n]].push_back(n);
            load[c.machine[n]] += c.duration[n];
        }
    lower_bound best;
    auto consider = [&](std::int64_t value, bound_kind kind, std::uint32_t machine) {
        if (value > best.value.count) best = {{value}, kind, machine};
    };
    for (std::uint32_t m = 0; m < c.machines; ++m) consider(load[m], bound_kind::load, m);
    consider(lengths.critical, bound_kind::critical_path, 0);

    std::vector<std::uint32_t> busiest(c.machines);
    std::iota(busiest.begin(), busiest.end(), 0u);
    std::stable_sort(busiest.begin(), busiest.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return load[a] > load[b]; });
    busiest.resize(std::min<std::size_t>(busiest.size(), 4));
    consider(spine_bound(c, lengths, busiest, window).run(), bound_kind::spine, 0);
    for (std::uint32_t m = 0; m < c.machines; ++m) consider(jackson_bound(c, lengths, jobs[m]), bound_kind::jackson, m);
    return best;
}

}  // namespace detail

/// The best of load, critical path, spine and Jackson bounds (in that order where equal). Exact integers,
/// deterministic. O(V log V + E). Valid for every order that respects the dependences of `g`, at any memory limit.
template <class = void>
[[nodiscard]] inline lower_bound bound_below(const task_graph& g) {
    return detail::bound_below(detail::make_compact_tasks(g));
}

}  // namespace stretto

#endif
