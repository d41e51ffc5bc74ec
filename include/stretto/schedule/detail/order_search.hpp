// The search for orders makes free passes, which ignore memory, and then searches within each limit of a ladder. It
// returns the orders that no other order found beats in both makespan and peak.
//
// Longer than 300 lines: what is searched, in which order, and where the search ends is one argument.
#ifndef STRETTO_SCHEDULE_DETAIL_ORDER_SEARCH_HPP
#define STRETTO_SCHEDULE_DETAIL_ORDER_SEARCH_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/lean_order.hpp"
#include "stretto/schedule/detail/machine_orders.hpp"
#include "stretto/schedule/detail/order_passes.hpp"
#include "stretto/schedule/detail/rung_refinement.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/detail/workspace.hpp"
#include "stretto/schedule/memory.hpp"

namespace stretto::detail {

/// The bytes of scratch memory that bounds and search need per task, in steps half of whose tasks are views.
inline constexpr std::size_t room_of_search = 48;

/// Steps with more nodes than this are searched briefly.
inline constexpr std::uint32_t most_nodes_of_search = 200'000;

/// The largest number of tracks, which are orders that the ladder improves from rung to rung. One track begins with the
/// given order, and the others with the orders of free passes.
inline constexpr unsigned most_tracks = 6;

/// The rungs of the ladder, as multiples of a unit: the peak of the given order, or, for a variant of a step, that of
/// the input order of the original step. Those below 1 are for limits below the unit. They do not depend on the limit,
/// nor does the only rung between two of them: the least known peak of a step, if it lies there.
inline constexpr double ladder_rungs[] = {0.5,  0.6, 0.7,  0.8, 0.9, 0.95, 0.98, 1.0, 1.02,
                                          1.05, 1.1, 1.25, 1.5, 2.0, 3.0,  5.0,  8.0};

/// The search. By construction, a larger limit never gives a longer makespan: what is searched for a limit is searched
/// in the same way for every larger one, before anything else that depends on memory. To that end
/// - the free passes are the same for all limits; each of their orders counts from its own peak on;
/// - the ladder is climbed from its lowest rung up to the limit, and where it ends before that is decided by what has
///   been found so far within the rung, never by the limit.
/// Limits below the unit have a ladder of their own, with the peak of the given order as its unit; the same holds among
/// them, but not between the two ladders.
template <class = void>
class order_search {
public:
    /// `makespan` and `peak` are those of the nodes in their given order. Arrays are taken from the open scope of `w`.
    /// If there is a judge, all makespans are by its clock, and it must outlive the search.
    order_search(const compact_tasks& c, nanoseconds makespan, bytes peak, bytes unit, workspace& w,
                 const order_judge* judge = nullptr)
        : c_(c),
          peak_(peak.count),
          unit_(unit.count),
          w_(w),
          passes_(c, makespan.count, peak.count, w, judge),
          given_(passes_.given_order()),
          fastest_free_(makespan.count),
          peak_of_fastest_(peak.count) {}

    /// Returns the orders found whose peaks are within `limit`, or only the one with the smallest peak if there are
    /// none. They are sorted by ascending peak, and so by descending makespan. An order that takes no longer than
    /// `enough` is good enough to end the search. `effort` is the number of tracks; moves are tried in proportion to
    /// it. Steps with more than `many_nodes` nodes are searched briefly. `watch` may be null; its last limit is
    /// `limit`. An object may run only once.
    [[nodiscard]] std::vector<found_order> run(bytes limit, std::int64_t enough, unsigned effort = 1,
                                               std::uint32_t many_nodes = most_nodes_of_search,
                                               search_watch* watch = nullptr) {
        watch_ = watch;
        effort_ = effort;
        if (c_.size() > many_nodes) {
            find_witness(limit.count);
            search_briefly(limit.count, enough);
        } else {
            search_freely(enough);
            if (ended_) return std::move(candidates()).all_within(INT64_MAX);
            find_witness(limit.count);
            // Without a judge, an order within memory need not be better than those that ignore memory.
            const std::int64_t almost = candidates().judge() ? 0 : fastest_free_ + fastest_free_ / 1000;
            enough_ = enough;
            if (widest_ > std::min(leanest_, lowest_)) climb(limit.count, std::max(enough, almost));
            if (!ended_) refine_freely(limit.count);
        }
        if (watch_) tell_up_to(watch_->limits().size());
        return std::move(candidates()).all_within(limit.count);
    }

private:
    /// Returns how many moves a round of local search tries within a rung that has none below it, or on one whose best
    /// order may have been improved within smaller limits. Where moves may make the step slower at first, there are
    /// twice as many, to make up for that.
    [[nodiscard]] int tries_at_first() const {
        const std::uint32_t tries = 4 * std::min(1000u, c_.size()) * std::max(1u, std::min(effort_, most_tracks));
        return static_cast<int>(c_.size() <= tries ? 2 * tries : tries);
    }
    [[nodiscard]] int tries_later() const { return tries_at_first() * 3 / 8; }

    /// Runs at most five passes without regard to memory. Each has another preference, which decides only which ready
    /// kernel and which ready collective goes first: program order; the order of a backward pass ("as late as
    /// possible"), which shows what is urgent; and a backward order made from that result, with launches moved forward,
    /// which helps steps in chunks. If the last gains nothing, the backward order is used for the channels, with
    /// program order for the lane or with a blend of both, which helps most steps.
    void search_freely(std::int64_t enough) {
        const machine_orders in_program_order = passes_.orders_of(given_);
        free_pass(in_program_order);
        if (fastest_free_ <= enough) return;
        free_pass(passes_.urgency_after(free_.back()));
        if (fastest_free_ <= enough || !goes_on_freely()) return;
        // The second round starts from the result of the first one: which nodes are urgent now?
        const machine_orders urgency = passes_.urgency_after(free_.back());
        const std::int64_t without = fastest_free_;
        free_pass(launches_drawn_forward(c_, urgency, w_));
        if (fastest_free_ <= enough) return;
        // Program order would undo this gain, by the clock of the passes.
        if (fastest_free_ < without && !candidates().judge()) return;
        for (double toward_urgency : {0.0, 0.75}) {
            free_pass(blend(in_program_order, urgency, toward_urgency, w_));
            if (fastest_free_ <= enough) return;
        }
    }

    /// Decides which rung is the lowest, and finds an order within it, the witness. If that is not the given order, it
    /// becomes a candidate. If its peak is above the unit, or the limit below it, that peak is a rung of its own.
    void find_witness(std::int64_t limit) {
        witness_.assign(given_.begin(), given_.end());
        const bool below = limit < unit_;
        if (below) unit_ = peak_;
        lowest_ = unit_;
        if (!below && peak_ <= unit_) return;
        const workspace::scope scratch(w_);
        lean_order lean(c_, given_, w_);
        witness_ = lean.run(below ? 0 : unit_);
        candidates().add({witness_, candidates().measured(witness_), {}}, lean.peak(), found_by::rounds);
        if (below || lean.peak() > unit_) leanest_ = lean.peak();
        lowest_ = INT64_MAX;
        for (const double rung : ladder_rungs)
            if ((below || rung >= 1) && rung_at(rung) >= lean.peak()) lowest_ = std::min(lowest_, rung_at(rung));
    }

    /// Searches a step of many nodes with a few passes. A pass that ignores memory shows what is urgent. Within the
    /// memory of the given order, that order shows it better, since a pass without a limit has little to do with what
    /// memory allows.
    void search_briefly(std::int64_t limit, std::int64_t enough) {
        const std::int64_t given = candidates().all().back().pass.makespan;
        const std::int64_t free_above = std::min(peak_, lowest_);  // free passes serve larger limits
        for (const std::int64_t within : {std::min(leanest_, lowest_), lowest_}) {
            if (within > limit) break;
            tell_below(within);
            passes_.pass_within(within, witness_, passes_.urgency_after(given_));
            if (passes_.fastest_within(within) == given)
                passes_.pass_within(within, witness_, passes_.orders_of(given_));
            // Where free passes serve limits below this rung, those above it need them, too.
            if (within <= free_above && passes_.fastest_within(within) <= enough) return;
            if (leanest_ >= lowest_) break;
        }
        if (limit <= free_above) return;
        tell_below(free_above + 1);
        free_pass(passes_.orders_of(given_));
        if (fastest_free_ > enough) free_pass(passes_.urgency_after(free_.back()));
    }

    /// Runs both_ways on each rung and each track, which continues with the order that it found on the rung below. The
    /// ladder ends where memory no longer binds, and where an order is as good as those that ignore memory.
    void climb(std::int64_t limit, std::int64_t enough) {
        std::vector<node_order> tracks{given_};
        while (tracks.size() < effort_ && tracks.size() <= free_.size())
            tracks.push_back(free_[free_.size() - tracks.size()]);
        if (leanest_ < lowest_) {
            // Limits between this rung and the ladder would otherwise get the lean order, which is a poor schedule. The
            // ladder then starts again from the initial tracks.
            std::vector<node_order> of_lean = tracks;
            if (leanest_ > limit || !search_rung(leanest_, true, of_lean, enough)) return;
            passes_.draw_launches_forward(false);
        }
        for (const double rung : ladder_rungs) {
            const std::int64_t within = rung_at(rung);
            if (within < lowest_) continue;
            const bool lowest = within == lowest_;
            if (within > limit || (!lowest && within >= widest_)) return;
            if (!search_rung(within, lowest, tracks, enough)) return;
        }
    }

    /// Searches within a rung, and returns whether to continue with the next. An order that is `good` ends the ladder,
    /// but may still be improved by moves.
    [[nodiscard]] bool search_rung(std::int64_t within, bool lowest, std::vector<node_order>& tracks,
                                   std::int64_t good) {
        if (peak_of_fastest_ < within) refine_freely(within);
        if (passes_.fastest_within(within) <= good) return false;
        tell_below(within);
        if (!goes_on(within, search_stage::begins)) return false;
        passes_.forget_refusals();
        const bool is_good = lowest ? !search_lowest(within, good, tracks) : !search_higher(within, good, tracks);
        if (ended_ || !goes_on(within, search_stage::stalls)) return false;
        if (!is_good) fill_and_move(passes_, within, good, witness_);
        if (!goes_on(within, search_stage::moves)) return false;
        search_locally(passes_, within, found_by::moves, enough_, lowest ? tries_at_first() : tries_later());
        return !is_good && passes_.refused();  // if memory refused nothing, larger limits would change nothing
    }
    /// Searches a rung that is not the lowest one. Returns whether there may be more to find.
    [[nodiscard]] bool search_higher(std::int64_t within, std::int64_t good, std::vector<node_order>& tracks) {
        const std::int64_t before = passes_.fastest_within(within);
        for (node_order& track : tracks) {
            if (passes_.fastest_within(within) <= good) return false;
            track = passes_.both_ways(within, witness_, track);
        }
        // If a rung has made the step faster, there is often more to gain from that order.
        if (effort_ > 1 || passes_.fastest_within(within) < before) passes_.round_from_best(within);
        return passes_.fastest_within(within) > good;
    }

    /// Searches the lowest rung, whose orders are the starting points of the rungs above. Each round gains a thousandth
    /// or more for some steps, and nothing for others: which witness leaves room where it is needed, and what is
    /// urgent, is known only afterwards. Returns whether there may be more to find.
    [[nodiscard]] bool search_lowest(std::int64_t within, std::int64_t enough, std::vector<node_order>& tracks) {
        const auto good = [&] { return passes_.fastest_within(within) <= enough; };
        const node_order in_program_order = passes_.pass_within(within, witness_, passes_.orders_of(given_));
        if (good()) return false;
        passes_.both_ways(within, in_program_order, in_program_order);
        if (good() || !goes_on(within, search_stage::one_round)) return false;
        for (node_order& track : tracks) {
            track = passes_.both_ways(within, passes_.best_within(within), track);
            if (good()) return false;
        }
        passes_.both_ways(within, witness_, tracks.front());
        if (good() || !goes_on(within, search_stage::three_rounds)) return false;
        passes_.both_ways(within, witness_, in_program_order);
        if (good()) return false;
        {
            const workspace::scope scratch(w_);
            const node_order best = passes_.best_within(within);
            passes_.pass_within(within, best, launches_drawn_forward(c_, passes_.urgency_after(best), w_));
        }
        if (good()) return false;
        draw_or_not(within);
        return !good();
    }
    /// Asks the watch whether to continue within a rung. Once it says no, it is not called again.
    [[nodiscard]] bool goes_on(std::int64_t within, search_stage stage) {
        if (!watch_) return true;
        std::size_t levels = 0;
        while (levels < watch_->limits().size() && watch_->limits()[levels].count <= within) ++levels;
        if (levels == 0) return true;
        return asks_watch(
            {levels - 1, stage, {fastest_free_}, {candidates().fastest(within, found_by::moves).makespan}});
    }
    /// Asks the watch whether to continue without regard to memory.
    [[nodiscard]] bool goes_on_freely() {
        return !watch_ ||
               asks_watch({0, search_stage::two_orders, {fastest_free_}, {candidates().all().front().pass.makespan}});
    }
    [[nodiscard]] bool asks_watch(const trial_progress& now) {
        ended_ = !watch_->goes_on(now);
        if (ended_) watch_ = nullptr;
        return !ended_;
    }
    /// Reports to the watch what has been found within the limits below `end`, where nothing more will be searched.
    void tell_below(std::int64_t end) {
        std::size_t levels = told_;
        while (watch_ && levels < watch_->limits().size() && watch_->limits()[levels].count < end) ++levels;
        tell_up_to(levels);
    }
    void tell_up_to(std::size_t levels) {
        for (; watch_ && told_ < levels; ++told_) {
            const std::int64_t limit = watch_->limits()[told_].count;
            const std::vector<found_order>& all = candidates().all();
            const auto end =
                std::partition_point(all.begin(), all.end(), [&](const auto& o) { return o.peak <= limit; });
            watch_->reached(told_, end == all.begin() ? nullptr : &end[-1]);
        }
    }
    [[nodiscard]] std::int64_t rung_at(double times) const {
        return memory_budget::times_input_peak(times).limit({unit_}).count;
    }

    /// Runs a round from the best order, with and without launches moved forward. From then on launches are moved
    /// forward if that was faster, as it is in steps in chunks.
    void draw_or_not(std::int64_t within) {
        const workspace::scope scratch(w_);
        const node_order best = passes_.best_within(within);
        const node_order late = passes_.late_within(within, best, best);
        const machine_orders preference = passes_.orders_of(late);
        passes_.pass_within(within, late, preference);
        const std::int64_t plain = passes_.last_makespan();
        passes_.pass_within(within, late, launches_drawn_forward(c_, preference, w_));
        passes_.draw_launches_forward(passes_.last_makespan() < plain);
    }

    /// Runs a pass without regard to memory.
    void free_pass(const machine_orders& preference) {
        auto found = passes_.free_pass(preference);
        if (found.makespan < fastest_free_) {
            fastest_free_ = found.makespan;
            peak_of_fastest_ = found.peak;
        }
        widest_ = std::max(widest_, found.peak);
        free_.push_back(std::move(found.nodes));
    }
    /// Improves the fastest order of the free passes by moves, and the best one within its peak, if that is another
    /// one: moves may already have made it faster, but within less memory. The peak is like a rung: what is found there
    /// counts for all larger limits.
    void refine_freely(std::int64_t limit) {
        if (peak_of_fastest_ > limit || is_refined_freely_) return;
        is_refined_freely_ = true;
        tell_below(peak_of_fastest_);
        const auto fastest = [&](found_by by) { return candidates().fastest(peak_of_fastest_, by).makespan; };
        const bool moved = fastest(found_by::moves) < fastest(found_by::filling);
        search_locally(passes_, peak_of_fastest_, found_by::moves, enough_, tries_at_first());
        if (moved) search_locally(passes_, peak_of_fastest_, found_by::filling, enough_, tries_at_first());
    }

    [[nodiscard]] order_candidates<>& candidates() noexcept { return passes_.candidates(); }
    [[nodiscard]] const order_candidates<>& candidates() const noexcept { return passes_.candidates(); }

    const compact_tasks& c_;
    std::int64_t peak_;  // the peak of the given order
    std::int64_t unit_;  // the unit of the rungs
    workspace& w_;
    order_passes<> passes_;
    search_watch* watch_ = nullptr;  // also null once it has ended the search
    bool ended_ = false;
    std::size_t told_ = 0;  // the number of limits reported to the watch
    const node_order given_;
    node_order witness_;                // an order within the lowest rung
    std::int64_t lowest_ = 0;           // the lowest rung, in bytes
    std::int64_t leanest_ = INT64_MAX;  // the peak of the witness, if it is a rung of its own
    std::vector<node_order> free_;      // the orders of the free passes
    std::int64_t fastest_free_;         // the makespan of the fastest of these and the given order
    std::int64_t peak_of_fastest_;      // its peak
    std::int64_t widest_ = 0;           // the largest peak of a free pass
    unsigned effort_ = 1;
    std::int64_t enough_ = 0;  // a makespan that is good enough to end the search
    bool is_refined_freely_ = false;
};

}  // namespace stretto::detail

#endif
