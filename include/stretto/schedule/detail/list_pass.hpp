// One pass of list scheduling, forward under the exact clock and a memory limit, or backward without memory.
#ifndef STRETTO_SCHEDULE_DETAIL_LIST_PASS_HPP
#define STRETTO_SCHEDULE_DETAIL_LIST_PASS_HPP

#include <algorithm>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/ready_set.hpp"

namespace stretto::detail {

/// For every machine the nodes it should prefer, first to last: [first[m], first[m + 1]) of `node`.
struct machine_orders {
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> node;
    std::vector<std::uint32_t> rank;  // node -> its place in `node`
};

/// The order in which a sequence of nodes visits each machine; with `reversed`, last to first.
template <class = void>
[[nodiscard]] inline machine_orders machine_orders_of(const compact_tasks& c, std::span<const std::uint32_t> nodes,
                                                      bool reversed = false) {
    machine_orders m;
    m.first.assign(c.machines + 2, 0);
    for (std::uint32_t n : nodes) ++m.first[c.machine[n] + 1];
    for (std::uint32_t k = 0; k <= c.machines; ++k) m.first[k + 1] += m.first[k];
    m.node.resize(c.size());
    m.rank.resize(c.size());
    std::vector<std::uint32_t> next(m.first.begin(), m.first.end() - 1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::uint32_t n = nodes[reversed ? nodes.size() - 1 - i : i];
        const std::uint32_t r = next[c.machine[n]]++;
        m.node[r] = n;
        m.rank[n] = r;
    }
    return m;
}

/// The preference between two, per machine: ranks of `a` and `b` averaged with weight `toward_b` in [0, 1] on the lane;
/// channels follow `b`. Ties by rank in `a`. O(n log n).
template <class = void>
[[nodiscard]] inline machine_orders blend(const machine_orders& a, const machine_orders& b, double toward_b) {
    machine_orders m = b;
    const auto lane_begin = m.node.begin() + m.first[0], lane_end = m.node.begin() + m.first[1];
    std::copy(a.node.begin() + a.first[0], a.node.begin() + a.first[1], lane_begin);
    if (toward_b > 0) {
        auto key = [&](std::uint32_t n) { return (1 - toward_b) * a.rank[n] + toward_b * b.rank[n]; };
        std::stable_sort(lane_begin, lane_end, [&](std::uint32_t x, std::uint32_t y) { return key(x) < key(y); });
    }
    for (std::uint32_t r = m.first[0]; r < m.first[1]; ++r) m.rank[m.node[r]] = r;
    return m;
}

/// `order` with kernels drawn forward that lead to a collective and cost next to nothing beside it (a tenth at most, up
/// to and including the last one before its start): by as much lane time as the collective takes. An order by urgency
/// alone leaves them until their collective is late, while its channel idles. O(n log n + E).
template <class = void>
[[nodiscard]] inline machine_orders launches_drawn_forward(const compact_tasks& c, const machine_orders& order) {
    constexpr std::int64_t share = 10, leads_nowhere = INT64_MAX / (2 * share);
    std::vector<std::int64_t> work(c.size(), leads_nowhere);  // of the lane, from a node to the start it leads to
    std::vector<std::int64_t> gain(c.size(), 0);              // what that start takes
    for (std::uint32_t n = c.size(); n-- > 0;) {
        if (c.kind[n] == compact_tasks::role::start) {
            work[n] = 0;
            gain[n] = c.duration[n];
            continue;
        }
        for (std::uint32_t s : c.successors[n]) {
            if (c.kind[s] == compact_tasks::role::wait || work[s] == leads_nowhere) continue;
            const std::int64_t through = work[s] + c.duration[n];
            if (through > work[n] || (through == work[n] && gain[s] <= gain[n])) continue;
            work[n] = through;
            gain[n] = gain[s];
        }
    }
    machine_orders m = order;
    std::vector<std::int64_t> when(c.size());
    std::int64_t lane = 0;
    for (std::uint32_t r = m.first[0]; r < m.first[1]; ++r) {
        const std::uint32_t n = m.node[r];
        when[n] = share * work[n] <= gain[n] ? lane - gain[n] : lane;
        lane += c.duration[n];
    }
    std::stable_sort(m.node.begin() + m.first[0], m.node.begin() + m.first[1],
                     [&](std::uint32_t x, std::uint32_t y) { return when[x] < when[y]; });
    for (std::uint32_t r = m.first[0]; r < m.first[1]; ++r) m.rank[m.node[r]] = r;
    return m;
}

struct pass_result {
    std::vector<std::uint32_t> nodes;  ///< in the order they are issued
    std::int64_t step = 0;
    std::vector<std::uint32_t> starved;  ///< waits in which the lane stalled although memory alone kept a kernel back
};

/// Event-driven list scheduling with the lane's clock. Before a kernel begins, every allowed collective whose channel
/// falls idle before the kernel ends is issued, because behind the kernel it would begin later. A wait is issued as
/// soon as its collective has ended; only when nothing else may run does the lane stall for the one that ends first.
template <class = void>
class forward_pass {
public:
    /// `memory` is null when there is no limit.
    forward_pass(const compact_tasks& c, const machine_orders& preference, baseline_witness* memory)
        : c_(c), prefer_(preference), memory_(memory), ready_(c.size()), ready_kernels_(memory ? c.size() : 0) {}

    [[nodiscard]] pass_result run() {
        unmet_.resize(c_.size());
        end_.assign(c_.size(), 0);
        channel_free_.assign(c_.machines, 0);
        ready_count_.assign(c_.machines, 0);
        result_.nodes.reserve(c_.size());
        for (std::uint32_t n = 0; n < c_.size(); ++n) unmet_[n] = static_cast<std::uint32_t>(c_.predecessors[n].size());
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (unmet_[n] == 0) becomes_ready(n);
        settle();
        while (result_.nodes.size() < c_.size()) step();
        result_.step = lane_;
        for (std::uint32_t m = 1; m < c_.machines; ++m) result_.step = std::max(result_.step, channel_free_[m]);
        return std::move(result_);
    }

private:
    void step() {
        const std::uint32_t kernel = candidate(0);
        if (kernel != no_node) {
            const bool issued = issue_collectives(lane_ + c_.duration[kernel]);
            // They may have taken the memory that the kernel needs.
            if (!issued || !memory_ || memory_->allows(kernel)) {
                lane_ += c_.duration[kernel];
                take(kernel);
                emit(kernel);
            }
        } else if (!pending_waits_.empty()) {
            // What they issue may release a kernel: one that needs a collective begun only.
            if (!issue_collectives(pending_waits_.front().end)) {
                lane_ = pending_waits_.front().end;
                if (memory_ && ready_.next(prefer_.first[0]) < prefer_.first[1])
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

    /// The most preferred ready node of a machine. If memory refuses it: on the lane, the ready kernel that the
    /// baseline has first, because it is the likeliest to be allowed and frees memory the way the witness expects; on a
    /// channel, the front of the baseline, which is always allowed. Trying more finds more to run, but what it finds is
    /// less urgent and takes the memory that the urgent needs.
    [[nodiscard]] std::uint32_t candidate(std::uint32_t machine) const {
        const std::uint32_t r = ready_.next(prefer_.first[machine]);
        if (r >= prefer_.first[machine + 1]) return no_node;
        const std::uint32_t preferred = prefer_.node[r];
        if (!memory_ || memory_->allows(preferred)) return preferred;
        std::uint32_t fallback = memory_->front();
        if (machine == 0) fallback = memory_->at(ready_kernels_.next(0));
        else if (c_.machine[fallback] != machine) return no_node;
        return memory_->allows(fallback) ? fallback : no_node;
    }

    /// Issues collectives on every channel that falls idle before `horizon`; says whether there was any.
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

    void issue(std::uint32_t start) {
        std::int64_t& free = channel_free_[c_.machine[start]];
        free = std::max(lane_, free) + c_.duration[start];
        end_[start] = free;
        take(start);
        emit(start);
    }

    void take(std::uint32_t n) {
        ready_.erase(prefer_.rank[n]);
        --ready_count_[c_.machine[n]];
        if (memory_ && c_.machine[n] == 0) ready_kernels_.erase(memory_->position(n));
    }

    void emit(std::uint32_t n) {
        result_.nodes.push_back(n);
        if (memory_) memory_->run(n);
        for (std::uint32_t s : c_.successors[n])
            if (--unmet_[s] == 0) becomes_ready(s);
    }

    void becomes_ready(std::uint32_t n) {
        switch (c_.kind[n]) {
            case compact_tasks::role::compute:
                if (memory_) ready_kernels_.insert(memory_->position(n));
                [[fallthrough]];
            case compact_tasks::role::start:
                ready_.insert(prefer_.rank[n]);
                ++ready_count_[c_.machine[n]];
                break;
            case compact_tasks::role::wait:
                pending_waits_.push_back({end_[c_.launch[n]], n});
                std::push_heap(pending_waits_.begin(), pending_waits_.end(), ends_later);
                break;
            case compact_tasks::role::weightless:
                at_once_.push_back(n);
                break;
        }
    }

    /// Issues what costs no time now: weightless tasks, and waits whose collective has ended. One that allocates more
    /// than memory allows stays until it may.
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

    struct pending {
        std::int64_t end;
        std::uint32_t node;
    };
    static bool ends_later(const pending& a, const pending& b) {
        return a.end != b.end ? a.end > b.end : a.node > b.node;
    }

    const compact_tasks& c_;
    const machine_orders& prefer_;
    baseline_witness* memory_;
    ready_set ready_;          // ranks of ready kernels and starts
    ready_set ready_kernels_;  // baseline positions of ready kernels
    std::vector<std::uint32_t> unmet_;
    std::vector<std::int64_t> end_;
    std::vector<std::int64_t> channel_free_;
    std::vector<std::uint32_t> ready_count_;  // per machine
    std::vector<pending> pending_waits_;
    std::vector<std::uint32_t> at_once_;
    std::int64_t lane_ = 0;
    pass_result result_;
};

/// List scheduling of the reversed graph, memory ignored: every node as late as its successors and machine allow.
/// Returns, last to first, the order in which the nodes begin; `preference` is for the reversed graph.
template <class = void>
[[nodiscard]] inline pass_result backward_pass(const compact_tasks& c, const machine_orders& preference) {
    pass_result result;
    result.nodes.reserve(c.size());
    ready_set ready(c.size());
    std::vector<std::uint32_t> unmet(c.size());
    std::vector<std::uint32_t> running(c.machines, no_node);
    std::vector<std::int64_t> until(c.machines, 0);
    std::vector<std::uint32_t> at_once;
    auto becomes_ready = [&](std::uint32_t n) {
        if (c.machine[n] < c.machines) ready.insert(preference.rank[n]);
        else at_once.push_back(n);
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
            result.nodes.push_back(n);
            finish(n);
        }
        std::int64_t next = INT64_MAX;
        for (std::uint32_t m = 0; m < c.machines; ++m) {
            if (running[m] == no_node) {
                const std::uint32_t r = ready.next(preference.first[m]);
                if (r >= preference.first[m + 1]) continue;
                ready.erase(r);
                running[m] = preference.node[r];
                until[m] = now + c.duration[running[m]];
                result.nodes.push_back(running[m]);
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
        result.step = now;
    }
    return result;
}

}  // namespace stretto::detail

#endif
