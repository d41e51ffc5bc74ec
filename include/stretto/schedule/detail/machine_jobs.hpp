// This header collects the jobs of each machine, and derives a lower bound on the makespan from one machine whose jobs
// have heads and tails. A head is the least time before a job can begin; a tail is the least time that the step
// continues after its end.
#ifndef STRETTO_SCHEDULE_DETAIL_MACHINE_JOBS_HPP
#define STRETTO_SCHEDULE_DETAIL_MACHINE_JOBS_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/ready_set.hpp"
#include "stretto/schedule/detail/sorted_by_key.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Returns the makespan bound of one machine. In Jackson's preemptive schedule the released job with the longest tail
/// runs at each moment; the maximum of completion + tail is a lower bound for the problem without preemption. `work` is
/// the work of each job, at most its duration; if it is empty, the durations are used. O(n log n). Source: J. Carlier,
/// The one-machine sequencing problem, EJOR 11, 1982.
template <class = void>
[[nodiscard]] inline std::int64_t jackson_bound(const compact_tasks& c, const path_lengths& l,
                                                std::span<const std::uint32_t> jobs, workspace& w,
                                                std::span<const std::int64_t> work = {}) {
    const workspace::scope scratch(w);
    const std::span<std::int64_t> head = w.take<std::int64_t>(jobs.size());
    const std::span<std::int64_t> negated_tail = w.take<std::int64_t>(jobs.size());
    const std::span<std::int64_t> left = w.take<std::int64_t>(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        head[i] = l.head[jobs[i]];
        negated_tail[i] = -l.tail[jobs[i]];
        left[i] = work.empty() ? c.duration[jobs[i]] : work[i];
    }
    const std::span<const std::uint32_t> arrivals = sorted_by_key(head, w), by_tail = sorted_by_key(negated_tail, w);
    const std::span<std::uint32_t> rank = w.take<std::uint32_t>(jobs.size());
    for (std::uint32_t r = 0; r < by_tail.size(); ++r) rank[by_tail[r]] = r;

    ready_set released(static_cast<std::uint32_t>(jobs.size()), w);  // by rank, so the longest tail comes first
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
        // A job that is released next may have a longer tail, so this one runs only until then.
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

/// The jobs of every machine: those of machine m are [first[m], first[m + 1]) of `jobs`, in program order. Nodes that
/// take no time are omitted.
struct machine_jobs {
    std::vector<std::uint32_t> first;
    std::vector<std::int64_t> load;
    std::span<std::uint32_t> jobs;  ///< the array belongs to a workspace

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t machine) const {
        return jobs.subspan(first[machine], first[machine + 1] - first[machine]);
    }
};

/// Collects the jobs of all machines. O(V).
template <class = void>
[[nodiscard]] inline machine_jobs jobs_of_machines(const compact_tasks& c, workspace& w) {
    machine_jobs m{std::vector<std::uint32_t>(c.machines + 1, 0), std::vector<std::int64_t>(c.machines, 0), {}};
    auto works = [&](std::uint32_t n) { return c.machine[n] < c.machines && c.duration[n] > 0; };
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (works(n)) {
            ++m.first[c.machine[n] + 1];
            m.load[c.machine[n]] += c.duration[n];
        }
    for (std::uint32_t k = 0; k < c.machines; ++k) m.first[k + 1] += m.first[k];
    m.jobs = w.take<std::uint32_t>(m.first.back());
    std::vector<std::uint32_t> next(m.first.begin(), m.first.end() - 1);
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (works(n)) m.jobs[next[c.machine[n]]++] = n;
    return m;
}

/// Returns the machines whose work the spine bound counts: the four busiest.
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> busiest_machines(const machine_jobs& jobs) {
    std::vector<std::uint32_t> busiest(jobs.load.size());
    for (std::uint32_t m = 0; m < busiest.size(); ++m) busiest[m] = m;
    std::stable_sort(busiest.begin(), busiest.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return jobs.load[a] > jobs.load[b]; });
    busiest.resize(std::min<std::size_t>(busiest.size(), 4));
    return busiest;
}

}  // namespace stretto::detail

#endif
