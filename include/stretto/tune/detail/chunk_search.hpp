// The search behind search_chunks, over whatever can try regions. The space of choices is (most chunks)^units, and one
// trial costs a plan, a task graph and a schedule; so a few uniform choices are tried first, and what is then refined
// is where their best schedule still waits. A choice whose lower bound is no better than the best schedule so far is
// not scheduled at all. docs/algorithms/search-chunks.md has the whole argument.
#ifndef STRETTO_TUNE_DETAIL_CHUNK_SEARCH_HPP
#define STRETTO_TUNE_DETAIL_CHUNK_SEARCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/module_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/tune/chunk_trial.hpp"
#include "stretto/tune/chunk_units.hpp"

namespace stretto::detail {

/// What a search may do, and what it must be better than.
struct search_limits {
    memory_budget memory;     ///< of every schedule
    nanoseconds whole;        ///< the makespan of the step whole
    std::size_t most;         ///< chunks of a unit
    std::size_t task_budget;  ///< tasks made in refinement
    bool slices;              ///< whether every trial writes slice by slice
    contention under = {};    ///< the clock by which trials are judged
};

/// A search. `Trial` is called with regions in numbers and whether slices are written, and gives the tasks, or nothing
/// if there is no such plan. The same arguments must give the same tasks. The search makes no random choice and looks
/// at no clock: its result depends on its arguments alone.
template <class Trial>
class chunk_search {
public:
    using choice = std::vector<std::size_t>;  // chunks of every unit
    using region = chunk_region<std::uint32_t>;

    chunk_search(const chunk_units& units, std::int64_t rows, const search_limits& limits, Trial& trial)
        : units_(units), rows_(rows), limits_(limits), trial_(trial), best_(limits.whole) {
        most_ = std::min(limits.most, static_cast<std::size_t>(std::max<std::int64_t>(rows, 1)));
    }

    /// Afterwards chosen() is what is fastest, of what has been tried.
    void run() {
        std::vector<std::pair<nanoseconds, std::size_t>> uniform;
        for (std::size_t k = 2; k <= most_; ++k) {
            const outcome o = try_until_it_fits(choice(units_.size(), k));
            if (o.scheduled) uniform.push_back({o.makespan, k});
            if (o.hopeless) break;  // more chunks only add work
        }
        if (chosen_.empty()) uniform = try_around_exchanges();
        if (chosen_.empty()) return;
        std::sort(uniform.begin(), uniform.end());
        budget_ = limits_.task_budget;
        refine(uniform);
    }

    /// Empty if nothing is faster than the step whole.
    [[nodiscard]] const choice& chosen() const noexcept { return chosen_; }
    /// The makespan of what is chosen, or of the step whole.
    [[nodiscard]] nanoseconds best() const noexcept { return best_; }
    /// The number of choices whose tasks were made.
    [[nodiscard]] std::size_t trials() const noexcept { return trials_; }
    /// Whether something ran per chunk in any trial.
    [[nodiscard]] bool any_cut() const noexcept { return any_cut_; }
    /// Whether there was a trial that memory did not keep from being the best.
    [[nodiscard]] bool any_fit() const noexcept { return any_fit_; }

    /// One region for every number of chunks beyond one, in program order of their first operations.
    [[nodiscard]] std::vector<region> regions_of(const choice& chunks) const {
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

    struct outcome {
        bool scheduled = false;
        bool hopeless = false;              ///< no order of it is better than the best so far
        std::uint32_t too_large_in = none;  ///< the unit, if it is in chunks, in which the memory limit is exceeded
        nanoseconds makespan;
    };

    /// Makes the tasks of a choice and, unless that is hopeless, schedules them. Remembers it if it is the best so far.
    outcome try_out(const choice& chunks) {
        outcome o;
        const std::vector<region> regions = regions_of(chunks);
        if (regions.empty()) return o;
        const std::optional<chunked_tasks> made = trial_(std::span<const region>(regions), limits_.slices);
        if (!made) return o;
        ++trials_;
        any_cut_ = any_cut_ || made->graph.size() > units_.unit_of.size();
        budget_ -= std::min(budget_, made->graph.size());
        o.hopeless = bound_below(made->graph, unlimited_bytes, limits_.under).value >= best_;
        any_fit_ = any_fit_ || o.hopeless;
        if (o.hopeless) return o;
        schedule_options options;
        options.memory_limit = limits_.memory;
        options.under = limits_.under;
        const auto scheduled = list_schedule(made->graph, options);
        if (!scheduled) {
            const std::uint32_t u = units_.unit_of[made->original[scheduled.error().at]];
            if (u != none && chunks[u] > 1) o.too_large_in = u;
            return o;
        }
        any_fit_ = true;
        o.scheduled = true;
        o.makespan = scheduled->makespan();
        if (o.makespan < best_) {
            best_ = o.makespan;
            chosen_ = chunks;
            note_exposure(*made, scheduled->exposures());
        }
        return o;
    }

    /// Tries a choice and, as long as it needs too much memory, the same with the part whole in which it does: three
    /// times more at most.
    outcome try_until_it_fits(choice chunks) {
        outcome o = try_out(chunks);
        for (int retries = 0; retries < 3 && o.too_large_in != none; ++retries) {
            for (std::size_t u = 0; u < units_.size(); ++u)
                if (part_of(u) == part_of(o.too_large_in)) chunks[u] = 1;
            o = try_out(chunks);
        }
        return o;
    }

    /// Tries modules around exchanges alone: if everything in chunks costs more than it hides, less of it may not.
    /// Returns numbers of chunks with the makespan of the best choice that has so many.
    std::vector<std::pair<nanoseconds, std::size_t>> try_around_exchanges() {
        std::vector<std::pair<nanoseconds, std::size_t>> times;
        std::size_t deepest = 0;
        for (const chunk_unit& u : units_.units) deepest = std::max(deepest, u.depth);
        for (std::size_t k = 2; k <= most_; ++k) {
            std::optional<nanoseconds> makespan;
            for (std::size_t depth = 1; depth <= deepest; ++depth) {
                choice chunks;
                for (const chunk_unit& u : units_.units) chunks.push_back(u.depth >= depth ? k : 1);
                const outcome o = try_until_it_fits(std::move(chunks));
                if (o.scheduled) makespan = std::min(o.makespan, makespan.value_or(o.makespan));
            }
            if (!makespan) break;
            times.push_back({*makespan, k});
        }
        return times;
    }

    /// Notes by unit for how long the best schedule so far waits, and how many exchanges run per chunk.
    void note_exposure(const chunked_tasks& made, const std::vector<collective_exposure>& exposures) {
        exposed_.assign(units_.size(), 0);
        exchanges_.assign(units_.size(), 0);
        std::vector<char> met(units_.unit_of.size(), false);
        for (const collective_exposure& e : exposures) {
            const std::uint32_t v = made.original[e.start], u = units_.unit_of[v];
            if (u == none) continue;
            exposed_[u] += e.exposed.count;
            if (met[v]) ++exchanges_[u];  // a second clone
            met[v] = true;
        }
    }

    /// Tries the best choice with another number of chunks for some units, and returns whether that is better. Nothing
    /// is tried twice, or once the budget is spent.
    bool improves(const std::vector<std::size_t>& units, std::size_t chunks) {
        if (budget_ == 0) return false;
        choice c = chosen_;
        for (std::size_t u : units) c[u] = chunks;
        if (c == chosen_ || !tried_.insert(c).second) return false;
        const nanoseconds before = best_;
        try_out(c);
        return best_ < before;
    }

    template <class Is>
    [[nodiscard]] std::vector<std::size_t> units_that(Is is) const {
        std::vector<std::size_t> found;
        for (std::size_t u = 0; u < units_.size(); ++u)
            if (is(u)) found.push_back(u);
        return found;
    }

    /// Makes the best choice better: what hides nothing becomes whole, and runs of parts get other numbers of chunks,
    /// the best ones of the uniform choices. Each step starts from the best so far.
    void refine(const std::vector<std::pair<nanoseconds, std::size_t>>& uniform) {
        std::vector<std::size_t> in_part(units_.parts, 0);
        for (std::size_t u = 0; u < units_.size(); ++u) in_part[part_of(u)] += exchanges_[u];
        improves(units_that([&](std::size_t u) { return in_part[part_of(u)] == 0; }), 1);
        improves(units_that([&](std::size_t u) { return exchanges_[u] == 0; }), 1);
        for (pass_direction way : {pass_direction::forward, pass_direction::backward})
            improves(units_that([&](std::size_t u) { return units_.units[u].direction == way; }), 1);

        // Other numbers of chunks for runs of parts, long ones first.
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
    [[nodiscard]] std::int64_t exposed_in(const std::vector<std::size_t>& units) const {
        return std::accumulate(units.begin(), units.end(), std::int64_t{0},
                               [&](std::int64_t sum, std::size_t u) { return sum + exposed_[u]; });
    }
    [[nodiscard]] std::size_t part_of(std::size_t u) const { return units_.units[u].part; }

    const chunk_units& units_;
    std::int64_t rows_;
    search_limits limits_;
    Trial& trial_;
    std::size_t most_ = 1;
    nanoseconds best_;
    choice chosen_;                      // empty: whole
    std::vector<std::int64_t> exposed_;  // of the best schedule, by unit
    std::vector<std::size_t> exchanges_;
    std::set<choice> tried_;  // of refinement
    std::size_t budget_ = SIZE_MAX;
    std::size_t trials_ = 0;
    bool any_cut_ = false, any_fit_ = false;
};

}  // namespace stretto::detail

#endif
