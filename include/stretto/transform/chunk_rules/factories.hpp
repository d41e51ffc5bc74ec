// Rule kinds of operations that make tensors of nothing: the question is how many rows a part gets. A number of the
// chunk among the extents says so; else a tensor that the result is made like; else every chunk makes all of it.
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

/// A tensor whose elements are all the same, or mean nothing yet. `sizes`: for each extent the operand that gives it,
/// or no_operand; empty if all are constants. A number of the chunk among them says how many rows there are.
struct fill {
    bool zero = false;  ///< whether the elements are known to be zero
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("sizes", sizes); }
};

/// The same as fill, on the device of operand `like`. Without a number of the chunk among the sizes, the result is cut
/// at the dimension at which `like` is cut, if its extent there is a multiple of the tokens; else every chunk makes the
/// same.
struct fill_beside {
    bool zero = false;
    std::size_t like = 0;
    std::vector<std::size_t> sizes = {};

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("like", like).add("sizes", sizes); }
};

/// The same as fill, in the shape of operand `like`: rows that are all the same are in every order.
struct fill_like {
    bool zero = false;
    std::size_t like = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("like", like); }
};

/// 0, 1, 2, ... up to, and without, a number that counts rows: the numbers of these rows. If they are in the order of
/// the tokens, the result counts from the chunk's first row; in any other order, which of them a number names is for
/// the program to say, and the result is opaque.
struct iota {
    std::size_t end = no_operand;  ///< the operand that is the number; no_operand: a constant
    bool from_0_by_1 = true;       ///< false: it starts or steps otherwise, which is refused

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
    if (n.positions > 0 && c.result_extent(0) == n.positions * c.tokens)
        return c.give({chunk_kind::sliced, 0, n.positions, 0, c.orders->natural(n.positions)});
    const std::uint32_t rows = c.orders->rows_of(n.order);
    if (rows == 0) return c.refuse(detail::counts_nothing);
    return c.give({chunk_kind::opaque, 0, 0, c.orders->alike(rows), 0});
}

}  // namespace stretto::chunk_rules

#endif
