// The search that search_buckets runs. It is independent of the graph: an object makes the plan and the tasks of a
// division of collectives into runs. There are far too many divisions to try, and one trial costs a plan, a task graph
// and a schedule. The search therefore divides all classes in the same way first: by bytes, by time, and by the slack
// of the schedule. Then it tries for each class the ways that were best for all. Finally it halves single runs for
// which the best schedule waits. A plan whose lower bound is no better than the best makespan so far is not scheduled.
// A search for its schedule is given up if it is behind the search for the best schedule at the same point.
// docs/algorithms/buckets.md explains all of this.
//
// Longer than 300 lines: what is tried, in which order, and what is given up form one argument.
#ifndef STRETTO_TUNE_DETAIL_BUCKET_SEARCH_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_SEARCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/trial_progress.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/detail/bucket_windows.hpp"

namespace stretto::detail {

/// A plan in numbers, and the figures of its schedule.
struct scheduled_buckets {
    bucket_plan<std::uint32_t, std::uint32_t> plan;  ///< empty for the step as it is
    nanoseconds makespan;
    bytes peak;
    std::size_t collectives = 0;  ///< the number of collectives that are left of the items
};

/// A search for the fastest division. `trials.plan(items, runs, order)` is the plan of a division into runs for the
/// program in that order. `trials.tasks(plan)` points to the bucketed_tasks of a plan, which are valid until the next
/// call, or is null if the plan has no task graph. `trials.merged(vertex, payload)` is the time of a bucket on its
/// channel. Equal arguments must give equal answers. The search makes no random choice and reads no clock, so its
/// result depends only on its arguments.
template <class Trials>
class bucket_search {
    using id = std::uint32_t;

public:
    /// `task_budget` is the number of tasks after which no further trial begins; a trial counts all of its tasks.
    /// Preconditions: the items are in program order, their classes are numbered from 0, and the trials outlive the
    /// search.
    bucket_search(std::vector<bucketable> items, const schedule_options& options, std::size_t task_budget,
                  Trials& trials)
        : items_(std::move(items)), options_(options), budget_(task_budget), trials_(trials) {
        for (id k = 0; k < items_.size(); ++k) {
            if (items_[k].in_class >= in_class_.size()) in_class_.resize(items_[k].in_class + 1);
            in_class_[items_[k].in_class].push_back(k);
        }
    }

    /// Searches. `given` is the program order, and `whole` has the tasks of the step without buckets, numbered like its
    /// vertices. The search ends early if it finds a makespan of at most `enough`. Precondition: called once.
    void run(std::vector<id> given, const task_graph& whole, nanoseconds enough) {
        given_ = std::move(given);
        enough_ = enough;
        if (auto found = schedule(whole)) {
            front_.push_back({{}, found->makespan, profile_memory(whole, found->order).peak, items_.size()});
            scheduled_ = std::move(found->order);
        }
        divide_all(by_bytes());
        divide_all(by_time());
        if (!scheduled_.empty()) {
            note(exposures_of(whole, scheduled_));
            for (const std::int64_t share : {0, 1, 4, 16, 64})
                for (const std::vector<id>* order : {&given_, &scheduled_}) divide({by::slack, part(share)}, *order);
        }
        divide_classes();
        halve_exposed();
    }

    /// Returns the tried plans that fit and that no other such plan beats in makespan, peak and number of collectives,
    /// including the step as it is. They are sorted by ascending makespan, peak and number. Empty if nothing fits.
    [[nodiscard]] const std::vector<scheduled_buckets>& front() const noexcept { return front_; }
    /// Returns the number of plans whose tasks were made.
    [[nodiscard]] std::size_t trials() const noexcept { return trials_made_; }

private:
    using by = bucket_window::by;
    using division = std::vector<bucket_window>;  // by class

    /// Returns ascending sizes: powers of two, from the smallest one above the lightest collective to the first that
    /// holds all of them.
    [[nodiscard]] std::vector<bucket_window> by_bytes() const {
        constexpr std::int64_t ceiling = std::int64_t{1} << 61;  // a power of two above it must not overflow
        std::int64_t all = 0, least = INT64_MAX, most = 1;
        for (const bucketable& i : items_) {
            all += std::min(i.weight.count, ceiling - all);
            least = std::min(least, i.weight.count);
        }
        std::vector<bucket_window> levels;
        for (; most / 2 < all; most *= 2)
            if (most > least) levels.push_back({by::bytes, most});
        return levels;
    }
    /// Returns ascending times: powers of two, from 1/1024 to 1/16, of the kernel time before the last collective.
    [[nodiscard]] std::vector<bucket_window> by_time() const {
        std::vector<bucket_window> levels;
        const std::int64_t all = items_.empty() ? 0 : items_.back().reached;
        for (int shift = 10; shift >= 4; --shift)
            if (all >> shift > 0) levels.push_back({by::time, all >> shift});
        return levels;
    }
    /// Returns `share` times 1/4096 of the best makespan.
    [[nodiscard]] std::int64_t part(std::int64_t share) const { return best_->count / 4096 * share; }

    /// Tries every second level of a list for all classes, and then the neighbours of the best one.
    void divide_all(const std::vector<bucket_window>& levels) {
        std::optional<nanoseconds> best;
        std::size_t at = 0;
        const auto attempt_level = [&](std::size_t k) {
            divide(levels[k], given_);
            if (reckoned_ && (!best || *reckoned_ < *best)) best = reckoned_, at = k;
        };
        for (std::size_t k = levels.size() > 1; k < levels.size(); k += 2) attempt_level(k);
        if (!best) return;
        const std::size_t middle = at;
        if (middle > 0) attempt_level(middle - 1);
        if (middle + 1 < levels.size()) attempt_level(middle + 1);
    }
    /// Tries one way for all classes, and records how fast it is.
    void divide(const bucket_window& all, const std::vector<id>& order) {
        attempt(division(in_class_.size(), all), order);
        if (reckoned_) ways_.push_back({*reckoned_, all});
    }
    /// Tries for each class in turn the six ways that were best for all classes, and leaving its collectives apart.
    void divide_classes() {
        if (in_class_.size() < 2 || chosen_.empty()) return;
        std::stable_sort(ways_.begin(), ways_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        if (ways_.size() > 6) ways_.resize(6);
        ways_.push_back({{}, {}});
        for (std::size_t c = 0; c < in_class_.size(); ++c)
            for (const auto& [makespan, way] : ways_) {
                division d = chosen_;
                if (std::exchange(d[c], way) == way) continue;
                attempt(d, given_);
            }
    }
    /// Halves runs for which the best schedule waits, the most exposed one first, until that gains nothing or the
    /// budget is spent.
    void halve_exposed() {
        std::set<id> tried;
        while (!done()) {
            id worst = 0;
            for (id r = 0; r < exposed_.size(); ++r)
                if (exposed_[r] > (worst < exposed_.size() && !tried.contains(worst) ? exposed_[worst] : 0) &&
                    !tried.contains(r))
                    worst = r;
            if (worst >= exposed_.size() || exposed_[worst] == 0 || !tried.insert(worst).second) return;
            std::vector<id> runs = runs_;
            const auto size = std::count(runs.begin(), runs.end(), worst);
            if (size < 2) continue;
            const id fresh = *std::max_element(runs.begin(), runs.end()) + 1;
            std::ptrdiff_t seen = 0;
            for (id& r : runs)
                if (r == worst && ++seen > size / 2) r = fresh;
            if (attempt(runs, given_)) tried.clear();
        }
    }

    /// Returns the run of each item. Runs are numbered from 0 without gaps.
    [[nodiscard]] std::vector<id> runs_for(const division& d) const {
        std::vector<id> runs(items_.size());
        id next = 0;
        for (std::size_t c = 0; c < in_class_.size(); ++c) {
            std::vector<bucketable> own;
            for (id k : in_class_[c]) own.push_back(items_[k]);
            const std::vector<id> local =
                runs_of(std::span<const bucketable>(own), d[c],
                        [&](const bucketable& i, bytes payload) { return trials_.merged(i.vertex, payload); });
            for (std::size_t k = 0; k < own.size(); ++k) runs[in_class_[c][k]] = next + local[k];
            if (!local.empty()) next += *std::max_element(local.begin(), local.end()) + 1;
        }
        return runs;
    }
    /// Renumbers runs in the order of their first items, so that equal divisions have equal numbers.
    [[nodiscard]] static std::vector<id> by_first_seen(std::vector<id> runs) {
        std::map<id, id> numbers;
        for (id& r : runs) r = numbers.try_emplace(r, static_cast<id>(numbers.size())).first->second;
        return runs;
    }
    void attempt(const division& d, const std::vector<id>& order) {
        if (attempt(runs_for(d), order)) chosen_ = d;
    }

    /// Tries a division into runs, unless it or its plan was tried before or the search is over. Returns whether it is
    /// the best so far. `reckoned_` tells how fast it is, if that is known.
    bool attempt(const std::vector<id>& runs, const std::vector<id>& order) {
        reckoned_.reset();
        if (done() || !divided_.insert({&order == &given_, by_first_seen(runs)}).second) return false;
        scheduled_buckets made{trials_.plan(items_, runs, order), {}, {}, 0};
        if (made.plan.empty()) return false;
        std::vector<std::vector<id>> members;
        for (const auto& b : made.plan.buckets) members.push_back(b.members);
        if (!tried_.insert({&order == &given_, std::move(members)}).second) return false;
        const auto* const tasks = trials_.tasks(made.plan);
        if (tasks == nullptr) return false;
        ++trials_made_;
        const auto before = best_;
        const auto found = schedule(tasks->graph);
        if (!found) return false;
        made.makespan = found->makespan;
        made.peak = profile_memory(tasks->graph, found->order).peak;
        made.collectives = items_.size() - made.plan.saved();
        keep(std::move(made));
        if (before && found->makespan >= *before) return false;
        runs_ = runs;
        exposed_.assign(items_.size() + in_class_.size(), 0);
        for (const collective_exposure& e : exposures_of(tasks->graph, found->order))
            if (const auto at = item_of(tasks->original[e.start]); at != items_.end())
                exposed_[runs[static_cast<std::size_t>(at - items_.begin())]] += e.exposed.count;
        return true;
    }

    /// An order within the limit, and its makespan.
    struct found_schedule {
        nanoseconds makespan;
        std::vector<task_id> order;
    };
    /// The progress of a search at each point at which it asked whether to go on: by search, level and stage.
    using pace = std::map<std::tuple<int, std::size_t, search_stage>, trial_progress>;

    /// Searches for a schedule. Returns nothing if nothing fits, or if the lower bound or the pace of the search shows
    /// that it will probably not be the best. If it is the best so far, later trials are compared with its pace.
    [[nodiscard]] std::optional<found_schedule> schedule(const task_graph& g) {
        limit_trial trial(g, options_.under);
        if (best_ && trial.bound().value >= *best_) return std::nullopt;
        budget_ -= std::min(budget_, g.size());
        const bytes limit = options_.memory_limit.limit(trial.input_peak());
        std::vector<bytes> limits{options_.memory_limit.unit(trial.input_peak()), limit};
        if (limits[0] >= limit) limits.erase(limits.begin());
        std::optional<found_schedule> found;
        pace here;
        trial.run(
            limits, options_,
            [&](const trial_progress& now) {
                if (!here.try_emplace({now.search, now.level, now.stage}, now).second) return true;
                return goes_on(now, now.level + 1 == limits.size());
            },
            [&](std::size_t level, std::optional<nanoseconds> makespan, const auto& order) {
                if (makespan && level + 1 == limits.size()) found = {*makespan, order().tasks};
            });
        if (!found) return std::nullopt;
        reckoned_ = found->makespan;
        if (best_ && found->makespan >= *best_) return found;
        best_ = found->makespan;
        pace_ = std::move(here);
        return found;
    }
    /// Returns whether a trial may still become the best. Schedules of divisions of one step are similar, so the trial
    /// is compared with the best one at the same point of their searches. If not, `reckoned_` is how fast it is assumed
    /// to be: slower than the best by as much as it was behind.
    [[nodiscard]] bool goes_on(const trial_progress& now, bool within_limit) {
        const auto at = pace_.find({now.search, now.level, now.stage});
        if (!best_ || at == pace_.end()) return true;
        // Returns whether t is slower than the reference by more than 1/share.
        const auto loses = [&](nanoseconds t, nanoseconds reference, std::int64_t share) {
            if (t.count - reference.count <= reference.count / share) return false;
            reckoned_ = *best_ + (t - reference);
            return true;
        };
        const trial_progress& then = at->second;
        if (now.stage == search_stage::two_orders) return !loses(now.ignoring_memory, then.ignoring_memory, 64);
        if (now.stage == search_stage::begins) {
            if (loses(now.ignoring_memory, then.ignoring_memory, 256)) return false;
            // Orders within memory are rarely faster than those that ignore it, unless moves gain that much. Then the
            // best trial shows how much that is.
            if (options_.under.none() && now.ignoring_memory >= std::max(*best_, then.ignoring_memory)) {
                reckoned_ = now.ignoring_memory;
                return false;
            }
            return now.search == 0 || !within_limit || !loses(now.so_far, then.so_far, 128);
        }
        // Moves gain similar shares of similar schedules, and take more time than anything before them, most of all
        // under contention, where there are several searches with moves of their own.
        if (now.stage == search_stage::moves) {
            const std::int64_t share = within_limit ? 512 : 64;
            return !loses(now.so_far, then.so_far, options_.under.none() ? share : 8 * share);
        }
        // What filling will gain after the rounds differs from trial to trial, so less is not decisive even then.
        return !within_limit || !loses(now.so_far, then.so_far, 128);
    }
    [[nodiscard]] std::vector<collective_exposure> exposures_of(const task_graph& g,
                                                                const std::vector<task_id>& order) const {
        return explain_exposure(g, order, simulate(g, order, options_.under));
    }
    [[nodiscard]] bool done() const { return budget_ == 0 || (best_ && *best_ <= enough_); }

    /// Adds a plan to the front unless one there is no worse in all three respects; removes those that it beats.
    void keep(scheduled_buckets made) {
        const auto no_worse = [](const scheduled_buckets& a, const scheduled_buckets& b) {
            return a.makespan <= b.makespan && a.peak <= b.peak && a.collectives <= b.collectives;
        };
        for (const scheduled_buckets& s : front_)
            if (no_worse(s, made)) return;
        std::erase_if(front_, [&](const scheduled_buckets& s) { return no_worse(made, s); });
        const auto place = std::partition_point(front_.begin(), front_.end(), [&](const scheduled_buckets& s) {
            return s.makespan != made.makespan ? s.makespan < made.makespan
                   : s.peak != made.peak       ? s.peak < made.peak
                                               : s.collectives < made.collectives;
        });
        front_.insert(place, std::move(made));
    }

    /// Returns the item of a start, or the end if it has none. O(log items).
    [[nodiscard]] std::vector<bucketable>::iterator item_of(id vertex) {
        const auto at =
            std::partition_point(items_.begin(), items_.end(), [&](const bucketable& i) { return i.vertex < vertex; });
        return at != items_.end() && at->vertex == vertex ? at : items_.end();
    }
    /// Records in the items their times in the schedule without buckets.
    void note(const std::vector<collective_exposure>& exposures) {
        for (const collective_exposure& e : exposures)
            if (const auto at = item_of(e.start); at != items_.end()) {
                at->ready = e.ready.count;
                at->begin = e.begin.count;
                at->needed = e.needed.count;
            }
    }

    std::vector<bucketable> items_;
    schedule_options options_;
    std::size_t budget_;
    Trials& trials_;
    std::vector<std::vector<id>> in_class_;  // by class: its items
    std::vector<id> given_, scheduled_;      // orders of the vertices: as given, and of the schedule without buckets
    nanoseconds enough_;
    std::optional<nanoseconds> best_;      // the makespan of the best plan so far
    pace pace_;                            // the progress of the search that found it
    std::optional<nanoseconds> reckoned_;  // the makespan of the last trial, known or assumed; nothing if not scheduled
    division chosen_;                      // the best one so far; empty if none is better than no buckets
    std::vector<id> runs_;                 // by item: its run in the best division so far
    std::vector<std::int64_t> exposed_;    // by run: for how long the best schedule waits for it
    std::vector<std::pair<nanoseconds, bucket_window>> ways_;  // ways for all classes, and how fast they are
    std::vector<scheduled_buckets> front_;
    std::set<std::pair<bool, std::vector<id>>> divided_;  // divisions that were planned; true: in given order
    std::set<std::pair<bool, std::vector<std::vector<id>>>> tried_;  // members of the buckets of tried plans, likewise
    std::size_t trials_made_ = 0;
};

}  // namespace stretto::detail

#endif
