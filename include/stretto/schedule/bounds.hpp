// These are lower bounds on the makespan and on the peak memory: no legal order is faster, with unlimited memory or
// within a limit, and none needs less memory.
#ifndef STRETTO_SCHEDULE_BOUNDS_HPP
#define STRETTO_SCHEDULE_BOUNDS_HPP

#include <algorithm>
#include <utility>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/contention_jobs.hpp"
#include "stretto/schedule/detail/deferred_work.hpp"
#include "stretto/schedule/detail/machine_jobs.hpp"
#include "stretto/schedule/detail/memory_jobs.hpp"
#include "stretto/schedule/detail/memory_precedences.hpp"
#include "stretto/schedule/detail/ordered_tasks.hpp"
#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/spine_bound.hpp"
#include "stretto/schedule/detail/work_between.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto {

/// The argument that proves a lower bound.
enum class bound_kind : std::uint8_t {
    load,           ///< one machine (the lane or a channel) is busy for that long
    critical_path,  ///< a chain of dependences takes that long
    jackson,        ///< heads, work and tails on one machine (Jackson's preemptive schedule; Carlier 1982)
    spine,          ///< work enclosed between points of the critical path, summed along it
    memory,         ///< spine, where kernels that exclude each other within the limit are one more machine's work; or
                    ///< jackson, with what must come before a task as that spine bound has raised it
    deferral,       ///< the work that the limit forbids deferring past a kernel, the kernel, and its successors
    precedence,     ///< memory, where orders that the limit forces around kernels are added as dependences
    contention,     ///< load, jackson or spine, where kernels and their slowdown by a channel are one machine's work
};

/// A lower bound and the argument that proves it.
struct lower_bound {
    nanoseconds value;
    bound_kind kind = bound_kind::load;
    std::uint32_t machine = 0;  ///< for load, jackson, contention: 0 is the compute lane, 1 + group a channel; else 0
};

/// A lower bound on the peak memory of every order, in bytes, and the task at which that much must be alive. The task
/// is no_task if nothing needs memory.
struct peak_bound {
    bytes value;
    task_id at = no_task;
};

namespace detail {

/// Returns the jobs of the channels whose transfers count under contention: the two busiest.
template <class = void>
[[nodiscard]] inline std::vector<contention_jobs> jobs_under(contention under, const compact_tasks& c,
                                                             const machine_jobs& jobs, workspace& w) {
    std::vector<contention_jobs> all;
    if (under.none()) return all;
    for (const std::uint32_t m : busiest_machines(jobs))
        if (m != 0 && jobs.load[m] > 0 && all.size() < 2) all.push_back(jobs_under(under, c, jobs, m, w));
    return all;
}
/// Returns these jobs as the spine bound reads them, one list for each channel.
template <class = void>
[[nodiscard]] inline std::vector<std::vector<further_job>> for_spine(const std::vector<contention_jobs>& all) {
    std::vector<std::vector<further_job>> further;
    for (const contention_jobs& jobs : all) further.push_back(jobs.for_spine());
    return further;
}

/// Returns the best bound of a compact graph, without regard to memory. The spine bound comes before Jackson's, because
/// it raises the heads that Jackson's uses. For `window`, see detail/spine_bound.hpp.
template <class = void>
[[nodiscard]] inline lower_bound bound_below(const compact_tasks& c, workspace& w, contention under = {},
                                             std::uint32_t window = 64) {
    const workspace::scope scratch(w);
    path_lengths lengths = longest_paths(c, w);
    const machine_jobs jobs = jobs_of_machines(c, w);
    lower_bound best;
    auto consider = [&](std::int64_t value, bound_kind kind, std::uint32_t machine) {
        if (value > best.value.count) best = {{value}, kind, machine == 0 ? 0 : 1 + c.groups[machine - 1]};
    };
    for (std::uint32_t m = 0; m < c.machines; ++m) consider(jobs.load[m], bound_kind::load, m);
    consider(lengths.critical, bound_kind::critical_path, 0);

    {
        const workspace::scope of_spine(w);
        consider(spine_bound(c, lengths, busiest_machines(jobs), window, w).run(), bound_kind::spine, 0);
    }
    pass_heads_on(c, lengths);
    for (std::uint32_t m = 0; m < c.machines; ++m)
        consider(jackson_bound(c, lengths, jobs.of(m), w), bound_kind::jackson, m);
    if (under.none()) return best;

    const std::vector<contention_jobs> contended = jobs_under(under, c, jobs, w);
    path_lengths again = longest_paths(c, w);
    for (const contention_jobs& both : contended) consider(both.load, bound_kind::contention, both.channel);
    if (!contended.empty())
        consider(spine_bound(c, again, busiest_machines(jobs), window, w, for_spine(contended)).run(),
                 bound_kind::contention, contended.front().channel);
    pass_heads_on(c, again);
    for (const contention_jobs& both : contended)
        consider(jackson_bound(c, again, both.nodes, w, both.work), bound_kind::contention, both.channel);
    return best;
}

/// The bounds that follow from a memory limit. They add nothing unless memory is scarce. One object serves several
/// limits, because what must be alive in every order does not depend on the limit.
template <class = void>
class memory_bounds {
public:
    /// Computes what must be alive. The arrays are taken from the open scope of the workspace. O(V + E) for each of 16
    /// kernels.
    memory_bounds(const compact_tasks& c, workspace& w) : c_(c), w_(w), forced_(c, w) {}

    /// Returns a lower bound on the peak of every order, which considers one kernel at a time.
    [[nodiscard]] peak_bound least_peak_at_one() const {
        peak_bound least;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            // The storages that a node allocates are alive while it runs, and so are those that it uses.
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
    /// Returns the better of that bound and one that considers which kernel runs last or first. O(V + E + uses) for
    /// each of up to 32 flows.
    [[nodiscard]] peak_bound least_peak() {
        const peak_bound least = least_peak_at_one();
        const auto of_set = forced_.least_peak_of_set();
        return of_set.bytes > least.value.count ? peak_bound{{of_set.bytes}, c_.task[of_set.at]} : least;
    }

    /// Returns the better of `without` and the bound within the limit. The most expensive bounds are computed only
    /// while the best one is below `enough`. Precondition: the limit is at least least_peak_at_one().
    [[nodiscard]] lower_bound within(bytes limit, const lower_bound& without, contention under = {},
                                     std::int64_t enough = INT64_MAX) {
        const workspace::scope scratch(w_);
        path_lengths lengths = longest_paths(c_, w_);
        lower_bound best = without;
        const auto consider = [&](std::int64_t value, bound_kind kind) {
            if (value > best.value.count) best = {{value}, kind, 0};
        };
        const std::vector<memory_job> jobs = forced_.jobs_within(limit.count);
        if (!jobs.empty()) consider(with_jobs(c_, jobs, lengths, under), bound_kind::memory);
        consider(deferred_work(c_, forced_, lengths, w_).bound_within(limit.count, best.value.count),
                 bound_kind::deferral);
        if (best.value.count >= enough) return best;

        work_between between(c_, forced_, w_);
        std::vector<node_pair> pairs =
            memory_precedences(c_, forced_, w_).within(limit.count, [&](std::size_t place, auto side) {
                between.add(place, side, limit.count);
            });
        if (!pairs.empty()) consider(with_pairs(pairs, jobs, under), bound_kind::precedence);
        if (between.append_to(pairs)) consider(with_pairs(pairs, jobs, under), bound_kind::precedence);
        return best;
    }

private:
    /// Returns the better of the spine bound with these jobs and Jackson's bound with the heads that the former has
    /// raised. It raises the heads in `lengths` and loses the contents of `lengths.through`.
    [[nodiscard]] std::int64_t with_jobs(const compact_tasks& c, const std::vector<memory_job>& jobs,
                                         path_lengths& lengths, contention under) {
        const workspace::scope scratch(w_);
        const machine_jobs of_machines = jobs_of_machines(c, w_);
        std::vector<std::vector<further_job>> further = for_spine(jobs_under(under, c, of_machines, w_));
        std::vector<further_job>& memory = further.emplace_back();
        for (const memory_job& job : jobs) memory.push_back({job.node, job.work, job.work - c.duration[job.node]});
        std::int64_t value = spine_bound(c, lengths, busiest_machines(of_machines), 64, w_, std::move(further)).run();
        pass_heads_on(c, lengths);
        for (std::uint32_t m = 0; m < c.machines; ++m)
            value = std::max(value, jackson_bound(c, lengths, of_machines.of(m), w_));
        return value;
    }

    /// Returns the same bound for the graph with these pairs as additional dependences. O(V + E + P log P) for P pairs.
    [[nodiscard]] std::int64_t with_pairs(const std::vector<node_pair>& pairs, std::vector<memory_job> jobs,
                                          contention under) {
        const workspace::scope scratch(w_);
        const ordered_tasks ordered = with_precedences(c_, pairs);
        for (memory_job& job : jobs) job.node = ordered.number[job.node];
        path_lengths lengths = longest_paths(ordered.tasks, w_);
        return with_jobs(ordered.tasks, jobs, lengths, under);
    }

    const compact_tasks& c_;
    workspace& w_;
    forced_memory<> forced_;
};

/// Returns a bound that is high enough for an order with this makespan: once the bound is within 2 %, the most
/// expensive bounds are skipped.
template <class = void>
[[nodiscard]] inline std::int64_t enough_for(nanoseconds makespan) {
    return makespan.count - makespan.count / 50;
}

/// Returns the bound within a limit; it is not improved further once it is at least `enough`.
template <class = void>
[[nodiscard]] inline lower_bound bound_below(const task_graph& g, bytes limit, contention under, std::int64_t enough) {
    workspace w;
    const compact_tasks c = make_compact_tasks(g, w);
    const lower_bound without = bound_below(c, w, under);
    if (limit == unlimited_bytes) return without;
    memory_bounds memory(c, w);
    return limit < memory.least_peak_at_one().value ? without : memory.within(limit, without, under, enough);
}

}  // namespace detail

/// Returns the best of the load, critical path, spine and Jackson bounds, and the first in this sequence among equal
/// ones. It holds for every order that respects the dependences of `g`, at any memory limit, and under any contention,
/// which only makes kernels longer. The result is an exact integer and deterministic. O(V log V + E) time. Sources: J.
/// Carlier, The one-machine sequencing problem, EJOR 11, 1982 (Jackson's schedule); detail/spine_bound.hpp.
template <class = void>
[[nodiscard]] lower_bound bound_below(const task_graph& g) {
    detail::workspace w;
    return detail::bound_below(detail::make_compact_tasks(g, w), w);
}

/// Returns a bound for the orders whose peak memory is within `limit`, by the clock under contention. The result is the
/// best of the bound above, the memory bound (detail/memory_jobs.hpp), the deferral bound (detail/deferred_work.hpp),
/// the precedence bound (detail/memory_precedences.hpp, detail/work_between.hpp) and the contention bound
/// (detail/contention_jobs.hpp). If no such order exists, any number is a bound; where that is obvious, the bound for
/// unlimited memory is returned. The result is an exact integer and deterministic. O(V log V + E) time, and
/// O(V + E) for each of 16 kernels. Precondition: the contention is valid, and times_fit holds.
template <class = void>
[[nodiscard]] lower_bound bound_below(const task_graph& g, bytes limit, contention under = {}) {
    return detail::bound_below(g, limit, under, INT64_MAX);
}

/// Returns a peak that every order of `g` reaches or exceeds, so that no schedule exists within a smaller limit. It is
/// derived from what each task needs to run, from what must be alive around the kernels at which the given order needs
/// most, and from what must be alive around the one of them that runs last, or first. The result is an exact integer
/// and deterministic. O(V + E) time for each of 16 kernels, three times.
template <class = void>
[[nodiscard]] peak_bound least_peak(const task_graph& g) {
    detail::workspace w;
    const detail::compact_tasks c = detail::make_compact_tasks(g, w);
    return detail::memory_bounds(c, w).least_peak();
}

}  // namespace stretto

#endif
