// A list of indices for each of n rows, stored in two flat arrays (compressed sparse rows).
#ifndef STRETTO_CORE_INDEX_LISTS_HPP
#define STRETTO_CORE_INDEX_LISTS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "stretto/core/config.hpp"

namespace stretto {

namespace detail {

/// Integers that are appended one at a time. It differs from std::vector in two ways: `push` is small enough to be
/// inlined into the loop that calls it, and new capacity is not initialised.
template <class Index>
class appended_indices {
public:
    appended_indices() = default;
    /// Creates `size` integers, which have indeterminate values until they are written.
    explicit appended_indices(std::size_t size) : begin_(new Index[size]), end_(begin_ + size), room_(end_) {}
    appended_indices(const appended_indices& other) : appended_indices(other.size()) { copy(other, begin_); }
    appended_indices(appended_indices&& other) noexcept
        : begin_(std::exchange(other.begin_, nullptr)),
          end_(std::exchange(other.end_, nullptr)),
          room_(std::exchange(other.room_, nullptr)) {}
    appended_indices& operator=(appended_indices other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(room_, other.room_);
        return *this;
    }
    ~appended_indices() { delete[] begin_; }

    /// Reserves capacity for `count` integers in total.
    void reserve(std::size_t count) {
        if (static_cast<std::size_t>(room_ - begin_) < count) move_to(count);
    }
    [[gnu::always_inline]] void push(Index item) {
        if (end_ == room_) [[unlikely]]
            move_to(2 * size() + 8);
        *end_++ = item;
    }
    /// Appends `count` integers, which have indeterminate values until they are written, and returns the first.
    [[nodiscard]] Index* extend(std::size_t count) {
        if (static_cast<std::size_t>(room_ - end_) < count) [[unlikely]]
            move_to(2 * size() + count + 8);
        return std::exchange(end_, end_ + count);
    }
    /// Removes all integers and keeps the capacity.
    void clear() noexcept { end_ = begin_; }

    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    [[nodiscard]] Index* begin() noexcept { return begin_; }
    [[nodiscard]] Index* end() noexcept { return end_; }
    [[nodiscard]] const Index* begin() const noexcept { return begin_; }
    [[nodiscard]] const Index* end() const noexcept { return end_; }
    [[nodiscard]] Index& operator[](std::size_t k) noexcept { return begin_[k]; }
    [[nodiscard]] Index operator[](std::size_t k) const noexcept { return begin_[k]; }

    friend bool operator==(const appended_indices& a, const appended_indices& b) noexcept {
        if (a.size() != b.size()) return false;
        for (std::size_t k = 0; k < a.size(); ++k)
            if (a[k] != b[k]) return false;
        return true;
    }

private:
    static Index* copy(const appended_indices& from, Index* to) {
        for (Index item : from) *to++ = item;
        return to;
    }
    [[gnu::noinline]] void move_to(std::size_t room) {
        Index* const begin = new Index[room];
        end_ = copy(*this, begin);
        delete[] begin_;
        begin_ = begin;
        room_ = begin + room;
    }

    Index* begin_ = nullptr;
    Index* end_ = nullptr;
    Index* room_ = nullptr;  // end of the capacity
};

}  // namespace detail

/// The lists. Rows are appended in order: `push` the items of the open row, then call `close_row`. They take one
/// `Index` per row and one per item; the number of items must be representable as an `Index`.
template <class Index>
class basic_index_lists {
public:
    basic_index_lists() { first_.push(0); }

    [[nodiscard]] std::size_t rows() const noexcept { return first_.size() - 1; }
    [[nodiscard]] std::size_t items() const noexcept { return items_.size(); }
    /// The items of a row. The span is valid until the next push. Precondition: row < rows().
    [[nodiscard]] std::span<const Index> operator[](std::size_t row) const {
        STRETTO_ASSERT(row < rows(), "row of an index_lists out of range");
        return {items_.begin() + first_[row], items_.begin() + first_[row + 1]};
    }

    /// Lists with `rows` rows, in which row r holds the item of every pair (r, item), in the order of the pairs. O(rows
    /// + pairs) time and space. Precondition: the first of every pair is below `rows`.
    [[nodiscard]] static basic_index_lists grouped(std::span<const std::pair<Index, Index>> pairs, std::size_t rows) {
        basic_index_lists out;
        out.first_.clear();
        Index* const first = out.first_.extend(rows + 1);
        Index* const items = out.items_.extend(pairs.size());
        for (Index& f : out.first_) f = 0;
        for (const auto& [row, item] : pairs) ++first[row];
        Index total = 0;
        for (Index& f : out.first_) {
            total += f;
            f = total;
        }
        for (std::size_t k = pairs.size(); k-- > 0;) items[--first[pairs[k].first]] = pairs[k].second;
        return out;
    }

    /// Reserves capacity for this many rows and items in total. O(1) allocations, and a copy of the existing items.
    void reserve(std::size_t rows, std::size_t items) {
        first_.reserve(rows + 1);
        items_.reserve(items);
    }
    void push(Index item) { items_.push(item); }
    /// Appends a whole row. Precondition: no row is open.
    void push_row(std::span<const Index> row) {
        for (Index item : row) items_.push(item);
        close_row();
    }
    void close_row() { first_.push(static_cast<Index>(items_.size())); }
    /// Appends the rows [first, last) of other lists, replacing every item j by map[j]. Precondition: no row is open,
    /// and `from` is not this object.
    void push_rows(const basic_index_lists& from, std::size_t first, std::size_t last, const Index* map) {
        STRETTO_ASSERT(first <= last && last <= from.rows(), "rows of an index_lists out of range");
        const Index begin = from.first_[first], end = from.first_[last];
        const Index before = static_cast<Index>(items_.size());
        const Index* const old = from.items_.begin();
        Index* item = items_.extend(end - begin);
        for (Index k = begin; k < end; ++k) *item++ = map[old[k]];
        Index* closed = first_.extend(last - first);
        for (std::size_t row = first + 1; row <= last; ++row)
            *closed++ = static_cast<Index>(from.first_[row] - begin + before);
    }
    /// Removes all rows and keeps the capacity.
    void clear() noexcept {
        first_.clear();
        first_.push(0);
        items_.clear();
    }
    /// The items pushed since the last row was closed. The span is valid until the next push.
    [[nodiscard]] std::span<const Index> open_row() const { return {items_.begin() + first_[rows()], items_.end()}; }

    /// The inverse relation: row j of the result lists, ascending, the rows that contain j. It takes O(rows + items +
    /// inverse_rows) time and space. Precondition: every item is below `inverse_rows`.
    [[nodiscard]] basic_index_lists inverse(std::size_t inverse_rows) const {
        basic_index_lists out;
        invert_into(out, inverse_rows);
        return out;
    }
    /// The same, into lists whose memory is reused. Precondition: `out` is not this object.
    void invert_into(basic_index_lists& out, std::size_t inverse_rows) const {
        out.first_.clear();
        out.items_.clear();
        Index* const first = out.first_.extend(inverse_rows + 1);
        Index* const items = out.items_.extend(items_.size());
        for (Index& f : out.first_) f = 0;
        for (Index j : items_) ++first[j];
        Index total = 0;
        for (Index& f : out.first_) {
            total += f;
            f = total;
        }
        for (std::size_t row = rows(); row-- > 0;)
            for (std::size_t k = first_[row + 1]; k-- > first_[row];)
                items[--first[items_[k]]] = static_cast<Index>(row);
    }

    friend bool operator==(const basic_index_lists&, const basic_index_lists&) = default;

private:
    detail::appended_indices<Index> first_;
    detail::appended_indices<Index> items_;
};

/// The lists that the library uses, for 32-bit numbers of vertices and values.
using index_lists = basic_index_lists<std::uint32_t>;

}  // namespace stretto

#endif
