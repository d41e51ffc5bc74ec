// Rule kinds of operations that join several tensors into one, and of those that select one tensor from several. Joined
// tensors must be cut alike. If they are joined along the cut dimension, a part has the rows of its chunk once for each
// tensor, so the rows of the result lie in blocks (row_orders::origin::blocks). All blocks must have equally many rows.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_JOINING_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_JOINING_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/row_blocks.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Joins all operands, one after the other along `dim`. `first` is the operand that comes first: the order of the
/// operands does not determine it, because an operand may be joined more than once. If all operands are sums over
/// chunks or shared zeros, the result is a sum over chunks. O(operands).
struct concat {
    std::int64_t dim = 0;
    std::size_t first = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("first", first); }
};

/// Joins all operands along a new dimension `dim` of the result. O(operands).
struct stack {
    std::int64_t dim = 0;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

/// Selects tensor `which` of its only operand, a value of several tensors. A program may also count members that are
/// not tensors. The tensor is then found by its type, and is refused if several of that type have different states; a
/// member that is not a tensor is assumed to be the same in every chunk. O(tensors).
struct component {
    std::int64_t which = 0;  ///< from 0; negative if it is unknown, which is refused

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
};

namespace detail {

/// Returns the verdict on joining all operands along dimension `along`. Precondition: one of them is cut there.
inline chunk_verdict joined_in_blocks(const chunk_call& c, std::int64_t along) {
    const std::int64_t rows = c.extent(0, along), all = c.result_extent(along);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (!c.is_tensor(k) || c.state(k).what != chunk_kind::sliced || c.extent(k, along) != rows)
            return c.refuse_itself(along_chunks);
    if (rows <= 0 || all % rows != 0) return c.refuse_itself(along_chunks);
    return c.give(in_blocks(c, along, all / rows, rows / c.tokens));
}

/// Returns the verdict on joining all operands along `dim` of the result; if `adds_dimension`, the operands do not have
/// that dimension. If an operand is whole while others have rows of the chunk, the refusal asks to cut it.
inline chunk_verdict joined(const chunk_call& c, std::int64_t dim, bool adds_dimension) {
    const std::int64_t along = wrapped(dim, c.result_types[0].shape.size());
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    std::size_t addends = 0, first_cut = c.operands.size();
    chunk_state rows;
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        if (c.is_number(k)) return c.refuse(chunk_number);
        addends += is_addend(c.state(k));
        if (!is_cut(c.state(k))) continue;
        if (first_cut == c.operands.size()) rows = c.state(first_cut = k);
        else if (!join_rows(c, rows, c.state(k))) return c.refuse(no_such_rows);
    }
    for (std::size_t k = 0; addends != 0 && k < c.operands.size(); ++k)
        addends += is_whole(c.state(k)) && c.all_zero(k);
    if (addends == c.operands.size()) return c.give(a_sum);
    if (addends != 0) return c.refuse("joins a sum over chunks with something else");
    if (!adds_dimension && rows.dim == along) return joined_in_blocks(c, along);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (is_whole(c.state(k))) return c.want(k, rows.dim, rows);
    return c.give(moved_to(rows, adds_dimension && along <= rows.dim ? rows.dim + 1 : rows.dim));
}

}  // namespace detail

inline chunk_verdict concat::verdict(const chunk_call& c) const { return detail::joined(c, dim, false); }

inline chunk_verdict stack::verdict(const chunk_call& c) const { return detail::joined(c, dim, true); }

inline chunk_verdict component::verdict(const chunk_call& c) const {
    if (which < 0 || c.operands.size() != 1 || c.operands[0].tensors == 0)
        return c.refuse("names no component of its operand");
    const tensor_type& made = c.result_types[0];
    const std::size_t first = c.operands[0].first, count = c.operands[0].tensors;
    const auto is_made = [&](std::size_t k) {
        const tensor_type& t = c.types[first + k];
        if (t.element != made.element || t.shape.size() != made.shape.size()) return false;
        for (std::size_t d = 0; d < t.shape.size(); ++d)
            if (t.shape[d] != made.shape[d]) return false;
        return true;
    };
    // If the tensor at position `which` has the type of the result, `which` counts only tensors. Otherwise it also
    // counts other members, and a tensor may be taken only if all tensors of its type have the same state.
    const std::size_t at = static_cast<std::size_t>(which);
    if (at < count && is_made(at)) return c.give(c.states[first + at]);
    if (made.element == element_type::other && made.shape.empty()) return c.give({});
    const chunk_state* found = nullptr;
    for (std::size_t k = 0; k < count; ++k) {
        if (!is_made(k)) continue;
        if (found != nullptr && !(*found == c.states[first + k])) return c.refuse("names no component of its operand");
        found = &c.states[first + k];
    }
    return found != nullptr ? c.give(*found) : c.refuse("names no component of its operand");
}

}  // namespace stretto::chunk_rules

#endif
