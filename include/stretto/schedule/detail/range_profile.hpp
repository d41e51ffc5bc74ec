// A range profile holds the live bytes at each position of an order that is consumed from its front. It supports adding
// to all earlier positions, and finding a position in a range with more than a given value.
#ifndef STRETTO_SCHEDULE_DETAIL_RANGE_PROFILE_HPP
#define STRETTO_SCHEDULE_DETAIL_RANGE_PROFILE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The profile of the positions that have not been executed. Every addition begins at the front, so a value is the sum
/// of the steps from its position to the end, and an addition changes one step. A tree of fan-out 16 over flat arrays
/// holds sums of steps and upper bounds on values. Only a query that meets a bound lowers it to what is below it. So an
/// addition takes O(log_16 n), and none of its branches depends on a value. A query takes O(16 log_16^2 n), amortised:
/// every addition and every execution makes the bound of at most one part on each level too high. A pass makes about
/// two additions for each query.
class range_profile {
public:
    /// A position and its value.
    struct point {
        std::uint32_t position;
        std::int64_t value;
    };

    /// Makes the profile of `values`. Its arrays are taken from the open scope of the workspace. O(n).
    range_profile(std::span<const std::int64_t> values, workspace& w) {
        const auto size = static_cast<std::uint32_t>(values.size());
        std::span<part> here = add_level(size, w);
        for (std::uint32_t p = 0; p < size; ++p) {
            const std::int64_t step = values[p] - (p + 1 < size ? values[p + 1] : 0);
            here[p] = {step, step};
        }
        while (here.size() > fan_out) {
            const std::span<const part> below = here;
            here = add_level((here.size() + fan_out - 1) / fan_out, w);
            for (std::size_t k = 0; k < here.size(); ++k) {
                here[k] = {0, executed};
                for (std::size_t i = std::min(below.size(), (k + 1) * fan_out); i-- > k * fan_out;) {
                    here[k].most = std::max(here[k].most, here[k].sum + below[i].most);
                    here[k].sum += below[i].sum;
                }
            }
        }
    }

    /// Adds `amount` to all positions before `end`. Precondition: `end` is not 0.
    void add_before(std::uint32_t end, std::int64_t amount) {
        if (amount < 0) most_sunk_ -= amount;
        std::uint32_t k = end - 1;
        levels_[0][k].sum += amount;
        levels_[0][k].most += amount;
        for (std::size_t l = 1; l < height_; ++l) {
            part& above = levels_[l][k /= fan_out];
            above.sum += amount;
            above.most += std::max<std::int64_t>(amount, 0);
        }
    }

    /// Excludes a position from later queries.
    void mark_executed(std::uint32_t p) { levels_[0][p].most = executed; }

    /// Returns the last position of [front, to) with a value above `value`, and its value, or {to, value} if there is
    /// none. Precondition: no later query concerns positions before `front`.
    [[nodiscard]] point last_above(std::uint32_t front, std::uint32_t to, std::int64_t value) {
        point found{to, value};
        if (front >= to) return found;
        const std::size_t top = height_ - 1;
        search(found, front, to, top, 0, static_cast<std::uint32_t>(levels_[top].size()), 0);
        return found;
    }

    /// Returns an upper bound on how far additions have lowered any value since the profile was made. Its growth since
    /// some moment bounds how far any value has sunk since then.
    [[nodiscard]] std::int64_t most_sunk() const noexcept { return most_sunk_; }

private:
    static constexpr std::uint32_t fan_out = 16, width = 4;
    /// This stays below every value that can occur, no matter what is added to it.
    static constexpr std::int64_t executed = INT64_MIN / 4;

    /// Neighbouring positions: a single one, or fan_out smaller parts.
    struct part {
        std::int64_t sum;   ///< sum of its steps
        std::int64_t most;  ///< upper bound on its values, less the sum of the steps behind; exact for a position
    };

    std::span<part> add_level(std::size_t parts, workspace& w) { return levels_[height_++] = w.take<part>(parts); }

    /// Searches the parts [first, end) of level l, last to first; `behind` is the sum of the steps after them. Returns
    /// an upper bound on the values at positions from `front` on, unless something was found.
    std::int64_t search(point& found, std::uint32_t front, std::uint32_t to, std::size_t l, std::uint32_t first,
                        std::uint32_t end, std::int64_t behind) {
        const auto shift = static_cast<int>(width * l);
        const std::span<part> here = levels_[l];
        end = std::min(end, static_cast<std::uint32_t>(here.size()));
        first = std::max(first, front >> shift);
        const std::uint32_t inside = std::min(end, ((to - 1) >> shift) + 1);
        std::int64_t most = executed;
        for (std::uint32_t k = end; k-- > inside;) {
            most = std::max(most, behind + here[k].most);
            behind += here[k].sum;
        }
        for (std::uint32_t k = inside; k-- > first;) {
            part& p = here[k];
            if (behind + p.most > found.value) {
                if (l == 0) {
                    found = {k, behind + p.most};
                    return most;
                }
                const std::uint32_t before = found.position;
                const std::int64_t bound = search(found, front, to, l - 1, k * fan_out, (k + 1) * fan_out, behind);
                if (found.position != before) return most;
                p.most = bound - behind;
            }
            most = std::max(most, behind + p.most);
            behind += p.sum;
        }
        return most;
    }

    std::span<part> levels_[8];  // levels_[0] contains the positions; 16^8 exceeds any number of them
    std::size_t height_ = 0;
    std::int64_t most_sunk_ = 0;
};

}  // namespace stretto::detail

#endif
