// Checks the promises of a linear model that a compiler cannot check. It takes two lines in the test of an adapter:
//
//     const auto sums = stretto::check_linear_model(view, my_model, my_linear_model);
//     if (!sums) FAIL(sums.error().message());
#ifndef STRETTO_TESTING_CHECK_LINEAR_MODEL_HPP
#define STRETTO_TESTING_CHECK_LINEAR_MODEL_HPP

#include <cstddef>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct linear_summary {
    std::size_t sums = 0;    ///< vertices that add
    std::size_t views = 0;   ///< vertices that only change the layout
    std::size_t starts = 0;  ///< vertices that launch a collective
    std::size_t alike = 0;   ///< of the starts, those that are alike to an earlier one
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return sums + views + starts == 0 ? "nothing adds, lays out anew or communicates" : "";
    }
    friend bool operator==(const linear_summary&, const linear_summary&) = default;
};

/// Checks that linearity is an enumerator and repeatable; that an operation that adds has two operands and one result,
/// and one that changes the layout has one operand and one result; and that alike is reflexive, symmetric and
/// transitive among starts. Deterministic. O(V + E), and O(s k) calls for s starts in k classes.
template <vertex_list_graph G, op_model<G> M, linear_model<G> L>
    requires dataflow_graph<G>
[[nodiscard]] expected<linear_summary, finding> check_linear_model(G g, const M& ops, const L& linear) {
    linear_summary summary;
    std::vector<std::vector<vertex_t<G>>> classes;
    std::size_t here = 0;
    const auto count = [](auto&& range) {
        std::size_t n = 0;
        for ([[maybe_unused]] const value_t<G> x : range) ++n;
        return n;
    };
    for (const vertex_t<G> v : g.vertices()) {
        const auto broken = [&](const char* rule, const char* hint) {
            return unexpected(finding{.rule = rule, .hint = hint, .vertex = here});
        };
        const linear_kind kind = linear.linearity(v);
        if (kind > linear_kind::sum) return broken("linearity", "the kind is none of the enumerators");
        if (linear.linearity(v) != kind) return broken("stable", "the kind comes out differently when asked again");
        const std::size_t operands = count(g.operands(v)), results = count(g.results(v));
        if (kind == linear_kind::sum && (operands != 2 || results != 1))
            return broken("sum", "a sum has two operands and one result");
        const bool lays_out = kind == linear_kind::same || kind == linear_kind::relayout;
        if (lays_out && (operands != 1 || results != 1))
            return broken("relayout", "what lays out anew has one operand and one result");
        summary.sums += kind == linear_kind::sum;
        summary.views += lays_out;
        if (ops.kind(v) == op_kind::start) {
            ++summary.starts;
            if (!linear.alike(v, v)) return broken("alike", "a start is not alike to itself");
            std::vector<vertex_t<G>>* home = nullptr;
            for (std::vector<vertex_t<G>>& same : classes) {
                const bool all = linear.alike(same.front(), v);
                for (const vertex_t<G> u : same)
                    if (linear.alike(u, v) != all || linear.alike(v, u) != all)
                        return broken("alike", "alike is no equivalence: it depends on the order or on the partner");
                if (all && home != nullptr) return broken("alike", "a start is alike to two that are not alike");
                if (all) home = &same;
            }
            summary.alike += home != nullptr;
            if (home == nullptr) home = &classes.emplace_back();
            if (home->size() < 3) home->push_back(v);  // enough to detect a relation that is not an equivalence
        }
        ++here;
    }
    return summary;
}

}  // namespace stretto

#endif
