// The search that search_chunks runs; a callable makes the tasks of a choice. There are (most chunks)^units choices,
// and one trial costs a plan, a task graph and a schedule. The search therefore tries a few uniform choices first, and
// then refines the best one where its schedule still waits. It gives a choice up as soon as that is unlikely to become
// better than the best one so far. docs/algorithms/search-chunks.md explains all of this.
//
// A larger memory limit never gives a longer makespan: the search goes through levels of memory from below, and what it
// does at a level depends only on that level and those below it. A choice that is the best one so far at some level is
// *held*: it is not given up any more, so its makespan within any limit is that of list_schedule, which never grows
// with the limit. The result is the best among the uncut step and the choices held at the levels up to the requested
// limit. For a larger limit, the same choices are held, and possibly more.
//
// Longer than 300 lines: what is tried, what is held and how the best choice is refined form one argument. When a
// choice is given up because of figures alone is in search_limits.hpp.
#ifndef STRETTO_TUNE_DETAIL_CHUNK_SEARCH_HPP
#define STRETTO_TUNE_DETAIL_CHUNK_SEARCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/module_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/trial_progress.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/tune/chunk_trial.hpp"
#include "stretto/tune/chunk_units.hpp"
#include "stretto/tune/detail/search_limits.hpp"

namespace stretto::detail {

/// A search for the number of chunks of each unit. `trial(regions, slices)` returns the chunked_tasks of these regions,
/// or nothing if there is no such plan; equal arguments must give equal tasks. Deterministic.
template <class Trial>
class chunk_search {
public:
    using region = chunk_region<std::uint32_t>;

    /// The number of chunks of every unit, and whether values are written slice by slice.
    struct choice {
        std::vector<std::size_t> chunks;
        bool slices = false;
        friend auto operator<=>(const choice&, const choice&) = default;
    };

    /// Preconditions: the units and the trial outlive the search; `limits` has a level, and `whole` for each limit.
    chunk_search(const chunk_units& units, std::int64_t rows, const search_limits& limits, Trial& trial)
        : units_(units), rows_(rows), limits_(limits), trial_(trial), best_(limits.whole.back().makespan) {
        most_ = std::min(limits.most, static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)));
        for (std::size_t k = 0; k < limits.levels.decided; ++k) at_.push_back({limits.whole[k], {}, {}, {}});
    }

    /// Searches all levels. The members below then describe the result. Precondition: called once.
    void run() {
        for (level_ = 0; level_ < at_.size(); ++level_) {
            run_level();
            figures_.push_back(here().takes);
        }
    }

    /// Returns the number of chunks of every unit in the fastest choice; empty if the uncut step is the fastest.
    [[nodiscard]] const std::vector<std::size_t>& chosen() const noexcept { return chosen_.chunks; }
    [[nodiscard]] bool slices() const noexcept { return chosen_.slices; }
    [[nodiscard]] nanoseconds best() const noexcept { return best_; }
    /// Returns the order of the fastest choice's tasks that takes so long; empty if the uncut step is the fastest.
    [[nodiscard]] const trial_order& order() const noexcept { return order_; }
    /// Returns the figures of the best choice within each level; they do not depend on higher levels.
    [[nodiscard]] const std::vector<limit_figures>& figures() const noexcept { return figures_; }
    /// Returns the number of choices whose tasks were made, without those tried slice by slice because of `either`.
    [[nodiscard]] std::size_t trials() const noexcept { return trials_; }
    /// Return whether any operation can run in chunks, and whether a choice fits into the memory or was given up early.
    [[nodiscard]] bool any_cut() const noexcept { return any_cut_; }
    [[nodiscard]] bool any_fit() const noexcept { return any_fit_; }

    /// Returns a region for each number of chunks beyond one, in program order of their first operations. O(V).
    [[nodiscard]] std::vector<region> regions_of(const std::vector<std::size_t>& chunks) const {
        std::vector<region> regions;
        std::vector<std::size_t> region_of(most_ + 1, SIZE_MAX);
        for (std::uint32_t v = 0; v < units_.unit_of.size(); ++v) {
            if (units_.unit_of[v] == none) continue;
            const std::size_t k = chunks[units_.unit_of[v]];
            if (k <= 1) continue;
            if (region_of[k] == SIZE_MAX) {
                region_of[k] = regions.size();
                regions.push_back({{}, equal_chunks(rows_, k)});
            }
            regions[region_of[k]].candidates.push_back(v);
        }
        return regions;
    }

private:
    static constexpr std::uint32_t none = chunk_units::none;
    using counts = std::vector<std::pair<nanoseconds, std::size_t>>;  // makespans, and the numbers of chunks

    /// The best choice so far within a level.
    struct level_best {
        limit_figures takes;
        std::optional<choice> chunks;       // nothing if the uncut step is the best
        std::vector<std::int64_t> exposed;  // by unit: the time for which its schedule waits for starts and waits of it
        std::vector<std::size_t> exchanges;  // by unit: the number of its collectives that run per chunk
    };

    /// The result of a trial. There is one trial of each choice for all levels.
    struct outcome {
        bool made = false;  // whether there are tasks
        bool lost = false;  // whether it was given up because of the rival
        nanoseconds bound;
        std::uint32_t peak_in = none;  // the unit in chunks where the input order has its peak; none if it is whole
        std::vector<std::int64_t> makespan;  // by limit, up to the one at which it was given up; -1: nothing fits
    };

    /// Returns whether the lower bound of a choice shows that it cannot be of use at this level.
    [[nodiscard]] bool hopeless(const outcome& o) const {
        return o.made && (o.bound >= here().takes.makespan || o.bound >= limits_.rival_at(level_).makespan);
    }
    [[nodiscard]] std::optional<nanoseconds> makespan(const outcome& o) const {
        if (o.makespan.size() <= level_ || o.makespan[level_] < 0) return std::nullopt;
        return nanoseconds{o.makespan[level_]};
    }
    [[nodiscard]] bool too_large(const outcome& o) const {
        return o.makespan.size() > level_ && o.makespan[level_] < 0 && o.peak_in != none;
    }
    /// Returns whether a choice was given up because of the rival before its makespan at this level was known. If it is
    /// known, the choice was given up at a higher level, on which nothing at this level may depend.
    [[nodiscard]] bool lost_here(const outcome& o) const { return o.lost && o.makespan.size() <= level_; }
    [[nodiscard]] level_best& here() { return at_[level_]; }
    [[nodiscard]] const level_best& here() const { return at_[level_]; }

    /// Searches a level: uniform numbers of chunks, then modules around exchanges; then refines the best choice.
    void run_level() {
        counts uniform;
        bool lost = false;
        for (std::size_t k = 2; k <= most_; ++k) {
            const outcome& o = try_until_it_fits({std::vector<std::size_t>(units_.size(), k), limits_.slices});
            if (const auto takes = makespan(o)) uniform.push_back({*takes, k});
            lost = lost || lost_here(o);
            if (hopeless(o) && !makespan(o)) break;  // more chunks only add work
        }
        std::sort(uniform.begin(), uniform.end());
        const bool pays = !uniform.empty() && uniform[0].first < limits_.whole[level_].makespan;
        if (!pays && !lost) uniform = try_around_exchanges();
        // Refinement rarely gains as much as this form is then slower than the rival.
        if (!here().chunks || here().takes.makespan >= limits_.rival_at(level_).makespan) return;
        std::sort(uniform.begin(), uniform.end());
        // A choice is refined only once, whether it is written slice by slice or not.
        const bool first = refined_.empty();
        if (refined_.insert(here().chunks->chunks).second) {
            const std::size_t budget = first ? limits_.task_budget : limits_.task_budget / 4;
            budget_ = budget;
            refine(uniform);
            budget_ = budget / 2;
            refine_parts();
            refined_.insert(here().chunks->chunks);
        }
        if (!limits_.either || here().chunks->slices) return;
        choice in_slices = *here().chunks;
        in_slices.slices = true;
        try_out(in_slices, false);
    }

    /// Makes the tasks of a choice and, unless it is hopeless, schedules them. If the choice was tried before, at any
    /// level, or leads to the same program as another one, returns the known outcome.
    const outcome& try_out(const choice& c, bool counts_as_trial = true) {
        const auto [at, is_new] = tried_.try_emplace(c);
        outcome& o = at->second;
        if (!is_new) return o;
        const std::vector<region> regions = regions_of(c.chunks);
        if (regions.empty()) return o;
        const std::optional<chunked_tasks> made = trial_(std::span<const region>(regions), c.slices);
        if (!made) return o;
        o.made = true;
        trials_ += counts_as_trial;
        const bool cut = made->graph.size() > units_.unit_of.size();
        any_cut_ = any_cut_ || cut;
        budget_ -= std::min(budget_, made->graph.size());
        const auto [same, is_first] = programs_.try_emplace(program_of(*made), &o);
        if (!cut) return o;
        if (!is_first) return o = *same->second;
        limit_trial trial(made->graph, limits_.under);
        o.bound = trial.bound().value;
        any_fit_ = any_fit_ || hopeless(o);
        o.lost = o.bound >= limits_.rival_at(level_).makespan;
        if (hopeless(o)) return o;
        if (made->graph.size() != 0) {
            const std::uint32_t u = units_.unit_of[made->original[trial.input_peak_at()]];
            if (u != none && c.chunks[u] > 1) o.peak_in = u;
        }
        schedule(*made, trial, c, o);
        return o;
    }

    /// Returns a hash of a program: of the original, chunk, role and duration of each task. Choices that differ only in
    /// units that cannot run in chunks lead to the same program.
    [[nodiscard]] static std::uint64_t program_of(const chunked_tasks& made) {
        std::uint64_t hash = 14695981039346656037u;  // FNV-1a
        const auto add = [&](std::uint64_t x) { hash = (hash ^ x) * 1099511628211u; };
        for (std::size_t t = 0; t < made.graph.size(); ++t) {
            add(made.original[t]);
            add(made.chunk.empty() ? 0 : made.chunk[t]);
            add(static_cast<std::uint64_t>(made.role[t]));
            add(static_cast<std::uint64_t>(made.graph.duration[t].count));
        }
        return hash;
    }

    /// Searches for orders within all limits, from the lowest one, until the choice is given up. Updates the best ones.
    void schedule(const chunked_tasks& made, limit_trial<>& trial, const choice& c, outcome& o) {
        schedule_options options;
        const bytes asked = limits_.levels.limits.back();
        options.memory_limit = limits_.step_peak ? memory_budget::of_variant(asked, *limits_.step_peak) : asked;
        options.under = limits_.under;
        nanoseconds ignoring_memory{INT64_MAX};
        bool held = false;
        const auto goes_on = [&](const trial_progress& p) {
            if (p.stage == search_stage::two_orders) return true;
            ignoring_memory = p.ignoring_memory;
            any_fit_ = true;
            if (held || !limits_.under.none()) return true;
            o.lost = loses_to(limits_.rival_at(std::min(p.level, at_.size() - 1)), p);
            return !o.lost && !loses_to(at_[std::min(p.level, at_.size() - 1)].takes, p);
        };
        const auto reached = [&](std::size_t k, std::optional<nanoseconds> takes, const auto& order) {
            o.makespan.push_back(takes ? takes->count : -1);
            any_fit_ = any_fit_ || takes;
            if (!takes) return;
            std::optional<trial_order> built;
            const auto found = [&]() -> trial_order& { return built ? *built : built.emplace(order()); };
            if (k < at_.size() && *takes < at_[k].takes.makespan) {
                held = true;
                at_[k].takes = {*takes, ignoring_memory};
                at_[k].chunks = c;
                if (k >= level_) note_exposure(at_[k], made, found().tasks);
            }
            if (held && k + 1 == limits_.levels.limits.size() && *takes < best_) {
                best_ = *takes;
                chosen_ = c;
                order_ = std::move(found());
            }
        };
        trial.run(limits_.levels.limits, options, goes_on, reached);
    }

    /// Tries a choice. While it does not fit, tries it again with the part whole in which its input order has its peak.
    const outcome& try_until_it_fits(choice c) {
        const outcome* o = &try_out(c);
        for (int retries = 0; retries < 3 && too_large(*o); ++retries) {
            for (std::size_t u = 0; u < units_.size(); ++u)
                if (part_of(u) == part_of(o->peak_in)) c.chunks[u] = 1;
            o = &try_out(c);
        }
        return *o;
    }

    /// Tries chunks only in modules around exchanges, for every depth of nesting: this may pay where everything in
    /// chunks costs more than it hides. Returns the shortest makespan for each number of chunks.
    counts try_around_exchanges() {
        counts times;
        std::size_t deepest = 0;
        for (const chunk_unit& u : units_.units) deepest = std::max(deepest, u.depth);
        for (std::size_t k = 2; k <= most_; ++k) {
            std::optional<nanoseconds> least;
            for (std::size_t depth = 1; depth <= deepest; ++depth) {
                choice c{{}, limits_.slices};
                for (const chunk_unit& u : units_.units) c.chunks.push_back(u.depth >= depth ? k : 1);
                if (const auto takes = makespan(try_until_it_fits(std::move(c))))
                    least = std::min(*takes, least.value_or(*takes));
            }
            if (!least) break;
            times.push_back({*least, k});
        }
        return times;
    }

    /// Records by unit for how long a schedule waits for its collectives, and how many run per chunk. O(V + E).
    void note_exposure(level_best& best, const chunked_tasks& made, std::span<const task_id> order) const {
        best.exposed.assign(units_.size(), 0);
        best.exchanges.assign(units_.size(), 0);
        std::vector<char> met(units_.unit_of.size(), false);
        const simulation times = simulate(made.graph, order, limits_.under);
        for (task_id t = 0; t < made.graph.size(); ++t) {
            const bool starts = made.graph.kind[t] == op_kind::start;
            if (!starts && made.graph.launch[t] == no_task) continue;
            const std::uint32_t v = made.original[starts ? t : made.graph.launch[t]], u = units_.unit_of[v];
            if (u == none) continue;
            best.exposed[u] += times.stall[t].count;
            if (!starts) continue;
            if (met[v]) ++best.exchanges[u];  // a second clone
            met[v] = true;
        }
    }

    /// Tries the best choice with other chunks for some units, unless the budget is spent. Returns whether it is
    /// better.
    bool improves(const std::vector<std::size_t>& units, std::size_t chunks) {
        if (budget_ == 0) return false;
        choice c = *here().chunks;
        for (std::size_t u : units) c.chunks[u] = chunks;
        const nanoseconds before = here().takes.makespan;
        try_out(c);
        return here().takes.makespan < before;
    }

    template <class Is>
    [[nodiscard]] std::vector<std::size_t> units_that(Is is) const {
        std::vector<std::size_t> found;
        for (std::size_t u = 0; u < units_.size(); ++u)
            if (is(u)) found.push_back(u);
        return found;
    }

    /// Improves the best choice so far: units that hide nothing become whole, and runs of consecutive parts get one of
    /// the three best uniform numbers of chunks.
    void refine(const counts& uniform) {
        const std::vector<std::size_t> in_part = exchanges_by_part();
        improves(units_that([&](std::size_t u) { return in_part[part_of(u)] == 0; }), 1);
        improves(units_that([&](std::size_t u) { return here().exchanges[u] == 0; }), 1);
        for (pass_direction way : {pass_direction::forward, pass_direction::backward})
            improves(units_that([&](std::size_t u) { return units_.units[u].direction == way; }), 1);

        // Runs are first halves of the parts, then quarters, and so on.
        const std::size_t parts = units_.parts;
        for (std::size_t length = (parts + 1) / 2; budget_ > 0; length = (length + 1) / 2) {
            std::vector<std::vector<std::size_t>> runs((parts + length - 1) / length);
            for (std::size_t u = 0; u < units_.size(); ++u) runs[part_of(u) / length].push_back(u);
            std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) {
                return std::pair(-exposed_in(a), a[0]) < std::pair(-exposed_in(b), b[0]);
            });
            for (const std::vector<std::size_t>& run : runs)
                for (std::size_t other = 0; other < std::min<std::size_t>(3, uniform.size()); ++other)
                    if (exposed_in(run) > 0 && improves(run, uniform[other].second)) break;
            if (length == 1) break;
        }
    }
    /// Tries each part alone in which no exchange runs per chunk: whole if any of it is in chunks, and otherwise in the
    /// usual number of chunks. `refine` makes all of these parts whole or none, but one may gain where another loses. A
    /// part gains little: a form that is slower than its rival by more than a two-hundredth would not become faster.
    void refine_parts() {
        const std::int64_t takes = here().takes.makespan.count;
        if (level_ < limits_.rival.size() && takes - takes / 200 >= limits_.rival[level_].makespan.count) return;
        const std::vector<std::size_t> in_part = exchanges_by_part();
        const std::size_t usual = usual_chunks();
        for (std::uint32_t p = 0; p < units_.parts; ++p) {
            if (in_part[p] != 0) continue;
            const std::vector<std::size_t> part = units_that([&](std::size_t u) { return part_of(u) == p; });
            const bool whole =
                std::all_of(part.begin(), part.end(), [&](std::size_t u) { return here().chunks->chunks[u] == 1; });
            improves(part, whole ? usual : 1);
        }
    }

    /// Returns the number of exchanges that run per chunk in each part, in the best choice.
    [[nodiscard]] std::vector<std::size_t> exchanges_by_part() const {
        std::vector<std::size_t> in_part(units_.parts, 0);
        for (std::size_t u = 0; u < units_.size(); ++u) in_part[part_of(u)] += here().exchanges[u];
        return in_part;
    }
    /// Returns the most frequent number of chunks beyond one in the best choice; the smallest of equally frequent ones.
    [[nodiscard]] std::size_t usual_chunks() const {
        std::vector<std::size_t> units_in(most_ + 1, 0);
        for (std::size_t k : here().chunks->chunks)
            if (k > 1) ++units_in[k];
        return static_cast<std::size_t>(std::max_element(units_in.begin(), units_in.end()) - units_in.begin());
    }
    [[nodiscard]] std::int64_t exposed_in(const std::vector<std::size_t>& units) const {
        return std::accumulate(units.begin(), units.end(), std::int64_t{0},
                               [&](std::int64_t sum, std::size_t u) { return sum + here().exposed[u]; });
    }
    [[nodiscard]] std::size_t part_of(std::size_t u) const { return units_.units[u].part; }

    const chunk_units& units_;
    std::int64_t rows_;
    search_limits limits_;
    Trial& trial_;
    std::size_t most_ = 1;
    std::vector<level_best> at_;  // by level
    std::size_t level_ = 0;
    std::map<choice, outcome> tried_;
    std::map<std::uint64_t, const outcome*> programs_;  // by program_of: the programs that have been tried
    nanoseconds best_;                                  // the makespan within the requested limit
    choice chosen_;                                     // that of best_; without chunks if it is the uncut step
    trial_order order_;                                 // that of its tasks
    std::vector<limit_figures> figures_;
    std::set<std::vector<std::size_t>> refined_;
    std::size_t budget_ = SIZE_MAX;  // the tasks that the present refinement may still make
    std::size_t trials_ = 0;
    bool any_cut_ = false, any_fit_ = false;
};

}  // namespace stretto::detail

#endif
