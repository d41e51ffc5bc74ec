// The transitive closure of a small graph: a bit for every pair of positions in a topological order.
//
// A vertex can reach only what comes after it, so its row begins with the word that its own bit is in. Rows are made
// from the last position to the first; each is the union of the rows of the successors, as in Purdom, BIT 1970, with
// machine words for sets.
#ifndef STRETTO_ANALYSIS_DETAIL_CLOSURE_ROWS_HPP
#define STRETTO_ANALYSIS_DETAIL_CLOSURE_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// The rows take half a bit per pair of vertices: 1 MB for 4,096 of them, 17 MB for 16,384.
template <class = void>
class closure_rows {
public:
    closure_rows() = default;
    /// Computes the closure of a graph whose ids are positions in a topological order. It takes O(V E / 128) time: V /
    /// 128 words on average for every successor that is not reached through one listed before it.
    explicit closure_rows(const snapshot_view& g)
        : row_words_((g.index_bound() + 63) / 64), words_(begin_of(row_words_ * 64)) {
        for (auto u = static_cast<std::uint32_t>(g.index_bound()); u-- > 0;) {
            std::uint64_t* const row = words_.data() + begin_of(u);
            const std::size_t first = u / 64;
            row[0] |= std::uint64_t{1} << (u % 64);
            for (std::uint32_t v : g.successors(u)) {
                const std::size_t skipped = v / 64 - first;
                if ((row[skipped] >> (v % 64)) & 1u) continue;
                const std::uint64_t* const more = words_.data() + begin_of(v);
                for (std::size_t k = skipped; k < row_words_ - first; ++k) row[k] |= more[k - skipped];
            }
        }
    }

    /// Whether there is a path from `u` to `v`. O(1).
    [[nodiscard]] bool reaches(std::uint32_t u, std::uint32_t v) const {
        if (v < u) return false;
        return (words_[begin_of(u) + (v / 64 - u / 64)] >> (v % 64)) & 1u;
    }
    [[nodiscard]] std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

private:
    /// Where the row of position `u` begins. The rows are in blocks of 64, and those of a block are one word shorter
    /// than those of the block before.
    [[nodiscard]] std::size_t begin_of(std::size_t u) const {
        const std::size_t block = u / 64, length = row_words_ - block;
        return 64 * (block * row_words_ - block * (block - 1) / 2) + u % 64 * length;
    }

    std::size_t row_words_ = 0;  // length of the longest row, in words
    std::vector<std::uint64_t> words_;
};

}  // namespace stretto::detail

#endif
