// Rule kinds of operations that create tensors without reading elements. Each rule decides how many rows a part gets.
// If a number of the chunk (numbers.hpp) is among the extents, it determines the number of rows. Otherwise a tensor on
// which the result is modelled does so. If neither determines it, every chunk creates the whole tensor.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_FACTORIES_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_FACTORIES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Creates a tensor whose elements are all equal or uninitialized. `sizes` gives, for each extent, the operand that
/// determines it, or no_operand; it is empty if all extents are constants. A number of the chunk among them determines
/// the number of rows.
struct fill {
    bool zero = false;  ///< whether the elements are known to be zero
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("sizes", sizes); }
};

/// Creates the same tensor as fill, on the device of operand `like`. If no number of the chunk is among the sizes, the
/// result is cut at the dimension at which `like` is cut, provided that the extent of the result there is a positive
/// multiple of the number of tokens. Otherwise every chunk creates the whole tensor.
struct fill_beside {
    bool zero = false;
    std::size_t like = 0;
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("like", like).add("sizes", sizes); }
};

/// Creates the same tensor as fill, in the shape of operand `like`. Rows that are all equal fit every row order.
struct fill_like {
    bool zero = false;
    std::size_t like = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("like", like); }
};

/// Creates 0, 1, 2, ..., up to but excluding a number that counts rows: the numbers of these rows. If the rows are in
/// token order, the result counts from the first row of the chunk. In any other order, only the program knows which row
/// a number refers to, and the result is opaque.
struct iota {
    std::size_t end = no_operand;  ///< the operand that is the upper bound; no_operand for a constant
    bool from_0_by_1 = true;       ///< false if the start is not 0 or the step is not 1, which is refused

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("end", end); }
};

inline chunk_verdict fill::verdict(const chunk_call& c) const {
    chunk_verdict v;
    chunk_state rows;
    if (!detail::rows_by_number(c, sizes, rows, v)) return c.refuse(detail::chunk_number);
    return v.possible ? c.give(rows) : v;
}

inline chunk_verdict fill_beside::verdict(const chunk_call& c) const {
    if (!c.is_tensor(like)) return c.refuse(detail::chunk_number);
    chunk_verdict v;
    chunk_state rows;
    if (detail::rows_by_number(c, sizes, rows, v)) return v.possible ? c.give(rows) : v;
    const chunk_state& s = c.state(like);
    const std::span<const std::int64_t> made = c.result_types[0].shape;
    if (!is_cut(s) || static_cast<std::size_t>(s.dim) >= made.size()) return c.give({});
    const std::int64_t extent = made[static_cast<std::size_t>(s.dim)];
    if (extent == 0 || extent % c.tokens != 0) return c.give({});
    return c.give({chunk_kind::sliced, s.dim, 0, 0, 0});
}

inline chunk_verdict fill_like::verdict(const chunk_call& c) const {
    if (!c.is_tensor(like)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(like);
    if (!is_cut(s)) return is_addend(s) ? c.give({}) : c.refuse(detail::reads_unknown);
    if (s.what == chunk_kind::sliced) return c.give(rows_only(s));
    const std::uint32_t rows = c.orders->rows_of(s.order);
    if (rows == 0) return c.refuse(detail::reads_unknown);
    return c.give({chunk_kind::permuted, s.dim, 0, c.orders->alike(rows), 0});
}

inline chunk_verdict iota::verdict(const chunk_call& c) const {
    if (!from_0_by_1 || !c.is_number(end) || c.operands.size() != 1 || !is_addend(c.state(end)) ||
        !is_integral(c.result_types[0].element))
        return c.refuse_itself("numbers rows from a start or by a step that has no rule");
    const chunk_state& n = c.state(end);
    if (n.positions > 0 && c.has_rows(c.result_extent(0), n.positions))
        return c.give({chunk_kind::sliced, 0, n.positions, 0, c.orders->natural(n.positions)});
    const std::uint32_t rows = c.orders->rows_of(n.order);
    if (rows == 0) return c.refuse(detail::counts_nothing);
    return c.give({chunk_kind::opaque, 0, 0, c.orders->alike(rows), 0});
}

}  // namespace stretto::chunk_rules

#endif
