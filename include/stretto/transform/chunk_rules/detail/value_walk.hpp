// Steps back through a program, from a value to the one of which it is a copy or a view. value_history.hpp answers its
// questions with them. The steps follow the rules of the producers, so nothing here depends on names of operators.
//
// A fact about a value is lost when an operation writes into it in place, so every walk also looks for such writes, at
// the value itself and at everything that may share its storage (`shares_storage`).
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_VALUE_WALK_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_DETAIL_VALUE_WALK_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/analysis/value_numbers.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/factories.hpp"
#include "stretto/transform/chunk_rules/joining.hpp"
#include "stretto/transform/chunk_rules/layout.hpp"

namespace stretto::chunk_rules::detail {

/// Walks over a graph with a chunk_dialect. It is as small as the view and the dialect that it holds, so it can be
/// copied freely. Every question takes O(operations on the way and their readers).
template <class G, class D>
class value_walk {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    value_walk(G view, D dialect, const value_numbers<G>* numbers)
        : view_(view), dialect_(dialect), numbers_(numbers) {}

    /// Returns a number that identifies the contents of x at the time when its producer made it. Only equal contents
    /// have equal numbers.
    [[nodiscard]] std::int64_t key(value_type x) const {
        if (numbers_ != nullptr) return numbers_->number(x);
        const vertex_type p = view_.producer(x);
        return key_of_place(p, place(p, x));
    }
    /// Returns that number for the contents of x at the time when v reads it as operand k. Without value numbers, it
    /// occurs nowhere else if something writes into x.
    [[nodiscard]] std::int64_t key_read(vertex_type v, std::size_t k, value_type x) const {
        if (numbers_ != nullptr) return numbers_->number_read(v, k);
        if (!is_written(x)) return key(x);
        return (std::int64_t{1} << 62) + key_of_place(v, static_cast<std::int64_t>(k));
    }

    /// Returns whether x was made as zeros, or is a view or a copy of zeros, and nothing writes in place into one of
    /// these values.
    [[nodiscard]] bool is_zero(value_type x) const {
        value_type from = x;
        any_rule r = made_by(from);
        while (step(from, arranges(r))) r = made_by(from);
        const bool zero = (r.as<fill>() != nullptr && r.as<fill>()->zero) ||
                          (r.as<fill_beside>() != nullptr && r.as<fill_beside>()->zero) ||
                          (r.as<fill_like>() != nullptr && r.as<fill_like>()->zero);
        // A buffer that is set to zero in place may be written under its old name.
        if (!zero || r.writes_in_place()) return false;
        do {
            if (is_written(x)) return false;
        } while (step(x, arranges(made_by(x))));
        return true;
    }

    [[nodiscard]] std::span<const tensor_type> components(value_type x) const { return dialect_.components(x); }
    [[nodiscard]] any_rule made_by(value_type x) const { return dialect_.rule(view_.producer(x)); }

    /// Returns a number that no other pair of a vertex and a position k below 2^32 has. Not negative.
    [[nodiscard]] std::int64_t key_of_place(vertex_type v, std::int64_t k) const {
        return static_cast<std::int64_t>(view_.index(v)) * (std::int64_t{1} << 32) + k;
    }
    /// Returns the position of x among the results of p.
    [[nodiscard]] std::int64_t place(vertex_type p, value_type x) const {
        std::int64_t k = 0;
        for (value_type y : view_.results(p)) {
            if (y == x) break;
            ++k;
        }
        return k;
    }
    /// Replaces x by operand k of its producer. Returns false if there is no such operand.
    [[nodiscard]] bool step(value_type& x, std::size_t k) const {
        if (k == no_operand) return false;
        for (value_type y : view_.operands(view_.producer(x)))
            if (k-- == 0) {
                x = y;
                return true;
            }
        return false;
    }

    /// Returns the member `x` of the rule if the rule is of one of these kinds; otherwise no_operand.
    template <class... Kinds>
    [[nodiscard]] static std::size_t operand_of(const any_rule& r) {
        std::size_t k = no_operand;
        ((r.as<Kinds>() != nullptr ? void(k = r.as<Kinds>()->x) : void()), ...);
        return k;
    }
    /// Returns the operand whose elements the result has, in the same order; no_operand if there is none.
    [[nodiscard]] static std::size_t copies(const any_rule& r) {
        return r.writes_in_place() ? no_operand : operand_of<copy, cast, reshape>(r);
    }
    /// Returns the operand from which the result has all its elements, in any order and number, and whose storage it
    /// may share; no_operand if there is none.
    [[nodiscard]] static std::size_t arranges(const any_rule& r) {
        return r.writes_in_place() ? no_operand
                                   : operand_of<copy, cast, reshape, expand, permute, transpose, reverse_dimensions,
                                                unsqueeze, squeeze, slice>(r);
    }

    /// Returns the operand whose storage a result may share: the one that is written in place, or of which the result
    /// is a view or a member. Returns no_operand if there is none, and every_operand if it may be any of them.
    [[nodiscard]] static std::size_t shares_storage(const any_rule& r) {
        if (r.writes_in_place()) return r.writes();
        if (r.as<component>() != nullptr) return 0;
        const std::size_t k = arranges(r);
        return k != no_operand ? k : operand_of<select, unbind, split, regroup_last>(r);
    }

    /// Replaces x by the earliest value that has the same elements in the same order. Returns false if something writes
    /// in place into a value on the way, or if such a value is not a single tensor.
    [[nodiscard]] bool copied_from(value_type& x) const {
        do {
            if (components(x).size() != 1 || is_written(x)) return false;
        } while (step(x, copies(made_by(x))));
        return true;
    }

    /// Returns whether x is operand k of v.
    [[nodiscard]] bool is_operand(vertex_type v, std::size_t k, value_type x) const {
        if (k == no_operand) return false;
        for (value_type y : view_.operands(v))
            if (k-- == 0) return y == x;
        return false;
    }
    /// Returns whether v, whose rule is `r`, may write x in place.
    [[nodiscard]] bool may_write(vertex_type v, const any_rule& r, value_type x) const {
        if (!r.writes_in_place()) return false;
        if (r.writes() == any_rule::every_operand) return true;
        std::size_t k = 0;
        for (value_type y : view_.operands(v)) {
            if (y == x && k == r.writes()) return true;
            ++k;
        }
        return r.writes() >= k;
    }
    /// Returns whether an operation may write in place into x or into a view of x.
    [[nodiscard]] bool is_written(value_type x) const {
        for (vertex_type reader : view_.consumers(x)) {
            const any_rule r = dialect_.rule(reader);
            if (may_write(reader, r, x)) return true;
            if (r.writes_in_place() || !is_operand(reader, shares_storage(r), x)) continue;
            for (value_type y : view_.results(reader))
                if (is_written(y)) return true;
        }
        return false;
    }

    G view_;
    [[no_unique_address]] D dialect_;  // often empty
    const value_numbers<G>* numbers_;
};

}  // namespace stretto::chunk_rules::detail

#endif
