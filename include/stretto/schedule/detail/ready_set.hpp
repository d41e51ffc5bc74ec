// A set of small integers with "smallest member not below x": a bitmap with summary levels of 64.
#ifndef STRETTO_SCHEDULE_DETAIL_READY_SET_HPP
#define STRETTO_SCHEDULE_DETAIL_READY_SET_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::detail {

/// insert, erase, next: O(log_64 n), a few nanoseconds. Space n/8 bytes.
class ready_set {
public:
    explicit ready_set(std::uint32_t universe) {
        std::uint32_t n = universe;
        do {
            n = (n + 63) / 64;
            levels_.emplace_back(n + 1, 0);  // one word of padding: `next` may look just past the end
        } while (n > 1);
    }

    void insert(std::uint32_t x) {
        for (std::vector<std::uint64_t>& level : levels_) {
            std::uint64_t& word = level[x / 64];
            const bool had_any = word != 0;
            word |= std::uint64_t{1} << (x % 64);
            if (had_any) return;
            x /= 64;
        }
    }

    void erase(std::uint32_t x) {
        for (std::vector<std::uint64_t>& level : levels_) {
            std::uint64_t& word = level[x / 64];
            word &= ~(std::uint64_t{1} << (x % 64));
            if (word != 0) return;
            x /= 64;
        }
    }

    /// Smallest member >= x, or UINT32_MAX.
    [[nodiscard]] std::uint32_t next(std::uint32_t x) const {
        std::size_t up = 0;
        for (;; ++up) {
            if (up == levels_.size() || x / 64 >= levels_[up].size()) return UINT32_MAX;
            const std::uint64_t rest = levels_[up][x / 64] >> (x % 64);
            if (rest != 0) {
                x += static_cast<std::uint32_t>(std::countr_zero(rest));
                break;
            }
            x = x / 64 + 1;
        }
        while (up-- > 0) x = x * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_[up][x]));
        return x;
    }

private:
    std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace stretto::detail

#endif
