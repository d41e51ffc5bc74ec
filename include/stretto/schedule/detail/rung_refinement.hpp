// What follows the rounds of a search within a limit: stalls are filled, reductions that stall are moved, and local
// search improves the best order.
#ifndef STRETTO_SCHEDULE_DETAIL_RUNG_REFINEMENT_HPP
#define STRETTO_SCHEDULE_DETAIL_RUNG_REFINEMENT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/early_work.hpp"
#include "stretto/schedule/detail/lane_clock.hpp"
#include "stretto/schedule/detail/late_reductions.hpp"
#include "stretto/schedule/detail/local_search.hpp"
#include "stretto/schedule/detail/order_passes.hpp"
#include "stretto/schedule/detail/stalled_kernels.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Fills stalls of the best order within the limit with work that comes later, half as much as it stalls, because other
/// work may fill them too. The order with that work is the witness of a round, so that nothing else takes its room, and
/// the preference. If that helps, there may be more to fill; if not, another stall is tried. It makes two tries.
template <class = void>
inline void fill_stalls(order_passes<>& passes, std::int64_t within, std::int64_t enough) {
    constexpr int most_tries = 2;
    const compact_tasks& c = passes.tasks();
    workspace& w = passes.room();
    node_order late;
    std::vector<stalled_kernel> stalled;
    std::size_t place = 0;
    for (int tries = 0; tries < most_tries && passes.fastest_within(within) > enough; ++tries) {
        const std::int64_t before = passes.fastest_within(within);
        if (place == 0) {
            const node_order best = passes.best_within(within);
            late = passes.late_within(within, best, best);
            stalled = stalled_kernels(c, best, late, w);
        }
        if (place == stalled.size() || stalled[place].fillable < before / 512) return;
        const stalled_kernel& at = stalled[place];
        const node_order filled = with_early_work(c, late, at.kernel, within, at.stall / 2, w);
        if (!filled.empty()) {
            const workspace::scope scratch(w);
            const node_order found = passes.pass_within(within, filled, passes.orders_of(filled));
            passes.both_ways(within, found, found);
        }
        place = passes.fastest_within(within) < before ? 0 : place + 1;
    }
}

/// Moves reductions that stall the best order within the limit to later places. The witness shows where they fit, and
/// so does a pass from the end, because both keep little in memory. The order with these reductions there is the
/// witness of a pass, and the preference; a round follows if that comes close to the best order. Returns whether the
/// step has become faster.
template <class = void>
inline bool move_reductions(order_passes<>& passes, std::int64_t within, std::span<const std::uint32_t> witness) {
    const compact_tasks& c = passes.tasks();
    workspace& w = passes.room();
    const node_order best = passes.best_within(within);
    const std::vector<std::uint32_t> waits = reductions_to_move(c, best, w);
    if (waits.empty()) return false;
    const std::int64_t before = passes.fastest_within(within);
    const node_order late = passes.late_within(within, best, best);
    const std::span<const std::uint32_t> bases[] = {witness, late};
    for (const std::span<const std::uint32_t> base : bases) {
        const workspace::scope scratch(w);
        const node_order moved = late_reductions(c, base, w).moved(waits, within);
        if (moved.empty()) continue;
        const node_order found = passes.pass_within(within, moved, passes.orders_of(moved));
        const std::int64_t fastest = passes.fastest_within(within);
        if (passes.last_makespan() <= fastest + fastest / 32) passes.both_ways(within, found, found);
    }
    return passes.fastest_within(within) < before;
}

/// Fills stalls and moves reductions, until an order takes no longer than `enough`. Rounds within larger limits do not
/// begin with what this finds.
template <class = void>
inline void fill_and_move(order_passes<>& passes, std::int64_t within, std::int64_t enough,
                          std::span<const std::uint32_t> witness) {
    passes.belong_to(found_by::filling);
    fill_stalls(passes, within, enough);
    if (passes.fastest_within(within) > enough && move_reductions(passes, within, witness))
        fill_stalls(passes, within, enough);
    passes.belong_to(found_by::rounds);
}

/// Runs rounds of local search, of `tries` moves each: as long as a round gains more than a 2048th, eight of them at
/// most. Steps differ in how much moves gain, and one that has gained little will gain little more. In large steps
/// moves take longer, so there a round must gain a 1024th, and a 512th under contention, where nearly every round
/// gains.
template <class Clock>
inline void run_rounds(local_search<Clock>& search, std::uint32_t nodes, std::int64_t enough, int tries) {
    constexpr int most_rounds = 8;
    const std::int64_t enough_gain = search.makespan() / (nodes <= 4000 && !Clock::slows_kernels ? 2048 : 1024);
    for (int k = 0; k < most_rounds; ++k) {
        const std::int64_t before = search.makespan();
        search.run(enough, tries);
        if (before - search.makespan() <= enough_gain) return;
    }
}

/// Improves an order by rounds of local search, unless it takes no longer than `enough`: the best one within the limit
/// that was found `by` this way or a way before it. Moves are judged by the clock of the passes' judge, if there is
/// one. The result becomes a candidate.
template <class = void>
inline void search_locally(order_passes<>& passes, std::int64_t within, found_by by, std::int64_t enough, int tries) {
    const compact_tasks& c = passes.tasks();
    order_candidates<>& candidates = passes.candidates();
    const pass_result& best = candidates.fastest(within, by);
    if (best.makespan <= enough) return;
    const workspace::scope scratch(passes.room());
    const node_order start = best.nodes.empty() ? passes.given_order() : best.nodes;
    const auto improve_by = [&](auto clock) {
        local_search search(c, clock, start, within, passes.room());
        run_rounds(search, c.size(), enough, tries);
        if (search.nodes() == start) return;
        pass_result found{search.nodes(), candidates.measured(search.nodes()), search.starved()};
        const std::int64_t peak = peak_of(c, found.nodes, passes.room());
        candidates.add(std::move(found), peak, found_by::moves);
    };
    if (const order_judge* const judge = candidates.judge()) improve_by(contended_clock(judge->duration, judge->under));
    else improve_by(plain_clock(c));
}

}  // namespace stretto::detail

#endif
