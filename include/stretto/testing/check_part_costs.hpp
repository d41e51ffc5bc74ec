// Checks the promises of a part cost model that a compiler cannot check, and on which a search relies. It takes two
// lines in the test of an adapter:
//
//     const auto costs = stretto::check_part_costs(view, model, chunks, my_costs);
//     if (!costs) FAIL(costs.error().message());
#ifndef STRETTO_TESTING_CHECK_PART_COSTS_HPP
#define STRETTO_TESTING_CHECK_PART_COSTS_HPP

#include <cstddef>
#include <utility>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/testing/detail/part_cost_checker.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct part_cost_summary {
    std::size_t operations = 0;  ///< operations that can run per chunk
    std::size_t clones = 0;      ///< calls of of_clone
    std::size_t joins = 0;       ///< concatenations, sums, and memory for slices
    std::size_t slices = 0;      ///< copies of a part to its place
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return operations == 0 ? "the chunk model accepts no way of cutting any operation" : "";
    }
    friend bool operator==(const part_cost_summary&, const part_cost_summary&) = default;
};

/// Checks, for every operation and every way of cutting it that the chunk model accepts, that
///   - no duration, payload or allocation is negative, which an overflow would make it;
///   - `of_clone` sets the allocation of every result;
///   - a part with more rows takes, sends and allocates no less;
///   - the clone that has all rows sends and allocates what the operation does and, unless it is a collective, takes no
///     less time; two parts together send and allocate no less;
/// and for every value that the operation that combines its parts is a kernel, or a view that takes no time; that none
/// of its costs is negative; that writing more rows takes no less; and that all answers are repeatable. Deterministic.
/// O(V + operands), each with some calls to both models. Precondition: check_graph and check_op_model find nothing.
template <vertex_list_graph G, op_model<G> M, chunk_model<G> C, part_cost_model<G> P>
    requires dataflow_graph<G>
[[nodiscard]] expected<part_cost_summary, finding> check_part_costs(G g, M model, C chunks, P costs) {
    detail::part_cost_checker<G, M, C, P, part_cost_summary> checker(g, model, chunks, costs);
    if (finding f = checker.check(); *f.rule) return unexpected(std::move(f));
    return checker.summary();
}

}  // namespace stretto

#endif
