// This is one pass of list scheduling. It runs forward under the exact clock and a memory limit, or backward without
// regard to memory.
#ifndef STRETTO_SCHEDULE_DETAIL_LIST_PASS_HPP
#define STRETTO_SCHEDULE_DETAIL_LIST_PASS_HPP

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/machine_orders.hpp"
#include "stretto/schedule/detail/ready_set.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The order that a pass has found.
struct pass_result {
    std::vector<std::uint32_t> nodes;    ///< in the order in which they are issued
    std::int64_t makespan = 0;           ///< in nanoseconds; for a pass within memory, never below the exact one
    std::vector<std::uint32_t> starved;  ///< waits during which memory alone kept a kernel from running
};

/// Returns the makespan of an order by the exact clock. O(V).
template <class = void>
[[nodiscard]] inline std::int64_t makespan_of(const compact_tasks& c, std::span<const std::uint32_t> order,
                                              workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::int64_t> end = w.take<std::int64_t>(c.size());  // by node, for starts
    std::vector<std::int64_t> free(c.machines, 0);                       // by machine: when it is next free
    for (std::uint32_t n : order) {
        if (c.kind[n] == compact_tasks::role::compute) free[0] += c.duration[n];
        else if (c.kind[n] == compact_tasks::role::wait) free[0] = std::max(free[0], end[c.launch[n]]);
        else if (c.kind[n] == compact_tasks::role::start)
            end[n] = free[c.machine[n]] = std::max(free[0], free[c.machine[n]]) + c.duration[n];
    }
    return *std::max_element(free.begin(), free.end());
}

/// Event-driven list scheduling by the clock of the lane. Before a kernel begins, every allowed collective is issued
/// whose channel becomes idle before the kernel ends; issued after the kernel, it would begin later. A wait is issued
/// as soon as its collective has ended. The lane stalls only if nothing else may run, and then for the collective that
/// ends first.
template <class = void>
class forward_pass {
public:
    /// `memory` is null if there is no limit. The arrays are taken from the open scope of the workspace.
    forward_pass(const compact_tasks& c, const machine_orders& preference, baseline_witness* memory, workspace& w)
        : c_(c),
          first_(preference.first),
          node_(preference.node),
          rank_(preference.rank),
          memory_(memory),
          ready_(c.size(), w),
          ready_kernels_(memory ? c.size() : 0, w),
          unmet_(w.take<std::uint32_t>(c.size())),
          end_(w.take<std::int64_t>(preference.first[c.machines] - preference.first[1])) {}

    /// Runs the pass. A pass object may run only once.
    [[nodiscard]] pass_result run() {
        channel_free_.assign(c_.machines, 0);
        ready_count_.assign(c_.machines, 0);
        result_.nodes.resize(c_.size());
        for (std::uint32_t n = 0; n < c_.size(); ++n) unmet_[n] = static_cast<std::uint32_t>(c_.predecessors[n].size());
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (unmet_[n] == 0) becomes_ready(n);
        settle();
        while (issued_ < c_.size()) step();
        result_.makespan = lane_;
        for (std::uint32_t m = 1; m < c_.machines; ++m) result_.makespan = std::max(result_.makespan, channel_free_[m]);
        return std::move(result_);
    }

private:
    /// Makes one decision: to issue collectives or a kernel, to stall, or to issue the next node of the baseline.
    void step() {
        const std::uint32_t kernel = candidate(0);
        if (kernel != no_node) {
            const bool issued = issue_collectives(lane_ + c_.duration[kernel]);
            // The collectives may have taken the memory that the kernel needs.
            if (!issued || !memory_ || memory_->allows(kernel)) {
                lane_ += c_.duration[kernel];
                take(kernel);
                emit(kernel);
            }
        } else if (!pending_waits_.empty()) {
            // A collective that is issued here may release a kernel that only needs the collective to have begun.
            if (!issue_collectives(pending_waits_.front().end)) {
                lane_ = pending_waits_.front().end;
                if (memory_ && ready_.next(first_[0]) < first_[1])
                    result_.starved.push_back(pending_waits_.front().node);
            }
        } else if (!issue_collectives(lane_ + 1) && !issue_collectives(INT64_MAX)) {
            STRETTO_ASSERT(memory_, "without a memory limit some task is always ready");
            const std::uint32_t n = memory_->front();
            STRETTO_ASSERT(c_.kind[n] == compact_tasks::role::start, "the front of the baseline can always run");
            issue(n);
        }
        settle();
    }

    /// Returns the node to run next on a machine: the most preferred one that is ready, if memory allows it. If memory
    /// does not, the fallback on the lane is the ready kernel that comes first in the baseline, because it is the
    /// likeliest to be allowed and frees memory in the order that the witness expects. On a channel, the fallback is
    /// the front of the baseline, which is always allowed. Trying more candidates would find more to run, but these
    /// would be less urgent and would take the memory that urgent nodes need.
    [[nodiscard]] std::uint32_t candidate(std::uint32_t machine) const {
        const std::uint32_t r = ready_.next(first_[machine]);
        if (r >= first_[machine + 1]) return no_node;
        const std::uint32_t preferred = node_[r];
        if (!memory_ || memory_->allows(preferred)) return preferred;
        std::uint32_t fallback = memory_->front();
        if (machine == 0) fallback = memory_->node(ready_kernels_.next(0));
        else if (c_.machine[fallback] != machine) return no_node;
        return memory_->allows(fallback) ? fallback : no_node;
    }

    /// Issues collectives on every channel that becomes idle before `horizon`. Returns whether it issued any.
    bool issue_collectives(std::int64_t horizon) {
        bool any = false;
        for (std::uint32_t m = 1; m < c_.machines; ++m)
            while (ready_count_[m] != 0 && channel_free_[m] < horizon) {
                const std::uint32_t n = candidate(m);
                if (n == no_node) break;
                issue(n);
                any = true;
            }
        return any;
    }

    /// Issues a start. Its collective begins once the lane has reached the start and the channel is idle.
    void issue(std::uint32_t start) {
        std::int64_t& free = channel_free_[c_.machine[start]];
        free = std::max(lane_, free) + c_.duration[start];
        end_of(start) = free;
        take(start);
        emit(start);
    }

    /// Removes a kernel or a start from the ready sets.
    void take(std::uint32_t n) {
        ready_.erase(rank_[n]);
        --ready_count_[c_.machine[n]];
        if (memory_ && c_.machine[n] == 0) ready_kernels_.erase(memory_->position(n));
    }

    /// Appends a node to the order and makes ready the successors whose last unmet predecessor it was.
    void emit(std::uint32_t n) {
        result_.nodes[issued_++] = n;
        if (memory_) memory_->run(n);
        for (std::uint32_t s : c_.successors[n])
            if (--unmet_[s] == 0) becomes_ready(s);
    }

    void becomes_ready(std::uint32_t n) {
        switch (c_.kind[n]) {
            case compact_tasks::role::compute:
            case compact_tasks::role::start:
                may_run(n);
                break;
            case compact_tasks::role::wait:
                pending_waits_.push_back({end_of(c_.launch[n]), n});
                std::push_heap(pending_waits_.begin(), pending_waits_.end(), ends_later);
                break;
            case compact_tasks::role::weightless:
                at_once_.push_back(n);
                break;
        }
    }

    /// Adds a kernel or a start to the ready sets.
    void may_run(std::uint32_t n) {
        if (memory_ && c_.machine[n] == 0) ready_kernels_.insert(memory_->position(n));
        ready_.insert(rank_[n]);
        ++ready_count_[c_.machine[n]];
    }

    /// Issues the nodes that take no time now: weightless tasks, and waits whose collectives have ended. A node that
    /// allocates more than memory allows remains until it may run.
    void settle() {
        for (;;) {
            while (!pending_waits_.empty() && pending_waits_.front().end <= lane_) {
                at_once_.push_back(pending_waits_.front().node);
                std::pop_heap(pending_waits_.begin(), pending_waits_.end(), ends_later);
                pending_waits_.pop_back();
            }
            std::size_t k = at_once_.size();
            while (k > 0 && memory_ && !memory_->allows(at_once_[k - 1])) --k;
            if (k == 0) return;
            const std::uint32_t n = at_once_[k - 1];
            at_once_.erase(at_once_.begin() + static_cast<std::ptrdiff_t>(k - 1));
            emit(n);
        }
    }

    /// Returns the time at which the channel finishes a start that has run.
    [[nodiscard]] std::int64_t& end_of(std::uint32_t start) { return end_[rank_[start] - first_[1]]; }

    /// A wait that is ready, and the time at which its collective ends.
    struct pending {
        std::int64_t end;
        std::uint32_t node;
    };
    static bool ends_later(const pending& a, const pending& b) {
        return a.end != b.end ? a.end > b.end : a.node > b.node;
    }

    const compact_tasks& c_;
    std::span<const std::uint32_t> first_, node_, rank_;  // of the preference
    baseline_witness* memory_;
    ready_set ready_;                 // ranks of ready kernels and starts
    ready_set ready_kernels_;         // positions of ready kernels in the baseline
    std::span<std::uint32_t> unmet_;  // by node: predecessors that have not run
    std::span<std::int64_t> end_;     // by start, in the order of their ranks
    std::vector<std::int64_t> channel_free_;
    std::vector<std::uint32_t> ready_count_;  // by machine
    std::vector<pending> pending_waits_;
    std::vector<std::uint32_t> at_once_;  // ready nodes that take no time
    std::int64_t lane_ = 0;
    std::uint32_t issued_ = 0;
    pass_result result_;
};

/// List scheduling of the reversed graph, without regard to memory: every node runs as late as its successors and its
/// machine allow. Returns the order in which the nodes begin in reversed time, so the last node of the step comes
/// first. Among the nodes that may run on a machine, the one that comes last in `order` goes first.
template <class = void>
[[nodiscard]] inline pass_result backward_pass(const compact_tasks& c, std::span<const std::uint32_t> order,
                                               workspace& w) {
    const workspace::scope scratch(w);
    const machine_orders preference = machine_orders_of(c, order, w, true);
    pass_result result;
    result.nodes.resize(c.size());
    std::uint32_t* begun = result.nodes.data();
    ready_set ready(c.size(), w);
    const std::span<std::uint32_t> unmet = w.take<std::uint32_t>(c.size());
    std::vector<std::uint32_t> running(c.machines, no_node), ready_count(c.machines, 0);
    std::vector<std::int64_t> until(c.machines, 0);
    std::vector<std::uint32_t> at_once;
    auto becomes_ready = [&](std::uint32_t n) {
        if (c.machine[n] < c.machines) {
            ready.insert(preference.rank[n]);
            ++ready_count[c.machine[n]];
        } else {
            at_once.push_back(n);
        }
    };
    auto finish = [&](std::uint32_t n) {
        for (std::uint32_t p : c.predecessors[n])
            if (--unmet[p] == 0) becomes_ready(p);
    };
    for (std::uint32_t n = 0; n < c.size(); ++n) unmet[n] = static_cast<std::uint32_t>(c.successors[n].size());
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (unmet[n] == 0) becomes_ready(n);
    for (std::int64_t now = 0;;) {
        while (!at_once.empty()) {
            const std::uint32_t n = at_once.back();
            at_once.pop_back();
            *begun++ = n;
            finish(n);
        }
        std::int64_t next = INT64_MAX;
        for (std::uint32_t m = 0; m < c.machines; ++m) {
            if (running[m] == no_node) {
                if (ready_count[m] == 0) continue;
                const std::uint32_t r = ready.next(preference.first[m]);
                ready.erase(r);
                --ready_count[m];
                running[m] = preference.node[r];
                until[m] = now + c.duration[running[m]];
                *begun++ = running[m];
            }
            next = std::min(next, until[m]);
        }
        if (next == INT64_MAX) break;
        now = next;
        for (std::uint32_t m = 0; m < c.machines; ++m)
            if (running[m] != no_node && until[m] == now) {
                const std::uint32_t n = running[m];
                running[m] = no_node;
                finish(n);
            }
        result.makespan = now;
    }
    return result;
}

}  // namespace stretto::detail

#endif
