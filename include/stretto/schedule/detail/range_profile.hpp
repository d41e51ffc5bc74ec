// The live bytes at each position of an order of which the front is forgotten, with "add to a range" and "maximum over
// a range".
#ifndef STRETTO_SCHEDULE_DETAIL_RANGE_PROFILE_HPP
#define STRETTO_SCHEDULE_DETAIL_RANGE_PROFILE_HPP

#include <algorithm>
#include <cstdint>
#include <span>

#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The profile of the positions that have not been executed. It is a tree of fan-out 16 over flat arrays; every node
/// above the positions has an addend for everything below it and a cached maximum. An operation takes O(32 log_16 n)
/// simple steps, and short ranges, which are most of them, stay within a block or two. A binary segment tree is much
/// slower.
class range_profile {
public:
    /// The value of a position that has been executed: below every sum that can occur.
    static constexpr std::int64_t executed = INT64_MIN / 4;

    /// The profile of `values`. Its arrays are taken from the open scope of the workspace.
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

    /// The maximum over [from, to); at most `executed` if nothing in it is left.
    [[nodiscard]] std::int64_t maximum(std::uint32_t from, std::uint32_t to) const {
        if (from >= to) return executed;
        // What has been seen from the two ends so far, without the addends above. There are two, because the ends may
        // lie below different nodes.
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

    /// The last position of [from, to) whose value is at least `value`; `to` if there is none.
    [[nodiscard]] std::uint32_t last_at_least(std::uint32_t from, std::uint32_t to, std::int64_t value) const {
        if (from >= to) return to;
        const std::size_t top = height_ - 1;
        return last_below({from, to, value}, top, 0, static_cast<std::uint32_t>(levels_[top].maximum.size()), 0);
    }

    /// By how much additions can have lowered a value since the profile was made, at most. What this has grown by since
    /// some moment bounds how far any value has sunk since then.
    [[nodiscard]] std::int64_t most_sunk() const noexcept { return most_sunk_; }

    /// Adds `amount` to [from, to). Precondition: nobody asks for anything before `from` any more. The blocks in which
    /// `from` lies can therefore be raised as a whole, because their maxima are only asked for from there on.
    void add(std::uint32_t from, std::uint32_t to, std::int64_t amount) {
        if (from >= to || amount == 0) return;
        if (amount < 0) most_sunk_ -= amount;
        std::uint32_t last = to - 1;    // the node on this level that holds the end
        std::int64_t right = executed;  // the maximum of that node, once it is above the positions
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

    /// Takes a position out of all maxima.
    void mark_executed(std::uint32_t p) {
        const std::int64_t before = levels_[0].maximum[p];
        levels_[0].maximum[p] = executed;
        if (height_ > 1 && before + levels_[1].addend[p / fan_out] == levels_[1].maximum[p / fan_out])
            refresh_above(0, p);
    }

private:
    static constexpr std::uint32_t fan_out = 16;

    struct level {
        std::span<std::int64_t> maximum;  // whole blocks; it includes the addends of its own level, but not those above
        std::span<std::int64_t> addend;   // empty for the positions themselves
    };

    const level& add_level(std::size_t nodes, workspace& w) {
        const std::size_t whole = (nodes + fan_out - 1) / fan_out * fan_out;
        level& l = levels_[height_++];
        l.maximum = w.take<std::int64_t>(whole);
        std::fill(l.maximum.begin() + static_cast<std::ptrdiff_t>(nodes), l.maximum.end(), executed);
        if (height_ > 1) l.addend = w.take<std::int64_t>(nodes);
        return l;
    }
    /// What last_at_least looks for.
    struct sought {
        std::uint32_t from, to;
        std::int64_t value;
    };
    /// The same below the nodes [first, end) of level l, to whose values `above` is added; `to` if there is none.
    [[nodiscard]] std::uint32_t last_below(const sought& s, std::size_t l, std::uint32_t first, std::uint32_t end,
                                           std::int64_t above) const {
        const auto width = static_cast<int>(4 * l);  // a node spans fan_out^l positions
        const level& here = levels_[l];
        first = std::max(first, s.from >> width);
        end = std::min(end, ((s.to - 1) >> width) + 1);
        for (std::uint32_t k = end; k-- > first;) {
            if (here.maximum[k] + above < s.value) continue;
            if (l == 0) return k;
            const std::uint32_t found = last_below(s, l - 1, k * fan_out, (k + 1) * fan_out, above + here.addend[k]);
            if (found != s.to) return found;
        }
        return s.to;
    }
    /// The maximum of `count` values. Two accumulators let the two chains of comparisons overlap.
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
    /// Adds `amount` to a range of one level. Returns the new maximum over the range; at most `executed` if nothing in
    /// it is left.
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
    /// Sets the maximum of a node above the positions. A part of the node has been raised by `amount`, except that its
    /// ends may have been raised by less, and that part now has the maximum `raised`. Returns whether the maximum of
    /// the node has changed.
    bool refresh(std::size_t l, std::uint32_t k, std::int64_t raised, std::int64_t amount) {
        const std::int64_t own = levels_[l].maximum[k] - levels_[l].addend[k];
        if (amount < 0) return raised - amount >= own && refresh(l, k);
        if (raised <= own) return false;
        levels_[l].maximum[k] += raised - own;
        return true;
    }
    /// Computes the maximum of a node from those of its children. Returns whether it has changed.
    bool refresh(std::size_t l, std::uint32_t k) {
        const level& here = levels_[l];
        const std::int64_t before = here.maximum[k];
        here.maximum[k] = scan(levels_[l - 1].maximum, k * fan_out, fan_out) + here.addend[k];
        return here.maximum[k] != before;
    }
    /// Refreshes the nodes above node k of level l, as far as anything changes.
    void refresh_above(std::size_t l, std::uint32_t k) {
        while (++l < height_ && refresh(l, k /= fan_out)) {
        }
    }

    level levels_[8];  // [0]: the positions; 16^8 exceeds any number of them
    std::size_t height_ = 0;
    std::int64_t most_sunk_ = 0;
};

}  // namespace stretto::detail

#endif
