// Collectives of the interpreter, among the ranks of one process group. Data moves at the launch;
// interpreter_program.hpp ensures that nothing reads it before the wait.
//
// The checks cover the mistakes with which a real transport would hang or corrupt memory: ranks must agree on shapes,
// types, split sizes and the size of the group, and each mistake is an error on the rank where it is detected.
// Reductions fold elements as rings do, in a fixed order that depends on their positions (stretto/aten/ring_chunk.hpp).
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_COLLECTIVES_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_COLLECTIVES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_arithmetic.hpp"
#include "stretto/aten/detail/interpreter_call.hpp"
#include "stretto/aten/detail/interpreter_joining.hpp"
#include "stretto/aten/detail/interpreter_shapes.hpp"
#include "stretto/aten/detail/interpreter_views.hpp"
#include "stretto/aten/ring_chunk.hpp"
#include "stretto/aten/tensor.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto::aten::detail {

/// The reason why groups do not contain every rank exactly once; the cause is empty if they do.
struct group_complaint {
    std::size_t rank = 0;
    std::string cause;
};
/// Checks the groups. O(ranks).
template <class = void>
group_complaint complaint_about(const process_groups& groups, std::size_t ranks) {
    std::vector<bool> seen(ranks, false);
    for (group_id k = 0; k < groups.group_count(); ++k)
        for (const rank_id rank : groups.group_at(k).ranks) {
            if (rank >= ranks) return {0, "a group has rank " + std::to_string(rank) + " of " + std::to_string(ranks)};
            if (seen[rank]) return {rank, "is in two groups, or twice in one"};
            seen[rank] = true;
        }
    for (std::size_t rank = 0; rank < ranks; ++rank)
        if (!seen[rank]) return {rank, "is in no group whose ranks are known"};
    return {};
}

/// How reductions are computed; see interpreter_options.
struct reduction_arithmetic {
    std::size_t rings = 0;
    bool round = false;
};

/// Returns a partial sum as a rank sends it on: rounded to its element type if results are rounded, otherwise with all
/// bits.
template <class T>
T sent_on(T x, element_type element, bool round) {
    if (!round) return x;
    if constexpr (std::is_same_v<T, double>) return rounded(x, element);
    else if constexpr (std::is_same_v<T, complex_number>) return {rounded(x.re, element), rounded(x.im, element)};
    else return x;
}

/// Returns the elements of all ranks folded. `how` is "sum", "avg", "max", "min" or "product"; `scatter` says whether
/// every rank receives only a share, which changes the order on rings. An average is the sum divided at the end.
/// O(ranks * elements). Precondition: all tensors have the shape and type of the first; with `scatter`, the ranks
/// divide the rows.
template <class = void>
tensor reduced(operator_call& c, const std::vector<tensor>& sent, std::string_view how, bool scatter,
               const reduction_arithmetic& as) {
    const bool sum = how == "sum" || how == "avg";
    if (!sum && how != "max" && how != "min" && how != "product")
        c.fail("reduction \"" + std::string(how) + "\" is not supported");
    if (how == "avg" && sent[0].integral()) c.fail("an average of integers");
    tensor made;
    in_class(sent[0].category(), [&]<class T>(T) {
        std::vector<std::vector<T>> parts;
        for (const tensor& t : sent) parts.push_back(t.values<T>());
        const element_type element = sent[0].element();
        const auto folded = [&](const T& x, const T& y) -> T {
            if (sum) return sent_on(plus(x, y), element, as.round);
            if (how == "product") return sent_on(times(x, y), element, as.round);
            if constexpr (std::is_same_v<T, complex_number>) return c.fail("complex numbers have no order"), x;
            else return how == "max" ? larger(x, y) : smaller(x, y);
        };
        std::vector<T> total(parts[0].size());
        const auto size = static_cast<std::int64_t>(total.size());
        for (std::int64_t at = 0; at < size; ++at) {
            ring_chunk chunk{0, parts.size() - 1};  // whose sum begins at position 0
            if (as.rings != 0)
                chunk = scatter ? chunk_of_reduce_scatter(at, size, parts.size(), as.rings)
                                : chunk_of_all_reduce(at, size, parts.size(), as.rings);
            const auto i = static_cast<std::size_t>(at);
            total[i] = parts[position_in_sum(chunk, 0, parts.size())][i];
            for (std::size_t k = 1; k < parts.size(); ++k)
                total[i] = folded(total[i], parts[position_in_sum(chunk, k, parts.size())][i]);
        }
        const auto ranks = static_cast<double>(sent.size());
        for (T& x : total)
            if (how == "avg") {
                if constexpr (std::is_same_v<T, double>) x /= ranks;
                if constexpr (std::is_same_v<T, complex_number>) x = {x.re / ranks, x.im / ranks};
            }
        made = made_of<T>(sent[0].element(), sent[0].shape(), total);
    });
    return made;
}

/// Returns the message for a position of the group that sends something else than position 0.
template <class = void>
std::string ranks_disagree(std::span<const tensor> sent, std::size_t k) {
    return "ranks disagree: position 0 of the group sends " + text_of(sent[0]) + ", position " + std::to_string(k) +
           " sends " + text_of(sent[k]);
}

/// Returns the rows that a rank sends to, or expects from, every rank: argument k, or equal shares of `rows` if it is
/// left out. The call fails if there are no such shares.
template <class = void>
extents rows_per_rank(operator_call& c, std::size_t k, std::string_view name, std::int64_t rows, std::size_t ranks) {
    extents sizes = c.integers(k, name);
    const auto n = static_cast<std::int64_t>(ranks);
    if (sizes.empty() && rows % n != 0) c.fail(text_of(rows) + " rows in " + text_of(n) + " equal shares");
    if (sizes.empty()) sizes.assign(ranks, rows / n);
    if (sizes.size() != ranks) c.fail(text_of(sizes) + " are not the rows of " + text_of(n) + " ranks");
    for (const std::int64_t s : sizes)
        if (s < 0) c.fail("a negative number of rows in " + text_of(sizes));
    return sizes;
}
/// Exchanges rows among the ranks of a group: rank k sends its first gives[k][0] rows to rank 0, the next to rank 1,
/// and so on, and receives the rows in the order of their senders. The call fails if the split sizes of two ranks
/// or their element types disagree; a real transport would not notice, but would hang, or truncate or misread rows.
/// O(ranks^2 + elements).
template <class = void>
void all_to_all(std::span<operator_call* const> calls, std::span<const tensor> sent) {
    const std::size_t n = calls.size();
    std::vector<extents> gets, gives;
    for (std::size_t k = 0; k < n; ++k) {
        operator_call& c = *calls[k];
        if (sent[k].rank() == 0) c.fail("exchanges rows of a tensor without dimensions");
        if (sent[k].element() != sent[0].element()) c.fail(ranks_disagree(sent, k));
        if (c.failed()) return;
        gets.push_back(rows_per_rank(c, 1, "output_split_sizes", sent[k].extent(0), n));
        gives.push_back(rows_per_rank(c, 2, "input_split_sizes", sent[k].extent(0), n));
        std::int64_t total = 0;
        for (const std::int64_t s : gives[k]) total += s;
        if (total != sent[k].extent(0))
            c.fail("sends " + text_of(gives[k]) + " rows but has " + text_of(sent[k].extent(0)));
        if (c.failed()) return;
    }
    extents first(n, 0);  // of each rank, the first row that no earlier position has received
    for (std::size_t k = 0; k < n; ++k) {
        std::vector<tensor> parts;
        for (std::size_t from = 0; from < n; ++from) {
            if (gets[k][from] != gives[from][k])
                return calls[k]->fail("split sizes disagree: position " + std::to_string(k) + " of the group expects " +
                                          text_of(gets[k]) + " rows, and position " + std::to_string(from) +
                                          " sends it " + text_of(gives[from][k]),
                                      "the sizes that ranks compute must be exchanged before the data");
            parts.push_back(narrowed(sent[from], 0, first[from], gives[from][k]));
            first[from] += gives[from][k];
        }
        calls[k]->give(concatenated(*calls[k], parts, 0));
    }
}

/// Runs one collective among the ranks of one group, whose calls are listed in the order of their positions in it.
/// `name` is the operator without its namespace and overload. Every rank gets a new tensor, except that all_reduce_
/// writes its input in place and all_gather_into_tensor_out writes its `out`. If the collective fails, at least one of
/// the calls has failed. Precondition: collective_name() knows the operator.
template <class = void>
void run_collective(std::string_view name, std::span<operator_call* const> calls, const reduction_arithmetic& as) {
    const bool into = name == "all_gather_into_tensor_out";
    const bool gather = into || name == "all_gather_into_tensor", scatter = name == "reduce_scatter_tensor";
    const bool in_place = name == "all_reduce_";
    std::vector<tensor> sent;
    for (operator_call* c : calls) {
        sent.push_back(c->input(0, "input"));
        if (c->failed()) return;
    }
    if (name == "all_to_all_single") return all_to_all(calls, sent);
    const auto ranks = static_cast<std::int64_t>(calls.size());
    for (std::size_t k = 0; k < calls.size(); ++k) {
        operator_call& c = *calls[k];
        if (sent[k].shape() != sent[0].shape() || sent[k].element() != sent[0].element())
            c.fail(ranks_disagree(sent, k));
        const std::int64_t said = gather ? c.integer(1, "group_size") : scatter ? c.integer(2, "group_size") : ranks;
        if (said != ranks)
            c.fail("the arguments say " + text_of(said) + " ranks, the group has " + text_of(ranks),
                   "give the layout of the group in the options");
        if ((gather || scatter) && sent[k].rank() == 0) c.fail("needs a tensor with rows");
        if (scatter && !c.failed() && sent[k].extent(0) % ranks != 0)
            c.fail(text_of(sent[k].extent(0)) + " rows in " + text_of(ranks) + " equal shares");
        if (c.failed()) return;
    }
    operator_call& first = *calls[0];
    const tensor whole =
        gather ? concatenated(first, sent, 0) : reduced(first, sent, first.text(1, "reduce_op", "sum"), scatter, as);
    if (first.failed()) return;
    for (std::size_t k = 0; k < calls.size(); ++k) {
        if (in_place) {
            write_elements(sent[k], whole);
            calls[k]->give(sent[k]);
            continue;
        }
        if (into) {
            const tensor out = calls[k]->input(SIZE_MAX, "out");
            if (out.shape() != whole.shape() || out.element() != whole.element())
                calls[k]->fail("gathers " + text_of(whole) + " into " + text_of(out));
            if (calls[k]->failed()) return;
            write_elements(out, whole);
            calls[k]->give(out);
            continue;
        }
        const std::int64_t rows = scatter ? whole.extent(0) / ranks : 0;
        calls[k]->give((scatter ? narrowed(whole, 0, static_cast<std::int64_t>(k) * rows, rows) : whole).cloned());
    }
}

/// Returns the operator without its namespace and overload: "all_reduce" for "_c10d_functional.all_reduce.default". The
/// result is empty if run_collective() does not know the operator.
template <class = void>
std::string_view collective_name(std::string_view operation) {
    constexpr std::string_view prefix = "_c10d_functional.", suffix = ".default";
    if (!operation.starts_with(prefix) || !operation.ends_with(suffix)) return {};
    operation.remove_prefix(prefix.size());
    operation.remove_suffix(suffix.size());
    for (const std::string_view known : {"all_gather_into_tensor", "all_gather_into_tensor_out",
                                         "reduce_scatter_tensor", "all_reduce", "all_reduce_", "all_to_all_single"})
        if (operation == known) return operation;
    return {};
}

}  // namespace stretto::aten::detail

#endif
