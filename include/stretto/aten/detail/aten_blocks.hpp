// How collectives, attention and losses behave under chunking.
#ifndef STRETTO_ATEN_DETAIL_ATEN_BLOCKS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/aten/detail/aten_pointwise.hpp"
#include "stretto/aten/detail/aten_views.hpp"

namespace stretto::detail::aten {

/// all_to_all_single(x, received, sent, group). Rows of the chunk may be exchanged if they are in an order of their
/// own, with amounts that are numbers of the chunk: that these count them, by destination, is the program's word. An
/// exchange of the same amounts in the other direction leads back to the order before.
inline chunk_verdict exchanged(const aten_call& c) {
    const std::size_t x = c.operand(0, "input");
    if (!c.is_tensor(x)) return c.refuse(chunk_number);
    const chunk_state& s = c.state(x);
    if (s.what == chunk_kind::opaque) return c.refuse(reads_unknown);
    if (counts_rows(s)) return c.refuse(reads_row_numbers);
    const tensor_argument &received = c.argument(1, "output_split_sizes"), &sent = c.argument(2, "input_split_sizes");
    std::size_t numbers = 0, of_chunk = 0;
    bool even = true;
    for (const tensor_argument* list : {&received, &sent})
        for (const tensor_argument& a : list->items) {
            const std::size_t k = c.operand(a);
            ++numbers;
            if (k < c.operands.size() && !is_whole(c.state(k))) {
                if (!is_addend(c.state(k))) return c.refuse(reads_unknown);
                ++of_chunk;
            } else {
                even = even && a.what == argument_form::integer && a.integer % c.tokens == 0;
            }
        }
    if (is_addend(s) || (is_cut(s) && s.dim != 0)) {
        if (of_chunk != 0) return c.refuse("exchanges amounts that differ by chunk of a value that does not");
        return c.give(s);
    }
    if (!is_cut(s)) return c.refuse("exchanges amounts that differ by chunk of a value that does not");
    if (s.what == chunk_kind::sliced)
        return c.refuse("would send rows by their place in the chunk, not in the value, to other ranks");
    if (of_chunk != numbers && !(of_chunk == 0 && even))
        return c.refuse("exchanges amounts that are not those of a chunk");
    if (c.ledger->rows_of(s.order) == 0 || c.ledger->all_alike(s.order)) return c.refuse(reads_unknown);

    constexpr std::int64_t end_of_list = INT64_MIN;
    const auto spelled = [&](const tensor_argument& first, const tensor_argument& second) {
        std::vector<std::int64_t> key;
        for (const tensor_argument* list : {&first, &second}) {
            for (const tensor_argument& a : list->items) {
                const std::size_t k = c.operand(a);
                key.push_back(k < c.operands.size() ? c.operands[k].key : -1 - a.integer);
            }
            key.push_back(end_of_list);
        }
        for (char letter : c.argument(3, "group_name").text) key.push_back(letter);
        return key;
    };
    aten_ledger& orders = *c.ledger;
    const aten_ledger::order& now = orders[s.order];
    if (now.how == aten_ledger::origin::exchanged && now.key == spelled(sent, received))
        return c.give(rows_in(c, now.before));
    const std::uint32_t after = orders.name(aten_ledger::origin::exchanged, s.order, 0, spelled(received, sent));
    std::int64_t counts = -1;
    for (std::size_t j = 0; j < received.items.size(); ++j) {
        const std::size_t k = c.operand(received.items[j]);
        std::int64_t place = -1;
        const std::int64_t from = k < c.operands.size() ? c.history.counts(c.history.program, k, place) : -1;
        if (from < 0 || place != static_cast<std::int64_t>(j) || (j != 0 && from != counts)) {
            counts = -1;
            break;
        }
        counts = from;
    }
    orders[after].counts = counts;
    return c.give({chunk_kind::permuted, 0, 0, after, 0});
}

/// Gathers and reductions join what chunks would have to be joined for first.
inline chunk_verdict collective_refused(const aten_call& c) {
    return c.refuse("is a collective that would run once a chunk; concatenate or sum the chunks before it");
}

/// Scaled dot-product attention, forward and backward: sequences of a batch do not meet, rows of a sequence do.
/// Operands and results with rows are cut along the batch, dimension 0; random state is shared, and must not be used.
template <int Dropout>
chunk_verdict attended(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const tensor_argument& dropout = c.argument(static_cast<std::size_t>(Dropout), "dropout_p");
    if (dropout.what == argument_form::real ? dropout.real != 0
                                            : dropout.what != argument_form::none && dropout.integer != 0)
        return c.refuse("drops at random: chunks would draw other numbers");
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        const chunk_state& s = c.state(k);
        if (is_addend(s)) return c.refuse("is not linear in an operand that is a sum over chunks");
        if (is_cut(s) && (s.what != chunk_kind::sliced || s.dim != 0))
            return c.refuse("would need the keys and values of all chunks: chunk it along the batch");
    }
    constexpr chunk_state sequences{chunk_kind::sliced, 0, 0, 0, 0};
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (c.is_tensor(k) && is_whole(c.state(k)) && c.shape(k).size() >= 3 && c.shape(k)[0] != 1)
            return c.want(k, 0, sequences);
    for (std::size_t j = 0; j < c.results.size(); ++j)
        c.results[j] = c.result_types[j].shape.size() >= 3 ? sequences : chunk_state{};
    return {};
}

inline chunk_verdict flexible_attention(const aten_call& c) {
    return c.refuse("has a block mask whose tables name rows of the whole batch");
}

/// nll_loss_forward(rows, targets, weight, reduction, ignored): the loss, and what a mean divides by.
inline chunk_verdict loss(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t x = c.operand(0, "self"), target = c.operand(1, "target");
    if (!c.is_tensor(x) || !c.is_tensor(target) || c.results.size() != 2) return c.refuse(chunk_number);
    const chunk_state &rows = c.state(x), &names = c.state(target);
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (is_addend(c.state(k)) || (k != x && k != target && !is_whole(c.state(k)))) return c.refuse(sum_meets_rows);
    if (is_whole(names)) return rows.dim == 0 ? c.want(target, 0, rows) : c.refuse(along_chunks);
    if (is_whole(rows)) return c.want(x, 0, names);
    chunk_state together = rows;
    if (rows.dim != 0 || !join_rows(c, together, names)) return c.refuse(no_such_rows);
    const std::int64_t how = c.integer(3, "reduction", 1);
    if (how == 1) return c.refuse("divides by the number of rows of a chunk; a sum could be chunked");
    if (how == 2) return c.give({chunk_kind::addend, -1, 0, 0, 0});
    c.results[0] = together;
    c.results[1] = {};
    return {};
}

/// nll_loss_backward(grad, rows, targets, weight, reduction, ignored, total).
inline chunk_verdict loss_backward(const aten_call& c) {
    chunk_verdict v;
    if (!only_values(c, v)) return v;
    const std::size_t grad = c.operand(0, "grad_output"), x = c.operand(1, "self"), target = c.operand(2, "target"),
                      total = c.operand(6, "total_weight");
    if (!c.is_tensor(grad) || !c.is_tensor(x) || !c.is_tensor(target)) return c.refuse(chunk_number);
    const std::int64_t how = c.integer(4, "reduction", 1);
    if (how == 1 && c.is_tensor(total) && !is_whole(c.state(total)))
        return c.refuse("divides by the number of rows of a chunk; a sum could be chunked");
    for (std::size_t k = 0; k < c.operands.size(); ++k)
        if (k != x && k != target && k != total && !(k == grad && how == 0) && !is_whole(c.state(k)))
            return c.refuse(sum_meets_rows);
    const chunk_state &rows = c.state(x), &names = c.state(target), &up = c.state(grad);
    if (is_addend(rows) || is_addend(names) || is_addend(up)) return c.refuse(sum_meets_rows);
    if (is_whole(rows)) return c.want(x, 0, is_whole(names) ? up : names);
    if (is_whole(names)) return c.want(target, 0, rows);
    if (how == 0 && is_whole(up)) return c.want(grad, 0, rows);
    chunk_state together = rows;
    if (rows.dim != 0 || !join_rows(c, together, names) || (how == 0 && !join_rows(c, together, up)))
        return c.refuse(no_such_rows);
    return c.give(together);
}

}  // namespace stretto::detail::aten

#endif
