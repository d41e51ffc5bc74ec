// Why a schedule never runs out of memory: the not yet executed rest of a feasible order is kept as a witness.
// After any prefix of decisions, running the rest in baseline order still fits the limit, so there is always a way
// on and never an overrun, even when the limit is exactly the peak of the baseline.
#ifndef STRETTO_SCHEDULE_DETAIL_BASELINE_WITNESS_HPP
#define STRETTO_SCHEDULE_DETAIL_BASELINE_WITNESS_HPP

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Live bytes per position of the remaining baseline: range add and range maximum. A tree of fan-out 16 over flat
/// arrays; every node above the positions has an addend for all below it and a cached maximum. O(32 log_16 n) simple
/// steps; short ranges, which most are, stay within a block or two. Beats a binary segment tree by far.
class range_profile {
public:
    static constexpr std::int64_t executed = INT64_MIN / 4;

    /// Arrays are taken from the workspace's open scope.
    range_profile(std::span<const std::int64_t> values, workspace& w) {
        add_level(values.size(), w);
        std::copy(values.begin(), values.end(), levels_[0].maximum.begin());
        for (std::size_t nodes = values.size(); nodes > fan_out;) {
            nodes = (nodes + fan_out - 1) / fan_out;
            const level& above = add_level(nodes, w);
            const std::span<const std::int64_t> below = levels_[height_ - 2].maximum;
            for (std::uint32_t k = 0; k < nodes; ++k) above.maximum[k] = scan(below, k * fan_out, fan_out);
            std::fill(above.addend.begin(), above.addend.end(), 0);
        }
    }

    /// Maximum over [from, to); at most `executed` if there is nothing in it.
    [[nodiscard]] std::int64_t maximum(std::uint32_t from, std::uint32_t to) const {
        if (from >= to) return executed;
        // What the two ends have seen so far, without the addends above: they may lie below different nodes.
        std::int64_t left = executed, right = executed;
        std::uint32_t first = from, last = to - 1;  // the nodes on this level that hold the two ends
        for (std::size_t l = 0;; ++l) {
            const level& here = levels_[l];
            if (first / fan_out == last / fan_out || l + 1 == height_) {
                left = std::max({left, right, scan(here.maximum, from, to - from)});
                for (first /= fan_out; ++l < height_; first /= fan_out) left += levels_[l].addend[first];
                return left;
            }
            const std::uint32_t from_above = (from + fan_out - 1) / fan_out, to_above = to / fan_out;
            left = std::max(left, scan(here.maximum, from, from_above * fan_out - from));
            right = std::max(right, scan(here.maximum, to_above * fan_out, to - to_above * fan_out));
            from = from_above;
            to = to_above;
            first /= fan_out;
            last /= fan_out;
            left += levels_[l + 1].addend[first];
            right += levels_[l + 1].addend[last];
        }
    }

    /// Adds to [from, to). From then on nobody asks for anything before `from`. So the blocks that it lies in are
    /// raised as a whole: their maxima are only asked for where it is their beginning.
    void add(std::uint32_t from, std::uint32_t to, std::int64_t amount) {
        if (from >= to || amount == 0) return;
        std::uint32_t last = to - 1;    // the node on this level that holds the end
        std::int64_t right = executed;  // its maximum, once it is above the positions
        for (std::size_t l = 0;; ++l) {
            const bool top = l + 1 == height_;
            if (from / fan_out == last / fan_out || top) {
                const std::int64_t raised = std::max(right, raise(l, from, to, amount));
                if (!top && refresh(l + 1, last / fan_out, raised, amount)) refresh_above(l + 1, last / fan_out);
                return;
            }
            const std::uint32_t to_above = to / fan_out;
            right = std::max(right, raise(l, to_above * fan_out, to, amount));
            last /= fan_out;
            refresh(l + 1, last, right, amount);
            right = levels_[l + 1].maximum[last];
            from /= fan_out;
            to = to_above;
        }
    }

    void mark_executed(std::uint32_t p) {
        const std::int64_t before = levels_[0].maximum[p];
        levels_[0].maximum[p] = executed;
        if (height_ > 1 && before + levels_[1].addend[p / fan_out] == levels_[1].maximum[p / fan_out])
            refresh_above(0, p);
    }

private:
    static constexpr std::uint32_t fan_out = 16;

    struct level {
        std::span<std::int64_t> maximum;  // includes the addends of its own level, not those above; whole blocks
        std::span<std::int64_t> addend;   // none for the positions themselves
    };

    const level& add_level(std::size_t nodes, workspace& w) {
        const std::size_t whole = (nodes + fan_out - 1) / fan_out * fan_out;
        level& l = levels_[height_++];
        l.maximum = w.take<std::int64_t>(whole);
        std::fill(l.maximum.begin() + static_cast<std::ptrdiff_t>(nodes), l.maximum.end(), executed);
        if (height_ > 1) l.addend = w.take<std::int64_t>(nodes);
        return l;
    }
    /// Two accumulators: the compare chains overlap.
    [[nodiscard]] static std::int64_t scan(std::span<const std::int64_t> v, std::uint32_t from, std::uint32_t count) {
        const std::int64_t* x = v.data() + from;
        std::int64_t even = executed, odd = executed;
        for (; count >= 2; count -= 2, x += 2) {
            even = std::max(even, x[0]);
            odd = std::max(odd, x[1]);
        }
        if (count != 0) even = std::max(even, *x);
        return std::max(even, odd);
    }
    /// Returns the new maximum over the range; at most `executed` if there is nothing in it.
    std::int64_t raise(std::size_t l, std::uint32_t from, std::uint32_t to, std::int64_t amount) {
        if (l > 0)
            for (std::int64_t& x : levels_[l].addend.subspan(from, to - from)) x += amount;
        std::int64_t largest = executed;
        for (std::int64_t& x : levels_[l].maximum.subspan(from, to - from)) {
            x += amount;
            largest = std::max(largest, x);
        }
        return largest;
    }
    /// Sets the maximum of a node above the positions, of which a part was raised by `amount`, or at its ends by no
    /// more than that, and now has the maximum `raised`. Says whether it has changed.
    bool refresh(std::size_t l, std::uint32_t k, std::int64_t raised, std::int64_t amount) {
        const std::int64_t own = levels_[l].maximum[k] - levels_[l].addend[k];
        if (amount < 0) return raised - amount >= own && refresh(l, k);
        if (raised <= own) return false;
        levels_[l].maximum[k] += raised - own;
        return true;
    }
    bool refresh(std::size_t l, std::uint32_t k) {
        const level& here = levels_[l];
        const std::int64_t before = here.maximum[k];
        here.maximum[k] = scan(levels_[l - 1].maximum, k * fan_out, fan_out) + here.addend[k];
        return here.maximum[k] != before;
    }
    /// Refreshes what is above node k of level l, as far as anything changes.
    void refresh_above(std::size_t l, std::uint32_t k) {
        while (++l < height_ && refresh(l, k /= fan_out)) {
        }
    }

    level levels_[8];  // [0]: per position; 16^8 exceeds any number of them
    std::size_t height_ = 0;
};

/// Largest number of live bytes while the nodes run in `order`.
template <class = void>
[[nodiscard]] inline std::int64_t peak_of(const compact_tasks& c, std::span<const std::uint32_t> order, workspace& w) {
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> last = w.take<std::uint32_t>(c.storage_bytes.size());
    for (std::uint32_t n : order)
        for (std::uint32_t s : c.touched[n]) last[s] = n;
    std::int64_t now = 0, peak = 0;
    for (std::uint32_t n : order) {
        now += c.allocation[n];
        peak = std::max(peak, now);
        for (std::uint32_t s : c.touched[n])
            if (last[s] == n) now -= c.storage_bytes[s];
    }
    return peak;
}

/// The order of the nodes, which fits the limit, and what a witness needs to know of it. Shared by all passes over one
/// graph. Arrays of a workspace.
struct baseline {
    std::span<std::int64_t> live;        ///< per node: bytes while it runs
    std::span<std::uint32_t> first_use;  ///< storage -> its uses: [first_use[s], first_use[s + 1]) of `uses`
    std::span<std::uint32_t> uses;       ///< nodes, ascending
};

template <class = void>
[[nodiscard]] inline baseline make_baseline(const compact_tasks& c, workspace& w) {
    const std::size_t storages = c.storage_bytes.size();
    const baseline b{w.take<std::int64_t>(c.size()), w.take(storages + 1, 0u),
                     w.take<std::uint32_t>(c.touched.items())};
    for (std::uint32_t n = 0; n < c.size(); ++n)
        for (std::uint32_t s : c.touched[n]) ++b.first_use[s + 1];
    for (std::size_t s = 0; s < storages; ++s) b.first_use[s + 1] += b.first_use[s];
    const workspace::scope scratch(w);
    const std::span<std::uint32_t> next = w.take<std::uint32_t>(storages);
    std::copy(b.first_use.begin(), b.first_use.end() - 1, next.begin());
    for (std::uint32_t n = 0; n < c.size(); ++n)
        for (std::uint32_t s : c.touched[n]) b.uses[next[s]++] = n;
    std::int64_t now = 0;
    for (std::uint32_t n = 0; n < c.size(); ++n) {
        now += c.allocation[n];
        b.live[n] = now;
        for (std::uint32_t s : c.touched[n])
            if (b.uses[b.first_use[s + 1] - 1] == n) now -= c.storage_bytes[s];
    }
    return b;
}

class baseline_witness {
public:
    /// `limit` is no lower than the largest of `b.live`. Lives in the workspace's open scope.
    baseline_witness(const compact_tasks& c, const baseline& b, std::int64_t limit, workspace& w)
        : c_(c),
          b_(b),
          limit_(limit),
          profile_(b.live, w),
          done_(w.take(c.size() + std::size_t{1}, '\0')),
          last_(w.take<std::uint32_t>(c.storage_bytes.size())) {
        for (std::size_t s = 0; s < last_.size(); ++s) last_[s] = b.first_use[s + 1] - 1;
    }

    /// First node of the baseline that has not run; its predecessors all have, and it always fits.
    [[nodiscard]] std::uint32_t front() const { return front_; }

    /// Whether the remaining baseline still fits the limit when `n` runs now.
    [[nodiscard]] bool allows(std::uint32_t n) const {
        if (c_.allocation[n] == 0 || n == front_) return true;
        return profile_.maximum(front_, n) + c_.allocation[n] <= limit_;
    }

    void run(std::uint32_t n) {
        STRETTO_AUDIT(allows(n), "the scheduler ran a task that the memory witness does not allow");
        done_[n] = 1;
        if (n == front_) {
            while (done_[front_]) ++front_;
            for (std::uint32_t s : c_.touched[n]) last_remaining_use(s);
            return;
        }
        profile_.mark_executed(n);
        std::int64_t from_now = c_.allocation[n];
        for (std::uint32_t s : c_.touched[n]) {
            if (b_.uses[last_[s]] != n) continue;
            // The storage now dies behind an earlier task of the remaining baseline, or at once.
            const std::uint32_t earlier = last_remaining_use(s);
            from_now -= c_.storage_bytes[s];
            if (earlier != none) profile_.add(front_, earlier + 1, c_.storage_bytes[s]);
        }
        profile_.add(front_, n, from_now);
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// The last node that uses `s` and has not run, or none. Amortised O(1).
    std::uint32_t last_remaining_use(std::uint32_t s) {
        while (done_[b_.uses[last_[s]]]) {
            if (last_[s] == b_.first_use[s]) return none;
            --last_[s];
        }
        return b_.uses[last_[s]];
    }

    const compact_tasks& c_;
    const baseline& b_;
    std::int64_t limit_;
    range_profile profile_;
    std::span<char> done_;  // per node, and a false one behind the last
    std::uint32_t front_ = 0;
    std::span<std::uint32_t> last_;  // storage -> its last use that may not have run, as an index into uses
};

}  // namespace stretto::detail

#endif
