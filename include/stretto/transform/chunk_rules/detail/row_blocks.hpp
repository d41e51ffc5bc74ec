// Rows in blocks (row_orders::origin::blocks), for the rules of reshapes, joins and collectives. Such rows arise when
// the cut dimension is merged with outer dimensions, or when tensors are joined along it.
//
// For example, a matrix product needs [sequence, batch, features] in two dimensions. If the batch is cut, the merged
// dimension of a part has the rows of its chunk once for every place in the sequence: a block for each place. Every row
// of the value is in exactly one part, so the value is permuted, and the number of blocks identifies the order. If the
// dimension is later separated into that many blocks again, the rows of each block are in the order of the tokens.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_ROW_BLOCKS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_ROW_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules::detail {

/// A dimension of the result of a reshape, and the number of blocks: those in it if the reshape has merged the cut
/// dimension with outer ones, or those in the dimensions outside of it if the reshape has separated them.
struct blocks_of_rows {
    std::int64_t dim = -1;  ///< -1: there is none
    std::int64_t blocks = 0;
};

/// Finds what a reshape from shape `from` to shape `to` does to a value in state `s`. If `s` is sliced, returns the
/// dimension of `to` that has the rows of the chunk in blocks. If `s` is permuted and its rows lie in blocks, returns
/// the dimension that has the rows of the tokens, where the dimensions outside of it have the blocks. `dim` is -1 in
/// all other cases, and for row numbers: those of rows in blocks would need more than one amount per token.
/// O(dimensions squared).
inline blocks_of_rows blocks_merged_or_parted(const chunk_call& c, const chunk_state& s,
                                              std::span<const std::int64_t> from, std::span<const std::int64_t> to) {
    if (counts_rows(s) || (s.what != chunk_kind::sliced && s.what != chunk_kind::permuted)) return {};
    const std::size_t d = static_cast<std::size_t>(s.dim);
    const std::int64_t outside = product(from, 0, d);
    if (outside == 0) return {};  // there are no rows, and so no blocks
    const bool parts = s.what == chunk_kind::permuted;
    if (parts && (!c.orders->knows(s.order) || (*c.orders)[s.order].how != row_orders::origin::blocks)) return {};
    for (std::size_t j = 0; j < to.size(); ++j) {
        const std::int64_t before = product(to, 0, j);
        if (before == 0 || to[j] == 0) return {};
        if (parts) {
            const std::int64_t blocks = (*c.orders)[s.order].key[0];
            if (before == outside * blocks && to[j] % c.tokens == 0) return {static_cast<std::int64_t>(j), blocks};
        } else if (outside % before == 0 && outside != before) {
            const std::int64_t blocks = outside / before;
            if (to[j] % (blocks * c.tokens) == 0) return {static_cast<std::int64_t>(j), blocks};
        }
    }
    return {};
}

/// Returns the state of rows that lie in this many blocks, each with `rows_per_token` rows for every token. Rows in one
/// block are in the order of the tokens, and so are sliced.
inline chunk_state in_blocks(const chunk_call& c, std::int64_t dim, std::int64_t blocks, std::int64_t rows_per_token) {
    const std::int8_t d = static_cast<std::int8_t>(dim);
    if (blocks == 1) return {chunk_kind::sliced, d, 0, 0, 0};
    return {chunk_kind::permuted, d, 0, c.orders->in_blocks(blocks, rows_per_token), 0};
}

/// Returns the number of blocks in which the rows of a value in state `s` lie: 1 if they are in the order of the
/// tokens, and 0 if they are in any other order, hold row numbers, or if the value is not cut.
inline std::int64_t blocks_of(const chunk_call& c, const chunk_state& s) {
    if (counts_rows(s) || !is_cut(s)) return 0;
    if (s.what == chunk_kind::sliced) return 1;
    const bool known = s.what == chunk_kind::permuted && c.orders->knows(s.order) &&
                       (*c.orders)[s.order].how == row_orders::origin::blocks;
    return known ? (*c.orders)[s.order].key[0] : 0;
}

}  // namespace stretto::chunk_rules::detail

#endif
