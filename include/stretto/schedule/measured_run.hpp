// This header evaluates the measurements of a run of a step: how long its tasks took, how long the lane waited and for
// what, and the course of a typical step. The spans are those of all ranks. Timed backends produce them
// (host_rank::times), and so does the reader of a run's trace (capture/run_reader.hpp).
//
// A collective begins for a rank when that rank is ready, so its span on the rank contains two parts: the transfer,
// which takes equally long on all members, and the time until the last member is ready. The member that is ready last
// waits for no other. The shortest span among the ranks is therefore the transfer, and the excess on the other ranks is
// jitter.
#ifndef STRETTO_SCHEDULE_MEASURED_RUN_HPP
#define STRETTO_SCHEDULE_MEASURED_RUN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/schedule/measured_span.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The measurements of a task: medians over steps and ranks. Of an even number of spans, the lower median is taken, so
/// that it is a time that was measured.
struct measured_task {
    nanoseconds duration;  ///< that of a kernel; for a collective, that of its transfer, the median over steps
    nanoseconds jitter;    ///< for a collective: how much longer than the transfer ranks spent in it
    nanoseconds blocked;   ///< for a wait: how long the lane waited
    nanoseconds exposed;   ///< for a wait: the part of it in which its collective was transferring; the rest is waiting
                           ///< for others
    std::size_t spans = 0;  ///< how often it was measured; 0 if never
};

/// One step of a run, from the moment the first rank begins it until the last rank has ended it.
struct measured_step {
    std::uint32_t number = 0;
    nanoseconds makespan;
};

/// What a rank does in a step: medians of the totals of its spans, over steps and ranks. A total may exceed the sum of
/// the medians of its tasks, because in every step some task takes longer than it usually does. If nothing on the lane
/// overlaps, `kernels`, `blocked` and `between` of one step and rank add up to the time of the lane.
struct measured_totals {
    nanoseconds kernels;    ///< the lane in kernels
    nanoseconds blocked;    ///< the lane in waits
    nanoseconds exposed;    ///< the part of `blocked` in which the collectives were transferring
    nanoseconds between;    ///< the lane in neither, from its first span until its last: launches, the cost of clocks,
                            ///< and whatever else has its core
    nanoseconds transfers;  ///< transfers of collectives
    nanoseconds jitter;     ///< how much longer than the transfers the rank spends in collectives
};

/// The measurements of a run. Steps and ranks without measurements do not count.
struct measured_run {
    std::vector<measured_task> tasks;  ///< by task
    std::vector<measured_step> steps;  ///< ascending by number
    measured_step middle;              ///< the step with the median makespan, if there is any
    measured_totals totals;            ///< zeros if nothing was measured
    std::size_t ranks = 0;
};

namespace detail {

/// Returns the lower median. Reorders the numbers. Precondition: there is at least one.
template <class = void>
[[nodiscard]] nanoseconds middle_of(std::vector<nanoseconds>& all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

/// The time that the transfer of a collective took in one step.
struct step_transfer {
    std::uint32_t step;
    nanoseconds time;
};

/// The spans of one task, ascending by step.
using task_spans = std::span<const measured_span>;

/// Returns the transfer of a collective in each step in which it was measured, ascending by step. O(spans).
template <class = void>
[[nodiscard]] std::vector<step_transfer> transfers_of(task_spans spans) {
    std::vector<step_transfer> all;
    for (const measured_span& s : spans) {
        const nanoseconds time = s.end - s.begin;
        if (all.empty() || all.back().step != s.step) all.push_back({s.step, time});
        else all.back().time = std::min(all.back().time, time);
    }
    return all;
}

/// Returns the transfer in a step, or null if the collective was not measured there. O(log steps).
[[nodiscard]] inline const step_transfer* transfer_in(std::span<const step_transfer> all, std::uint32_t step) {
    const auto at = std::lower_bound(all.begin(), all.end(), step,
                                     [](const step_transfer& t, std::uint32_t s) { return t.step < s; });
    return at != all.end() && at->step == step ? &*at : nullptr;
}

/// The totals of every rank in every step in which it was measured.
class totals_of_steps {
public:
    /// Makes room for the step and rank of each span.
    explicit totals_of_steps(task_spans spans) {
        for (const measured_span& s : spans) places_.push_back(place_of(s));
        std::sort(places_.begin(), places_.end());
        places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
        all_.resize(places_.size());
    }
    /// Returns the totals of the step and rank of one of these spans. O(log (steps × ranks)).
    [[nodiscard]] measured_totals& of(const measured_span& s) {
        const auto at = std::lower_bound(places_.begin(), places_.end(), place_of(s));
        return all_[static_cast<std::size_t>(at - places_.begin())];
    }
    /// Adds the time that is covered by none of the spans of a lane, between the first and the last of them. They may
    /// overlap. Precondition: the spans are those of kernels and waits, sorted by begin.
    void add_time_between(task_spans of_lanes) {
        std::vector<const measured_span*> last(all_.size(), nullptr);  // by place: the one that ends last so far
        for (const measured_span& s : of_lanes) {
            measured_totals& totals = of(s);
            const measured_span*& before = last[static_cast<std::size_t>(&totals - all_.data())];
            if (before != nullptr) totals.between += std::max(s.begin - before->end, nanoseconds{});
            if (before == nullptr || before->end < s.end) before = &s;
        }
    }
    /// Returns the median of each total. Precondition: there was at least one span.
    [[nodiscard]] measured_totals medians() const {
        const auto middle = [&](nanoseconds measured_totals::* total) {
            std::vector<nanoseconds> each;
            for (const measured_totals& t : all_) each.push_back(t.*total);
            return middle_of(each);
        };
        return {middle(&measured_totals::kernels),   middle(&measured_totals::blocked),
                middle(&measured_totals::exposed),   middle(&measured_totals::between),
                middle(&measured_totals::transfers), middle(&measured_totals::jitter)};
    }

private:
    using place = std::pair<std::uint32_t, rank_id>;
    static place place_of(const measured_span& s) { return {s.step, s.rank}; }

    std::vector<place> places_;
    std::vector<measured_totals> all_;
};

}  // namespace detail

/// Summarises spans. Their order does not matter, and a task may be missing from ranks or steps. The result is
/// deterministic. O(V + S log S) for S spans. Precondition: the spans are of tasks of `g`, and none ends before it
/// begins.
template <class = void>
[[nodiscard]] measured_run summarize_run(const task_graph& g, std::span<const measured_span> spans) {
    measured_run run;
    run.tasks.resize(g.size());
    std::vector<measured_span> sorted(spans.begin(), spans.end());
    std::sort(sorted.begin(), sorted.end(), [](const measured_span& a, const measured_span& b) {
        return std::pair(a.task, a.step) < std::pair(b.task, b.step);
    });
    std::vector<std::size_t> first(g.size() + 1, sorted.size());  // by task: its first span
    for (std::size_t k = sorted.size(); k-- > 0;) {
        STRETTO_ASSERT(sorted[k].task < g.size(), "a span of a run is of no task of the graph");
        first[sorted[k].task] = k;
    }
    for (std::size_t t = g.size(); t-- > 0;) first[t] = std::min(first[t], first[t + 1]);
    const auto spans_of = [&](task_id t) {
        return detail::task_spans(sorted).subspan(first[t], first[t + 1] - first[t]);
    };
    detail::totals_of_steps totals(spans);
    std::vector<nanoseconds> times, beside;
    for (task_id t = 0; t < g.size(); ++t) {
        const detail::task_spans all = spans_of(t);
        if (all.empty()) continue;
        measured_task& made = run.tasks[t];
        made.spans = all.size();
        times.clear();
        beside.clear();
        if (g.kind[t] == op_kind::start) {
            const std::vector<detail::step_transfer> transfers = detail::transfers_of(all);
            for (const detail::step_transfer& x : transfers) times.push_back(x.time);
            for (const measured_span& s : all) {
                const nanoseconds transfer = detail::transfer_in(transfers, s.step)->time;
                beside.push_back(s.end - s.begin - transfer);
                totals.of(s).transfers += transfer;
                totals.of(s).jitter += beside.back();
            }
            made.duration = detail::middle_of(times);
            made.jitter = detail::middle_of(beside);
        } else if (g.kind[t] == op_kind::wait) {
            const std::vector<detail::step_transfer> transfers = g.launch[t] == no_task
                                                                     ? std::vector<detail::step_transfer>()
                                                                     : detail::transfers_of(spans_of(g.launch[t]));
            for (const measured_span& s : all) {
                const nanoseconds blocked = s.end - s.begin;
                const detail::step_transfer* const x = detail::transfer_in(transfers, s.step);
                times.push_back(blocked);
                beside.push_back(x == nullptr ? nanoseconds{} : std::min(blocked, x->time));
                totals.of(s).blocked += blocked;
                totals.of(s).exposed += beside.back();
            }
            made.blocked = detail::middle_of(times);
            made.exposed = detail::middle_of(beside);
        } else {
            for (const measured_span& s : all) {
                times.push_back(s.end - s.begin);
                totals.of(s).kernels += times.back();
            }
            made.duration = detail::middle_of(times);
        }
    }
    std::vector<rank_id> ranks;
    std::sort(sorted.begin(), sorted.end(),
              [](const measured_span& a, const measured_span& b) { return a.step < b.step; });
    for (std::size_t k = 0; k < sorted.size();) {
        nanoseconds begin = sorted[k].begin, end = sorted[k].end;
        const std::uint32_t step = sorted[k].step;
        for (; k < sorted.size() && sorted[k].step == step; ++k) {
            begin = std::min(begin, sorted[k].begin);
            end = std::max(end, sorted[k].end);
            ranks.push_back(sorted[k].rank);
        }
        run.steps.push_back({step, end - begin});
    }
    std::sort(ranks.begin(), ranks.end());
    run.ranks = static_cast<std::size_t>(std::unique(ranks.begin(), ranks.end()) - ranks.begin());
    if (!run.steps.empty()) {
        std::vector<measured_step> by_makespan = run.steps;
        const auto middle = by_makespan.begin() + static_cast<std::ptrdiff_t>((by_makespan.size() - 1) / 2);
        std::nth_element(by_makespan.begin(), middle, by_makespan.end(),
                         [](const measured_step& a, const measured_step& b) {
                             return std::pair(a.makespan, a.number) < std::pair(b.makespan, b.number);
                         });
        run.middle = *middle;
        std::vector<measured_span> of_lanes;
        for (const measured_span& s : spans)
            if (g.kind[s.task] != op_kind::start) of_lanes.push_back(s);
        std::sort(of_lanes.begin(), of_lanes.end(),
                  [](const measured_span& a, const measured_span& b) { return a.begin < b.begin; });
        totals.add_time_between(of_lanes);
        run.totals = totals.medians();
    }
    return run;
}

/// Presents one step of a run on one rank in the form of a simulation: begins and stalls are the measured ones, and
/// `slowed` contains how much longer than predicted a kernel or a collective took, which is negative if it was faster.
/// Times count from the first span. A task that was not measured takes no time and begins at the time that the lane had
/// reached. O(V + S). Precondition: `spans` are of one rank and step, and of tasks of `g`; `order` has every task once.
template <class = void>
[[nodiscard]] simulation measured_times(const task_graph& g, std::span<const task_id> order,
                                        std::span<const measured_span> spans) {
    simulation s;
    s.begin.resize(g.size());
    s.stall.resize(g.size());
    s.slowed.resize(g.size());
    std::vector<const measured_span*> of(g.size(), nullptr);
    for (const measured_span& x : spans) of[x.task] = &x;
    const auto earliest =
        std::min_element(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    const nanoseconds zero = earliest == spans.end() ? nanoseconds{} : earliest->begin;
    nanoseconds lane;
    for (const task_id t : order) {
        const measured_span* const x = of[t];
        const bool works = does_work(g.kind[t]);
        if (x == nullptr) {
            s.begin[t] = lane;
            if (works) s.slowed[t] = -g.duration[t];
            continue;
        }
        const nanoseconds taken = x->end - x->begin;
        s.makespan = std::max(s.makespan, x->end - zero);
        if (works) {
            s.begin[t] = x->begin - zero;
            s.slowed[t] = taken - g.duration[t];
        } else {
            s.begin[t] = x->end - zero;
            s.stall[t] = taken;
            s.exposed += taken;
        }
        if (g.kind[t] == op_kind::compute) s.compute += taken;
        if (g.kind[t] != op_kind::start) lane = x->end - zero;
    }
    return s;
}

}  // namespace stretto

#endif
