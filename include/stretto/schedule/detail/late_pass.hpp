// This is one pass of list scheduling from the end of the step to its beginning, within a memory limit. Everything
// happens as late as its successors, its machine and the memory allow. The result is an ordinary order.
//
// Seen from the end, memory runs backwards: a storage becomes live at its last use and is freed at its allocation. So
// the pass has a witness of its own: the part of a feasible order that has not been placed, read from its end.
#ifndef STRETTO_SCHEDULE_DETAIL_LATE_PASS_HPP
#define STRETTO_SCHEDULE_DETAIL_LATE_PASS_HPP

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/machine_orders.hpp"
#include "stretto/schedule/detail/ready_set.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Keeps the invariant of the witness during one pass from the end: after every `run`, the nodes that have not been
/// placed fit the limit in baseline order. Places count from the end of the baseline.
class late_witness {
public:
    /// `limit` must not be below the largest of `b.live`. The arrays are taken from the open scope of the workspace.
    late_witness(const compact_tasks& c, const baseline& b, std::int64_t limit, workspace& w)
        : c_(c),
          b_(b),
          limit_(limit),
          profile_(reversed(b.live, w), w),
          done_(w.take(c.size() + std::size_t{1}, false)),
          last_(w.take<std::uint32_t>(c.storage_bytes.size())),
          left_(w.take<std::uint32_t>(c.storage_bytes.size())),
          kept_(w.take<std::int64_t>(c.size())),
          obstacles_(c.size(), w) {
        for (std::uint32_t n = 0; n < c.size(); ++n) {
            kept_[n] = c.allocation[n];
            live_ += c.allocation[n];
        }
        for (std::size_t s = 0; s < last_.size(); ++s) {
            last_[s] = b.first_use[s + 1];
            left_[s] = b.first_use[s + 1] - b.first_use[s];
            // The first user of a storage is the node that allocates it.
            kept_[b.node[b.uses[b.first_use[s]]]] -= c.storage_bytes[s];
            live_ -= c.storage_bytes[s];
        }
    }

    /// Returns the last node of the baseline that has not been placed. All its successors have been placed, and it
    /// always fits.
    [[nodiscard]] std::uint32_t front() const { return node(front_); }
    [[nodiscard]] std::uint32_t place(std::uint32_t n) const { return c_.size() - 1 - b_.position[n]; }
    [[nodiscard]] std::uint32_t node(std::uint32_t place) const { return b_.node[c_.size() - 1 - place]; }

    /// Returns whether `n` may be placed now: the nodes that have not been placed then still fit the limit in baseline
    /// order.
    [[nodiscard]] bool allows(std::uint32_t n) const {
        const std::uint32_t p = place(n);
        if (p == front_) return true;
        std::int64_t born = 0, stays = -kept_[n];
        std::uint32_t until = front_;
        for (std::uint32_t s : c_.touched[n]) {
            const bool alive = is_alive(s);
            if (!alive) born += c_.storage_bytes[s];
            if (left_[s] == 1) {
                if (alive) stays -= c_.storage_bytes[s];
            } else if (!alive) {
                stays += c_.storage_bytes[s];
                until = std::max(until, c_.size() - 1 - b_.uses[last_[s] - 1]);
            }
        }
        if (born == 0) return true;
        if (live_ + born <= limit_) {
            if (stays <= 0) return true;
            if (obstacles_.position(n) >= until || !obstacles_.surely_exceed(n, limit_ - stays, done_, profile_)) {
                const range_profile::point obstacle = profile_.last_above(front_, until, limit_ - stays);
                if (obstacle.position == until) return true;
                obstacles_.note(n, obstacle, profile_);
            }
        }
        refused_ = true;
        return false;
    }
    /// Returns whether a node has ever been refused.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

    /// Places `n`. Precondition: `allows(n)`.
    void run(std::uint32_t n) {
        STRETTO_AUDIT(allows(n), "the scheduler placed a task that the memory witness does not allow");
        const std::uint32_t p = place(n);
        const bool at_front = p == front_;
        done_[p] = true;
        if (at_front)
            while (done_[front_]) ++front_;
        else profile_.mark_executed(p);
        live_ -= kept_[n];
        std::int64_t from_now = -kept_[n];
        for (std::uint32_t s : c_.touched[n]) {
            const std::int64_t size = c_.storage_bytes[s];
            const bool alive = is_alive(s);
            if (--left_[s] == 0) {
                if (!alive) continue;
                live_ -= size;
                from_now -= size;
            } else if (!alive) {
                live_ += size;
                const std::uint32_t first = c_.size() - 1 - b_.uses[last_[s] - 1];
                if (first > front_) profile_.add_before(first, size);
                last_[s] = 0;
            }
        }
        if (!at_front) profile_.add_before(p, from_now);
    }

private:
    static std::span<const std::int64_t> reversed(std::span<const std::int64_t> live, workspace& w) {
        const std::span<std::int64_t> r = w.take<std::int64_t>(live.size());
        std::reverse_copy(live.begin(), live.end(), r.begin());
        return r;
    }
    /// Returns whether a use of `s` has been placed. The first use to be placed makes `s` live; until then all uses are
    /// left.
    [[nodiscard]] bool is_alive(std::uint32_t s) const { return last_[s] == 0; }

    const compact_tasks& c_;
    const baseline b_;
    std::int64_t limit_;
    mutable range_profile profile_;  // mutable because queries make it more exact
    std::span<bool> done_;           // by place, with one additional false entry at the end
    std::uint32_t front_ = 0;
    std::int64_t live_ = 0;  // live bytes now
    mutable bool refused_ = false;
    std::span<std::uint32_t> last_;  // by storage: the end index of its uses in `uses`; 0 once it is live
    std::span<std::uint32_t> left_;  // by storage: uses that have not been placed
    std::span<std::int64_t> kept_;   // by node: the bytes that it allocates and that are never freed
    mutable known_obstacles obstacles_;
};

/// The pass. Among the nodes that may be placed on a machine, the one that comes last in a given order goes first.
template <class = void>
class late_pass {
public:
    late_pass(const compact_tasks& c, const machine_orders& preference, late_witness& memory, workspace& w)
        : c_(c),
          first_(preference.first),
          node_(preference.node),
          rank_(preference.rank),
          memory_(memory),
          ready_(c.size(), w),
          ready_kernels_(c.size(), w),
          unmet_(w.take<std::uint32_t>(c.size())),
          wait_(w.take(c.size(), no_node)),
          placed_(w.take(c.size(), false)) {}

    /// Runs the pass and returns the nodes in their order, first to last. A pass object may run only once.
    [[nodiscard]] std::vector<std::uint32_t> run() {
        nodes_.resize(c_.size());
        left_ = c_.size();
        running_.assign(c_.machines, no_node);
        until_.assign(c_.machines, 0);
        ready_count_.assign(c_.machines, 0);
        for (std::uint32_t n = 0; n < c_.size(); ++n) unmet_[n] = static_cast<std::uint32_t>(c_.successors[n].size());
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (c_.kind[n] == compact_tasks::role::wait) {
                std::uint32_t& only = wait_[c_.launch[n]];
                only = only == no_node ? n : several;
            }
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (unmet_[n] == 0) becomes_ready(n);
        while (left_ != 0) step();
        return std::move(nodes_);
    }

private:
    static constexpr std::uint32_t several = no_node - 1;

    /// Begins a node on every idle machine, or advances the time to the next end of a running node.
    void step() {
        settle();
        std::int64_t next = INT64_MAX;
        bool any = false;
        // The channels come before the lane, so that a wait ends up after the kernel that hides its collective.
        for (std::uint32_t m = c_.machines; m-- > 0;) {
            if (running_[m] == no_node) {
                const std::uint32_t n = candidate(m);
                if (n == no_node) continue;
                begin(n);
                any = true;
            }
            next = std::min(next, until_[m]);
        }
        if (any) return;
        if (next == INT64_MAX) {
            if (left_ == 0) return;
            force(memory_.front());
            return;
        }
        for (std::uint32_t m = 0; m < c_.machines; ++m)
            if (running_[m] != no_node && until_[m] == next) {
                const std::uint32_t n = running_[m];
                running_[m] = no_node;
                if (m == 0) finish(n);
                else at_once_.push_back(n);
            }
        now_ = next;
    }

    /// Returns whether memory allows a node. For a start, its only wait decides, because both are placed together.
    [[nodiscard]] bool fits(std::uint32_t n) const {
        if (c_.kind[n] != compact_tasks::role::start) return memory_.allows(n);
        return wait_[n] >= several || placed_[wait_[n]] || memory_.allows(wait_[n]);
    }
    /// Returns the node to place next on a machine, or no_node. If memory refuses the most preferred one, that is the
    /// last ready kernel of the baseline, or, on a channel, the front of the baseline or the start for which it waits.
    [[nodiscard]] std::uint32_t candidate(std::uint32_t m) const {
        if (ready_count_[m] == 0) return no_node;
        const std::uint32_t preferred = node_[ready_.next(first_[m])];
        if (fits(preferred)) return preferred;
        if (m == 0) {
            const std::uint32_t fallback = memory_.node(ready_kernels_.next(0));
            return fits(fallback) ? fallback : no_node;
        }
        std::uint32_t fallback = memory_.front();
        if (c_.kind[fallback] == compact_tasks::role::wait) fallback = c_.launch[fallback];
        // The fallback may not be ready, or its time on the channel may be over and it is only waiting for memory.
        if (c_.machine[fallback] != m || ready_.next(rank_[fallback]) != rank_[fallback]) return no_node;
        return fits(fallback) ? fallback : no_node;
    }
    void begin(std::uint32_t n) {
        const std::uint32_t m = c_.machine[n];
        ready_.erase(rank_[n]);
        --ready_count_[m];
        running_[m] = n;
        until_[m] = now_ + c_.duration[n];
        if (m == 0) {
            ready_kernels_.erase(memory_.place(n));
            place(n);
        } else if (wait_[n] < several && !placed_[wait_[n]]) {
            place(wait_[n]);
            for (std::uint32_t p : c_.predecessors[wait_[n]])
                if (p != n && --unmet_[p] == 0) becomes_ready(p);
        }
    }
    /// Places the front of the baseline when nothing runs and nothing else may. It is then the only wait of a start
    /// that is not ready: another successor of the start is not placed, and cannot be placed before this wait.
    void force(std::uint32_t n) {
        STRETTO_ASSERT(c_.kind[n] == compact_tasks::role::wait, "only a wait is held back by more than memory");
        place(n);
        for (std::uint32_t p : c_.predecessors[n])
            if (p != c_.launch[n] && --unmet_[p] == 0) becomes_ready(p);
    }
    void place(std::uint32_t n) {
        nodes_[--left_] = n;
        placed_[n] = true;
        memory_.run(n);
    }
    void finish(std::uint32_t n) {
        for (std::uint32_t p : c_.predecessors[n])
            if (--unmet_[p] == 0) becomes_ready(p);
    }
    void becomes_ready(std::uint32_t n) {
        if (c_.machine[n] < c_.machines) {
            if (c_.machine[n] == 0) ready_kernels_.insert(memory_.place(n));
            ready_.insert(rank_[n]);
            ++ready_count_[c_.machine[n]];
        } else if (c_.kind[n] == compact_tasks::role::wait && wait_[c_.launch[n]] == n) {
            // The only wait of a start is placed together with the collective.
            if (--unmet_[c_.launch[n]] == 0) becomes_ready(c_.launch[n]);
        } else {
            at_once_.push_back(n);
        }
    }
    /// Places the ready nodes that take no time as long as memory allows one of them.
    void settle() {
        for (;;) {
            std::size_t k = at_once_.size();
            while (k > 0 && !memory_.allows(at_once_[k - 1])) --k;
            if (k == 0) return;
            const std::uint32_t n = at_once_[k - 1];
            at_once_.erase(at_once_.begin() + static_cast<std::ptrdiff_t>(k - 1));
            place(n);
            finish(n);
        }
    }

    const compact_tasks& c_;
    std::span<const std::uint32_t> first_, node_, rank_;  // of the preference
    late_witness& memory_;
    ready_set ready_, ready_kernels_;
    std::span<std::uint32_t> unmet_, wait_;
    std::span<bool> placed_;
    std::vector<std::uint32_t> running_, ready_count_, at_once_, nodes_;
    std::vector<std::int64_t> until_;
    std::int64_t now_ = 0;
    std::uint32_t left_ = 0;
};

}  // namespace stretto::detail

#endif
