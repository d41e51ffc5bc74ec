// The questions that rules of all families ask about the rows of their operands, and the sentences with which they
// refuse. The main question is whether the cut operands of an operation have the same rows in the same order, so that
// it may work on them row by row: join_rows answers it for two values and rows_side_by_side for a whole operation. The
// sizes_... functions and rows_by_number deal with operands that give extents: one that differs between chunks must
// count the rows that the result has.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_ROWS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"

namespace stretto::chunk_rules::detail {

inline constexpr std::string_view no_such_rows = "its operands have rows of the chunk in different orders";
inline constexpr std::string_view sum_meets_rows = "one operand is a sum over chunks, another has rows of one chunk";
inline constexpr std::string_view reads_row_numbers = "reads numbers of rows, which count from the chunk, as values";
inline constexpr std::string_view reads_unknown = "an operand has parts that are in no known relation to it";
inline constexpr std::string_view chunk_number = "a number of the chunk stands where a shared one is expected";
inline constexpr std::string_view not_linear = "is not linear in an operand that is a sum over chunks";
inline constexpr std::string_view cuts_rows = "would cut rows of the chunk apart or merge them with others";
inline constexpr std::string_view along_chunks = "works along the dimension that is chunked";
inline constexpr std::string_view mixes_rows =
    "works along the dimension that is chunked: it mixes rows of different chunks";
inline constexpr std::string_view counts_nothing =
    "makes as many rows as a number says that counts the rows of nothing known";

/// Returns the product of the extents of dimensions [from, to), which is 1 if there are none.
constexpr std::int64_t product(std::span<const std::int64_t> shape, std::size_t from, std::size_t to) {
    std::int64_t p = 1;
    for (std::size_t d = from; d < to; ++d) p *= shape[d];
    return p;
}

/// Returns the order of the rows of a cut value with that shape. Sliced rows are in the order of the tokens, which a
/// state does not name.
inline std::uint32_t order_of(const chunk_call& c, const chunk_state& s, std::span<const std::int64_t> shape) {
    if (s.what != chunk_kind::sliced) return s.order;
    return c.orders->natural(extent_in(shape, s.dim) / c.tokens);
}

/// Returns the state of plain rows in that order, cut along dimension 0. It is `sliced` if this is the order of the
/// tokens.
inline chunk_state rows_in(const chunk_call& c, std::uint32_t order) {
    if (c.orders->knows(order) && (*c.orders)[order].how == row_orders::origin::natural)
        return {chunk_kind::sliced, 0, 0, 0, 0};
    return {chunk_kind::permuted, 0, 0, order, 0};
}

/// Decides whether an operation may combine two cut values row by row. If so, `so_far` becomes the state of its result;
/// otherwise returns false. Both must be cut along the same dimension. Sliced rows match only sliced rows. Others must
/// be in the same order, or in orders of the same rows of which one may be taken for the other
/// (row_orders::may_be_taken_for). If one value is opaque, the result is opaque too, and each of its rows has a
/// definite place from then on (row_orders::placed).
inline bool join_rows(const chunk_call& c, chunk_state& so_far, const chunk_state& next) {
    if (so_far.dim != next.dim) return false;
    if (so_far.what == chunk_kind::sliced && next.what == chunk_kind::sliced) return true;
    if (so_far.what == chunk_kind::sliced || next.what == chunk_kind::sliced) return false;
    const bool opaque = so_far.what == chunk_kind::opaque || next.what == chunk_kind::opaque;
    if (so_far.order != next.order) {
        if (c.orders->rows_of(so_far.order) == 0 || c.orders->rows_of(so_far.order) != c.orders->rows_of(next.order))
            return false;
        if (c.orders->may_be_taken_for(so_far.order, next.order)) so_far.order = next.order;
        else if (!c.orders->may_be_taken_for(next.order, so_far.order)) return false;
    }
    if (opaque) {
        so_far.what = chunk_kind::opaque;
        so_far.order = c.orders->placed(so_far.order);
    }
    return true;
}

/// Returns whether all components of all operands are plain (is_plain). If not, `v` becomes the refusal.
inline bool only_values(const chunk_call& c, chunk_verdict& v) {
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        for (std::size_t i = 0; i < (c.operands[k].tensors == 0 ? 1 : c.operands[k].tensors); ++i) {
            const chunk_state& s = c.states[c.operands[k].first + i];
            if (s.what == chunk_kind::opaque) return v = c.refuse(reads_unknown), false;
            if (counts_rows(s)) return v = c.refuse(reads_row_numbers), false;
        }
    return true;
}

/// Decides whether an operation may work on its operands row by row if all of them are aligned at the last dimension of
/// a result of rank `rank`. If so, `rows` becomes the state of the result, without its row numbers; it is unchanged if
/// no operand is cut. Otherwise returns false, and `v` becomes the refusal. A whole operand must be broadcast along the
/// cut dimension: it must lack that dimension or, if `broadcasts` is true, may have extent 1 there. O(operands).
inline bool rows_side_by_side(const chunk_call& c, std::size_t rank, chunk_state& rows, chunk_verdict& v,
                              bool broadcasts = true) {
    bool any = false;
    std::int64_t extent = 0;
    const auto shift = [&](std::size_t k) {
        return static_cast<std::int64_t>(rank) - static_cast<std::int64_t>(c.shape(k).size());
    };
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        const chunk_state& s = c.state(k);
        if (c.is_number(k)) {
            if (!is_whole(s)) return v = c.refuse(chunk_number), false;
            continue;
        }
        if (s.what == chunk_kind::opaque && s.dim < 0) return v = c.refuse(reads_unknown), false;
        if (!is_cut(s)) continue;
        const chunk_state here = moved_to(rows_only(s), s.dim + shift(k));
        const std::int64_t own = c.extent(k, s.dim);
        if (!any) rows = here, extent = own;
        else if (own != extent || !join_rows(c, rows, here)) return v = c.refuse(no_such_rows), false;
        any = true;
    }
    if (!any) return true;
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        if (!c.is_tensor(k) || !is_whole(c.state(k))) continue;
        const std::int64_t d = rows.dim - shift(k);
        if (d >= 0 && (!broadcasts || c.extent(k, d) != 1)) return v = c.want(k, d, rows), false;
    }
    return true;
}

/// Returns the operand that gives extent `at`; no_operand if that extent is a constant.
inline std::size_t operand_at(const std::vector<std::size_t>& sizes, std::size_t at) {
    return at < sizes.size() ? sizes[at] : no_operand;
}

/// Returns whether all operands that give extents, except that of dimension `but`, are the same in every chunk.
inline bool sizes_shared(const chunk_call& c, const std::vector<std::size_t>& sizes, std::int64_t but) {
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        const std::size_t k = sizes[j];
        if (k < c.operands.size() && !is_whole(c.state(k)) && static_cast<std::int64_t>(j) != but) return false;
    }
    return true;
}

/// Returns whether the operands that give extents fit a result in state `rows`, which is cut along dimension `at`: all
/// must be the same in every chunk, except that the extent of dimension `at` may be the number of those rows.
inline bool sizes_fit(const chunk_call& c, const std::vector<std::size_t>& sizes, const chunk_state& rows,
                      std::size_t at) {
    if (!sizes_shared(c, sizes, static_cast<std::int64_t>(at))) return false;
    const std::size_t k = operand_at(sizes, at);
    if (k >= c.operands.size() || is_whole(c.state(k))) return true;
    const chunk_state& n = c.state(k);
    if (!is_addend(n)) return false;
    if (rows.what == chunk_kind::sliced) return c.has_rows(c.result_extent(at), n.positions);
    return c.orders->rows_of(n.order) != 0 && c.orders->rows_of(n.order) == c.orders->rows_of(rows.order);
}

/// Finds the state of a result whose rows are all equal and whose number of rows an operand gives. Returns false if no
/// operand in `sizes` differs between chunks. Otherwise returns true, and either `rows` becomes that state or `v` the
/// refusal.
inline bool rows_by_number(const chunk_call& c, const std::vector<std::size_t>& sizes, chunk_state& rows,
                           chunk_verdict& v) {
    const std::span<const std::int64_t> made = c.result_types[0].shape;
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        const std::size_t k = sizes[j];
        if (k >= c.operands.size() || is_whole(c.state(k))) continue;
        const chunk_state& n = c.state(k);
        if (!is_addend(n) || !sizes_shared(c, sizes, static_cast<std::int64_t>(j)) || j >= made.size())
            return v = c.refuse(chunk_number), true;
        if (n.positions > 0 && c.has_rows(made[j], n.positions))
            rows = {chunk_kind::sliced, static_cast<std::int8_t>(j), 0, 0, 0};
        else if (c.orders->rows_of(n.order) != 0)
            rows = {chunk_kind::permuted, static_cast<std::int8_t>(j), 0, c.orders->alike(c.orders->rows_of(n.order)),
                    0};
        else v = c.refuse(counts_nothing);
        return true;
    }
    return false;
}

}  // namespace stretto::chunk_rules::detail

#endif
