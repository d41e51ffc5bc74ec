// Collects one row of an index_lists at a time and leaves out what it has already.
#ifndef STRETTO_ANALYSIS_DETAIL_UNIQUE_ROWS_HPP
#define STRETTO_ANALYSIS_DETAIL_UNIQUE_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// Rows without repetitions, in order of first appearance. Rows are short; one that is not gets a bitmap.
template <class = void>
class unique_rows {
public:
    explicit unique_rows(std::size_t universe) : universe_(universe), row_(short_row) {}

    void add(std::uint32_t item) {
        if (size_ <= short_row) {
            for (std::size_t k = 0; k < size_; ++k)
                if (row_[k] == item) return;
        } else if (in_row_[item]) {
            return;
        }
        if (size_ >= short_row) grow(item);
        row_[size_++] = item;
    }
    void close(index_lists& to) {
        to.push_row({row_.data(), size_});
        if (size_ > short_row)
            for (std::size_t k = 0; k < size_; ++k) in_row_[row_[k]] = false;
        size_ = 0;
    }

private:
    static constexpr std::size_t short_row = 16;

    void grow(std::uint32_t item) {
        in_row_.resize(universe_);
        if (size_ == short_row)
            for (std::uint32_t k = 0; k < size_; ++k) in_row_[row_[k]] = true;
        in_row_[item] = true;
        if (size_ == row_.size()) row_.resize(2 * size_);
    }

    std::size_t universe_;
    std::size_t size_ = 0;
    std::vector<std::uint32_t> row_;  // its first size_ items
    std::vector<char> in_row_;        // all false but while a long row is open
};

}  // namespace stretto::detail

#endif
