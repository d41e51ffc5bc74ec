// One operation as rules of chunking see it: shapes, states and what is known of its operands, laid out flat and free
// of the graph that it is from, so that a rule is compiled once and knows neither names of operators nor lists of
// arguments. rule_chunk_model fills one in for each question; authors of rule kinds read it.
//
// Below the call stand the predicates on states in which rules are written. docs/algorithms/chunk-states.md says what
// the states claim.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_CHUNK_CALL_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_CHUNK_CALL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/row_orders.hpp"
#include "stretto/transform/chunk_rules/rule_operands.hpp"

namespace stretto::chunk_rules {

using chunk_kind = chunk_state::kind;

/// An operand of the vertex. Its components are consecutive in `chunk_call::types` and `chunk_call::states`.
struct call_operand {
    std::size_t first = 0;
    std::size_t tensors = 0;  ///< 0: a number, which has one state
    std::int64_t key = 0;     ///< of the value: no other has it, and it is the same wherever the value is read; from 0
};

/// What a rule may ask about where an operand comes from; answered by the model, which knows the graph. Members that
/// are null answer no, or nothing known, so that a test can lay out a call by hand. `program` is handed back to each of
/// them and means something to the model alone. The members of chunk_call with the same names say what is asked.
struct call_history {
    const void* program = nullptr;
    bool (*all_zero)(const void* program, std::size_t operand) = nullptr;
    bool (*read_here_only)(const void* program, std::size_t operand) = nullptr;
    std::int64_t (*counts)(const void* program, std::size_t operand, std::int64_t& place) = nullptr;
    bool (*integers)(const void* program, std::size_t operand) = nullptr;
    bool (*ascending)(const void* program, std::size_t operand) = nullptr;
    std::int64_t (*groups)(const void* program, std::size_t operand, bool ends) = nullptr;
};

/// The extent of a dimension; -1 if a value of that shape has no such dimension.
template <class Dim>
[[nodiscard]] constexpr std::int64_t extent_in(std::span<const std::int64_t> shape, Dim dim) {
    const std::size_t at = static_cast<std::size_t>(dim);  // a negative dimension becomes one far beyond the last
    return at < shape.size() ? shape[at] : -1;
}

/// An operation that is about to be cut into chunks. All spans point into the object that laid the call out.
///
/// Operand k has `operands[k].tensors` components, which start at `operands[k].first` in `types` and `states`. The
/// members below that take k and return one state, type or shape are about its first component; they require that k is
/// an operand, which is_tensor and is_number tell. There is always a first result type, an empty one if the operation
/// has no results, so that rules need not ask.
struct chunk_call {
    std::string_view name;    ///< the name of the operation, for refusals; may be empty
    std::int64_t key = 0;     ///< the number of the vertex, from 0: no other has it
    std::int64_t tokens = 1;  ///< rows of the region; the extent of a sliced dimension is a multiple
    std::span<const call_operand> operands;
    std::span<const tensor_type> types;         ///< the types of the components of operands; a number has an empty one
    std::span<const chunk_state> states;        ///< their states, one for each of `types`
    std::span<const tensor_type> result_types;  ///< the types of the components of results
    std::span<chunk_state> results;             ///< their states, which the rule sets; `unset` before
    row_orders* orders = nullptr;               ///< names the orders in states and keeps the text of refusals; not null
    call_history history;

    [[nodiscard]] bool is_tensor(std::size_t k) const { return k < operands.size() && operands[k].tensors == 1; }
    [[nodiscard]] bool is_number(std::size_t k) const { return k < operands.size() && operands[k].tensors == 0; }
    [[nodiscard]] const chunk_state& state(std::size_t k) const { return states[operands[k].first]; }
    [[nodiscard]] const tensor_type& type(std::size_t k) const { return types[operands[k].first]; }
    [[nodiscard]] std::span<const std::int64_t> shape(std::size_t k) const { return type(k).shape; }

    /// Whether tensor k was made of zeros, and nobody writes into it in place.
    [[nodiscard]] bool all_zero(std::size_t k) const {
        return history.all_zero != nullptr && history.all_zero(history.program, k);
    }
    /// Whether this operation is the only reader of k and of what it is a view of.
    [[nodiscard]] bool read_here_only(std::size_t k) const {
        return history.read_here_only != nullptr && history.read_here_only(history.program, k);
    }
    /// The value that count k was read from: back through casts, copies, reads of one element and sums over the inner
    /// dimensions. `place` is the element that was read, or -1. -1: nothing is known.
    std::int64_t counts(std::size_t k, std::int64_t& place) const {
        place = -1;
        return history.counts == nullptr ? -1 : history.counts(history.program, k, place);
    }
    /// Whether the elements of k are integers, whatever its type: counts, or integers that were cast, and sums of them.
    [[nodiscard]] bool integers(std::size_t k) const {
        return history.integers != nullptr && history.integers(history.program, k);
    }
    /// Whether the elements of k are 0, 1, 2, ..., as numbers of rows were made.
    [[nodiscard]] bool ascending(std::size_t k) const {
        return history.ascending != nullptr && history.ascending(history.program, k);
    }
    /// The value that says how many rows are in each group: what k is a copy of, other groups behind them or not, or a
    /// running sum of if it has their `ends`. -1 if it is none.
    [[nodiscard]] std::int64_t groups(std::size_t k, bool ends) const {
        return history.groups == nullptr ? -1 : history.groups(history.program, k, ends);
    }

    /// The extent of a dimension of operand k; -1 if it has no such dimension. Recorded shapes may contradict the
    /// operation, so a dimension of one value need not be one of another.
    /// The extent of tensor k along a dimension; -1 if it has no such dimension.
    template <class Dim>
    [[nodiscard]] std::int64_t extent(std::size_t k, Dim dim) const {
        return extent_in(shape(k), dim);
    }
    /// The same of the first result.
    template <class Dim>
    [[nodiscard]] std::int64_t result_extent(Dim dim) const {
        return extent_in(result_types[0].shape, dim);
    }

    /// The operation cannot run per chunk, for this reason: a sentence without its subject, which is the name of the
    /// operation. The text is kept by the orders.
    [[nodiscard]] chunk_verdict refuse(std::string_view sentence) const {
        return {false, orders->say(name, sentence), false, -1, -1};
    }
    /// Refused because of what the operation does, whatever its operands are.
    [[nodiscard]] chunk_verdict refuse_itself(std::string_view sentence) const {
        chunk_verdict v = refuse(sentence);
        v.inherent = true;
        return v;
    }
    /// Refused because the rule itself is wrong: `kind` names an operand that the operation does not have.
    [[nodiscard]] chunk_verdict refuse_rule(std::string_view kind, const operand_names& names) const {
        std::vector<char> text;
        const auto add = [&](std::string_view more) { text.insert(text.end(), more.begin(), more.end()); };
        const auto add_number = [&](std::size_t n) {
            const std::size_t end = text.size();
            do text.insert(text.begin() + static_cast<std::ptrdiff_t>(end), static_cast<char>('0' + n % 10));
            while ((n /= 10) != 0);
        };
        add("has a rule that names an operand which is not there: ");
        add(names.part());
        add(" of ");
        add(kind);
        add(" is operand ");
        add_number(names.missing());
        add(", and the operation has ");
        add_number(names.operands());
        chunk_verdict v = refuse_itself({text.data(), text.size()});
        v.model_faulty = true;
        return v;
    }
    /// Refused because operand k is whole where its rows would have to be the chunk's, as `rows` are. Where a plan can
    /// help by cutting that operand along `dim` first, the verdict says so (`wanted`, `wanted_dim`). It cannot if the
    /// rows are in an order that is not the tokens', because a value that is whole can be cut only in that of the
    /// tokens, or if the extent along `dim` is no multiple of the tokens.
    [[nodiscard]] chunk_verdict want(std::size_t k, std::int64_t dim, const chunk_state& rows) const {
        if (rows.what != chunk_kind::sliced || dim < 0 || static_cast<std::size_t>(dim) >= shape(k).size() ||
            shape(k)[static_cast<std::size_t>(dim)] % tokens != 0)
            return refuse("has an operand that is whole beside rows of the chunk");
        chunk_verdict v = refuse("an operand is whole along the dimension that is chunked");
        v.wanted = static_cast<std::int32_t>(operands[k].first);
        v.wanted_dim = static_cast<std::int8_t>(dim);
        return v;
    }
    /// All results are in that state.
    chunk_verdict give(const chunk_state& s) const {
        for (chunk_state& r : results) r = s;
        return {};
    }
};

[[nodiscard]] constexpr bool is_whole(const chunk_state& s) { return s.what == chunk_kind::whole; }
[[nodiscard]] constexpr bool is_addend(const chunk_state& s) { return s.what == chunk_kind::addend; }
/// Whether each part has some of the rows, along the dimension of the state. An opaque state with a dimension counts:
/// how many rows a part has is known, though not which.
[[nodiscard]] constexpr bool is_cut(const chunk_state& s) {
    return s.what == chunk_kind::sliced || s.what == chunk_kind::permuted ||
           (s.what == chunk_kind::opaque && s.dim >= 0);
}
/// Whether the elements are numbers of rows, which count from the first row of the chunk.
[[nodiscard]] constexpr bool counts_rows(const chunk_state& s) {
    return !is_addend(s) && (s.positions != 0 || s.into != 0);
}
/// Whether the elements are values and nothing else: neither opaque nor numbers of rows. Every rule may compute with
/// these; with others, only where it says what becomes of them.
[[nodiscard]] constexpr bool is_plain(const chunk_state& s) { return s.what != chunk_kind::opaque && !counts_rows(s); }

[[nodiscard]] constexpr bool is_integral(element_type e) {
    return e == element_type::i8 || e == element_type::u8 || e == element_type::i16 || e == element_type::i32 ||
           e == element_type::i64;
}

/// The same state, cut along another dimension.
[[nodiscard]] constexpr chunk_state moved_to(chunk_state s, std::int64_t dim) {
    s.dim = static_cast<std::int8_t>(dim);
    return s;
}
/// The same rows with other contents.
[[nodiscard]] constexpr chunk_state rows_only(chunk_state s) {
    s.positions = 0;
    s.into = 0;
    return s;
}
/// The state of a value that is the sum of its parts.
inline constexpr chunk_state a_sum{chunk_kind::addend, -1, 0, 0, 0};

/// The extent of a part along dimension `dim` of a value in that state: its share of `extent` where the value is
/// sliced, -1 where only the operands of a clone know how many rows it has, and `extent` along every other dimension.
/// This is what a rewriter or a dialect writes where an operation spells the shape of its result.
[[nodiscard]] constexpr std::int64_t part_extent(const chunk_state& s, std::int64_t extent, std::int64_t dim,
                                                 std::int64_t tokens, chunk_interval chunk) {
    if (!is_cut(s) || s.dim != dim) return extent;
    return s.what == chunk_kind::sliced ? share_of(extent, tokens, chunk) : -1;
}

}  // namespace stretto::chunk_rules

#endif
