// Rows that lie in blocks: what becomes of a cut dimension that is merged with outer ones, or along which tensors are
// joined, and how it comes back.
//
// [sequence, batch, features] in two dimensions, as matrix products want it, has the rows of a chunk of the batch in
// one block for each place of the sequence. Every part has its rows, so these are rows in an order of their own, which
// the number of blocks identifies. Where that many blocks are told apart again, the rows of each are those of the
// tokens.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_ROW_BLOCKS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_ROW_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules::detail {

/// A dimension of the result of a reshape, and how many blocks lie in it, or outside of it if they have been parted.
struct blocks_of_rows {
    std::int64_t dim = -1;  ///< -1: there is none
    std::int64_t blocks = 0;
};

/// The dimension of `to` that holds the rows of the chunk in blocks, if `s` is sliced; if `s` is permuted, the one that
/// holds the rows of the tokens, while dimensions outside of it hold the blocks. O(dimensions squared).
inline blocks_of_rows blocks_merged_or_parted(const chunk_call& c, const chunk_state& s,
                                              std::span<const std::int64_t> from, std::span<const std::int64_t> to) {
    if (counts_rows(s) || (s.what != chunk_kind::sliced && s.what != chunk_kind::permuted)) return {};
    const std::size_t d = static_cast<std::size_t>(s.dim);
    const std::int64_t outside = product(from, 0, d);
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

/// The state of rows in so many blocks, each of which has so many for every token; one block is the rows themselves.
inline chunk_state in_blocks(const chunk_call& c, std::int64_t dim, std::int64_t blocks, std::int64_t rows_per_token) {
    const std::int8_t d = static_cast<std::int8_t>(dim);
    if (blocks == 1) return {chunk_kind::sliced, d, 0, 0, 0};
    return {chunk_kind::permuted, d, 0, c.orders->in_blocks(blocks, rows_per_token), 0};
}

/// In how many blocks the rows of a value of that shape lie; 1 if they are in the order of the tokens, 0 if they are in
/// any other order.
inline std::int64_t blocks_of(const chunk_call& c, const chunk_state& s) {
    if (counts_rows(s) || !is_cut(s)) return 0;
    if (s.what == chunk_kind::sliced) return 1;
    const bool known = s.what == chunk_kind::permuted && c.orders->knows(s.order) &&
                       (*c.orders)[s.order].how == row_orders::origin::blocks;
    return known ? (*c.orders)[s.order].key[0] : 0;
}

}  // namespace stretto::chunk_rules::detail

#endif
