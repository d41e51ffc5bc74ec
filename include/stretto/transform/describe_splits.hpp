// Describes a split plan as text: what it removes from the program (-) and what it adds (+).
#ifndef STRETTO_TRANSFORM_DESCRIBE_SPLITS_HPP
#define STRETTO_TRANSFORM_DESCRIBE_SPLITS_HPP

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/transform/detail/described_program.hpp"
#include "stretto/transform/split_plan.hpp"

namespace stretto {

/// Returns the changes that the plan makes to the program, bucket by bucket:
///
///     1 collective becomes 2
///     - gathered = all_gather(packed)
///     - operations that pack: 2, that unpack: 3
///     + a = all_gather(w0), 80 bytes a row
///     + b = all_gather(w1), 160 bytes a row
///     stays whole: other: somebody else reads its buffers (reader)
///
/// `operator_name(v)` and `value_name(x)` return texts. Precondition: `g` is the view from which the plan was made.
/// O(length of the text).
template <dataflow_graph G, class OperatorName, class ValueName>
    requires requires(OperatorName& operator_name, ValueName& value_name, vertex_t<G> v, value_t<G> x) {
        { operator_name(v) } -> std::convertible_to<std::string_view>;
        { value_name(x) } -> std::convertible_to<std::string_view>;
    }
[[nodiscard]] std::string describe_splits(const split_plan<vertex_t<G>, value_t<G>>& plan, G g,
                                          OperatorName operator_name, ValueName value_name) {
    const detail::described_program program(g, operator_name, value_name);
    std::string all;
    for (const auto& b : plan.buckets) {
        all += "1 collective becomes " + std::to_string(b.parts.size()) + "\n";
        std::string sent;
        for (value_t<G> x : g.operands(b.start)) sent += (sent.empty() ? "" : ", ") + program.name(x);
        all += "- " + program.made_by(b.start) + " = " + program.op(b.start) + "(" + sent + ")\n";
        all += "- operations that pack: " + std::to_string(b.packs.size()) +
               ", that unpack: " + std::to_string(b.unpacks.size()) + "\n";
        for (std::size_t k = 0; k < b.parts.size(); ++k)
            all += "+ " + program.name(b.results[k]) + " = " + program.op(b.start) + "(" + program.name(b.parts[k]) +
                   "), " + std::to_string(b.sizes[k].count) + " bytes a row\n";
    }
    for (const auto& o : plan.refused)
        all += "stays whole: " + program.made_by(o.vertex) + ": " + std::string(explain(o.why)) +
               (o.other == o.vertex ? "" : " (" + program.made_by(o.other) + ")") + "\n";
    return all;
}

}  // namespace stretto

#endif
