// What rules of all families ask of the rows of their operands, and the sentences in which they refuse.
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

/// The product of extents [from, to): how many elements lie in these dimensions.
constexpr std::int64_t product(std::span<const std::int64_t> shape, std::size_t from, std::size_t to) {
    std::int64_t p = 1;
    for (std::size_t d = from; d < to; ++d) p *= shape[d];
    return p;
}

/// The order that the rows of a cut value of that shape are in, sliced or not.
inline std::uint32_t order_of(const chunk_call& c, const chunk_state& s, std::span<const std::int64_t> shape) {
    if (s.what != chunk_kind::sliced) return s.order;
    return c.orders->natural(extent_in(shape, s.dim) / c.tokens);
}

/// The state of rows in an order, cut along dimension 0.
inline chunk_state rows_in(const chunk_call& c, std::uint32_t order) {
    if (c.orders->knows(order) && (*c.orders)[order].how == row_orders::origin::natural)
        return {chunk_kind::sliced, 0, 0, 0, 0};
    return {chunk_kind::permuted, 0, 0, order, 0};
}

/// Two cut values side by side along the same dimension: `so_far` becomes the state of rows that go together with both.
/// False if there is none. Sliced rows go together with sliced rows only. Others must be in one order, or in orders of
/// the same rows of which one may be taken for the other (row_orders::may_be_taken_for). If one is opaque, the result
/// is, and its rows are told apart from then on.
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

/// Whether all operands are plain values, and none numbers of rows or parts of no known relation. False: `v` refuses.
inline bool only_values(const chunk_call& c, chunk_verdict& v) {
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        for (std::size_t i = 0; i < (c.operands[k].tensors == 0 ? 1 : c.operands[k].tensors); ++i) {
            const chunk_state& s = c.states[c.operands[k].first + i];
            if (s.what == chunk_kind::opaque) return v = c.refuse(reads_unknown), false;
            if (counts_rows(s)) return v = c.refuse(reads_row_numbers), false;
        }
    return true;
}

/// The rows of all cut operands side by side, aligned at the last dimension of a result of that rank. False: `v` says
/// why not. `rows` stays as it is if none is cut. `broadcasts`: a whole operand of extent 1 along the cut dimension
/// will do; one that lacks the dimension always will.
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

/// The operand that gives extent `at`; none if it is a constant.
inline std::size_t operand_at(const std::vector<std::size_t>& sizes, std::size_t at) {
    return at < sizes.size() ? sizes[at] : no_operand;
}

/// Whether all numbers among extents, except that of dimension `but`, are the same in every chunk.
inline bool sizes_shared(const chunk_call& c, const std::vector<std::size_t>& sizes, std::int64_t but) {
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        const std::size_t k = sizes[j];
        if (k < c.operands.size() && !is_whole(c.state(k)) && static_cast<std::int64_t>(j) != but) return false;
    }
    return true;
}

/// Whether all numbers among extents are the same in every chunk, except that of dimension `at`, which must be the
/// number of rows that `rows` has there if it is the chunk's.
inline bool sizes_fit(const chunk_call& c, const std::vector<std::size_t>& sizes, const chunk_state& rows,
                      std::size_t at) {
    if (!sizes_shared(c, sizes, static_cast<std::int64_t>(at))) return false;
    const std::size_t k = operand_at(sizes, at);
    if (k >= c.operands.size() || is_whole(c.state(k))) return true;
    const chunk_state& n = c.state(k);
    if (!is_addend(n)) return false;
    if (rows.what == chunk_kind::sliced) return n.positions * c.tokens == c.result_extent(at);
    return c.orders->rows_of(n.order) != 0 && c.orders->rows_of(n.order) == c.orders->rows_of(rows.order);
}

/// The rows, all alike, that a value of the result's shape has if a number of the chunk among `sizes` says how many.
/// False if no number there is the chunk's. True: `rows` is their state, or `v` refuses.
inline bool rows_by_number(const chunk_call& c, const std::vector<std::size_t>& sizes, chunk_state& rows,
                           chunk_verdict& v) {
    const std::span<const std::int64_t> made = c.result_types[0].shape;
    for (std::size_t j = 0; j < sizes.size(); ++j) {
        const std::size_t k = sizes[j];
        if (k >= c.operands.size() || is_whole(c.state(k))) continue;
        const chunk_state& n = c.state(k);
        if (!is_addend(n) || !sizes_shared(c, sizes, static_cast<std::int64_t>(j)) || j >= made.size())
            return v = c.refuse(chunk_number), true;
        if (n.positions > 0 && made[j] == n.positions * c.tokens)
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
