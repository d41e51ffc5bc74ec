// A ready set is a set of small integers that finds the smallest member not below x. It is a bitmap with summary
// levels: a bit of a level says whether a word of 64 bits of the level below has any member.
#ifndef STRETTO_SCHEDULE_DETAIL_READY_SET_HPP
#define STRETTO_SCHEDULE_DETAIL_READY_SET_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The set; its members are below `universe`. `insert`, `erase` and `next` take O(log_64 n) time, a few nanoseconds. It
/// takes about n/8 bytes from the open scope of the workspace.
class ready_set {
public:
    ready_set(std::uint32_t universe, workspace& w) {
        std::size_t n = universe;
        do {
            n = (n + 63) / 64;
            // There is one word of padding, because `next` may look just past the end.
            levels_[height_++] = w.take(n + 1, std::uint64_t{0});
        } while (n > 1);
    }

    void insert(std::uint32_t x) {
        for (std::size_t up = 0; up < height_; ++up) {
            std::uint64_t& word = levels_[up][x / 64];
            const bool had_any = word != 0;
            word |= std::uint64_t{1} << (x % 64);
            if (had_any) return;
            x /= 64;
        }
    }

    void erase(std::uint32_t x) {
        for (std::size_t up = 0; up < height_; ++up) {
            std::uint64_t& word = levels_[up][x / 64];
            word &= ~(std::uint64_t{1} << (x % 64));
            if (word != 0) return;
            x /= 64;
        }
    }

    /// Returns the smallest member >= x, or UINT32_MAX if there is none.
    [[nodiscard]] std::uint32_t next(std::uint32_t x) const {
        // Climbs until the rest of a word is not empty, and then descends to the first member in it.
        std::size_t up = 0;
        for (;; ++up) {
            if (up == height_ || x / 64 >= levels_[up].size()) return UINT32_MAX;
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
    std::span<std::uint64_t> levels_[6];  // 64^6 exceeds any universe
    std::size_t height_ = 0;
};

}  // namespace stretto::detail

#endif
