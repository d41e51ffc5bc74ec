// The passes of which a search for orders consists. Every pass within memory has a witness, an order that shows that
// the rest of the step still fits, and a preference, which decides what goes first among what may run.
#ifndef STRETTO_SCHEDULE_DETAIL_ORDER_PASSES_HPP
#define STRETTO_SCHEDULE_DETAIL_ORDER_PASSES_HPP

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/late_pass.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/machine_orders.hpp"
#include "stretto/schedule/detail/order_candidates.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The nodes of a step in the order in which they are issued.
using node_order = std::vector<std::uint32_t>;

/// Runs passes over the nodes of one step. Orders of passes from the beginning become candidates.
template <class = void>
class order_passes {
public:
    /// `makespan` and `peak` are those of the nodes in their given order. If there is a judge, all makespans are by its
    /// clock, and it must outlive the object.
    order_passes(const compact_tasks& c, std::int64_t makespan, std::int64_t peak, workspace& w,
                 const order_judge* judge)
        : c_(c), w_(w), candidates_(c, makespan, peak, w, judge) {}

    [[nodiscard]] const compact_tasks& tasks() const noexcept { return c_; }
    [[nodiscard]] workspace& room() noexcept { return w_; }
    [[nodiscard]] order_candidates<>& candidates() noexcept { return candidates_; }
    [[nodiscard]] const order_candidates<>& candidates() const noexcept { return candidates_; }

    /// Says what the passes from now on are part of.
    void belong_to(found_by way) { way_ = way; }
    /// Returns the makespan of the fastest order within a limit, of those that count for the current way of searching.
    [[nodiscard]] std::int64_t fastest_within(std::int64_t limit) const {
        return candidates_.fastest(limit, way_).makespan;
    }
    /// Returns that order.
    [[nodiscard]] node_order best_within(std::int64_t limit) const {
        const node_order& nodes = candidates_.fastest(limit, way_).nodes;
        return nodes.empty() ? given_order() : nodes;
    }
    /// Returns the nodes in their given order.
    [[nodiscard]] node_order given_order() const {
        node_order given(c_.size());
        for (std::uint32_t n = 0; n < c_.size(); ++n) given[n] = n;
        return given;
    }

    /// Has rounds move launches forward from now on, or not.
    void draw_launches_forward(bool draw) { draw_ = draw; }
    /// Forgets that memory has refused a node; `refused` returns whether it has done so since.
    void forget_refusals() { refused_ = false; }
    [[nodiscard]] bool refused() const noexcept { return refused_; }
    /// Returns the makespan of the last pass within memory.
    [[nodiscard]] std::int64_t last_makespan() const noexcept { return last_makespan_; }

    /// Runs a pass from the end within memory, with `witness` as its baseline. Among ready nodes, it places the one
    /// first that comes last in `start`. It keeps in memory only what is needed soon. Returns its order, which is not a
    /// candidate.
    [[nodiscard]] node_order late_within(std::int64_t within, std::span<const std::uint32_t> witness,
                                         std::span<const std::uint32_t> start) {
        const workspace::scope scratch(w_);
        const baseline feasible = make_baseline(c_, witness, w_);
        late_witness memory(c_, feasible, within, w_);
        node_order late = late_pass(c_, machine_orders_of(c_, start, w_, true), memory, w_).run();
        refused_ |= memory.refused();
        return late;
    }

    /// Runs a round: a pass from the end, and then one from the beginning with the order of the first as witness and
    /// preference. It uses the room that the first one leaves, to hide what would be exposed. Returns its order.
    node_order both_ways(std::int64_t within, std::span<const std::uint32_t> witness,
                         std::span<const std::uint32_t> start) {
        const workspace::scope scratch(w_);
        const node_order late = late_within(within, witness, start);
        const machine_orders preference = orders_of(late);
        return pass_within(within, late, draw_ ? launches_drawn_forward(c_, preference, w_) : preference);
    }
    /// Runs a round from the best order within a limit.
    void round_from_best(std::int64_t within) {
        const node_order best = best_within(within);
        both_ways(within, best, best);
    }

    /// Runs one pass within memory, whose order becomes a candidate, and returns the order.
    node_order pass_within(std::int64_t within, std::span<const std::uint32_t> witness,
                           const machine_orders& preference) {
        const workspace::scope scratch(w_);
        const baseline feasible = make_baseline(c_, witness, w_);
        baseline_witness memory(c_, feasible, within, w_);
        pass_result found = forward_pass(c_, preference, &memory, w_).run();
        refused_ |= memory.refused();
        found.makespan = candidates_.measured(found.nodes);  // memory may hold back a wait, which the pass counts late
        last_makespan_ = found.makespan;
        node_order nodes = found.nodes;
        candidates_.add(std::move(found), memory.peak(), way_);
        return nodes;
    }

    /// What a pass without regard to memory has found.
    struct free_order {
        node_order nodes;
        std::int64_t makespan, peak;
    };
    /// Runs one pass without regard to memory, whose order becomes a candidate.
    [[nodiscard]] free_order free_pass(const machine_orders& preference) {
        const workspace::scope scratch(w_);
        pass_result found = forward_pass(c_, preference, nullptr, w_).run();
        if (candidates_.judge()) found.makespan = candidates_.measured(found.nodes);
        free_order kept{found.nodes, found.makespan, peak_of(c_, found.nodes, w_)};
        candidates_.add(std::move(found), kept.peak, way_);
        return kept;
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

private:
    const compact_tasks& c_;
    workspace& w_;
    order_candidates<> candidates_;
    found_by way_ = found_by::rounds;
    std::int64_t last_makespan_ = 0;
    bool draw_ = false;
    bool refused_ = false;
};

}  // namespace stretto::detail

#endif
