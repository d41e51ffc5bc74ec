// Answers the questions of chunk_call about the origin of an operand. The answers follow from the rules of the
// operations that produced it, so nothing here depends on names of operators.
//
// Some rules hold only for operands of a certain origin. For example, zeros may be added to a sum in every chunk, and a
// count is that of an exchange if both were read from the same value. Few verdicts depend on such facts, so they are
// found by a walk back from the operand when a rule asks, and not by a pass over all operations. The header also
// defines chunk_dialect, which provides the rules.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_VALUE_HISTORY_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_VALUE_HISTORY_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/analysis/value_numbers.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/outlives_call.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/running_differences.hpp"
#include "stretto/transform/chunk_rules/detail/value_walk.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/factories.hpp"
#include "stretto/transform/chunk_rules/joining.hpp"
#include "stretto/transform/chunk_rules/layout.hpp"
#include "stretto/transform/chunk_rules/numbers.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"

namespace stretto {

namespace detail {

// The optional name of an operation is either missing, or as documented.
template <class D, class G>
concept name_returns_text_that_outlives_the_call =
    !requires(const D& d, const vertex_t<G> v) { d.name(v); } || requires(const D& d, const vertex_t<G> v) {
        { d.name(v) } -> outlives_call<std::string_view>;
    };

}  // namespace detail

/// What the author of an IR states about the operations of a program: everything that rules need besides the view.
///   rule(v) -> chunk_rules::any_rule           the kind of v, with its members; `{}` for inputs, outputs, and
///                                              operations that have no rule
///   components(x) -> span<const tensor_type>   the tensors of which value x consists: usually one, several for a
///                                              tuple, none for a number; spans live as long as the program
///   name(v) -> string_view                     optional: the name of v in refusals
/// Repeated calls must return the same. Spans and texts are read after the call, so a std::vector or a std::string that
/// is returned by value does not compile.
template <class D, class G>
concept chunk_dialect = dataflow_graph<G> &&
                        requires(const D& d, const vertex_t<G> v) {
                            { d.rule(v) } -> std::convertible_to<chunk_rules::any_rule>;
                        } && detail::components_returns_span_that_outlives_the_call<D, G> &&
                        detail::name_returns_text_that_outlives_the_call<D, G>;

/// Walks back from a value to the one of which it is a copy, a view or a sum. It is as small as the view and the
/// dialect that it holds, so it can be copied freely. Every question takes O(operations on the way and their readers),
/// and its answer depends only on the program. `key`, `key_read` and `is_zero` are documented in detail/value_walk.hpp.
template <dataflow_graph G, chunk_dialect<G> D>
    requires indexed_graph<G>
class value_history : chunk_rules::detail::value_walk<G, D> {
    using walk = chunk_rules::detail::value_walk<G, D>;

public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    /// `numbers` identifies values with equal contents; it must be that of the same view and outlive this object. With
    /// nullptr, a value is equal only to itself, and only if nothing writes into it in place.
    value_history(G view, D dialect, const value_numbers<G>* numbers = nullptr) : walk(view, dialect, numbers) {}

    using walk::is_zero;
    using walk::key;
    using walk::key_read;

    /// Returns whether the elements of x are known to be integers, whatever its type.
    [[nodiscard]] bool holds_integers(value_type x) const {
        while (true) {
            const element_type e = components(x).empty() ? element_type::other : components(x)[0].element;
            if (chunk_rules::is_integral(e) || e == element_type::boolean) return true;
            if (is_written(x)) return false;
            const chunk_rules::any_rule r = made_by(x);
            const auto* sum = r.as<chunk_rules::reduction>();
            const bool is_sum = sum != nullptr && sum->how == chunk_rules::reduction::by::sum;
            if (!step(x, is_sum ? sum->x : arranges(r))) return r.as<chunk_rules::histogram>() != nullptr;
        }
    }

    /// Returns whether x was made as 0, 1, 2, ..., and nothing writes into it in place.
    [[nodiscard]] bool is_ascending(value_type x) const {
        if (!copied_from(x)) return false;
        const chunk_rules::any_rule r = made_by(x);
        return r.as<chunk_rules::iota>() != nullptr && r.as<chunk_rules::iota>()->from_0_by_1;
    }

    /// Returns whether x has at most one reader, and so has every value whose storage x may share: those of which it is
    /// a view or a member, and the buffers that were written in place to make it.
    [[nodiscard]] bool has_one_reader(value_type x) const {
        do {
            std::size_t readers = 0;
            for ([[maybe_unused]] vertex_type reader : view_.consumers(x)) ++readers;
            if (readers > 1) return false;
            const std::size_t from = shares_storage(made_by(x));
            if (from == chunk_rules::any_rule::every_operand) return false;
            if (!step(x, from)) return true;
        } while (true);
    }

    /// Returns the key of the value from which x, a count or a tensor of counts, was read: see chunk_call::counts. At
    /// most one element is selected on the way; `from_place` is its position along the first dimension, or -1.
    [[nodiscard]] std::int64_t counted(value_type x, std::int64_t& from_place) const {
        from_place = -1;
        while (true) {
            if (differences().step_back(x)) continue;
            const vertex_type p = view_.producer(x);
            const chunk_rules::any_rule r = dialect_.rule(p);
            std::size_t next = copies(r);
            std::int64_t read = -1;
            if (r.as<chunk_rules::read_element>() != nullptr) {
                next = 0;
            } else if (const auto* which = r.as<chunk_rules::component>()) {
                next = unbinds_first(p, 0) ? 0 : chunk_rules::no_operand;
                read = which->which;
            } else if (const auto* entry = r.as<chunk_rules::select>()) {
                if (entry->index >= 0 && is_first(p, entry->x, entry->dim)) next = entry->x;
                read = entry->index;
            } else if (const auto* all = r.as<chunk_rules::unbind>()) {
                if (is_first(p, all->x, all->dim)) next = all->x;
                if (results(p) > 1) read = place(p, x);
            } else if (const auto* sum = r.as<chunk_rules::reduction>()) {
                if (sum->how == chunk_rules::reduction::by::sum && is_inner(p, *sum)) next = sum->x;
            }
            const value_type counts = x;
            if ((read >= 0 && from_place >= 0) || !step(x, next)) return key(counts);
            if (read >= 0) from_place = read;
            const std::int64_t held = key_read(p, next, x);
            if (held != key(x)) return held;  // an operation has written into it before p read it
        }
    }

    /// Returns the key of the value that holds the counts of groups: see chunk_call::groups.
    [[nodiscard]] std::int64_t groups(value_type x, bool ends) const {
        if (!differences().copied_from(x) || components(x)[0].shape.size() != 1) return -1;
        const chunk_rules::any_rule r = made_by(x);
        std::size_t from = chunk_rules::no_operand;
        if (const auto* sums = r.as<chunk_rules::running_sum>(); ends) {
            if (sums == nullptr || chunk_rules::wrapped(sums->dim, 1) != 0) return -1;
            from = sums->x;
        } else if (const auto* all = r.as<chunk_rules::concat>()) {
            if (chunk_rules::wrapped(all->dim, 1) == 0) from = all->first;
        }
        if (from == chunk_rules::no_operand) return ends ? -1 : key(x);
        return step(x, from) && differences().copied_from(x) ? key(x) : -1;
    }

private:
    using walk::arranges;
    using walk::components;
    using walk::copied_from;
    using walk::copies;
    using walk::dialect_;
    using walk::is_written;
    using walk::made_by;
    using walk::place;
    using walk::shares_storage;
    using walk::step;
    using walk::view_;

    [[nodiscard]] chunk_rules::detail::running_differences<G, D> differences() const {
        return chunk_rules::detail::running_differences<G, D>(*this);
    }
    [[nodiscard]] std::size_t results(vertex_type p) const {
        std::size_t n = 0;
        for ([[maybe_unused]] value_type y : view_.results(p)) ++n;
        return n;
    }

    /// Returns whether dimension `dim` of operand k of p is its first.
    [[nodiscard]] bool is_first(vertex_type p, std::size_t k, std::int64_t dim) const {
        for (value_type y : view_.operands(p))
            if (k-- == 0)
                return components(y).size() == 1 && chunk_rules::wrapped(dim, components(y)[0].shape.size()) == 0;
        return false;
    }
    /// Returns whether operand k of p was made by unbind.
    [[nodiscard]] bool unbinds_first(vertex_type p, std::size_t k) const {
        for (value_type y : view_.operands(p))
            if (k-- == 0) return made_by(y).template as<chunk_rules::unbind>() != nullptr;
        return false;
    }
    /// Returns whether p sums over its innermost dimensions, but not over all dimensions.
    [[nodiscard]] bool is_inner(vertex_type p, const chunk_rules::reduction& sum) const {
        std::size_t k = sum.x;
        for (value_type x : view_.operands(p)) {
            if (k-- != 0) continue;
            if (components(x).empty() || components(x)[0].shape.size() > 60) return false;
            const std::size_t rank = components(x)[0].shape.size();
            std::uint64_t gone = 0;
            for (std::size_t j = 0; j < sum.dims.size(); ++j) {
                const std::int64_t d = chunk_rules::wrapped(sum.dims[j], rank);
                if (d >= 0) gone |= std::uint64_t{1} << d;
            }
            if (gone == 0 || (gone & 1) != 0) return false;
            const std::uint64_t outer_end = gone & (~gone + 1);
            return gone == (std::uint64_t{1} << rank) - outer_end;
        }
        return false;
    }
};

}  // namespace stretto

#endif
