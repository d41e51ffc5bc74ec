// How numbers of rows find rows: what looking up and writing by indices have in common. An index that numbers rows of
// the chunk is right only beside the rows that it numbers; the notes on states (`positions`, `into`, `order`) decide.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_INDICES_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_INDICES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules::detail {

/// The rows of a value that numbers of rows of the chunk name.
inline constexpr chunk_state as_tokens{chunk_kind::sliced, 0, 0, 0, 0};

inline constexpr std::string_view foreign_rows = "indexes rows of the chunk by numbers that are not known to be theirs";

/// Whether `index` has numbers of rows of a value in the state `rows` and of that shape, along the dimension where it
/// is cut. Numbers that the program computes from counts and its own row numbers are taken to number the rows of the
/// order that all orders of the same rows share, each once: that is the program's word.
inline bool numbers_rows_of(const chunk_call& c, const chunk_state& index, const chunk_state& rows,
                            std::span<const std::int64_t> shape) {
    const row_orders& orders = *c.orders;
    if (rows.what == chunk_kind::sliced)
        return index.what != chunk_kind::opaque && index.positions != 0 &&
               extent_in(shape, rows.dim) == index.positions * c.tokens;
    if (rows.what != chunk_kind::permuted || orders.rows_of(rows.order) == 0) return false;
    if (index.what == chunk_kind::opaque)
        return !orders.all_alike(index.order) && orders.rows_of(index.order) == orders.rows_of(rows.order) &&
               (orders.all_alike(rows.order) || rows.order == orders.rows_of(rows.order));
    return index.into != 0 && (rows.order == index.into || (orders.all_alike(rows.order) &&
                                                            orders.rows_of(rows.order) == orders.rows_of(index.into)));
}

/// The order of rows that such an index numbers.
inline std::uint32_t numbered_order(const chunk_call& c, const chunk_state& index) {
    return index.what == chunk_kind::opaque ? c.orders->rows_of(index.order) : index.into;
}

/// The only index that is given, and its dimension. False if there are several, or it is a mask.
inline bool only_index(const chunk_call& c, const std::vector<std::size_t>& list, std::size_t& index,
                       std::int64_t& dim) {
    std::size_t given = 0;
    for (std::size_t j = 0; j < list.size(); ++j) {
        if (list[j] == no_operand) continue;
        index = list[j];
        dim = static_cast<std::int64_t>(j);
        ++given;
    }
    return given == 1 && c.is_tensor(index) && c.type(index).element != element_type::boolean;
}

/// Several indices side by side, broadcast against each other.
struct index_rows {
    std::int64_t first = 0, count = 0;  ///< the dimensions that are indexed
    std::int64_t rank = 0;              ///< of the indices, broadcast
    chunk_state rows;                   ///< of these; whole if all chunks share them
    std::size_t numbering = SIZE_MAX;   ///< the one that has numbers of rows of the chunk,
    std::int64_t dim = -1;              ///< and its dimension
};
/// Describes the given indices in `r`, which is as it was made. They must be tensors, no masks, of consecutive
/// dimensions up to the end of the list. Those that are cut must be cut alike, those that are whole must be broadcast
/// there, and at most one may number rows of the chunk. False: `v` says why not.
inline bool several_indices(const chunk_call& c, const std::vector<std::size_t>& list, index_rows& r,
                            chunk_verdict& v) {
    static constexpr std::string_view apart = "has indices that are not side by side, or a mask: no rule for that";
    const std::int64_t end = static_cast<std::int64_t>(list.size());
    const auto at = [&](std::int64_t d) { return list[static_cast<std::size_t>(d)]; };
    const auto rank_of = [&](std::size_t k) { return static_cast<std::int64_t>(c.shape(k).size()); };
    while (r.first < end && list[static_cast<std::size_t>(r.first)] == no_operand) ++r.first;
    for (std::int64_t d = r.first; d < end; ++d) {
        if (!c.is_tensor(at(d)) || c.type(at(d)).element == element_type::boolean) return v = c.refuse(apart), false;
        if (rank_of(at(d)) > r.rank) r.rank = rank_of(at(d));
        ++r.count;
    }
    bool any = false;
    for (std::int64_t d = r.first; d < end; ++d) {
        const chunk_state& s = c.state(at(d));
        if (is_whole(s)) continue;
        if (is_addend(s)) return v = c.refuse(not_linear), false;
        if (s.what == chunk_kind::opaque) return v = c.refuse(foreign_rows), false;
        const chunk_state here = moved_to(rows_only(s), s.dim + r.rank - rank_of(at(d)));
        if (!any) r.rows = here;
        else if (!join_rows(c, r.rows, here)) return v = c.refuse(no_such_rows), false;
        any = true;
        if (!counts_rows(s)) continue;
        if (r.numbering != SIZE_MAX) return v = c.refuse(reads_row_numbers), false;
        r.numbering = at(d);
        r.dim = d;
    }
    for (std::int64_t d = r.first; any && d < end; ++d) {
        const std::int64_t own = r.rows.dim - r.rank + rank_of(at(d));
        if (is_whole(c.state(at(d))) && own >= 0 && c.shape(at(d))[static_cast<std::size_t>(own)] != 1)
            return v = c.want(at(d), own, r.rows), false;
    }
    return true;
}

}  // namespace stretto::chunk_rules::detail

#endif
