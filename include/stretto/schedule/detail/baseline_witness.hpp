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

namespace stretto::detail {

/// Live bytes per position of the remaining baseline: range add and range maximum. A tree of fan-out 32 over flat
/// arrays; every node above the positions has an addend for all below it and a cached maximum. O(64 log_32 n) simple
/// steps; short ranges, which most are, stay within a block or two. Beats a binary segment tree by far.
class range_profile {
public:
    static constexpr std::int64_t executed = INT64_MIN / 4;

    explicit range_profile(const std::vector<std::int64_t>& values) {
        levels_.push_back({values, {}});
        while (levels_.back().maximum.size() > fan_out) {
            level& below = levels_.back();
            const std::size_t nodes = (below.maximum.size() + fan_out - 1) / fan_out;
            below.maximum.resize(nodes * fan_out, executed);
            level above{std::vector<std::int64_t>(nodes), std::vector<std::int64_t>(nodes, 0)};
            for (std::uint32_t k = 0; k < nodes; ++k) above.maximum[k] = scan(below.maximum, k * fan_out, fan_out);
            levels_.push_back(std::move(above));
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
            if (first / fan_out == last / fan_out || l + 1 == levels_.size()) {
                left = std::max({left, right, scan(here.maximum, from, to - from)});
                for (first /= fan_out; ++l < levels_.size(); first /= fan_out) left += levels_[l].addend[first];
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

    void add(std::uint32_t from, std::uint32_t to, std::int64_t amount) {
        if (from >= to || amount == 0) return;
        std::uint32_t first = from, last = to - 1;
        for (std::size_t l = 0;; ++l) {
            const bool top = l + 1 == levels_.size();
            if (first / fan_out == last / fan_out || top) {
                raise(l, from, to, amount);
                if (!top) refresh_above(l, first / fan_out);
                return;
            }
            const std::uint32_t from_above = (from + fan_out - 1) / fan_out, to_above = to / fan_out;
            raise(l, from, from_above * fan_out, amount);
            raise(l, to_above * fan_out, to, amount);
            from = from_above;
            to = to_above;
            first /= fan_out;
            last /= fan_out;
            refresh(l + 1, first);
            refresh(l + 1, last);
        }
    }

    void mark_executed(std::uint32_t p) {
        const std::int64_t before = levels_[0].maximum[p];
        levels_[0].maximum[p] = executed;
        if (levels_.size() > 1 && before + levels_[1].addend[p / fan_out] == levels_[1].maximum[p / fan_out])
            refresh_above(0, p / fan_out);
    }

private:
    static constexpr std::uint32_t fan_out = 32;

    struct level {
        std::vector<std::int64_t> maximum;  // includes the addends of its own level, not those above
        std::vector<std::int64_t> addend;   // none for the positions themselves
    };

    /// Two accumulators: the compare chains overlap.
    [[nodiscard]] static std::int64_t scan(const std::vector<std::int64_t>& v, std::uint32_t from,
                                           std::uint32_t count) {
        const std::int64_t* x = v.data() + from;
        std::int64_t even = executed, odd = executed;
        for (; count >= 2; count -= 2, x += 2) {
            even = std::max(even, x[0]);
            odd = std::max(odd, x[1]);
        }
        if (count != 0) even = std::max(even, *x);
        return std::max(even, odd);
    }
    void raise(std::size_t l, std::uint32_t from, std::uint32_t to, std::int64_t amount) {
        level& here = levels_[l];
        for (std::uint32_t k = from; k < to; ++k) here.maximum[k] += amount;
        if (l > 0)
            for (std::uint32_t k = from; k < to; ++k) here.addend[k] += amount;
    }
    /// Says whether the maximum of a node above the positions has changed.
    bool refresh(std::size_t l, std::uint32_t k) {
        level& here = levels_[l];
        const std::int64_t before = here.maximum[k];
        here.maximum[k] = scan(levels_[l - 1].maximum, k * fan_out, fan_out) + here.addend[k];
        return here.maximum[k] != before;
    }
    /// Refreshes node k of the level above l and what is above it, as far as anything changes.
    void refresh_above(std::size_t l, std::uint32_t k) {
        while (++l < levels_.size() && refresh(l, k)) k /= fan_out;
    }

    std::vector<level> levels_;  // [0]: per position, padded to whole blocks
};

/// Largest number of live bytes while the nodes run in `order`.
template <class = void>
[[nodiscard]] inline std::int64_t peak_of(const compact_tasks& c, std::span<const std::uint32_t> order) {
    std::vector<std::uint32_t> last(c.storage_bytes.size());
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

/// An order that fits the limit, with what a witness needs to know of it. Shared by all passes over one graph.
struct baseline {
    std::vector<std::uint32_t> order;      ///< position -> node
    std::vector<std::uint32_t> position;   ///< node -> position
    std::vector<std::int64_t> live;        ///< per position: bytes while its node runs
    std::vector<std::uint32_t> first_use;  ///< storage -> its uses: [first_use[s], first_use[s + 1]) of `uses`
    std::vector<std::uint32_t> uses;       ///< positions, ascending
};

template <class = void>
[[nodiscard]] inline baseline make_baseline(const compact_tasks& c, std::vector<std::uint32_t> order) {
    baseline b;
    b.position.resize(c.size());
    b.first_use.assign(c.storage_bytes.size() + 1, 0);
    for (std::uint32_t p = 0; p < order.size(); ++p) {
        b.position[order[p]] = p;
        for (std::uint32_t s : c.touched[order[p]]) ++b.first_use[s + 1];
    }
    for (std::size_t s = 0; s < c.storage_bytes.size(); ++s) b.first_use[s + 1] += b.first_use[s];
    b.uses.resize(b.first_use.back());
    std::vector<std::uint32_t> next(b.first_use.begin(), b.first_use.end() - 1);
    for (std::uint32_t p = 0; p < order.size(); ++p)
        for (std::uint32_t s : c.touched[order[p]]) b.uses[next[s]++] = p;
    b.live.reserve(order.size());
    std::int64_t now = 0;
    for (std::uint32_t p = 0; p < order.size(); ++p) {
        now += c.allocation[order[p]];
        b.live.push_back(now);
        for (std::uint32_t s : c.touched[order[p]])
            if (b.uses[b.first_use[s + 1] - 1] == p) now -= c.storage_bytes[s];
    }
    b.order = std::move(order);
    return b;
}

class baseline_witness {
public:
    /// `limit` is no lower than the largest of `b.live`.
    baseline_witness(const compact_tasks& c, const baseline& b, std::int64_t limit)
        : c_(c), b_(b), limit_(limit), profile_(b.live), done_(b.order.size() + 1, 0), last_(c.storage_bytes.size()) {
        for (std::size_t s = 0; s < last_.size(); ++s) last_[s] = b.first_use[s + 1] - 1;
    }

    /// First node of the baseline that has not run; its predecessors all have, and it always fits.
    [[nodiscard]] std::uint32_t front() const { return b_.order[front_]; }

    [[nodiscard]] std::uint32_t at(std::uint32_t position) const { return b_.order[position]; }
    [[nodiscard]] std::uint32_t position(std::uint32_t n) const { return b_.position[n]; }

    /// Whether the remaining baseline still fits the limit when `n` runs now.
    [[nodiscard]] bool allows(std::uint32_t n) const {
        const std::uint32_t p = b_.position[n];
        if (c_.allocation[n] == 0 || p == front_) return true;
        return profile_.maximum(front_, p) + c_.allocation[n] <= limit_;
    }

    void run(std::uint32_t n) {
        STRETTO_AUDIT(allows(n), "the scheduler ran a task that the memory witness does not allow");
        const std::uint32_t p = b_.position[n];
        done_[p] = 1;
        if (p == front_) {
            while (done_[front_]) ++front_;
            for (std::uint32_t s : c_.touched[n]) last_remaining_use(s);
            return;
        }
        profile_.mark_executed(p);
        std::int64_t from_now = c_.allocation[n];
        for (std::uint32_t s : c_.touched[n]) {
            if (b_.uses[last_[s]] != p) continue;
            // The storage now dies behind an earlier task of the remaining baseline, or at once.
            const std::uint32_t earlier = last_remaining_use(s);
            if (earlier == none) from_now -= c_.storage_bytes[s];
            else profile_.add(earlier + 1, p, -c_.storage_bytes[s]);
        }
        profile_.add(front_, p, from_now);
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// Position of the last task that uses `s` and has not run, or none. Amortised O(1).
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
    std::vector<char> done_;  // per position, and a false one behind the last
    std::uint32_t front_ = 0;
    std::vector<std::uint32_t> last_;  // storage -> its last use that may not have run, as an index into uses
};

}  // namespace stretto::detail

#endif
