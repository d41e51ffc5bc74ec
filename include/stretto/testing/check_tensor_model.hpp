// Checks the promises of a tensor model that a compiler cannot check. It takes two lines in the tests of an adapter:
//
//     const auto tensors = stretto::check_tensor_model(view, model, my_tensors);
//     if (!tensors) FAIL(tensors.error().message());
#ifndef STRETTO_TESTING_CHECK_TENSOR_MODEL_HPP
#define STRETTO_TESTING_CHECK_TENSOR_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct tensor_summary {
    std::size_t operations = 0;  ///< operations that have a name
    std::size_t arguments = 0;   ///< positional and named arguments, not counting those within lists
    std::size_t tensors = 0;     ///< components of results
    std::size_t numbers = 0;     ///< results without components
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const { return tensors + numbers == 0 ? "no operation has a result" : ""; }
    friend bool operator==(const tensor_summary&, const tensor_summary&) = default;
};

namespace detail {

/// The rule that one operation breaks, and why; empty if it breaks none. The functions below return one.
struct tensor_rule {
    const char* rule = "";
    const char* hint = "";
};

/// Marks the operands that an argument names, also within lists.
[[nodiscard]] inline tensor_rule check_argument(const tensor_argument& a, std::vector<char>& named) {
    switch (a.what) {
        case tensor_argument::form::truth:
            if (a.integer != 0 && a.integer != 1) return {"argument", "a truth is 0 or 1"};
            break;
        case tensor_argument::form::operand:
            if (a.integer < 0 || static_cast<std::size_t>(a.integer) >= named.size())
                return {"operand-number", "an argument names an operand by a position that operands(v) does not have"};
            named[static_cast<std::size_t>(a.integer)] = true;
            break;
        case tensor_argument::form::list:
            for (const tensor_argument& item : a.items)
                if (const tensor_rule r = check_argument(item, named); *r.rule) return r;
            break;
        case tensor_argument::form::none:
        case tensor_argument::form::integer:
        case tensor_argument::form::real:
        case tensor_argument::form::text:
        case tensor_argument::form::other:
            break;
        default:
            return {"argument", "`what` is none of the enumerators"};
    }
    return {};
}

/// Whether a type is possible: its rank is representable, and its extents and their product fit into 64 bits.
[[nodiscard]] inline tensor_rule check_type(const tensor_type& type) {
    if (type.element > element_type::other) return {"element", "an element type is none of the enumerators"};
    if (type.shape.size() > 127) return {"rank", "a tensor has more dimensions than a chunk_state can name"};
    std::int64_t left = INT64_MAX / 16;
    for (std::int64_t extent : type.shape) {
        if (extent < 0) return {"extent", "an extent is negative; is it a symbol that has no number yet?"};
        if (extent > left) return {"extent", "the product of the extents is beyond 64 bits"};
        left /= extent > 0 ? extent : 1;
    }
    return {};
}

}  // namespace detail

/// Checks that operations have names; that arguments name operands by positions that exist and omit none; that named
/// arguments have different names; that shapes and element types are possible; that symbolic extents name symbols; and
/// that names, numbers of arguments, ranks and element types are repeatable. If the op model has `bytes_of`, a value
/// with storage of its own must have at least the bytes that its components take; values whose element size is unknown
/// are exempt. The result is deterministic. O(V + E + arguments + components). Precondition: check_graph finds nothing.
template <dataflow_graph G, op_model<G> M, tensor_model<G> T>
    requires vertex_list_graph<G>
[[nodiscard]] expected<tensor_summary, finding> check_tensor_model(G g, M model, T tensors) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    tensor_summary summary;
    std::size_t here = 0;
    const auto broken = [&](detail::tensor_rule r) {
        return unexpected(finding{.rule = r.rule, .hint = r.hint, .vertex = here});
    };
    for (V v : g.vertices()) {
        const op_kind kind = model.kind(v);
        const std::string_view name = tensors.operation(v);
        if (name.empty() && kind != op_kind::input && kind != op_kind::output)
            return broken({"operation", "operation(v) is empty; a dialect knows operations by name"});
        summary.operations += !name.empty();

        std::size_t operands = 0;
        for ([[maybe_unused]] X x : g.operands(v)) ++operands;
        std::vector<char> named(operands, false);
        const std::span<const tensor_argument> arguments = tensors.arguments(v);
        for (const tensor_argument& a : arguments)
            if (const detail::tensor_rule r = detail::check_argument(a, named); *r.rule) return broken(r);
        const std::span<const named_tensor_argument> by_name = tensors.named_arguments(v);
        for (std::size_t k = 0; k < by_name.size(); ++k) {
            if (by_name[k].name.empty()) return broken({"argument-name", "a named argument has no name"});
            for (std::size_t other = 0; other < k; ++other)
                if (by_name[k].name == by_name[other].name)
                    return broken({"argument-name", "two named arguments have the same name"});
            if (const detail::tensor_rule r = detail::check_argument(by_name[k].value, named); *r.rule)
                return broken(r);
        }
        for (char is_named : named)
            if (!is_named)
                return broken({"operand-left-out",
                               "no argument names one of the operands; an operation whose program does not spell its "
                               "arguments has its operands, in order"});
        summary.arguments += arguments.size() + by_name.size();
        if (tensors.operation(v) != name || tensors.arguments(v).size() != arguments.size() ||
            tensors.named_arguments(v).size() != by_name.size())
            return broken({"stable", "name or arguments come out differently when asked again"});

        for (X x : g.results(v)) {
            const std::span<const tensor_type> components = tensors.components(x);
            summary.numbers += components.empty();
            summary.tensors += components.size();
            std::int64_t bytes_needed = 0;
            bool sizes_known = true;
            for (const tensor_type& type : components) {
                if (const detail::tensor_rule r = detail::check_type(type); *r.rule) return broken(r);
                sizes_known = sizes_known && type.element != element_type::other;
                bytes_needed += size_of(type);
            }
            for (std::size_t k = 0; k < components.size(); ++k)
                for (std::size_t d = 0; d < components[k].shape.size(); ++d) {
                    const std::string_view extent = symbolic_extent_of<G>(tensors, x, k, d);
                    if (!extent.empty() && !extent_expression::has_symbols(extent))
                        return broken({"symbolic-extent",
                                       "the expression of an extent names no symbol; of a number it is empty"});
                }
            const bytes owned = allocation_of<G>(model, x);
            if (sizes_known && owned.count > 0 && owned.count < bytes_needed)
                return broken(
                    {"bytes", "bytes_of(x) is less than the tensors of x take, and x has storage of its own"});
            const std::span<const tensor_type> again = tensors.components(x);
            bool same = again.size() == components.size();
            for (std::size_t k = 0; same && k < again.size(); ++k)
                same = again[k].element == components[k].element && again[k].shape.size() == components[k].shape.size();
            if (!same) return broken({"stable", "components come out differently when asked again"});
        }
        ++here;
    }
    return summary;
}

/// Checks that a chunk model and a tensor model describe the same tensors: the same components, ranks and extents.
/// Returns how many tensors were compared. O(V + components).
template <dataflow_graph G, chunk_model<G> C, tensor_model<G> T>
    requires vertex_list_graph<G>
[[nodiscard]] expected<std::size_t, finding> check_chunk_shapes(G g, C chunks, T tensors) {
    std::size_t here = 0, compared = 0;
    for (vertex_t<G> v : g.vertices()) {
        for (value_t<G> x : g.results(v)) {
            const std::span<const tensor_type> components = tensors.components(x);
            bool same = chunks.components_of(x) == components.size();
            for (std::size_t k = 0; same && k < components.size(); ++k) {
                same = chunks.rank(x, k) == components[k].shape.size();
                for (std::size_t d = 0; same && d < components[k].shape.size(); ++d)
                    same = chunks.extent(x, k, d) == components[k].shape[d];
            }
            if (!same)
                return unexpected(finding{.rule = "shape",
                                          .hint = "chunk model and tensor model give a result different components, "
                                                  "ranks or extents",
                                          .vertex = here});
            compared += components.size();
        }
        ++here;
    }
    return compared;
}

}  // namespace stretto

#endif
