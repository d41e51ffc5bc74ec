// The search that search_buckets runs. It is independent of the graph: an object makes the plan and the tasks of a
// division of collectives into runs. There are far too many divisions to try, and one trial costs a plan, a task graph
// and a schedule. The search therefore divides all classes in the same way first: by bytes, by time, and by the slack
// of the schedule. Then it tries for each class the ways that were best for all. Finally it halves single runs for
// which the best schedule waits. docs/algorithms/buckets.md explains all of this.
//
// A larger memory limit never gives a longer makespan: the search goes through levels of memory from below, and what it
// does at a level depends only on that level and those below it (division_trials.hpp).
#ifndef STRETTO_TUNE_DETAIL_BUCKET_SEARCH_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_SEARCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/units.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/tune/detail/bucket_windows.hpp"
#include "stretto/tune/detail/division_trials.hpp"
#include "stretto/tune/detail/limit_levels.hpp"

namespace stretto::detail {

/// A search for the fastest division. `trials` makes plans and tasks, as for division_trials; `trials.merged(vertex,
/// payload)` is the time of a bucket on its channel. Equal arguments must give equal answers. The search makes no
/// random choice and reads no clock, so its result depends only on its arguments.
template <class Trials>
class bucket_search {
    using id = std::uint32_t;

public:
    /// `task_budget` is the number of tasks after which no further trial begins at a level; a trial counts all of its
    /// tasks. Levels above the first have a quarter of it, because most of their trials have been made below;
    /// they are not searched if that is less than one trial. Preconditions: the items are in program order, their
    /// classes are numbered from 0, and the trials outlive the search.
    bucket_search(std::vector<bucketable> items, const schedule_options& options, const limit_levels& levels,
                  std::size_t task_budget, Trials& trials)
        : items_(std::move(items)),
          options_(options),
          task_budget_(task_budget),
          prices_(trials),
          tried_(items_, options, levels, trials) {
        for (id k = 0; k < items_.size(); ++k) {
            if (items_[k].in_class >= in_class_.size()) in_class_.resize(items_[k].in_class + 1);
            in_class_[items_[k].in_class].push_back(k);
        }
    }
    bucket_search(const bucket_search&) = delete;
    bucket_search& operator=(const bucket_search&) = delete;

    /// Searches. `given` is the program order, and `whole` has the tasks of the step without buckets, numbered like its
    /// vertices. A level ends early if a makespan of at most `enough` is found. A level within which the step does not
    /// fit without buckets is not searched. Precondition: called once.
    void run(std::vector<id> given, const task_graph& whole, nanoseconds enough) {
        enough_ = enough;
        tried_.begin(std::move(given), whole);
        bool is_first = true;
        for (std::size_t level = 0; level < tried_.levels(); ++level) {
            tried_.go_to(level);
            if (!tried_.here().makespan) continue;
            budget_ = is_first ? task_budget_ : task_budget_ / 4;
            if (is_first || whole.size() < budget_) search_level(whole);
            is_first = false;
        }
    }

    /// Returns the tried plans that fit and that no other such plan beats in makespan, peak and number of collectives,
    /// including the step as it is. They are sorted by ascending makespan, peak and number. Empty if nothing fits.
    [[nodiscard]] std::vector<scheduled_buckets> front() && { return std::move(tried_).front(); }
    /// Returns the number of plans whose tasks were made.
    [[nodiscard]] std::size_t trials() const noexcept { return tried_.trials(); }

private:
    using by = bucket_window::by;
    using division = std::vector<bucket_window>;  // by class

    void search_level(const task_graph& whole) {
        ways_.clear();
        note_times_in(tried_.order_of_whole(), whole);
        divide_all(by_bytes());
        divide_all(by_time());
        for (const std::int64_t share : {0, 1, 4, 16, 64})
            for (const bool as_scheduled : {false, true}) divide({by::slack, part(share)}, as_scheduled);
        divide_classes();
        halve_exposed();
    }

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
    [[nodiscard]] std::int64_t part(std::int64_t share) const { return tried_.here().makespan->count / 4096 * share; }

    /// Tries every second one of a list of ways for all classes, and then the neighbours of the best one.
    void divide_all(const std::vector<bucket_window>& ways) {
        std::optional<nanoseconds> best;
        std::size_t at = 0;
        const auto attempt_way = [&](std::size_t k) {
            const std::optional<nanoseconds> takes = divide(ways[k], false);
            if (takes && (!best || *takes < *best)) best = takes, at = k;
        };
        for (std::size_t k = ways.size() > 1; k < ways.size(); k += 2) attempt_way(k);
        if (!best) return;
        const std::size_t middle = at;
        if (middle > 0) attempt_way(middle - 1);
        if (middle + 1 < ways.size()) attempt_way(middle + 1);
    }
    /// Tries one way for all classes, and records how fast it is, known or assumed.
    std::optional<nanoseconds> divide(const bucket_window& all, bool as_scheduled) {
        const std::optional<nanoseconds> takes = attempt(division(in_class_.size(), all), as_scheduled);
        if (takes) ways_.push_back({*takes, all});
        return takes;
    }
    /// Tries for each class in turn the six ways that were best for all classes, and leaving its collectives apart.
    void divide_classes() {
        if (in_class_.size() < 2 || tried_.here().ways.empty()) return;
        std::stable_sort(ways_.begin(), ways_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        if (ways_.size() > 6) ways_.resize(6);
        ways_.push_back({{}, {}});
        for (std::size_t c = 0; c < in_class_.size(); ++c)
            for (const auto& [makespan, way] : ways_) {
                division d = tried_.here().ways;
                if (std::exchange(d[c], way) == way) continue;
                attempt(d, false);
            }
    }
    /// Halves runs for which the best schedule waits, the most exposed one first, until that gains nothing or the
    /// budget is spent.
    void halve_exposed() {
        std::set<id> tried;
        while (!done()) {
            const std::vector<std::int64_t>& exposed = tried_.here().exposed;
            id worst = 0;
            for (id r = 0; r < exposed.size(); ++r)
                if (exposed[r] > (worst < exposed.size() && !tried.contains(worst) ? exposed[worst] : 0) &&
                    !tried.contains(r))
                    worst = r;
            if (worst >= exposed.size() || exposed[worst] == 0 || !tried.insert(worst).second) return;
            std::vector<id> runs = tried_.here().runs;
            if (halve(runs, worst) && tried_.attempt(std::move(runs), {}, false, budget_).is_best) tried.clear();
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
                        [&](const bucketable& i, bytes payload) { return prices_.merged(i.vertex, payload); });
            for (std::size_t k = 0; k < own.size(); ++k) runs[in_class_[c][k]] = next + local[k];
            if (!local.empty()) next += *std::max_element(local.begin(), local.end()) + 1;
        }
        return runs;
    }
    /// Tries a division unless the level is done. Returns its makespan, known or assumed; nothing if it is of no use or
    /// was tried before.
    std::optional<nanoseconds> attempt(const division& d, bool as_scheduled) {
        if (done()) return std::nullopt;
        return tried_.attempt(runs_for(d), d, as_scheduled, budget_).takes;
    }
    [[nodiscard]] bool done() const { return budget_ == 0 || *tried_.here().makespan <= enough_; }

    /// Records in the items their times in the schedule without buckets.
    void note_times_in(const std::vector<task_id>& order, const task_graph& whole) {
        for (const collective_exposure& e : explain_exposure(whole, order, simulate(whole, order, options_.under))) {
            const std::size_t k = item_of(items_, e.start);
            if (k == items_.size()) continue;
            items_[k].ready = e.ready.count;
            items_[k].begin = e.begin.count;
            items_[k].needed = e.needed.count;
        }
    }

    std::vector<bucketable> items_;
    schedule_options options_;
    std::size_t task_budget_;
    Trials& prices_;
    division_trials<Trials> tried_;
    std::vector<std::vector<id>> in_class_;  // by class: its items
    nanoseconds enough_;
    std::size_t budget_ = 0;  // the tasks that may still be scheduled at the present level
    std::vector<std::pair<nanoseconds, bucket_window>> ways_;  // ways for all classes, and how fast they are
};

}  // namespace stretto::detail

#endif
