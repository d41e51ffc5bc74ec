// Describes a reduction plan as text: what it removes from the program (-) and what it adds (+).
#ifndef STRETTO_TRANSFORM_DESCRIBE_REDUCTIONS_HPP
#define STRETTO_TRANSFORM_DESCRIBE_REDUCTIONS_HPP

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/transform/detail/described_program.hpp"
#include "stretto/transform/reduction_plan.hpp"

namespace stretto {

/// Returns the changes that the plan makes to the program, reduction by reduction, with removed operations first:
///
///     3 collectives become one, of the sum
///     - r0 = reduce_scatter(g0)
///     - r1 = reduce_scatter(g1)
///     - r2 = reduce_scatter(g2)
///     - 3 waits, 2 sums and views
///     + sum of 2 = g0 + g1, in place of g0
///     + sum of 3 = sum of 2 + g2
///     + total = reduce_scatter(sum of 3)
///     stay apart: r3, r4: a part of the sum is read elsewhere
///
/// `operator_name(v)` and `value_name(x)` return texts. Precondition: `g` is the view from which the plan was made.
/// O(length of the text).
template <dataflow_graph G, class OperatorName, class ValueName>
    requires requires(OperatorName& operator_name, ValueName& value_name, vertex_t<G> v, value_t<G> x) {
        { operator_name(v) } -> std::convertible_to<std::string_view>;
        { value_name(x) } -> std::convertible_to<std::string_view>;
    }
[[nodiscard]] std::string describe_reductions(const reduction_plan<vertex_t<G>, value_t<G>>& plan, G g,
                                              OperatorName operator_name, ValueName value_name) {
    const detail::described_program program(g, operator_name, value_name);
    const auto sum_of = [](std::size_t parts) { return "sum of " + std::to_string(parts); };
    std::string all;
    for (const auto& r : plan.reductions) {
        const std::size_t n = r.members.size();
        all += std::to_string(n) + " collectives become one, of the sum\n";
        for (std::size_t k = 0; k < n; ++k)
            all += "- " + program.made_by(r.members[k]) + " = " + program.op(r.members[k]) + "(" +
                   program.name(r.operands[k]) + ")\n";
        all += "- " + std::to_string(n) + " waits, " + std::to_string(r.sums.size()) + " sums and views\n";
        for (std::size_t k = 1; k < n; ++k) {
            all += "+ " + sum_of(k + 1) + " = " + (k == 1 ? program.name(r.operands[0]) : sum_of(k)) + " + " +
                   program.name(r.operands[k]);
            if (k == 1 && r.first_sum != sum_place::fresh)
                all += ", in place of " + program.name(r.operands[r.first_sum == sum_place::first ? 0 : 1]);
            all += "\n";
        }
        all += "+ " + program.name(r.result) + " = " + program.op(r.members.back()) + "(" + sum_of(n) + ")\n";
    }
    for (const auto& o : plan.refused)
        all += "stay apart: " + program.made_by(o.vertex) + ", " + program.made_by(o.other) + ": " +
               std::string(explain(o.why)) + "\n";
    return all;
}

}  // namespace stretto

#endif
