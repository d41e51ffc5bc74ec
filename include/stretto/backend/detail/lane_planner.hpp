// Makes lane programs for plan_lanes. Tasks are issued one after the other in the given order, and a vector clock for
// each lane records what is known to be complete there, so an instruction gets a wait only for what its clock does not
// imply. A clock has a number for every lane: how many instructions of that lane are complete. Positions on lanes are
// therefore counted from 1.
#ifndef STRETTO_BACKEND_DETAIL_LANE_PLANNER_HPP
#define STRETTO_BACKEND_DETAIL_LANE_PLANNER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/backend/lane_program.hpp"
#include "stretto/backend/memory_access.hpp"

namespace stretto::detail {

/// The storages that were the last to occupy the bytes of an arena. A storage that has lost a part of its bytes still
/// owns the rest. A claim finds its ranges by binary search and moves the ranges after them. There are at most twice as
/// many ranges as claims, and usually about as many as storages that are live at a time.
template <class = void>
class byte_owners {
public:
    /// Gives the bytes [begin, end) to `storage`, and calls f(owner) for every previous owner of some of them.
    template <class F>
    void claim(std::int64_t begin, std::int64_t end, value_id storage, F f) {
        const auto first =
            std::partition_point(ranges_.begin(), ranges_.end(), [&](const range& r) { return r.end <= begin; });
        const auto last = std::partition_point(first, ranges_.end(), [&](const range& r) { return r.begin < end; });
        std::vector<range> instead;
        for (auto r = first; r != last; ++r) f(r->owner);
        if (first != last && first->begin < begin) instead.push_back({first->begin, begin, first->owner});
        instead.push_back({begin, end, storage});
        if (first != last && std::prev(last)->end > end)
            instead.push_back({end, std::prev(last)->end, std::prev(last)->owner});
        const auto at = ranges_.erase(first, last);
        ranges_.insert(at, instead.begin(), instead.end());
    }

private:
    struct range {
        std::int64_t begin, end;
        value_id owner;
    };
    std::vector<range> ranges_;  // disjoint, ascending
};

/// Issues the tasks of an order one after the other, and thereby makes the program.
template <class = void>
class lane_planner {
public:
    /// Gives every group on which the graph has a start a lane of its own. The graph must outlive the planner.
    lane_planner(const task_graph& g, arena_plan arena) : g_(g) {
        made_.arena = std::move(arena);
        std::vector<char> used(g.groups, false);
        for (task_id t = 0; t < g.size(); ++t)
            if (g.kind[t] == op_kind::start) used[g.group[t]] = true;
        lane_of_group_.resize(g.groups);
        for (group_id group = 0; group < g.groups; ++group) {
            if (!used[group]) continue;
            made_.groups.push_back(group);
            lane_of_group_[group] = static_cast<std::uint32_t>(made_.groups.size());
        }
        lanes_ = made_.lanes();
        issued_.resize(lanes_);
        known_.resize(lanes_ * lanes_);
        done_by_.resize(g.size() * lanes_);
        written_.resize(g.allocation.size() * lanes_);
        used_.resize(g.allocation.size() * lanes_);
        needed_.resize(lanes_);
    }

    /// Appends the instruction of the next task, with waits for what it needs from other lanes: its predecessors, the
    /// collective that it waits for, and earlier users of its storages or their bytes. Call it once for every task, in
    /// a legal order. O(lanes^2 + lanes * (predecessors and accesses)), plus the cost of claiming bytes.
    void issue(task_id t) {
        std::fill(needed_.begin(), needed_.end(), 0);
        // A dependence on a start is one on its launch, which the host has already issued; only its waits and its bytes
        // depend on its completion.
        for (const task_id p : g_.predecessors[t])
            if (g_.kind[p] != op_kind::start) join(needed_, clock(done_by_, p));
        if (g_.launch[t] != no_task) join(needed_, clock(done_by_, g_.launch[t]));
        for (value_id s = g_.first_result[t]; s < g_.first_result[t + 1]; ++s)
            if (made_.arena.holds(s)) claim(s);
        for_each_access(g_, t, [&](value_id s, bool writes) { join(needed_, clock(writes ? used_ : written_, s)); });

        const std::uint32_t lane = g_.kind[t] == op_kind::start ? lane_of_group_[g_.group[t]] : 0;
        const std::size_t waits = made_.waits.size();
        wait_for_needed(lane);
        if (!does_work(g_.kind[t]) && waits == made_.waits.size() && !g_.holds_host(t)) {
            // No instruction is issued. The task only passes on what later tasks must come after.
            std::copy(needed_.begin(), needed_.end(), clock(done_by_, t).begin());
            return;
        }
        lane_instruction made;
        made.task = t;
        made.lane = lane;
        made.first_wait = static_cast<std::uint32_t>(waits);
        made.last_wait = static_cast<std::uint32_t>(made_.waits.size());
        made.holds_host = g_.holds_host(t);
        issued_[lane].push_back(static_cast<std::uint32_t>(made_.instructions.size()));
        made_.instructions.push_back(made);
        const auto position = static_cast<std::uint32_t>(issued_[lane].size());
        // The row of what is complete with this instruction is that of its lane, itself included.
        const std::span<std::uint32_t> now = clock(known_, lane);
        now[lane] = position;
        complete_.insert(complete_.end(), now.begin(), now.end());
        clock(done_by_, t)[lane] = position;
        for_each_access(g_, t, [&](value_id s, bool writes) {
            clock(used_, s)[lane] = position;
            if (writes) clock(written_, s)[lane] = position;
        });
        // Every later instruction, on any lane, comes after what the host has waited for.
        for (std::size_t other = 0; made.holds_host && other < lanes_; ++other) join(clock(known_, other), now);
    }

    /// Returns the program of the issued tasks. Call it once, at the end.
    lane_program take() { return std::move(made_); }

private:
    using clocks = std::vector<std::uint32_t>;

    /// Returns row `row` of a table of clocks. The span is valid until the table grows.
    [[nodiscard]] std::span<std::uint32_t> clock(clocks& all, std::size_t row) const {
        return {all.data() + row * lanes_, lanes_};
    }
    /// Sets a clock to the elementwise maximum of both, which is what either knows to be complete.
    static void join(std::span<std::uint32_t> into, std::span<const std::uint32_t> other) {
        for (std::size_t k = 0; k < into.size(); ++k) into[k] = std::max(into[k], other[k]);
    }

    /// Gives the bytes of a storage to it, so that its first writer comes after all earlier users of these bytes.
    void claim(value_id s) {
        const std::int64_t begin = made_.arena.offset[s];
        owners_.claim(begin, begin + g_.allocation[s].count, s, [&](value_id before) {
            join(clock(used_, s), clock(used_, before));
            join(clock(written_, s), clock(written_, before));
        });
    }

    /// Appends waits for everything that is in `needed_` and not known to be complete on `lane`, except those that
    /// others imply, and updates the clock of the lane. O(lanes^2).
    void wait_for_needed(std::uint32_t lane) {
        const std::span<std::uint32_t> now = clock(known_, lane);
        const auto open = [&](std::size_t other) { return other != lane && needed_[other] > now[other]; };
        const auto instruction = [&](std::size_t other) { return issued_[other][needed_[other] - 1]; };
        // On each other lane, only the last needed instruction must be awaited. Its wait is implied if an awaited
        // instruction of a third lane comes after it anyway.
        const std::size_t first = made_.waits.size();
        for (std::size_t other = 0; other < lanes_; ++other) {
            if (!open(other)) continue;
            bool implied = false;
            for (std::size_t third = 0; third < lanes_; ++third)
                implied = implied || (third != other && open(third) &&
                                      clock(complete_, instruction(third))[other] >= needed_[other]);
            if (!implied) made_.waits.push_back(instruction(other));
        }
        // So far the waits are numbers of instructions. An instruction gets an event when the first other one waits for
        // it.
        for (std::size_t k = first; k < made_.waits.size(); ++k) {
            join(now, clock(complete_, made_.waits[k]));
            std::uint32_t& event = made_.instructions[made_.waits[k]].event;
            if (event == lane_instruction::no_event) event = made_.events++;
            made_.waits[k] = event;
        }
    }

    const task_graph& g_;
    lane_program made_;
    std::size_t lanes_ = 1;
    byte_owners<> owners_;
    std::vector<std::uint32_t> lane_of_group_;
    std::vector<std::vector<std::uint32_t>> issued_;  // by lane: its instructions, in order
    clocks known_;                                    // by lane: what is complete when its next instruction begins
    clocks complete_;                                 // by instruction: what is complete when it is complete
    clocks done_by_;                                  // by task: what must be complete for the task to be complete
    clocks written_;                                  // by storage: its writers, and earlier users of its bytes
    clocks used_;                                     // by storage: all users of it or its bytes
    clocks needed_;                                   // what the task that is being issued needs
};

}  // namespace stretto::detail

namespace stretto {

template <class>
expected<lane_program, bind_error> plan_lanes(const task_graph& g, const checked_order& order, std::int64_t alignment,
                                              std::span<const value_id> of_caller) {
    if (!order.belongs_to(g)) return unexpected(bind_error{bind_error::reason::order_of_another_graph});
    detail::lane_planner planner(g, plan_arena(g, order.order(), alignment, of_caller));
    for (const task_id t : order.order()) planner.issue(t);
    return planner.take();
}

}  // namespace stretto

#endif
