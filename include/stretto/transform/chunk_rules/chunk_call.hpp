// An operation as the chunk rules see it: shapes, states and known facts about its operands, in flat arrays that do not
// depend on the graph. A rule is therefore compiled only once, and knows neither operator names nor argument lists.
// rule_chunk_model fills in a call for each query; authors of rule kinds read it.
//
// The predicates on states that rules use follow below. docs/algorithms/chunk-states.md defines what each state means.
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
    std::size_t tensors = 0;  ///< 0 for a number, which has one state
    std::int64_t key = 0;     ///< identifies the contents of the value when it is read here; not negative
};

/// Queries about the origin of an operand. The model answers them, because it knows the graph. A null member answers
/// "no" or "unknown", so that a test can construct a call by hand. `program` is passed to each of these functions; only
/// the model knows its type. The members of chunk_call with the same names document the queries.
struct call_history {
    const void* program = nullptr;
    bool (*all_zero)(const void* program, std::size_t operand) = nullptr;
    bool (*read_here_only)(const void* program, std::size_t operand) = nullptr;
    std::int64_t (*counts)(const void* program, std::size_t operand, std::int64_t& place) = nullptr;
    bool (*integers)(const void* program, std::size_t operand) = nullptr;
    bool (*ascending)(const void* program, std::size_t operand) = nullptr;
    std::int64_t (*groups)(const void* program, std::size_t operand, bool ends) = nullptr;
};

/// Returns the extent of a dimension; -1 if the shape has no such dimension.
template <class Dim>
[[nodiscard]] constexpr std::int64_t extent_in(std::span<const std::int64_t> shape, Dim dim) {
    const std::size_t at =
        static_cast<std::size_t>(dim);  // a negative dimension becomes a huge number, which is out of range
    return at < shape.size() ? shape[at] : -1;
}

/// An operation that is to run in chunks. All spans point into the object that constructed the call.
///
/// Operand k has `operands[k].tensors` components, which start at `operands[k].first` in `types` and `states`. The
/// members below that take k and return one state, type or shape refer to its first component. Precondition of these:
/// operand k exists, as is_tensor and is_number determine. There is always a first result type, which is empty if the
/// operation has no results, so that rules need not check for it.
struct chunk_call {
    std::string_view name;    ///< the name of the operation, for refusals; may be empty
    std::int64_t key = 0;     ///< identifies the vertex, or all vertices with the same effect; not negative
    std::int64_t tokens = 1;  ///< rows of the region; the extent of a sliced dimension is a multiple of this
    std::span<const call_operand> operands;
    std::span<const tensor_type> types;   ///< the types of the components of operands; the type of a number is empty
    std::span<const chunk_state> states;  ///< the states of these components, one for each of `types`
    std::span<const tensor_type> result_types;  ///< the types of the components of results
    std::span<chunk_state> results;  ///< the states of these components, which the rule sets; initially `unset`
    row_orders* orders = nullptr;    ///< names the orders in states and owns the text of refusals; not null
    call_history history;

    [[nodiscard]] bool is_tensor(std::size_t k) const { return k < operands.size() && operands[k].tensors == 1; }
    [[nodiscard]] bool is_number(std::size_t k) const { return k < operands.size() && operands[k].tensors == 0; }
    [[nodiscard]] const chunk_state& state(std::size_t k) const { return states[operands[k].first]; }
    [[nodiscard]] const tensor_type& type(std::size_t k) const { return types[operands[k].first]; }
    [[nodiscard]] std::span<const std::int64_t> shape(std::size_t k) const { return type(k).shape; }

    /// Returns whether tensor k was made as zeros, or is a view or copy of such zeros, and is never written in place.
    [[nodiscard]] bool all_zero(std::size_t k) const {
        return history.all_zero != nullptr && history.all_zero(history.program, k);
    }
    /// Returns whether this operation is the only reader of k and of every value of which k is a view.
    [[nodiscard]] bool read_here_only(std::size_t k) const {
        return history.read_here_only != nullptr && history.read_here_only(history.program, k);
    }
    /// Returns the key of the value from which count k was read, through casts, copies, reads of one element and sums
    /// over the inner dimensions; -1 if it is unknown. `place` becomes the position of the element read, or -1.
    std::int64_t counts(std::size_t k, std::int64_t& place) const {
        place = -1;
        return history.counts == nullptr ? -1 : history.counts(history.program, k, place);
    }
    /// Returns whether the elements of k are integers regardless of its type: counts, cast integers, and sums of them.
    [[nodiscard]] bool integers(std::size_t k) const {
        return history.integers != nullptr && history.integers(history.program, k);
    }
    /// Returns whether the elements of k are 0, 1, 2, ..., as created by an operation that numbers rows.
    [[nodiscard]] bool ascending(std::size_t k) const {
        return history.ascending != nullptr && history.ascending(history.program, k);
    }
    /// Returns the key of the value that holds the number of rows in each group; -1 if there is none. k is a copy of
    /// that value, possibly with other groups after it; or, if k has the `ends` of the groups, its running sum.
    [[nodiscard]] std::int64_t groups(std::size_t k, bool ends) const {
        return history.groups == nullptr ? -1 : history.groups(history.program, k, ends);
    }

    /// Returns the extent of tensor k along a dimension; -1 if it has no such dimension. Recorded shapes may contradict
    /// the operation, so do not assume that a dimension of one value also exists in another.
    template <class Dim>
    [[nodiscard]] std::int64_t extent(std::size_t k, Dim dim) const {
        return extent_in(shape(k), dim);
    }
    /// Returns the same for the first result.
    template <class Dim>
    [[nodiscard]] std::int64_t result_extent(Dim dim) const {
        return extent_in(result_types[0].shape, dim);
    }

    /// Returns whether a dimension of that extent has exactly this many rows for every token. Recorded numbers may be
    /// anything, so this divides rather than multiplies, which could overflow.
    [[nodiscard]] bool has_rows(std::int64_t extent, std::int64_t per_token) const {
        return extent % tokens == 0 && extent / tokens == per_token;
    }

    /// Refuses to run the operation per chunk. `sentence` is a predicate whose subject, the name of the operation, is
    /// added here. The orders own the text.
    [[nodiscard]] chunk_verdict refuse(std::string_view sentence) const {
        return {false, orders->say(name, sentence), false, -1, -1};
    }
    /// Refuses because of the operation itself, regardless of the states of its operands.
    [[nodiscard]] chunk_verdict refuse_itself(std::string_view sentence) const {
        chunk_verdict v = refuse(sentence);
        v.inherent = true;
        return v;
    }
    /// Refuses because the rule itself is wrong: `kind` names an operand that the operation does not have.
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
    /// Refuses because operand k is whole, although it would need the rows of the chunk, in the state `rows`. If
    /// cutting that operand along `dim` beforehand would help, the verdict says so (`wanted`, `wanted_dim`). It does
    /// not help if the rows are in another order than the tokens, because a whole value can only be cut in the order
    /// of the tokens, or if the extent along `dim` is not a multiple of the tokens.
    [[nodiscard]] chunk_verdict want(std::size_t k, std::int64_t dim, const chunk_state& rows) const {
        if (rows.what != chunk_kind::sliced || dim < 0 || static_cast<std::size_t>(dim) >= shape(k).size() ||
            shape(k)[static_cast<std::size_t>(dim)] % tokens != 0)
            return refuse("has an operand that is whole beside rows of the chunk");
        chunk_verdict v = refuse("an operand is whole along the dimension that is chunked");
        v.wanted = static_cast<std::int32_t>(operands[k].first);
        v.wanted_dim = static_cast<std::int8_t>(dim);
        return v;
    }
    /// Gives all results the same state.
    chunk_verdict give(const chunk_state& s) const {
        for (chunk_state& r : results) r = s;
        return {};
    }
};

[[nodiscard]] constexpr bool is_whole(const chunk_state& s) { return s.what == chunk_kind::whole; }
[[nodiscard]] constexpr bool is_addend(const chunk_state& s) { return s.what == chunk_kind::addend; }
/// Returns whether each part has some of the rows, along the dimension of the state. This includes an opaque state with
/// a dimension: it is known how many rows a part has, but not which.
[[nodiscard]] constexpr bool is_cut(const chunk_state& s) {
    return s.what == chunk_kind::sliced || s.what == chunk_kind::permuted ||
           (s.what == chunk_kind::opaque && s.dim >= 0);
}
/// Returns whether the elements are row numbers, counted from the first row of the chunk.
[[nodiscard]] constexpr bool counts_rows(const chunk_state& s) {
    return !is_addend(s) && (s.positions != 0 || s.into != 0);
}
/// Returns whether the elements are ordinary values, neither opaque nor row numbers. Every rule may compute with these.
/// A rule may compute with other elements only if it defines the state of the result.
[[nodiscard]] constexpr bool is_plain(const chunk_state& s) { return s.what != chunk_kind::opaque && !counts_rows(s); }

[[nodiscard]] constexpr bool is_integral(element_type e) {
    return e == element_type::i8 || e == element_type::u8 || e == element_type::i16 || e == element_type::i32 ||
           e == element_type::i64;
}

/// Returns the same state, cut along another dimension.
[[nodiscard]] constexpr chunk_state moved_to(chunk_state s, std::int64_t dim) {
    s.dim = static_cast<std::int8_t>(dim);
    return s;
}
/// Returns a state with the same rows, whose contents are not row numbers.
[[nodiscard]] constexpr chunk_state rows_only(chunk_state s) {
    s.positions = 0;
    s.into = 0;
    return s;
}
/// The state of a value that is the sum of its parts.
inline constexpr chunk_state a_sum{chunk_kind::addend, -1, 0, 0, 0};

/// Returns the extent of a part along dimension `dim` of a value in the given state: its share of `extent` if the value
/// is sliced along `dim`, -1 if only the operands of a clone determine the number of rows, and `extent` along every
/// other dimension. A rewriter or a dialect uses this where an operation has the shape of its result as an argument.
[[nodiscard]] constexpr std::int64_t part_extent(const chunk_state& s, std::int64_t extent, std::int64_t dim,
                                                 std::int64_t tokens, chunk_interval chunk) {
    if (!is_cut(s) || s.dim != dim) return extent;
    return s.what == chunk_kind::sliced ? share_of(extent, tokens, chunk) : -1;
}

}  // namespace stretto::chunk_rules

#endif
