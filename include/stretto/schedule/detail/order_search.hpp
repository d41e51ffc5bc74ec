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

#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/early_work.hpp"
#include "stretto/schedule/detail/found_front.hpp"
#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/late_pass.hpp"
#include "stretto/schedule/detail/late_reductions.hpp"
#include "stretto/schedule/detail/lean_order.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/machine_orders.hpp"
#include "stretto/schedule/detail/search_watch.hpp"
#include "stretto/schedule/detail/stalled_kernels.hpp"
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
          judge_(judge),
          given_(w.take<std::uint32_t>(c.size())),
          rounds_(makespan.count, peak.count),
          found_(makespan.count, peak.count) {
        for (std::uint32_t n = 0; n < c.size(); ++n) given_[n] = n;
        fastest_free_ = makespan.count;
    }

    /// Returns the orders found whose peaks are within `limit`, or only the one with the smallest peak if there are
    /// none. They are sorted by ascending peak, and so by descending makespan. An order that takes no longer than
    /// `enough` is good enough to end the search. `effort` is the number of tracks. Steps with more than `many_nodes`
    /// nodes are searched briefly. `watch` may be null; its last limit is `limit`. An object may run only once.
    [[nodiscard]] std::vector<found_order> run(bytes limit, std::int64_t enough, unsigned effort = 1,
                                               std::uint32_t many_nodes = most_nodes_of_search,
                                               search_watch* watch = nullptr) {
        watch_ = watch;
        if (c_.size() > many_nodes) {
            find_witness(limit.count);
            search_briefly(limit.count, enough);
        } else {
            search_freely(enough);
            if (ended_) return std::move(found_).within(INT64_MAX);
            find_witness(limit.count);
            // Without a judge, an order within memory need not be better than those that ignore memory.
            const std::int64_t almost = judge_ ? 0 : fastest_free_ + fastest_free_ / 1000;
            if (widest_ > std::min(leanest_, lowest_)) climb(limit.count, std::max(enough, almost), effort);
        }
        if (watch_) tell_up_to(watch_->limits().size());
        return std::move(found_).within(limit.count);
    }

private:
    using order = std::vector<std::uint32_t>;

    /// Runs at most five passes without regard to memory. Each has another preference, which decides only which ready
    /// kernel and which ready collective goes first: program order; the order of a backward pass ("as late as
    /// possible"), which shows what is urgent; and a backward order made from that result, with launches moved forward,
    /// which helps steps in chunks. If the last gains nothing, the backward order is used for the channels, with
    /// program order for the lane or with a blend of both, which helps most steps.
    void search_freely(std::int64_t enough) {
        const machine_orders in_program_order = orders_of(given_);
        free_pass(in_program_order);
        if (fastest_free_ <= enough) return;
        free_pass(urgency_after(free_.back()));
        if (fastest_free_ <= enough || !goes_on_freely()) return;
        // The second round starts from the result of the first one: which nodes are urgent now?
        const machine_orders urgency = urgency_after(free_.back());
        const std::int64_t without = fastest_free_;
        free_pass(launches_drawn_forward(c_, urgency, w_));
        if (fastest_free_ <= enough) return;
        // Program order would undo this gain, by the clock of the passes.
        if (fastest_free_ < without && !judge_) return;
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
        consider({witness_, measured(witness_), {}}, lean.peak());
        if (below || lean.peak() > unit_) leanest_ = lean.peak();
        lowest_ = INT64_MAX;
        for (const double rung : ladder_rungs)
            if ((below || rung >= 1) && rung_at(rung) >= lean.peak()) lowest_ = std::min(lowest_, rung_at(rung));
    }

    /// Searches a step of many nodes with a few passes. A pass that ignores memory shows what is urgent. Within the
    /// memory of the given order, that order shows it better, since a pass without a limit has little to do with what
    /// memory allows.
    void search_briefly(std::int64_t limit, std::int64_t enough) {
        const std::int64_t given = found_.orders().back().pass.makespan;
        const std::int64_t free_above = std::min(peak_, lowest_);  // free passes serve larger limits
        for (const std::int64_t within : {std::min(leanest_, lowest_), lowest_}) {
            if (within > limit) break;
            tell_below(within);
            pass_within(within, witness_, urgency_after(given_));
            if (fastest_within(within) == given) pass_within(within, witness_, orders_of(given_));
            // Where free passes serve limits below this rung, those above it need them, too.
            if (within <= free_above && fastest_within(within) <= enough) return;
            if (leanest_ >= lowest_) break;
        }
        if (limit <= free_above) return;
        tell_below(free_above + 1);
        free_pass(orders_of(given_));
        if (fastest_free_ > enough) free_pass(urgency_after(free_.back()));
    }

    /// Runs both_ways on each rung and each track, which continues with the order that it found on the rung below. The
    /// ladder ends where memory no longer binds, and where an order is as good as those that ignore memory.
    void climb(std::int64_t limit, std::int64_t enough, unsigned effort) {
        std::vector<order> tracks{order(given_.begin(), given_.end())};
        while (tracks.size() < effort && tracks.size() <= free_.size())
            tracks.push_back(free_[free_.size() - tracks.size()]);
        if (leanest_ < lowest_) {
            // Limits between this rung and the ladder would otherwise get the lean order, which is a poor schedule. The
            // ladder then starts again from the initial tracks.
            std::vector<order> of_lean = tracks;
            if (leanest_ > limit || !search_rung(leanest_, true, of_lean, enough, effort)) return;
            draw_ = false;
        }
        for (const double rung : ladder_rungs) {
            const std::int64_t within = rung_at(rung);
            if (within < lowest_) continue;
            const bool lowest = within == lowest_;
            if (within > limit || (!lowest && within >= widest_)) return;
            if (!search_rung(within, lowest, tracks, enough, effort)) return;
        }
    }

    /// Searches within a rung, and returns whether to continue with the next.
    [[nodiscard]] bool search_rung(std::int64_t within, bool lowest, std::vector<order>& tracks, std::int64_t enough,
                                   unsigned effort) {
        if (fastest_within(within) <= enough) return false;
        tell_below(within);
        if (!goes_on(within, search_stage::begins)) return false;
        refused_ = false;
        if (lowest) {
            if (!search_lowest(within, enough, tracks)) return false;
        } else {
            const std::int64_t before = fastest_within(within);
            for (order& track : tracks) {
                if (fastest_within(within) <= enough) return false;
                track = both_ways(within, witness_, track);
            }
            // If a rung has made the step faster, there is often more to gain from that order.
            if (effort > 1 || fastest_within(within) < before) round_from_best(within);
        }
        if (fastest_within(within) > enough) {
            if (!goes_on(within, search_stage::stalls)) return false;
            filling_ = true;
            fill_stalls(within, enough, 8);
            if (fastest_within(within) > enough && move_reductions(within)) fill_stalls(within, enough, 2);
            filling_ = false;
        }
        return refused_;  // if memory refused nothing, larger limits would change nothing
    }

    /// Searches the lowest rung, whose orders are the starting points of the rungs above. Each round gains a thousandth
    /// or more for some steps, and nothing for others: which witness leaves room where it is needed, and what is
    /// urgent, is known only afterwards. Returns whether there may be more to find.
    [[nodiscard]] bool search_lowest(std::int64_t within, std::int64_t enough, std::vector<order>& tracks) {
        const auto good = [&] { return fastest_within(within) <= enough; };
        const order in_program_order = pass_within(within, witness_, orders_of(given_));
        if (good()) return false;
        {
            const workspace::scope scratch(w_);
            const order late = late_within(within, in_program_order, in_program_order);
            const machine_orders preference = orders_of(late);
            pass_within(within, in_program_order, preference);
            pass_within(within, late, preference);
        }
        if (good() || !goes_on(within, search_stage::one_round)) return false;
        for (order& track : tracks) {
            track = both_ways(within, best_within(within), track);
            if (good()) return false;
        }
        both_ways(within, witness_, tracks.front());
        if (good() || !goes_on(within, search_stage::three_rounds)) return false;
        both_ways(within, witness_, in_program_order);
        if (good()) return false;
        {
            const workspace::scope scratch(w_);
            const order best = best_within(within);
            pass_within(within, best, launches_drawn_forward(c_, urgency_after(best), w_));
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
        return asks_watch({levels - 1, stage, {fastest_free_}, {found_.fastest(within).makespan}});
    }
    /// Asks the watch whether to continue without regard to memory.
    [[nodiscard]] bool goes_on_freely() {
        return !watch_ ||
               asks_watch({0, search_stage::two_orders, {fastest_free_}, {found_.orders().front().pass.makespan}});
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
            const std::vector<found_order>& all = found_.orders();
            const auto end =
                std::partition_point(all.begin(), all.end(), [&](const auto& o) { return o.peak <= limit; });
            watch_->reached(told_, end == all.begin() ? nullptr : &end[-1]);
        }
    }
    [[nodiscard]] std::int64_t rung_at(double times) const {
        return memory_budget::times_input_peak(times).limit({unit_}).count;
    }

    /// Runs a pass from the end within memory, with `witness` as its baseline. Among ready nodes, it places the one
    /// first that comes last in `start`. It keeps in memory only what is needed soon. Returns its order, which is not a
    /// candidate.
    [[nodiscard]] order late_within(std::int64_t within, std::span<const std::uint32_t> witness,
                                    std::span<const std::uint32_t> start) {
        const workspace::scope scratch(w_);
        const baseline feasible = make_baseline(c_, witness, w_);
        late_witness memory(c_, feasible, within, w_);
        order late = late_pass(c_, machine_orders_of(c_, start, w_, true), memory, w_).run();
        refused_ |= memory.refused();
        return late;
    }

    /// Runs a pass from the end, and then one from the beginning with the order of the first as witness and preference:
    /// it uses the room that the first one leaves, to hide what would be exposed. Returns its order.
    order both_ways(std::int64_t within, std::span<const std::uint32_t> witness, std::span<const std::uint32_t> start) {
        const workspace::scope scratch(w_);
        const order late = late_within(within, witness, start);
        const machine_orders preference = orders_of(late);
        return pass_within(within, late, draw_ ? launches_drawn_forward(c_, preference, w_) : preference);
    }
    /// Runs both_ways from the best order within the rung.
    void round_from_best(std::int64_t within) {
        const order best = best_within(within);
        both_ways(within, best, best);
    }

    /// Runs a round from the best order, with and without launches moved forward, and one more from the former result.
    /// From then on launches are moved forward if that was faster, as it is in steps in chunks.
    void draw_or_not(std::int64_t within) {
        const workspace::scope scratch(w_);
        const order best = best_within(within);
        const order late = late_within(within, best, best);
        const machine_orders preference = orders_of(late);
        pass_within(within, late, preference);
        const std::int64_t plain = last_makespan_;
        const order drawn = pass_within(within, late, launches_drawn_forward(c_, preference, w_));
        draw_ = last_makespan_ < plain;
        both_ways(within, best_within(within), drawn);
    }

    /// Moves reductions that stall the best order within the rung to later places. The witness shows where they fit,
    /// and so does a pass from the end, because both keep little in memory. The order with these reductions there is
    /// the witness of a pass, and the preference; a round follows if that comes close to the best order. Returns
    /// whether the step has become faster.
    bool move_reductions(std::int64_t within) {
        const order best = best_within(within);
        const std::vector<std::uint32_t> waits = reductions_to_move(c_, best, w_);
        if (waits.empty()) return false;
        const std::int64_t before = fastest_within(within);
        const order late = late_within(within, best, best);
        const order* const bases[] = {&witness_, &late};
        for (const order* base : bases) {
            const workspace::scope scratch(w_);
            const order moved = late_reductions(c_, *base, w_).moved(waits, within);
            if (moved.empty()) continue;
            const order found = pass_within(within, moved, orders_of(moved));
            const std::int64_t fastest = fastest_within(within);
            if (last_makespan_ <= fastest + fastest / 32) both_ways(within, found, found);
        }
        return fastest_within(within) < before;
    }

    /// Fills stalls of the best order within the rung with work that comes later, half as much as it stalls, because
    /// other work may fill them too. The order with that work is the witness, so that nothing else takes its room, and
    /// the preference. If that helps, there may be more to fill; if not, another stall is tried. A try that gains much
    /// earns two more, up to `most_tries`.
    void fill_stalls(std::int64_t within, std::int64_t enough, int most_tries) {
        constexpr std::size_t most_places = 2;
        order late;
        std::vector<stalled_kernel> stalled;
        std::size_t place = 0;
        int allowed = 2;
        for (int tries = 0; tries < allowed && fastest_within(within) > enough; ++tries) {
            const std::int64_t before = fastest_within(within);
            if (place == 0) {
                const order best = best_within(within);
                late = late_within(within, best, best);
                stalled = stalled_kernels(c_, best, late, w_);
            }
            if (place == std::min(most_places, stalled.size()) || stalled[place].fillable < before / 512) return;
            const stalled_kernel& at = stalled[place];
            const order filled = with_early_work(c_, late, at.kernel, within, at.stall / 2, w_);
            if (!filled.empty()) {
                const workspace::scope scratch(w_);
                const order found = pass_within(within, filled, orders_of(filled));
                both_ways(within, found, found);
            }
            const std::int64_t gain = before - fastest_within(within);
            place = gain > 0 ? 0 : place + 1;
            if (gain > before / 256) allowed = std::min(most_tries, tries + 3);
        }
    }

    /// Runs one pass within memory, whose order becomes a candidate, and returns the order.
    order pass_within(std::int64_t within, std::span<const std::uint32_t> witness, const machine_orders& preference) {
        const workspace::scope scratch(w_);
        const baseline feasible = make_baseline(c_, witness, w_);
        baseline_witness memory(c_, feasible, within, w_);
        pass_result found = forward_pass(c_, preference, &memory, w_).run();
        refused_ |= memory.refused();
        found.makespan = measured(found.nodes);  // the pass may count a wait that memory held back as late
        last_makespan_ = found.makespan;
        order nodes = found.nodes;
        consider(std::move(found), memory.peak());
        return nodes;
    }

    /// Runs one pass without regard to memory, whose order becomes a candidate. The order is appended to `free_`.
    void free_pass(const machine_orders& preference) {
        const workspace::scope scratch(w_);
        pass_result found = forward_pass(c_, preference, nullptr, w_).run();
        if (judge_) found.makespan = measured(found.nodes);
        fastest_free_ = std::min(fastest_free_, found.makespan);
        free_.push_back(found.nodes);
        const std::int64_t peak = peak_of(c_, found.nodes, w_);
        widest_ = std::max(widest_, peak);
        consider(std::move(found), peak);
    }

    /// Adds an order to those found, unless one of them is as fast and needs no more memory. Its launches are held back
    /// first.
    void consider(pass_result found, std::int64_t peak) {
        const bool of_rounds = !filling_ && rounds_.has_place_for(found.makespan, peak);
        const bool of_all = found_.has_place_for(found.makespan, peak);
        if (!of_rounds && !of_all) return;
        found_order kept = hold_back({std::move(found), peak});
        if (of_rounds) rounds_.add(kept);
        if (of_all) found_.add(std::move(kept));
    }
    /// Returns the order with its launches held back as far as they stay hidden, or the order itself if that costs
    /// time. It can do so by the clock of the judge, because it changes which kernels a transfer slows down.
    [[nodiscard]] found_order hold_back(found_order o) const {
        const workspace::scope scratch(w_);
        const order_times before = times_of(c_, o.pass.nodes, w_);
        held_order held = held_within(c_, o.pass.nodes, before, o.peak, w_);
        const order_times after = times_of(c_, held.nodes, w_);
        const std::int64_t makespan = judge_ ? measured(held.nodes) : after.makespan;
        if (makespan > o.pass.makespan) return o;
        std::vector<std::uint32_t> starved = starved_when_held(c_, before, o.pass.starved, held.nodes, after);
        return {{std::move(held.nodes), makespan, std::move(starved)}, held.peak};
    }

    /// Returns the makespan by the clock of the search: that of the judge, if there is one.
    [[nodiscard]] std::int64_t measured(std::span<const std::uint32_t> nodes) const {
        return judge_ ? makespan_of(c_, nodes, *judge_, w_) : makespan_of(c_, nodes, w_);
    }
    /// Returns the fastest order within a limit: of the rounds, or of all while stalls are filled. So rounds lead to
    /// the same orders, and end where they would end, as if no stalls were filled, and no step gets slower by that.
    [[nodiscard]] const pass_result& fastest(std::int64_t limit) const {
        return (filling_ ? found_ : rounds_).fastest(limit);
    }
    [[nodiscard]] std::int64_t fastest_within(std::int64_t limit) const { return fastest(limit).makespan; }
    [[nodiscard]] order best_within(std::int64_t limit) const {
        const order& nodes = fastest(limit).nodes;
        return nodes.empty() ? order(given_.begin(), given_.end()) : nodes;
    }

    [[nodiscard]] machine_orders orders_of(std::span<const std::uint32_t> nodes) const {
        return machine_orders_of(c_, nodes, w_);
    }
    /// Returns the order of a backward pass that starts from `nodes`, as a preference: what must begin early comes
    /// first.
    [[nodiscard]] machine_orders urgency_after(std::span<const std::uint32_t> nodes) const {
        const pass_result late = backward_pass(c_, nodes, w_);
        return machine_orders_of(c_, late.nodes, w_, true);
    }

    const compact_tasks& c_;
    std::int64_t peak_;  // the peak of the given order
    std::int64_t unit_;  // the unit of the rungs
    workspace& w_;
    const order_judge* judge_;
    search_watch* watch_ = nullptr;  // also null once it has ended the search
    bool ended_ = false;
    std::size_t told_ = 0;  // the number of limits reported to the watch
    std::span<std::uint32_t> given_;
    order witness_;                     // an order within the lowest rung
    std::int64_t lowest_ = 0;           // the lowest rung, in bytes
    std::int64_t leanest_ = INT64_MAX;  // the peak of the witness, if it is a rung of its own
    found_front<> rounds_, found_;      // the orders of passes and rounds, and all orders
    bool filling_ = false;              // stalls are being filled
    std::vector<order> free_;           // the orders of the free passes
    std::int64_t fastest_free_;         // the makespan of the fastest of these and the given order
    std::int64_t widest_ = 0;           // the largest peak of a free pass
    std::int64_t last_makespan_ = 0;    // the makespan of the last pass within memory
    bool draw_ = false;                 // passes within memory move launches forward
    bool refused_ = false;              // memory has refused a node on this rung
};

}  // namespace stretto::detail

#endif
