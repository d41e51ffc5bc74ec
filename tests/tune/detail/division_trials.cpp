#include "stretto/tune/detail/division_trials.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "support/mergeable_traffic.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;

namespace {

using runs = support::mergeable_traffic::runs;

/// A step whose divisions can be scheduled.
struct traffic : support::mergeable_traffic {
    using mergeable_traffic::mergeable_traffic;

    schedule_options options(bytes limit) const {
        schedule_options o;
        o.memory_limit = memory_budget::of_variant(limit, peak);
        return o;
    }
    /// The makespan of a division within a limit; nothing if it has no buckets, or if nothing fits.
    std::optional<nanoseconds> makespan_of(const runs& r, bytes limit) {
        const auto plan = trials->plan(items, r, given);
        const bucketed_tasks* const made = plan.empty() ? nullptr : trials->tasks(plan);
        if (made == nullptr) return std::nullopt;
        const auto found = list_schedule(made->graph, options(limit));
        return found ? std::optional(found->makespan()) : std::nullopt;
    }
};

}  // namespace

TEST_CASE("a division that does not fit is tried with the bucket that is to blame in halves") {
    std::size_t halved = 0, fits = 0, best = 0;
    stretto_check("everything in one bucket", 6000, [&](const std::vector<std::uint8_t>& data) {
        traffic t(support::random_traffic(data, 60));
        if (t.items.size() < 3) return;
        detail::division_trials tried(t.items, t.options(t.peak), detail::limit_levels::of_buckets(t.peak, t.peak),
                                      *t.trials);
        tried.begin(t.given, t.whole());
        tried.go_to(0);
        RC_ASSERT(tried.here().makespan == list_schedule(t.whole(), t.options(t.peak))->makespan());
        const runs all(t.items.size(), 0);
        std::size_t budget = SIZE_MAX;
        const auto [is_best, takes] = tried.attempt(all, {}, false, budget);
        const std::optional<nanoseconds> alone = t.makespan_of(all, t.peak);
        if (is_best) {
            RC_ASSERT(takes == tried.here().makespan);
            RC_ASSERT(t.makespan_of(tried.here().runs, t.peak) == takes);
            halved += tried.here().runs != all;
            RC_ASSERT((alone == takes || tried.here().runs != all));
            best += alone == takes;
        }
        if (alone) RC_ASSERT((!is_best || tried.here().runs == all));
        fits += alone.has_value();
        // The same division is not tried again at this level.
        RC_ASSERT(!tried.attempt(all, {}, false, budget).takes);
    });
    if (!support::runs_all_cases()) return;
    CHECK(fits > 150);
    CHECK(best > 15);
    CHECK(halved > 8);
}

TEST_CASE("one trial serves all levels, and what a level remembers is what a search within it finds") {
    std::size_t above = 0, remembered = 0;
    stretto_check("random divisions, level by level", 3000, [&](const std::vector<std::uint8_t>& data) {
        traffic t(support::random_traffic(data, 60));
        if (t.items.size() < 2) return;
        const auto levels = detail::limit_levels::of_buckets(unlimited_bytes, t.peak);
        detail::division_trials tried(t.items, t.options(unlimited_bytes), levels, *t.trials);
        tried.begin(t.given, t.whole());
        std::uint32_t random = static_cast<std::uint32_t>(data.size());
        std::vector<runs> divisions;
        for (int k = 0; k < 3; ++k) divisions.push_back(t.random_runs(random));
        for (std::size_t level = 0; level < tried.levels(); ++level) {
            tried.go_to(level);
            std::size_t budget = SIZE_MAX;
            const auto before = tried.here().makespan;
            for (const runs& d : divisions) {
                const auto now = tried.attempt(d, {}, false, budget);
                if (now.is_best) RC_ASSERT((!before || *tried.here().makespan < *before));
                // What was scheduled at a lower level costs nothing here.
                remembered += level > 0 && now.takes && budget == SIZE_MAX;
            }
            if (!tried.here().makespan) continue;
            const auto again =
                tried.here().runs.empty()
                    ? std::optional(list_schedule(t.whole(), t.options(levels.limits[level]))->makespan())
                    : t.makespan_of(tried.here().runs, levels.limits[level]);
            RC_ASSERT(again == tried.here().makespan);
            above += level > 0 && !tried.here().runs.empty();
        }
        const auto front = std::move(tried).front();
        RC_ASSERT(!front.empty());
        RC_ASSERT(front.front().makespan == *tried.here().makespan);
    });
    if (!support::runs_all_cases()) return;
    CHECK(above > 300);
    CHECK(remembered > 1000);
}
