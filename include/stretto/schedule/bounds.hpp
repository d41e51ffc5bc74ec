// Lower bounds: no legal order is faster, with any amount of memory or within a limit, and none needs less memory.
#ifndef STRETTO_SCHEDULE_BOUNDS_HPP
#define STRETTO_SCHEDULE_BOUNDS_HPP

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/schedule/detail/memory_jobs.hpp"
#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/ready_set.hpp"
#include "stretto/schedule/detail/sorted_by_key.hpp"
#include "stretto/schedule/detail/spine_bound.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto {

/// The argument that makes every schedule at least as long as the lower bound.
enum class bound_kind : std::uint8_t {
    load,           ///< one machine (the lane or a channel) is busy that long
    critical_path,  ///< a chain of dependences takes that long
    jackson,        ///< heads, work and tails on one machine (Jackson's preemptive schedule; Carlier 1982)
    spine,          ///< work enclosed between points of the critical path, summed along it
    memory,         ///< spine, with what excludes each other within the memory limit as the work of one more machine
};

/// A lower bound and the argument for it.
struct lower_bound {
    nanoseconds value;
    bound_kind kind = bound_kind::load;
    std::uint32_t machine = 0;  ///< for load and jackson: 0 is the compute lane, 1 + group a channel
};

/// A lower bound on the peak memory of every order, and the task at which that much must be alive; no_task if nothing
/// needs memory.
struct peak_bound {
    bytes value;
    task_id at = no_task;
};

namespace detail {

/// The makespan bound of one machine. In Jackson's preemptive schedule the released job with the longest tail runs at
/// each moment; the maximum of completion + tail is a lower bound for the problem without preemption. O(n log n).
template <class = void>
[[nodiscard]] inline std::int64_t jackson_bound(const compact_tasks& c, const path_lengths& l,
                                                std::span<const std::uint32_t> jobs, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::int64_t> head = w.take<std::int64_t>(jobs.size());
    const std::span<std::int64_t> negated_tail = w.take<std::int64_t>(jobs.size());
    const std::span<std::int64_t> left = w.take<std::int64_t>(jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        head[i] = l.head[jobs[i]];
        negated_tail[i] = -l.tail[jobs[i]];
        left[i] = c.duration[jobs[i]];
    }
    const std::span<const std::uint32_t> arrivals = sorted_by_key(head, w), by_tail = sorted_by_key(negated_tail, w);
    const std::span<std::uint32_t> rank = w.take<std::uint32_t>(jobs.size());
    for (std::uint32_t r = 0; r < by_tail.size(); ++r) rank[by_tail[r]] = r;

    ready_set released(static_cast<std::uint32_t>(jobs.size()), w);  // by rank: the longest tail comes first
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

/// The jobs of every machine: [first[m], first[m + 1]) of `jobs`, in program order. Nodes that take no time are left
/// out.
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

/// The machines whose work the spine bound counts: the four busiest.
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> busiest_machines(const machine_jobs& jobs) {
    std::vector<std::uint32_t> busiest(jobs.load.size());
    for (std::uint32_t m = 0; m < busiest.size(); ++m) busiest[m] = m;
    std::stable_sort(busiest.begin(), busiest.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return jobs.load[a] > jobs.load[b]; });
    busiest.resize(std::min<std::size_t>(busiest.size(), 4));
    return busiest;
}

/// The best bound of a compact graph. The spine bound comes before Jackson's, because it raises the heads that
/// Jackson's uses.
template <class = void>
[[nodiscard]] inline lower_bound bound_below(const compact_tasks& c, workspace& w, std::uint32_t window = 64) {
    const workspace::scope scratch(w);
    path_lengths lengths = longest_paths(c, w);
    const machine_jobs jobs = jobs_of_machines(c, w);
    lower_bound best;
    auto consider = [&](std::int64_t value, bound_kind kind, std::uint32_t machine) {
        if (value > best.value.count) best = {{value}, kind, machine};
    };
    for (std::uint32_t m = 0; m < c.machines; ++m) consider(jobs.load[m], bound_kind::load, m);
    consider(lengths.critical, bound_kind::critical_path, 0);

    {
        const workspace::scope of_spine(w);
        consider(spine_bound(c, lengths, busiest_machines(jobs), window, w).run(), bound_kind::spine, 0);
    }
    for (std::uint32_t m = 0; m < c.machines; ++m)
        consider(jackson_bound(c, lengths, jobs.of(m), w), bound_kind::jackson, m);
    return best;
}

/// What a memory limit adds to the bounds of a compact graph: nothing unless it is scarce.
template <class = void>
class memory_bounds {
public:
    /// The arrays are taken from the open scope of the workspace.
    memory_bounds(const compact_tasks& c, workspace& w) : c_(c), w_(w), forced_(c, w) {}

    /// No order has a lower peak.
    [[nodiscard]] peak_bound least_peak() const {
        peak_bound least;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            // What a node allocates is there while it runs, and so is what it uses.
            std::int64_t alive = 0, own = 0;
            for (std::uint32_t s : c_.touched[n]) {
                alive += c_.storage_bytes[s];
                if (forced_.made_by(s) == n) own += c_.storage_bytes[s];
            }
            alive += c_.allocation[n] - own;
            if (alive > least.value.count) least = {{alive}, c_.task[n]};
        }
        if (forced_.least_peak() > least.value.count)
            least = {{forced_.least_peak()}, c_.task[forced_.least_peak_at()]};
        return least;
    }

    /// The better of `without` and the bound within the limit. Precondition: the limit is at least the least peak.
    [[nodiscard]] lower_bound within(bytes limit, const lower_bound& without) {
        const workspace::scope scratch(w_);
        const std::vector<memory_job> jobs = forced_.jobs_within(limit.count);
        if (jobs.empty()) return without;
        path_lengths lengths = longest_paths(c_, w_);
        const std::vector<std::uint32_t> busiest = busiest_machines(jobs_of_machines(c_, w_));
        const std::int64_t value = spine_bound(c_, lengths, busiest, 64, w_, jobs).run();
        if (value <= without.value.count) return without;
        return {{value}, bound_kind::memory, 0};
    }

private:
    const compact_tasks& c_;
    workspace& w_;
    forced_memory<> forced_;
};

}  // namespace detail

/// The best of the load, critical path, spine and Jackson bounds; of equal ones the first in this order. It holds for
/// every order that respects the dependences of `g`, at any memory limit. The result is an exact integer and
/// deterministic. O(V log V + E) time. Sources: J. Carlier, The one-machine sequencing problem, EJOR 11, 1982
/// (Jackson's schedule); detail/spine_bound.hpp.
template <class = void>
[[nodiscard]] lower_bound bound_below(const task_graph& g) {
    detail::workspace w;
    return detail::bound_below(detail::make_compact_tasks(g, w), w);
}

/// The same for the orders whose peak memory is within `limit`: the better of that and the memory bound
/// (detail/memory_jobs.hpp). For a limit below least_peak there are no such orders, and any number bounds them; the one
/// for unlimited memory is returned. O(V log V + E) time, and O(V + E) for each of 16 kernels.
template <class = void>
[[nodiscard]] lower_bound bound_below(const task_graph& g, bytes limit) {
    detail::workspace w;
    const detail::compact_tasks c = detail::make_compact_tasks(g, w);
    const lower_bound without = detail::bound_below(c, w);
    if (limit == unlimited_bytes) return without;
    detail::memory_bounds memory(c, w);
    return limit < memory.least_peak().value ? without : memory.within(limit, without);
}

/// A peak that no order of `g` is below: of what each task needs to run, and of what must be alive around the kernels
/// at which the given order needs most. So within a smaller limit there is no schedule. Exact integers, deterministic.
/// O(V + E) time for each of 16 kernels.
template <class = void>
[[nodiscard]] peak_bound least_peak(const task_graph& g) {
    detail::workspace w;
    const detail::compact_tasks c = detail::make_compact_tasks(g, w);
    return detail::memory_bounds(c, w).least_peak();
}

}  // namespace stretto

#endif
