// Rule kinds of writes to places that indices name. The cases are those of look-ups (lookups.hpp), with one more
// question: may several chunks write to the same place? If the indices are row numbers of the chunk, each chunk writes
// to rows of its own. If they are ordinary values, chunks may meet. Then the operation must add, and to zeros or to a
// sum over chunks; its result is a sum over chunks.
//
// If such an addition works in place, its clones may also add to any value that all chunks share, one after another
// (any_rule). The kinds say so with `accumulates`.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_SCATTERS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_SCATTERS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/indices.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"
#include "stretto/transform/chunk_rules/detail/written_rows.hpp"

namespace stretto::chunk_rules {

/// Writes the entries of `source` along `dim` to the places of `base` that vector `index` names, or adds them there if
/// it `adds`. O(operands).
struct put_rows {
    std::size_t base = 0, index = 1, source = 2;
    std::int64_t dim = 0;
    bool adds = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("index", index).add("source", source); }
    [[nodiscard]] bool accumulates() const { return adds; }
};

/// Writes the elements of `values`, which are broadcast, to the elements of `base` that the indices name, or adds them
/// there if it `adds`. `indices[d]` is the operand that indexes dimension d, or no_operand. O(operands).
struct put_elements {
    std::size_t base = 0;
    std::vector<std::size_t> indices = {};
    std::size_t values = 2;
    bool adds = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("indices", indices).add("values", values); }
    [[nodiscard]] bool accumulates() const { return adds; }
};

/// Writes or adds each element of `source` to its own position in `base`, except that its position along `dim` is the
/// element of `index`. All three have the same rank. If `source` is no_operand, a constant is written. O(operands).
struct scatter {
    std::size_t base = 0, index = 1, source = 2;
    std::int64_t dim = 0;
    bool adds = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("index", index).add("source", source); }
    [[nodiscard]] bool accumulates() const { return adds; }
};

/// Adds the rows of `source` to the rows of `base` that `index` names. `index` has the shape of `source`: it is a
/// vector of row numbers that was expanded, so all elements of a row are equal. O(operands).
struct add_expanded_rows {
    std::size_t base = 0, index = 1, source = 2;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("base", base).add("index", index).add("source", source); }
    [[nodiscard]] bool accumulates() const { return true; }
};

/// The gradient of a table from which `index` looked up rows. Row i of the result is the sum of those rows of
/// `gradient` whose index is i. If the looked-up rows are cut, the result is a sum over chunks. O(1).
struct look_up_gradient {
    std::size_t gradient = 0, index = 1;
    bool scales_by_count = false;  ///< each sum is divided by the number of look-ups of that row, which is refused

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("gradient", gradient).add("index", index); }
};

inline chunk_verdict put_elements::verdict(const chunk_call& c) const {
    if (!c.is_tensor(base) || !c.is_tensor(values)) return c.refuse(detail::chunk_number);
    std::size_t index = 0;
    std::int64_t dim = 0;
    if (!detail::only_index(c, indices, index, dim)) return detail::elements_written(c, base, indices, values, adds);
    const chunk_state& by = c.state(index);
    const std::size_t rank = c.shape(base).size() + c.shape(index).size() - 1;
    if (is_whole(by)) {
        // Every chunk writes to the same places. Only addends may be added there; no other case has a rule here.
        const chunk_state &into = c.state(base), &v = c.state(values);
        if (adds && is_addend(v) && (is_addend(into) || (is_whole(into) && c.all_zero(base)))) return c.give(a_sum);
        return c.refuse("writes rows of one chunk by numbers that all chunks share");
    }
    if (is_addend(by)) return c.refuse(detail::not_linear);
    const std::int64_t at =
        by.dim + dim - (static_cast<std::int64_t>(rank) - static_cast<std::int64_t>(c.shape(values).size()));
    return detail::rows_written(c, base, index, dim, values, at, adds);
}

inline chunk_verdict scatter::verdict(const chunk_call& c) const {
    const std::size_t none = c.operands.size(), values = source;
    if (!c.is_tensor(base) || !c.is_tensor(index)) return c.refuse(detail::chunk_number);
    const std::int64_t at = wrapped(dim, c.shape(base).size());
    const chunk_state &into = c.state(base), &by = c.state(index);
    if (values < none && !c.is_tensor(values)) return c.refuse(detail::chunk_number);
    if (is_addend(by)) return c.refuse(detail::not_linear);
    if (is_whole(by)) {
        if (adds && values < none && is_addend(c.state(values)) &&
            (is_addend(into) || (is_whole(into) && c.all_zero(base))))
            return c.give(a_sum);
        if (is_cut(into) && into.dim != at) return c.want(index, into.dim, into);
        return c.refuse("writes rows of one chunk by numbers that all chunks share");
    }
    if (by.dim == at) return detail::rows_written(c, base, index, at, values, at, adds);
    if (!is_plain(by) || !is_plain(into)) return c.refuse(detail::reads_row_numbers);
    if (is_addend(into) || (values < none && is_addend(c.state(values)))) return c.refuse(detail::sum_meets_rows);
    if (is_whole(into)) return c.want(base, by.dim, by);
    const std::size_t d = static_cast<std::size_t>(by.dim);
    chunk_state together = into;
    if (c.extent(base, d) != c.extent(index, d) || !detail::join_rows(c, together, by))
        return c.refuse(detail::no_such_rows);
    if (values < none) {
        if (is_whole(c.state(values))) return c.want(values, by.dim, by);
        if (!is_plain(c.state(values)) || !detail::join_rows(c, together, c.state(values)))
            return c.refuse(detail::no_such_rows);
    }
    return c.give(together);
}

inline chunk_verdict put_rows::verdict(const chunk_call& c) const {
    if (!c.is_tensor(base) || !c.is_tensor(index) || !c.is_tensor(source) || c.operands.size() > 3)
        return c.refuse(detail::chunk_number);
    const std::int64_t at = wrapped(dim, c.shape(base).size());
    const chunk_state &into = c.state(base), &rows = c.state(source);
    if (!is_whole(c.state(index))) {
        if (is_addend(c.state(index))) return c.refuse(detail::not_linear);
        return detail::rows_written(c, base, index, at, source, at, adds);
    }
    // Every chunk writes to the same rows. Another dimension may be cut, and addends may be added to addends.
    if (!is_plain(into) || !is_plain(rows)) return c.refuse(detail::reads_row_numbers);
    if (is_addend(into) || is_addend(rows)) {
        if (adds && is_addend(rows) && (is_addend(into) || (is_whole(into) && c.all_zero(base)))) return c.give(a_sum);
        return c.refuse(detail::sum_meets_rows);
    }
    if (is_whole(rows))
        return into.dim == at ? c.refuse("writes rows of one chunk by numbers that all chunks share")
                              : c.want(source, into.dim, into);
    if (rows.dim == at) return c.refuse("writes rows of one chunk by numbers that all chunks share");
    if (is_whole(into)) return c.want(base, rows.dim, rows);
    chunk_state together = into;
    return detail::join_rows(c, together, rows) ? c.give(together) : c.refuse(detail::no_such_rows);
}

inline chunk_verdict add_expanded_rows::verdict(const chunk_call& c) const {
    if (!c.is_tensor(base) || !c.is_tensor(index) || !c.is_tensor(source) || !is_cut(c.state(index)) ||
        c.state(index).dim != 0)
        return c.refuse(detail::foreign_rows);
    return detail::rows_written(c, base, index, 0, source, 0, true);
}

inline chunk_verdict look_up_gradient::verdict(const chunk_call& c) const {
    if (!c.is_tensor(gradient) || !c.is_tensor(index) || c.operands.size() != 2) return c.refuse(detail::chunk_number);
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    if (scales_by_count) return c.refuse_itself("divides by how often a token occurs in all chunks");
    chunk_state together = c.state(gradient);
    if (is_addend(together) && is_whole(c.state(index))) return c.give(together);
    if (is_addend(together) || is_addend(c.state(index))) return c.refuse(detail::sum_meets_rows);
    if (is_whole(together)) return c.want(gradient, c.state(index).dim, c.state(index));
    if (is_whole(c.state(index)))
        return together.dim < static_cast<std::int8_t>(c.shape(index).size()) ? c.want(index, together.dim, together)
                                                                              : c.give(moved_to(together, 1));
    if (!detail::join_rows(c, together, c.state(index))) return c.refuse(detail::no_such_rows);
    return c.give(a_sum);
}

}  // namespace stretto::chunk_rules

#endif
