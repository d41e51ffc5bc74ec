// Collects one row of an index_lists at a time, without repeated items.
#ifndef STRETTO_CORE_UNIQUE_ROWS_HPP
#define STRETTO_CORE_UNIQUE_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// Makes rows without repetitions, in the order of first appearance. Most rows are short, and a short row is searched
/// linearly; only a long one gets a bitmap.
template <class = void>
class unique_rows {
public:
    /// Pushes `item` unless the open row of `to` contains it. A row that was begun this way must be closed by `close`.
    void add(index_lists& to, std::uint32_t item) {
        const std::span<const std::uint32_t> row = to.open_row();
        if (row.size() < short_row) {
            for (std::uint32_t x : row)
                if (x == item) return;
        } else if (!grow(row, item)) {
            return;
        }
        to.push(item);
    }
    /// Closes the open row of `to`.
    void close(index_lists& to) {
        if (const std::span<const std::uint32_t> row = to.open_row(); row.size() >= short_row) unmark(row);
        to.close_row();
    }

private:
    static constexpr std::size_t short_row = 16;

    /// Whether `item` is new to a row that is not short. The first time, the whole row is entered into the bitmap.
    [[gnu::noinline]] bool grow(std::span<const std::uint32_t> row, std::uint32_t item) {
        if (row.size() == short_row)
            for (std::uint32_t x : row) mark(x);
        return mark(item);
    }
    /// Enters an item and returns whether it is new.
    bool mark(std::uint32_t item) {
        if (item >= in_row_.size()) in_row_.resize(std::size_t{item} + 1);
        return !std::exchange(in_row_[item], true);
    }
    void unmark(std::span<const std::uint32_t> row) {
        for (std::uint32_t x : row)
            if (x < in_row_.size()) in_row_[x] = false;
    }

    std::vector<char> in_row_;  // by item; all false except while a long row is open
};

}  // namespace stretto::detail

#endif
