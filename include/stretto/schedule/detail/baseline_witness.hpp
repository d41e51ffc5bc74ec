// The memory witness: it ensures that a pass never exceeds its memory limit. The witness is the part of a feasible
// order, the baseline, that has not run yet. After any sequence of decisions, running the rest in baseline order still
// fits the limit. A pass can therefore always continue, even if the limit is exactly the peak of the baseline.
#ifndef STRETTO_SCHEDULE_DETAIL_BASELINE_WITNESS_HPP
#define STRETTO_SCHEDULE_DETAIL_BASELINE_WITNESS_HPP

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/range_profile.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Returns the largest number of live bytes while the nodes run in `order`. O(V + uses).
template <class = void>
[[nodiscard]] inline std::int64_t peak_of(const compact_tasks& c, std::span<const std::uint32_t> order, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> left = w.take<std::uint32_t>(c.storage_uses.size());
    std::copy(c.storage_uses.begin(), c.storage_uses.end(), left.begin());
    std::int64_t now = 0, peak = 0;
    for (std::uint32_t n : order) {
        now += c.allocation[n];
        peak = std::max(peak, now);
        for (std::uint32_t s : c.touched[n])
            if (--left[s] == 0) now -= c.storage_bytes[s];
    }
    return peak;
}

/// A baseline: an order of the nodes that fits the limit, and the tables that a witness needs. All passes with the same
/// baseline share it. The arrays belong to the workspace. A position is an index into the order.
struct baseline {
    std::span<std::uint32_t> node;       ///< by position
    std::span<std::uint32_t> position;   ///< by node
    std::span<std::int64_t> live;        ///< by position: the live bytes while its node runs
    std::span<std::uint32_t> first_use;  ///< by storage: its uses are [first_use[s], first_use[s + 1]) of `uses`
    std::span<std::uint32_t> uses;       ///< positions, ascending for each storage
};

/// Makes the baseline of an order. O(V + uses).
template <class = void>
[[nodiscard]] inline baseline make_baseline(const compact_tasks& c, std::span<const std::uint32_t> order,
                                            workspace& w) {
    const std::size_t storages = c.storage_bytes.size();
    const baseline b{w.take<std::uint32_t>(c.size()), w.take<std::uint32_t>(c.size()), w.take<std::int64_t>(c.size()),
                     w.take(storages + 1, 0u), w.take<std::uint32_t>(c.touched.items())};
    for (std::size_t s = 0; s < storages; ++s) b.first_use[s + 1] = b.first_use[s] + c.storage_uses[s];
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> next = w.take<std::uint32_t>(storages);
    std::copy(b.first_use.begin(), b.first_use.end() - 1, next.begin());
    std::int64_t now = 0;
    for (std::uint32_t p = 0; p < c.size(); ++p) {
        const std::uint32_t n = order[p];
        b.node[p] = n;
        b.position[n] = p;
        now += c.allocation[n];
        b.live[p] = now;
        for (std::uint32_t s : c.touched[n]) {
            b.uses[next[s]++] = p;
            if (next[s] == b.first_use[s + 1]) now -= c.storage_bytes[s];
        }
    }
    return b;
}

/// Remembers an obstacle for each node that memory has refused: a position that the node would have overtaken and at
/// which too much would have been live.
class known_obstacles {
public:
    /// Makes an object that knows no obstacles. The arrays are taken from the open scope of the workspace.
    known_obstacles(std::uint32_t nodes, workspace& w)
        : position_(w.take(nodes, 0u)), height_(w.take(nodes, INT64_MIN / 4)) {}

    /// Records the obstacle of `n`.
    void note(std::uint32_t n, const range_profile::point& obstacle, const range_profile& profile) {
        position_[n] = obstacle.position;
        height_[n] = obstacle.value + profile.most_sunk();
    }
    /// Returns whether the obstacle of `n` has not run yet and certainly has more than `most` bytes, no matter what has
    /// been added to the profile since it was recorded.
    [[nodiscard]] bool surely_exceed(std::uint32_t n, std::int64_t most, std::span<const bool> done,
                                     const range_profile& profile) const {
        return height_[n] - profile.most_sunk() > most && !done[position_[n]];
    }
    [[nodiscard]] std::uint32_t position(std::uint32_t n) const { return position_[n]; }

private:
    std::span<std::uint32_t> position_;  // by node
    std::span<std::int64_t> height_;     // by node: the obstacle's bytes plus most_sunk() at that time
};

/// Keeps the invariant of the witness during one pass: after every `run`, executing the remaining nodes in baseline
/// order fits the limit.
class baseline_witness {
public:
    /// `limit` must not be below the largest of `b.live`. The arrays are taken from the open scope of the workspace.
    baseline_witness(const compact_tasks& c, const baseline& b, std::int64_t limit, workspace& w)
        : c_(c),
          b_(b),
          limit_(limit),
          profile_(b.live, w),
          done_(w.take(c.size() + std::size_t{1}, false)),
          last_(w.take<std::uint32_t>(c.storage_bytes.size())),
          left_(w.take<std::uint32_t>(c.storage_bytes.size())),
          obstacles_(c.size(), w) {
        for (std::size_t s = 0; s < last_.size(); ++s) {
            last_[s] = b.first_use[s + 1] - 1;
            left_[s] = b.first_use[s + 1] - b.first_use[s];
        }
    }

    /// Returns the first node of the baseline that has not run. All its predecessors have run, and it always fits.
    [[nodiscard]] std::uint32_t front() const { return b_.node[front_]; }
    /// Returns the position of a node in the baseline.
    [[nodiscard]] std::uint32_t position(std::uint32_t n) const { return b_.position[n]; }
    [[nodiscard]] std::uint32_t node(std::uint32_t position) const { return b_.node[position]; }

    /// Returns whether `n` may run now: `n` itself fits the limit, and so does the remaining baseline after it. A
    /// storage of which `n` is the only remaining user counts as freed at once. A storage whose other remaining users
    /// all come before `n` in the baseline counts as live as far as `n`, although it would be freed earlier; so the
    /// answer errs on the safe side. A repeated refusal takes O(1) while the recorded obstacle certainly remains.
    [[nodiscard]] bool allows(std::uint32_t n) const {
        const std::uint32_t p = b_.position[n];
        if (c_.allocation[n] == 0 || p == front_) return true;
        if (live_ + c_.allocation[n] <= limit_) {
            const std::int64_t stays = added_by(n);
            if (stays <= 0) return true;
            if (!obstacles_.surely_exceed(n, limit_ - stays, done_, profile_)) {
                const range_profile::point obstacle = profile_.last_above(front_, p, limit_ - stays);
                if (obstacle.position == p) return true;
                obstacles_.note(n, obstacle, profile_);
            }
        }
        refused_ = true;
        return false;
    }
    /// Returns whether a node has ever been refused.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

    /// Returns the largest number of live bytes so far. Once every node has run, this is the peak of the order.
    [[nodiscard]] std::int64_t peak() const noexcept { return highest_; }

    /// Runs `n` now. Precondition: `allows(n)`.
    void run(std::uint32_t n) {
        STRETTO_AUDIT(allows(n), "the scheduler ran a task that the memory witness does not allow");
        const std::uint32_t p = b_.position[n];
        done_[p] = true;
        live_ += c_.allocation[n];
        highest_ = std::max(highest_, live_);
        if (p == front_) {
            while (done_[front_]) ++front_;
            for (std::uint32_t s : c_.touched[n])
                if (--left_[s] == 0) live_ -= c_.storage_bytes[s];
            return;
        }
        profile_.mark_executed(p);
        std::int64_t from_now = c_.allocation[n];
        for (std::uint32_t s : c_.touched[n]) {
            const std::int64_t size = c_.storage_bytes[s];
            const bool gone = --left_[s] == 0;
            if (gone) live_ -= size;
            if (b_.uses[last_[s]] != p) continue;
            // The storage now dies after an earlier task of the remaining baseline, or at once.
            from_now -= size;
            if (!gone) profile_.add_before(last_remaining_use(s) + 1, size);
        }
        profile_.add_before(p, from_now);
    }

private:
    /// Returns by how many bytes running `n` now raises the positions that it overtakes: its allocations, less the
    /// storages of which it is the only remaining user.
    [[nodiscard]] std::int64_t added_by(std::uint32_t n) const {
        std::int64_t stays = c_.allocation[n];
        for (std::uint32_t s : c_.touched[n])
            if (left_[s] == 1) stays -= c_.storage_bytes[s];
        return stays;
    }

    /// Returns the last position that uses `s` and has not run. Precondition: there is one. Amortised O(1).
    std::uint32_t last_remaining_use(std::uint32_t s) {
        while (done_[b_.uses[last_[s]]]) --last_[s];
        return b_.uses[last_[s]];
    }

    const compact_tasks& c_;
    const baseline b_;
    std::int64_t limit_;
    mutable range_profile profile_;  // mutable because queries make it more exact
    std::span<bool> done_;           // by position, with one additional false entry at the end
    std::uint32_t front_ = 0;
    std::int64_t live_ = 0;     // live bytes now
    std::int64_t highest_ = 0;  // largest value of live_ so far
    mutable bool refused_ = false;
    std::span<std::uint32_t> last_;  // by storage: its last use that has not run, as an index into `uses`
    std::span<std::uint32_t> left_;  // by storage: uses that have not run
    mutable known_obstacles obstacles_;
};

}  // namespace stretto::detail

#endif
