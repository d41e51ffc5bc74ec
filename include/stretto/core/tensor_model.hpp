// What an operation on tensors says about itself: its name, its arguments as the program writes them, and the shapes of
// its results. A tensor_model describes tensors as an op_model describes time and memory: it is a small struct beside
// the view, which chunking and the interpreter use. A graph that is only ordered or bucketed needs none.
#ifndef STRETTO_CORE_TENSOR_MODEL_HPP
#define STRETTO_CORE_TENSOR_MODEL_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/has_member.hpp"
#include "stretto/core/outlives_call.hpp"

namespace stretto {

/// The extents of a tensor, outermost first (none for a single element), and the type of its elements.
struct tensor_type {
    std::span<const std::int64_t> shape;
    element_type element = element_type::other;
};

/// The bytes of a tensor of that shape: 0 if the size of its elements is unknown or an extent is 0, and INT64_MAX if
/// the size exceeds that. Precondition: no extent is negative.
[[nodiscard]] constexpr std::int64_t size_of(element_type element, std::span<const std::int64_t> shape) noexcept {
    std::int64_t size = size_of(element);
    for (std::int64_t extent : shape) {
        if (extent == 0) return 0;
        size = size > INT64_MAX / extent ? INT64_MAX : size * extent;
    }
    return size;
}
/// The same for a tensor_type.
[[nodiscard]] constexpr std::int64_t size_of(const tensor_type& type) noexcept {
    return size_of(type.element, type.shape);
}

/// One argument of an operation. Spans and texts live as long as the program that they belong to.
struct tensor_argument {
    enum class form : std::uint8_t {
        none,     ///< omitted, or "None"
        truth,    ///< `integer` is 0 or 1
        integer,  ///< `integer`
        real,     ///< `real`
        text,     ///< `text`: an element type, a reduction, the name of a group
        operand,  ///< position `integer` among the operands of the vertex
        list,     ///< `items`
        other     ///< something that no operator on tensors reads (a dictionary of options)
    };
    form what = form::none;
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text;
    std::span<const tensor_argument> items;
};

/// An argument that the program passes by name.
struct named_tensor_argument {
    std::string_view name;
    tensor_argument value;
};

namespace detail {

STRETTO_MEMBER_NAME(symbolic_extent);

template <class M, class G>
concept operation_returns_text_that_outlives_the_call = requires(const M& m, const vertex_t<G> v) {
    { m.operation(v) } -> outlives_call<std::string_view>;
};
template <class M, class G>
concept arguments_returns_span_that_outlives_the_call = requires(const M& m, const vertex_t<G> v) {
    { m.arguments(v) } -> outlives_call<std::span<const tensor_argument>>;
};
template <class M, class G>
concept named_arguments_returns_span_that_outlives_the_call = requires(const M& m, const vertex_t<G> v) {
    { m.named_arguments(v) } -> outlives_call<std::span<const named_tensor_argument>>;
};
template <class M, class G>
concept components_returns_span_that_outlives_the_call = requires(const M& m, const value_t<G> x) {
    { m.components(x) } -> outlives_call<std::span<const tensor_type>>;
};

// An optional member is either missing or as documented.
template <class M, class G>
concept symbolic_extent_returns_text_that_outlives_the_call =
    !has_symbolic_extent<M, value_t<G>, std::size_t, std::size_t> ||
    requires(const M& m, const value_t<G> x, const std::size_t n) {
        { m.symbolic_extent(x, n, n) } -> outlives_call<std::string_view>;
    };

}  // namespace detail

/// `operation(v)` is the name of the operator in its dialect. `arguments(v)` are its positional arguments; if the
/// program does not spell them, these are the operands, in order. `named_arguments(v)` are the others. `components(x)`
/// are the tensors in value x: usually one, several for a tuple, none for a number. `symbolic_extent(x, component,
/// dim)` is optional, see symbolic_extent_of; a compile error reports one with a wrong signature.
///
/// The returned texts and lists are read after the call, so they must refer to memory of the program: a std::string or
/// a std::vector that is returned by value is rejected.
template <class M, class G>
concept tensor_model = dataflow_graph<G> && detail::operation_returns_text_that_outlives_the_call<M, G> &&
                       detail::arguments_returns_span_that_outlives_the_call<M, G> &&
                       detail::named_arguments_returns_span_that_outlives_the_call<M, G> &&
                       detail::components_returns_span_that_outlives_the_call<M, G> &&
                       detail::symbolic_extent_returns_text_that_outlives_the_call<M, G>;

/// The extent of dimension `dim` of component `component` of x as an expression in symbols, such as "64*u0", if the
/// program was traced for more than one value of it; empty if it is a plain number. The extent in components(x) is the
/// value of this expression for the recorded values of its symbols. Symbols are words of letters, digits and
/// underscores. The text comes from `symbolic_extent(x, component, dim)` of the model, and lives as long as the
/// program. If the model has no such member, every extent is a number.
template <dataflow_graph G, tensor_model<G> M>
constexpr std::string_view symbolic_extent_of(const M& model, value_t<G> x, std::size_t component, std::size_t dim) {
    if constexpr (requires { model.symbolic_extent(x, component, dim); })
        return model.symbolic_extent(x, component, dim);
    else return {};
}

}  // namespace stretto

#endif
