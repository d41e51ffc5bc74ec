// Rule kinds of collectives. A wait for a collective is a copy (elementwise.hpp).
//
// Chunking pays because each chunk exchanges its rows separately, so the rules must admit an all-to-all of rows. An
// all-to-all moves rows into an order that depends on the amounts. The rule identifies that order by the amounts. Rows
// that were exchanged by the same amounts can then be combined, and the reverse exchange restores the original order.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_EXCHANGES_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_EXCHANGES_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/row_blocks.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Sends rows of `x` to other ranks and receives rows from them: an all-to-all along dimension 0. `received` and `sent`
/// are the numbers of rows from and to each rank, in rank order. Two exchanges with the same amounts over the same
/// group move rows in the same way.
///
/// The rows of a chunk may be exchanged if they are in an order of their own (neither that of the tokens nor blocks of
/// it) and all amounts are numbers of the chunk, or all are constants that are multiples of the number of tokens.
/// Without amounts, the place of a row decides its destination, so no rows of a chunk may be exchanged. The rule relies
/// on the program that the amounts of a chunk count its rows by destination. An exchange of the same amounts in the
/// other direction restores the previous order. A sum over chunks, or a value that is cut along another dimension,
/// passes if all chunks share the amounts. O(operands and the history of the amounts).
struct exchange {
    std::size_t x = 0;
    std::vector<rule_number> received = {}, sent = {};
    std::string_view group = {};    ///< the name of the group of ranks; it identifies the group with group_number
    std::int64_t group_number = 0;  ///< the number of the group, if the program numbers groups

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("received", received).add("sent", sent); }
};

/// A gather, a reduction or a broadcast among ranks. It runs on whole values only: chunks are joined before it runs.
struct other_collective {
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const {
        return c.refuse_itself("is a collective that would run once a chunk; concatenate or sum the chunks before it");
    }
};

/// A collective of `x` among ranks whose operands have the same shape. In an all-reduce or a broadcast, every element
/// of the result depends only on the elements at the same position on all ranks. If `joins_blocks`, the blocks of the
/// ranks are consecutive along dimension 0 of the result (all-gather) or of the operand (reduce-scatter), and elements
/// correspond by position in the other dimensions only.
///
/// All ranks cut the same rows because their extents are the same. A collective of rows in token order may therefore
/// run once per chunk. If it joins blocks of ranks along the cut dimension, the rows of the result lie in these blocks
/// (row_orders::origin::blocks). It may separate blocks of ranks again if the rows lie in as many blocks as there are
/// ranks, or in a multiple of that. A collective of rows in another order is refused, because other ranks have
/// different rows at the same positions. A collective of a sum runs only once, since a collective per part would move
/// the full amount of data for every chunk. O(operands).
struct aligned_collective {
    std::size_t x = 0;
    bool joins_blocks = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

namespace detail {

/// Returns the key of an exchange: its amounts and its group. An operand is represented by its key, which is not
/// negative; a constant is represented by a negative number. With `back`, returns the key of the exchange in the other
/// direction.
inline std::vector<std::int64_t> amounts_key(const chunk_call& c, const exchange& e, bool back) {
    constexpr std::int64_t end_of_list = INT64_MIN;
    std::vector<std::int64_t> key;
    for (const std::vector<rule_number>* list : {back ? &e.sent : &e.received, back ? &e.received : &e.sent}) {
        for (const rule_number& n : *list)
            key.push_back(n.operand < c.operands.size() ? c.operands[n.operand].key : -1 - n.value);
        key.push_back(end_of_list);
    }
    for (char letter : e.group) key.push_back(letter);
    key.push_back(e.group_number);
    return key;
}

/// Returns the key of the value from which the numbers of received rows were read in rank order; -1 if there is none.
inline std::int64_t counts_received(const chunk_call& c, const exchange& e) {
    std::int64_t counts = -1;
    for (std::size_t j = 0; j < e.received.size(); ++j) {
        const std::size_t k = e.received[j].operand;
        std::int64_t place = -1;
        const std::int64_t from = k < c.operands.size() ? c.counts(k, place) : -1;
        if (from < 0 || place != static_cast<std::int64_t>(j) || (j != 0 && from != counts)) return -1;
        counts = from;
    }
    return counts;
}

}  // namespace detail

inline chunk_verdict exchange::verdict(const chunk_call& c) const {
    static constexpr std::string_view amounts_differ =
        "exchanges amounts that differ by chunk of a value that does not";
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (s.what == chunk_kind::opaque) return c.refuse(detail::reads_unknown);
    if (counts_rows(s)) return c.refuse(detail::reads_row_numbers);
    std::size_t numbers = 0, of_chunk = 0;
    bool even = true;
    for (const std::vector<rule_number>* list : {&received, &sent})
        for (const rule_number& n : *list) {
            ++numbers;
            if (n.operand < c.operands.size() && !is_whole(c.state(n.operand))) {
                if (!is_addend(c.state(n.operand))) return c.refuse(detail::reads_unknown);
                ++of_chunk;
            } else {
                even = even && n.is_constant && n.value % c.tokens == 0;
            }
        }
    // Along dimension 0, every chunk has all rows here. Moving them is linear and does not affect the other dimensions.
    if (is_addend(s) || (is_cut(s) && s.dim != 0)) return of_chunk != 0 ? c.refuse(amounts_differ) : c.give(s);
    if (!is_cut(s)) return c.refuse(amounts_differ);
    if (s.what == chunk_kind::sliced || c.orders->lies_in_blocks(s.order))
        return c.refuse("would send rows by their place in the chunk, not in the value, to other ranks");
    if (received.empty() || sent.empty() || (of_chunk != numbers && !(of_chunk == 0 && even)))
        return c.refuse("exchanges amounts that are not those of a chunk");
    if (c.orders->rows_of(s.order) == 0 || c.orders->all_alike(s.order)) return c.refuse(detail::reads_unknown);

    // If the latest change of the row order was this exchange in the other direction, the rows return to the order that
    // they had before that change.
    row_orders& orders = *c.orders;
    const row_orders::order& now = orders[s.order];
    if (now.how == row_orders::origin::exchanged && now.key == detail::amounts_key(c, *this, true))
        return c.give(detail::rows_in(c, now.before));
    const std::uint32_t after =
        orders.name(row_orders::origin::exchanged, s.order, 0, detail::amounts_key(c, *this, false));
    orders[after].counts = detail::counts_received(c, *this);
    return c.give({chunk_kind::permuted, 0, 0, after, 0});
}

namespace detail {

inline constexpr std::string_view parts_blocks = "joins or parts blocks of ranks along the dimension that is chunked";

}  // namespace detail

inline chunk_verdict aligned_collective::verdict(const chunk_call& c) const {
    if (!c.is_tensor(x)) return c.refuse(detail::chunk_number);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && !is_whole(c.state(k))) return c.refuse(detail::chunk_number);
    const chunk_state& s = c.state(x);
    if (counts_rows(s)) return c.refuse(detail::reads_row_numbers);
    if (is_addend(s)) return other_collective{}.verdict(c);
    const std::int64_t blocks = detail::blocks_of(c, s);
    if (blocks == 0)
        return c.refuse("would meet rows of other ranks, which are in another order than those of the chunk");
    if (!joins_blocks || s.dim != 0) return c.give(s);
    const std::int64_t before = c.extent(x, 0), after = c.result_extent(0);
    if (before <= 0 || after <= 0) return c.refuse_itself(detail::parts_blocks);
    const std::int64_t made = blocks * after / before;
    if (made == 0 || made * before != blocks * after) return c.refuse_itself(detail::parts_blocks);
    return c.give(detail::in_blocks(c, 0, made, before / blocks / c.tokens));
}

}  // namespace stretto::chunk_rules

#endif
