// Rule kinds of collectives. A wait for one is a copy (elementwise.hpp).
//
// Chunking pays because chunks exchange their rows one by one, so an all-to-all of rows is the collective that must
// pass. It moves rows into an order that depends on the amounts; the rule names that order by them, so that rows that
// went by the same amounts can meet again, and so that the way back undoes the way there.
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

/// Rows of `x` go to other ranks, and others come: an all-to-all along dimension 0. `received` and `sent` are the
/// numbers of rows from and to each rank, in the order of ranks. Two exchanges in the same amounts over the same group
/// move rows alike.
///
/// Rows of a chunk may be exchanged if they are in an order of their own, and if the amounts are numbers of the chunk;
/// it is the program's word that these count the rows by destination. An exchange of the same amounts in the other
/// direction leads back to the order before.
struct exchange {
    std::size_t x = 0;
    std::vector<rule_number> received = {}, sent = {};
    std::string_view group = {};    ///< what tells groups of ranks apart: a name,
    std::int64_t group_number = 0;  ///< a number, or both

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x).add("received", received).add("sent", sent); }
};

/// A gather, a reduction or a broadcast among ranks. It runs on whole values only: chunks are joined before it.
struct other_collective {
    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const {
        return c.refuse_itself("is a collective that would run once a chunk; concatenate or sum the chunks before it");
    }
};

/// A collective of `x` among ranks whose operands have the same shape: an all-reduce or a broadcast, in which every
/// place of the result depends on that place of the ranks' operands alone. If `joins_blocks`, the blocks of ranks lie
/// one behind the other along dimension 0 of the result (all-gather) or of the operand (reduce-scatter), and what is
/// said of places holds in the other dimensions.
///
/// All ranks cut the same rows, because their extents are the same. So a collective of rows in the order of the tokens
/// may run once a chunk. Where it joins blocks of ranks along them, the rows of the result lie in these blocks
/// (row_orders::origin::blocks), and it may part them again if they lie in as many. One of rows in another order may
/// not, because other ranks have other rows there; one of a sum runs once, since a collective for every part would move
/// as much as often.
struct aligned_collective {
    std::size_t x = 0;
    bool joins_blocks = false;

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const { to.add("x", x); }
};

namespace detail {

/// What identifies an exchange: the amounts and the group. Operands stand by their keys, which are not negative,
/// constants below zero. `back`: the key that the exchange in the other direction has.
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

/// The value from which the numbers of received rows were read, one after the other; -1 if there is none.
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
    // Along dimension 0 every chunk has all rows here: moving them is linear, and leaves other dimensions alone.
    if (is_addend(s) || (is_cut(s) && s.dim != 0)) return of_chunk != 0 ? c.refuse(amounts_differ) : c.give(s);
    if (!is_cut(s)) return c.refuse(amounts_differ);
    if (s.what == chunk_kind::sliced || c.orders->lies_in_blocks(s.order))
        return c.refuse("would send rows by their place in the chunk, not in the value, to other ranks");
    if (of_chunk != numbers && !(of_chunk == 0 && even))
        return c.refuse("exchanges amounts that are not those of a chunk");
    if (c.orders->rows_of(s.order) == 0 || c.orders->all_alike(s.order)) return c.refuse(detail::reads_unknown);

    // If the last thing that happened to the rows was this exchange in the other direction, they are back where they
    // were before that.
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
