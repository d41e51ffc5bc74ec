// Finds the tokens of a step: the symbolic extents of its inputs.
#ifndef STRETTO_TRANSFORM_TOKEN_SYMBOLS_HPP
#define STRETTO_TRANSFORM_TOKEN_SYMBOLS_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto {

/// A symbolic extent of an input (a batch size, a number of tokens), as opposed to a symbol that the program computes.
template <handle X>
struct token_symbol {
    std::string name;
    std::int64_t value = 0;                      ///< its value when the extents of the step were recorded
    std::vector<token_dimension<X>> dimensions;  ///< of all values, in program order
};

/// A symbol with the value for which the extents of a step were recorded.
template <class S>
concept extent_symbol = requires(const S& s) {
    { s.name } -> std::convertible_to<std::string_view>;
    { s.value } -> std::convertible_to<std::int64_t>;
};

/// Returns the symbols in the shapes of inputs, most frequent first. Each symbol comes with the token dimensions of all
/// values that are one tensor: the first dimension that mentions the symbol and is a multiple of it. A dimension that
/// mentions two symbols belongs to both. Symbols that are not in `symbols`, or whose value is not positive, are left
/// out. Equally frequent symbols are in the order in which inputs mention them; symbols in the same extent are in the
/// order of `symbols`. Takes O(V + length of all extents) time, times the logarithm of the number of symbols.
template <vertex_list_graph G, op_model<G> Ops, tensor_model<G> Tensors, extent_symbol S>
    requires dataflow_graph<G>
[[nodiscard]] std::vector<token_symbol<value_t<G>>> token_symbols(G g, const Ops& ops, const Tensors& tensors,
                                                                  std::span<const S> symbols) {
    constexpr std::size_t none = SIZE_MAX;
    struct known_symbol {
        std::int64_t value = 0;
        std::size_t number = 0;    // position in `symbols`
        std::size_t found = none;  // position among the symbols of inputs
        std::size_t seen = 0;      // the last value with a dimension of this symbol
    };
    std::map<std::string, known_symbol, detail::text_order> known;
    std::size_t count = 0;
    for (const S& s : symbols)
        known.emplace(std::string(std::string_view(s.name)), known_symbol{static_cast<std::int64_t>(s.value), count++});

    // Calls f(dim, extent, expression) for each extent of a component that is an expression.
    const auto for_each_extent = [&](value_t<G> x, std::size_t component, auto f) {
        const std::span<const std::int64_t> shape =
            std::span<const tensor_type>(tensors.components(x))[component].shape;
        for (std::size_t d = 0; d < shape.size(); ++d)
            if (const std::string_view text = symbolic_extent_of<G>(tensors, x, component, d); !text.empty())
                f(d, shape[d], text);
    };

    // The symbols of inputs come first, because only they can be tokens; then the dimensions of all values.
    std::vector<token_symbol<value_t<G>>> found;
    std::vector<typename decltype(known)::iterator> mentioned;  // in one extent
    for (vertex_t<G> v : g.vertices()) {
        if (ops.kind(v) != op_kind::input) continue;
        for (value_t<G> x : g.results(v))
            for (std::size_t c = 0; c < std::span<const tensor_type>(tensors.components(x)).size(); ++c)
                for_each_extent(x, c, [&](std::size_t, std::int64_t, std::string_view text) {
                    mentioned.clear();
                    extent_expression::for_each_symbol(text, [&](std::string_view word) {
                        const auto s = known.find(word);
                        if (s != known.end() && s->second.value > 0) mentioned.push_back(s);
                    });
                    std::sort(mentioned.begin(), mentioned.end(),
                              [](auto a, auto b) { return a->second.number < b->second.number; });
                    for (auto s : mentioned) {
                        if (s->second.found != none) continue;
                        s->second.found = found.size();
                        found.push_back({s->first, s->second.value, {}});
                    }
                });
    }

    std::size_t at = 0;  // number of values so far
    for (vertex_t<G> v : g.vertices())
        for (value_t<G> x : g.results(v)) {
            ++at;
            if (std::span<const tensor_type>(tensors.components(x)).size() != 1) continue;
            for_each_extent(x, 0, [&](std::size_t d, std::int64_t extent, std::string_view text) {
                extent_expression::for_each_symbol(text, [&](std::string_view word) {
                    const auto s = known.find(word);
                    if (s == known.end() || s->second.found == none || s->second.seen == at) return;
                    if (extent % s->second.value != 0) return;
                    s->second.seen = at;
                    found[s->second.found].dimensions.push_back({x, d});
                });
            });
        }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.dimensions.size() > b.dimensions.size(); });
    return found;
}

}  // namespace stretto

#endif
