// Reads a program with a tensor_model operand by operand. Code that looks for patterns of operators, such as
// aten_bucket_forms, asks it which operation makes a value, which one alone reads it, and which operand an argument is.
#ifndef STRETTO_ATEN_DETAIL_PROGRAM_READER_HPP
#define STRETTO_ATEN_DETAIL_PROGRAM_READER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::detail::aten {

/// Answers questions about a program. Each answer takes O(operands, arguments or readers of its subject).
template <dataflow_graph G, tensor_model<G> T>
class program_reader {
    using V = vertex_t<G>;
    using X = value_t<G>;

public:
    program_reader(G view, T tensors) : view_(view), tensors_(tensors) {}

    [[nodiscard]] std::string_view op(V v) const { return tensors_.operation(v); }
    [[nodiscard]] aten_arguments arguments(V v) const { return {tensors_.arguments(v), tensors_.named_arguments(v)}; }
    /// Returns the operand that an argument is; nothing if it is none.
    [[nodiscard]] std::optional<X> operand(V v, const tensor_argument& a) const {
        if (a.what != tensor_argument::form::operand) return std::nullopt;
        std::int64_t k = a.integer;
        for (X x : view_.operands(v))
            if (k-- == 0) return x;
        return std::nullopt;
    }
    [[nodiscard]] std::optional<X> operand(V v, std::size_t position, std::string_view name) const {
        return operand(v, arguments(v).argument(position, name));
    }
    /// Returns the operands that a list names; an empty list if an item is something else.
    [[nodiscard]] std::vector<X> operands(V v, const tensor_argument& list) const {
        std::vector<X> all;
        for (const tensor_argument& item : list.items) {
            const auto x = operand(v, item);
            if (!x) return {};
            all.push_back(*x);
        }
        return all;
    }
    /// Returns the result of v if it has exactly one.
    [[nodiscard]] std::optional<X> only_result(V v) const {
        std::optional<X> only;
        for (X x : view_.results(v)) {
            if (only) return std::nullopt;
            only = x;
        }
        return only;
    }
    /// Returns the vertex that reads x if x is read exactly once.
    [[nodiscard]] std::optional<V> only_reader(X x) const {
        std::optional<V> only;
        for (V v : view_.consumers(x)) {
            if (only) return std::nullopt;
            only = v;
        }
        return only;
    }
    /// Returns the type of the tensor that x is; null if x is several tensors, or none.
    [[nodiscard]] const tensor_type* type(X x) const {
        const std::span<const tensor_type> all = tensors_.components(x);
        return all.size() == 1 ? &all[0] : nullptr;
    }
    /// Returns the number of elements. Symbolic extents count with their recorded values.
    [[nodiscard]] static std::int64_t elements(const tensor_type& t) {
        std::int64_t n = 1;
        for (std::int64_t extent : t.shape) n *= extent;
        return n;
    }
    /// Returns whether an extent of x is a symbolic extent.
    [[nodiscard]] bool is_symbolic(X x) const {
        const std::span<const tensor_type> all = tensors_.components(x);
        for (std::size_t c = 0; c < all.size(); ++c)
            for (std::size_t d = 0; d < all[c].shape.size(); ++d)
                if (!symbolic_extent_of<G>(tensors_, x, c, d).empty()) return true;
        return false;
    }

protected:
    G view_;
    T tensors_;
};

}  // namespace stretto::detail::aten

#endif
