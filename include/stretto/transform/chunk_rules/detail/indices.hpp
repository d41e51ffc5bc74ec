// Functions on indices that look-ups (lookups.hpp) and writes (scatters.hpp) share. An index that holds row numbers of
// the chunk may only be used with the rows that it numbers. The functions decide this from the annotations of the
// states (chunk_state::positions, into and order), because a rule sees no elements.
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

/// The state in which a value must be if row numbers that count from the first token of the chunk index it.
inline constexpr chunk_state as_tokens{chunk_kind::sliced, 0, 0, 0, 0};

inline constexpr std::string_view foreign_rows = "indexes rows of the chunk by numbers that are not known to be theirs";

/// Returns whether an index in state `index` holds row numbers of a value in state `rows` with that shape, along the
/// dimension at which the value is cut. An opaque index holds row numbers that the program computed from counts and
/// from other row numbers. The rule relies on the program that these name each row of the order that represents all
/// orders of the same rows (row_orders::rows_of) exactly once.
inline bool numbers_rows_of(const chunk_call& c, const chunk_state& index, const chunk_state& rows,
                            std::span<const std::int64_t> shape) {
    const row_orders& orders = *c.orders;
    if (rows.what == chunk_kind::sliced)
        return index.what != chunk_kind::opaque && index.positions != 0 &&
               c.has_rows(extent_in(shape, rows.dim), index.positions);
    if (rows.what != chunk_kind::permuted || orders.rows_of(rows.order) == 0) return false;
    if (index.what == chunk_kind::opaque)
        return !orders.all_alike(index.order) && orders.rows_of(index.order) == orders.rows_of(rows.order) &&
               (orders.all_alike(rows.order) || rows.order == orders.rows_of(rows.order));
    return index.into != 0 && (rows.order == index.into || (orders.all_alike(rows.order) &&
                                                            orders.rows_of(rows.order) == orders.rows_of(index.into)));
}

/// Returns the order of the rows that such an index numbers, if they are not sliced.
inline std::uint32_t numbered_order(const chunk_call& c, const chunk_state& index) {
    return index.what == chunk_kind::opaque ? c.orders->rows_of(index.order) : index.into;
}

/// Finds the only operand in a list of indices, and the dimension that it indexes. Returns false if there is not
/// exactly one, or if it is a mask.
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

/// Several indices of consecutive dimensions, which are broadcast against each other.
struct index_rows {
    std::int64_t first = 0, count = 0;  ///< dimensions [first, first + count) are indexed
    std::int64_t rank = 0;              ///< the rank of the broadcast indices
    chunk_state rows;                   ///< the state of the broadcast indices; whole if all chunks share them
    std::size_t numbering = SIZE_MAX;   ///< the operand that holds row numbers of the chunk; SIZE_MAX if none does
    std::int64_t dim = -1;              ///< the dimension that this operand indexes
};
/// Describes a list of indices in `r`, which must be newly constructed. The indices must be tensors but not masks, for
/// consecutive dimensions up to the end of the list. Cut ones must be cut alike, whole ones must be broadcast along the
/// cut dimension, and at most one may hold row numbers. If these conditions are not met, returns false, and `v` becomes
/// the refusal. O(indices).
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
