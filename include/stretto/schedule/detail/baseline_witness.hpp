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

/// Live bytes per position of the remaining baseline: range add and range maximum. Positions form blocks of 32 and
/// groups of 32 blocks, each with an addend for all its members and a cached maximum. The ranges of a schedule are
/// mostly short (what fits under one collective), so O(length / 1024 + 128) simple steps beat a segment tree by far.
class range_profile {
public:
    static constexpr std::int64_t executed = INT64_MIN / 4;

    explicit range_profile(const std::vector<std::int64_t>& values) : values_(values) {
        const std::size_t groups = (values.size() + group - 1) / group;
        values_.resize(groups * group, executed);
        block_max_.resize(groups * group / block);
        block_add_.resize(block_max_.size(), 0);
        group_max_.resize(groups);
        group_add_.resize(groups, 0);
        for (std::uint32_t b = 0; b < block_max_.size(); ++b) refresh_block(b);
        for (std::uint32_t k = 0; k < groups; ++k) refresh_group(k);
    }

    /// Maximum over [from, to); at most `executed` if there is nothing in it.
    [[nodiscard]] std::int64_t maximum(std::uint32_t from, std::uint32_t to) const {
        std::int64_t best = executed;
        while (from < to) {
            if (from % group == 0 && to - from >= group) {
                best = std::max(best, group_max_[from / group]);
                from += group;
            } else if (from % block == 0 && to - from >= block) {
                best = std::max(best, block_max_[from / block] + group_add_[from / group]);
                from += block;
            } else {
                const std::uint32_t end = std::min(to, (from / block + 1) * block);
                best = std::max(best, scan(values_, from, end) + block_add_[from / block] + group_add_[from / group]);
                from = end;
            }
        }
        return best;
    }

    void add(std::uint32_t from, std::uint32_t to, std::int64_t amount) {
        if (from >= to || amount == 0) return;
        const std::uint32_t first_group = from / group, last_group = (to - 1) / group;
        while (from < to) {
            if (from % group == 0 && to - from >= group) {
                group_add_[from / group] += amount;
                group_max_[from / group] += amount;
                from += group;
            } else if (from % block == 0 && to - from >= block) {
                block_add_[from / block] += amount;
                block_max_[from / block] += amount;
                from += block;
            } else {
                const std::uint32_t end = std::min(to, (from / block + 1) * block);
                for (std::uint32_t p = from; p < end; ++p) values_[p] += amount;
                refresh_block(from / block);
                from = end;
            }
        }
        refresh_group(first_group);
        if (last_group != first_group) refresh_group(last_group);
    }

    void mark_executed(std::uint32_t p) {
        const std::uint32_t b = p / block;
        const bool was_maximum = values_[p] + block_add_[b] == block_max_[b];
        values_[p] = executed;
        if (!was_maximum) return;
        refresh_block(b);
        refresh_group(p / group);
    }

private:
    static constexpr std::uint32_t block = 32;
    static constexpr std::uint32_t group = 32 * block;

    /// Two accumulators: the compare chains overlap.
    [[nodiscard]] static std::int64_t scan(const std::vector<std::int64_t>& v, std::uint32_t from, std::uint32_t to) {
        std::int64_t even = executed, odd = executed;
        for (; from + 1 < to; from += 2) {
            even = std::max(even, v[from]);
            odd = std::max(odd, v[from + 1]);
        }
        if (from < to) even = std::max(even, v[from]);
        return std::max(even, odd);
    }
    void refresh_block(std::uint32_t b) { block_max_[b] = scan(values_, b * block, (b + 1) * block) + block_add_[b]; }
    void refresh_group(std::uint32_t k) {
        constexpr std::uint32_t blocks = group / block;
        group_max_[k] = scan(block_max_, k * blocks, (k + 1) * blocks) + group_add_[k];
    }

    std::vector<std::int64_t> values_;
    std::vector<std::int64_t> block_max_;  // includes block_add_, not group_add_
    std::vector<std::int64_t> block_add_;
    std::vector<std::int64_t> group_max_;  // includes group_add_
    std::vector<std::int64_t> group_add_;
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
