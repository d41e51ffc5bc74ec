// Steps back through a program, from a value to that of which it is a copy or a view. They follow the rules of
// producers, so that no names of operators are known here. value_history.hpp asks its questions with them.
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
#include "stretto/transform/chunk_rules/layout.hpp"

namespace stretto::chunk_rules::detail {

/// Walks over a graph with a chunk_dialect. It is small, and is copied like the view and the dialect in it. Every
/// question takes O(operations on the way and their readers).
template <class G, class D>
class value_walk {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    value_walk(G view, D dialect, const value_numbers<G>* numbers)
        : view_(view), dialect_(dialect), numbers_(numbers) {}

    /// A number of what x holds when its producer has made it, which only equal contents have.
    [[nodiscard]] std::int64_t key(value_type x) const {
        if (numbers_ != nullptr) return numbers_->number(x);
        const vertex_type p = view_.producer(x);
        return key_of_place(p, place(p, x));
    }
    /// The same of operand k of v, which is x, when v reads it.
    [[nodiscard]] std::int64_t key_read(vertex_type v, std::size_t k, value_type x) const {
        if (numbers_ != nullptr) return numbers_->number_read(v, k);
        if (!is_written(x)) return key(x);
        return (std::int64_t{1} << 62) + key_of_place(v, static_cast<std::int64_t>(k));  // unlike any other
    }

    /// Whether x was made of zeros, and nothing writes into it, or into what it is a view of, in place.
    [[nodiscard]] bool is_zero(value_type x) const {
        value_type from = x;
        any_rule r = made_by(from);
        while (step(from, arranges(r))) r = made_by(from);
        const bool zero = (r.as<fill>() != nullptr && r.as<fill>()->zero) ||
                          (r.as<fill_beside>() != nullptr && r.as<fill_beside>()->zero) ||
                          (r.as<fill_like>() != nullptr && r.as<fill_like>()->zero);
        if (!zero) return false;
        do {
            if (is_written(x)) return false;
        } while (step(x, arranges(made_by(x))));
        return true;
    }

    [[nodiscard]] std::span<const tensor_type> components(value_type x) const { return dialect_.components(x); }
    [[nodiscard]] any_rule made_by(value_type x) const { return dialect_.rule(view_.producer(x)); }

    [[nodiscard]] std::int64_t key_of_place(vertex_type v, std::int64_t k) const {
        return static_cast<std::int64_t>(view_.index(v)) * (std::int64_t{1} << 32) + k;
    }
    /// The place of x among the results of p, from 0.
    [[nodiscard]] std::int64_t place(vertex_type p, value_type x) const {
        std::int64_t k = 0;
        for (value_type y : view_.results(p)) {
            if (y == x) break;
            ++k;
        }
        return k;
    }
    /// Goes from x to operand k of its producer. False if there is no such operand.
    [[nodiscard]] bool step(value_type& x, std::size_t k) const {
        if (k == no_operand) return false;
        for (value_type y : view_.operands(view_.producer(x)))
            if (k-- == 0) {
                x = y;
                return true;
            }
        return false;
    }

    /// Member `x` of the rule if it is of one of these kinds; otherwise no_operand.
    template <class... Kinds>
    [[nodiscard]] static std::size_t operand_of(const any_rule& r) {
        std::size_t k = no_operand;
        ((r.as<Kinds>() != nullptr ? void(k = r.as<Kinds>()->x) : void()), ...);
        return k;
    }
    /// The operand that has the same elements in the same order.
    [[nodiscard]] static std::size_t copies(const any_rule& r) {
        return r.writes_in_place() ? no_operand : operand_of<copy, cast, reshape>(r);
    }
    /// The operand that has all elements of the result, in whatever order and number, and may share its storage.
    [[nodiscard]] static std::size_t arranges(const any_rule& r) {
        return r.writes_in_place() ? no_operand
                                   : operand_of<copy, cast, reshape, expand, permute, transpose, reverse_dimensions,
                                                unsqueeze, squeeze, slice>(r);
    }

    /// Goes back to the value whose elements x has, in the same order. False if anything writes into one of these
    /// values in place.
    [[nodiscard]] bool copied_from(value_type& x) const {
        do {
            if (components(x).size() != 1 || is_written(x)) return false;
        } while (step(x, copies(made_by(x))));
        return true;
    }

    /// Whether v may write x.
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
    /// Whether anything writes into x in place, or into something that may be x.
    [[nodiscard]] bool is_written(value_type x) const {
        for (vertex_type reader : view_.consumers(x)) {
            const any_rule r = dialect_.rule(reader);
            if (may_write(reader, r, x)) return true;
            if (arranges(r) == no_operand && operand_of<select>(r) == no_operand) continue;
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
