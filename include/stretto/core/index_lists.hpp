// A list of indices for every one of n rows, stored flat (compressed sparse rows).
#ifndef STRETTO_CORE_INDEX_LISTS_HPP
#define STRETTO_CORE_INDEX_LISTS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"

namespace stretto {

/// Rows are appended in order: `push` items of the open row, then `close_row`. Space: one `Index` per row and item.
template <class Index>
class basic_index_lists {
public:
    [[nodiscard]] std::size_t rows() const noexcept { return first_.size() - 1; }
    [[nodiscard]] std::size_t items() const noexcept { return items_.size(); }
    [[nodiscard]] std::span<const Index> operator[](std::size_t row) const {
        STRETTO_ASSERT(row < rows(), "row of an index_lists out of range");
        return {items_.data() + first_[row], items_.data() + first_[row + 1]};
    }

    void reserve(std::size_t rows, std::size_t items) {
        first_.reserve(rows + 1);
        items_.reserve(items);
    }
    void push(Index item) { items_.push_back(item); }
    /// A whole row at once; none may be open.
    void push_row(std::span<const Index> row) {
        items_.insert(items_.end(), row.begin(), row.end());
        close_row();
    }
    void close_row() { first_.push_back(static_cast<Index>(items_.size())); }

    /// The same relation seen from the other side: row j of the result lists, ascending, the rows that contain j.
    /// Time and space O(rows + items).
    [[nodiscard]] basic_index_lists inverse(std::size_t inverse_rows) const {
        basic_index_lists out;
        out.first_.assign(inverse_rows + 1, 0);
        out.items_.resize(items_.size());
        for (Index j : items_) ++out.first_[j];
        Index total = 0;
        for (Index& f : out.first_) {
            total += f;
            f = total;
        }
        for (std::size_t row = rows(); row-- > 0;)
            for (std::size_t k = first_[row + 1]; k-- > first_[row];)
                out.items_[--out.first_[items_[k]]] = static_cast<Index>(row);
        return out;
    }

    friend bool operator==(const basic_index_lists&, const basic_index_lists&) = default;

private:
    std::vector<Index> first_{0};
    std::vector<Index> items_;
};

/// What the library uses: 32-bit vertex and value numbers.
using index_lists = basic_index_lists<std::uint32_t>;

}  // namespace stretto

#endif
