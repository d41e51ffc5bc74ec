// One operation as the rules of the ATen operators see it: arguments, shapes and states laid out flat, free of the
// graph that it is from, so that a rule is compiled once.
#ifndef STRETTO_ATEN_DETAIL_ATEN_CALL_HPP
#define STRETTO_ATEN_DETAIL_ATEN_CALL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/aten/aten_ledger.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::detail::aten {

using chunk_kind = chunk_state::kind;
using argument_form = tensor_argument::form;

/// An operand of the vertex. Its components are consecutive in `aten_call::types` and `aten_call::states`.
struct aten_operand {
    std::size_t first = 0;
    std::size_t tensors = 0;  ///< 0: a number, which has one state
    std::int64_t key = 0;     ///< of the value, the same wherever it is read
};

/// What a rule may ask about where an operand comes from; answered by the model, which knows the graph.
struct aten_history {
    const void* program = nullptr;
    bool (*all_zero)(const void* program, std::size_t operand) = nullptr;
    /// Whether this operation is the only reader of it and of what it is a view of.
    bool (*read_here_only)(const void* program, std::size_t operand) = nullptr;
    /// The value that a count was read from: back through casts, copies, reads of one element and sums over the inner
    /// dimensions. `place` is the element that was read, or -1.
    std::int64_t (*counts)(const void* program, std::size_t operand, std::int64_t& place) = nullptr;
    /// Whether its elements are integers, whatever its type: counts, or integers that were cast, and sums of them.
    bool (*integers)(const void* program, std::size_t operand) = nullptr;
    /// Whether its elements are 0, 1, 2, ..., as arange has made them.
    bool (*ascending)(const void* program, std::size_t operand) = nullptr;
    /// The value that says how many rows are in each group: what `operand` is a copy of, other groups behind them or
    /// not, or a running sum of if it has their `ends`. -1 if it is none.
    std::int64_t (*groups)(const void* program, std::size_t operand, bool ends) = nullptr;
};

struct aten_call {
    std::string_view name;
    std::span<const tensor_argument> positional;
    std::span<const named_tensor_argument> named;
    std::int64_t key = 0;  ///< of the vertex
    std::int64_t tokens = 1;
    std::span<const aten_operand> operands;
    std::span<const tensor_type> types;  ///< of the components of operands; of a number: nothing
    std::span<const chunk_state> states;
    std::span<const tensor_type> result_types;
    std::span<chunk_state> results;
    aten_ledger* ledger = nullptr;
    aten_history history;

    /// The argument at a position or of a name; a `none` if it is left out.
    [[nodiscard]] const tensor_argument& argument(std::size_t position, std::string_view name_of) const {
        static constexpr tensor_argument left_out{};
        if (position < positional.size()) return positional[position];
        for (const named_tensor_argument& a : named)
            if (a.name == name_of) return a.value;
        return left_out;
    }
    [[nodiscard]] std::int64_t integer(std::size_t position, std::string_view name_of, std::int64_t otherwise) const {
        const tensor_argument& a = argument(position, name_of);
        return a.what == argument_form::integer || a.what == argument_form::truth ? a.integer : otherwise;
    }
    /// The operand that an argument is; `operands.size()` if it is none.
    [[nodiscard]] std::size_t operand(const tensor_argument& a) const {
        return a.what == argument_form::operand ? static_cast<std::size_t>(a.integer) : operands.size();
    }
    [[nodiscard]] std::size_t operand(std::size_t position, std::string_view name_of) const {
        return operand(argument(position, name_of));
    }
    [[nodiscard]] bool is_tensor(std::size_t k) const { return k < operands.size() && operands[k].tensors == 1; }
    [[nodiscard]] bool is_number(std::size_t k) const { return k < operands.size() && operands[k].tensors == 0; }
    [[nodiscard]] const chunk_state& state(std::size_t k) const { return states[operands[k].first]; }
    [[nodiscard]] const tensor_type& type(std::size_t k) const { return types[operands[k].first]; }
    [[nodiscard]] std::span<const std::int64_t> shape(std::size_t k) const { return type(k).shape; }

    [[nodiscard]] chunk_verdict refuse(std::string_view sentence) const {
        return {false, ledger->say(name, sentence), false, -1, -1};
    }
    /// Refused because operand k is whole where its rows would have to be the chunk's, as `rows` are. Nothing that is
    /// whole can be cut into rows in an order that is not the tokens'.
    [[nodiscard]] chunk_verdict want(std::size_t k, std::int64_t dim, const chunk_state& rows) const {
        if (rows.what != chunk_kind::sliced || dim < 0 || static_cast<std::size_t>(dim) >= shape(k).size() ||
            shape(k)[static_cast<std::size_t>(dim)] % tokens != 0)
            return refuse("has an operand that is whole beside rows of the chunk");
        chunk_verdict v = refuse("an operand is whole along the dimension that is chunked");
        v.wanted = static_cast<std::int32_t>(operands[k].first);
        v.wanted_dim = static_cast<std::int8_t>(dim);
        return v;
    }
    chunk_verdict give(const chunk_state& s) const {
        for (chunk_state& r : results) r = s;
        return {};
    }
};

using aten_rule = chunk_verdict (*)(const aten_call&);

/// Dimension d of `rank`, counted from the end if negative; -1 if there is none.
constexpr std::int64_t wrapped(std::int64_t d, std::size_t rank) {
    const std::int64_t n = static_cast<std::int64_t>(rank);
    if (rank == 0 && (d == 0 || d == -1)) return 0;
    return d >= n || d < -n ? -1 : d < 0 ? d + n : d;
}

constexpr bool is_whole(const chunk_state& s) { return s.what == chunk_kind::whole; }
constexpr bool is_addend(const chunk_state& s) { return s.what == chunk_kind::addend; }
/// Whether the parts have some of the rows each.
constexpr bool is_cut(const chunk_state& s) {
    return s.what == chunk_kind::sliced || s.what == chunk_kind::permuted ||
           (s.what == chunk_kind::opaque && s.dim >= 0);
}
constexpr bool is_integral(element_type e) {
    return e == element_type::i8 || e == element_type::u8 || e == element_type::i16 || e == element_type::i32 ||
           e == element_type::i64;
}
constexpr bool counts_rows(const chunk_state& s) { return !is_addend(s) && (s.positions != 0 || s.into != 0); }

constexpr std::int64_t product(std::span<const std::int64_t> shape, std::size_t from, std::size_t to) {
    std::int64_t p = 1;
    for (std::size_t d = from; d < to; ++d) p *= shape[d];
    return p;
}

constexpr chunk_state moved_to(chunk_state s, std::int64_t dim) {
    s.dim = static_cast<std::int8_t>(dim);
    return s;
}
/// The same rows with other contents.
constexpr chunk_state rows_only(chunk_state s) {
    s.positions = 0;
    s.into = 0;
    return s;
}

/// The order that the rows of a cut value of that shape are in, sliced or not.
inline std::uint32_t order_of(const aten_call& c, const chunk_state& s, std::span<const std::int64_t> shape) {
    if (s.what != chunk_kind::sliced) return s.order;
    return c.ledger->natural(shape[static_cast<std::size_t>(s.dim)] / c.tokens);
}

/// The state of rows in an order, cut along dimension 0.
inline chunk_state rows_in(const aten_call& c, std::uint32_t order) {
    if (c.ledger->knows(order) && (*c.ledger)[order].how == aten_ledger::origin::natural)
        return {chunk_kind::sliced, 0, 0, 0, 0};
    return {chunk_kind::permuted, 0, 0, order, 0};
}

/// Two cut values side by side along the same dimension: how their rows go together. False if they do not.
inline bool join_rows(const aten_call& c, chunk_state& so_far, const chunk_state& next) {
    if (so_far.dim != next.dim) return false;
    if (so_far.what == chunk_kind::sliced && next.what == chunk_kind::sliced) return true;
    if (so_far.what == chunk_kind::sliced || next.what == chunk_kind::sliced) return false;
    const bool opaque = so_far.what == chunk_kind::opaque || next.what == chunk_kind::opaque;
    if (so_far.order != next.order) {
        if (c.ledger->rows_of(so_far.order) == 0 || c.ledger->rows_of(so_far.order) != c.ledger->rows_of(next.order))
            return false;
        if (c.ledger->may_be_taken_for(so_far.order, next.order)) so_far.order = next.order;
        else if (!c.ledger->may_be_taken_for(next.order, so_far.order)) return false;
    }
    if (opaque) {
        so_far.what = chunk_kind::opaque;
        so_far.order = c.ledger->placed(so_far.order);
    }
    return true;
}

}  // namespace stretto::detail::aten

#endif
