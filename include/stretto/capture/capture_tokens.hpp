// Where the tokens of a captured step are: the extents that its inputs leave open. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_TOKENS_HPP
#define STRETTO_CAPTURE_CAPTURE_TOKENS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto {

/// A symbolic extent that an input has (a batch, a number of tokens), as opposed to one that the program computes.
struct token_symbol {
    std::string name;
    std::int64_t value = 0;
    std::vector<token_dimension<std::uint32_t>> dimensions;  ///< of all nodes, in program order
};

/// The symbols in the shapes of inputs, most frequent first, each with every dimension that is a multiple of it and
/// mentions it. A dimension that mentions two of them belongs to both. O(length of the text) per symbol.
[[nodiscard]] inline std::vector<token_symbol> token_symbols_of(const capture& step) {
    capture_fields fields(step);
    std::vector<token_symbol> found;
    std::vector<std::vector<capture_tensor>> outputs(step.size());
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        outputs[v] = fields.outputs(v);
        if (step.kind(v) != op_kind::input) continue;
        for (const capture_tensor& t : outputs[v])
            for (const std::string& extent : t.symbolic)
                for (const capture_symbol& s : step.symbols())
                    if (extent_expression::mentions(extent, s.name) && s.value > 0 &&
                        std::none_of(found.begin(), found.end(),
                                     [&](const token_symbol& f) { return f.name == s.name; }))
                        found.push_back({s.name, s.value, {}});
    }
    for (token_symbol& s : found)
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            if (outputs[v].size() != 1) continue;
            const capture_tensor& t = outputs[v][0];
            for (std::size_t d = 0; d < t.symbolic.size() && d < t.shape.size(); ++d)
                if (extent_expression::mentions(t.symbolic[d], s.name) && t.shape[d] % s.value == 0) {
                    s.dimensions.push_back({v, d});
                    break;
                }
        }
    const auto more = [](const token_symbol& a, const token_symbol& b) {
        return a.dimensions.size() > b.dimensions.size();
    };
    for (auto s = found.begin(); s != found.end(); ++s)  // equals stay in the order of the inputs
        std::rotate(std::upper_bound(found.begin(), s, *s, more), s, s + 1);
    return found;
}

}  // namespace stretto

#endif
