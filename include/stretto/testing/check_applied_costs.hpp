// Checks that clones cost what was promised. A search for chunks uses the part_cost_model, whereas the schedule of the
// rewritten program uses the op model. If a rewriter does not set the cost of its clones, or gives each the cost of the
// whole operation, the plan computes the right values, but its predicted time is wrong. In the test of an adapter:
//
//     const auto costs = stretto::check_applied_costs([] { return my_ir(...); });
//     if (!costs) FAIL(costs.error().message());
//
// The callable is that of check_applied_chunks, and its result also has `part_costs()`, a part_cost_model.
#ifndef STRETTO_TESTING_CHECK_APPLIED_COSTS_HPP
#define STRETTO_TESTING_CHECK_APPLIED_COSTS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/testing/detail/applied_cost_checker.hpp"
#include "stretto/testing/detail/random_plans.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/transform/apply_chunks.hpp"

namespace stretto {

/// Counts of what was compared. A test of an adapter can compare them with the expected numbers.
struct applied_costs_summary {
    std::size_t plans = 0;            ///< plans that chunk something
    std::size_t clones = 0;           ///< clones whose costs agree
    std::size_t of_unknown_rows = 0;  ///< of these, clones whose number of rows only the program knows
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return plans == 0 ? "no plan chunks anything" : clones == 0 ? "no clone has a result to know it by" : "";
    }
};

struct applied_costs_options {
    std::size_t most = 24;  ///< plans that are made
    std::uint64_t seed = 1;
    /// The relative difference allowed between two costs: the cost of a part is often a share of the whole, and that of
    /// its clone a formula of its shapes.
    double tolerance = 0.25;
};

/// Applies random plans, and asks the op model about every clone that has a result. Its duration, the payload of a
/// start, and the storage of its results must be what `part_costs().of_clone` said before the clone was made, within
/// the tolerance. If rows are in an order of their own, the number of rows in a part is unknown, and only a cost that
/// is missing altogether is found. The position in a finding is that of the operation in the original program. The
/// result is deterministic. O(most (V + E)) calls. Precondition: check_op_model, check_part_costs and
/// check_applied_chunks find nothing.
template <class Make>
[[nodiscard]] expected<applied_costs_summary, finding> check_applied_costs(Make make,
                                                                           applied_costs_options options = {}) {
    applied_costs_summary summary;
    detail::sample_source pick(options.seed);
    for (std::size_t round = 0; round < options.most; ++round) {
        auto ir = make();
        const auto plan = detail::random_plan(ir, pick, round);
        if (plan.empty()) continue;
        const auto g = ir.view();
        auto rewriter = ir.rewriter();
        const auto costs = ir.part_costs();
        detail::promised_costs promised(g, rewriter, costs);
        apply_chunks(plan, g, promised);
        if constexpr (requires { ir.changed(); }) ir.changed();
        if (finding f = promised.compare(ir.view(), ir.model(), options.tolerance, summary); *f.rule)
            return unexpected(std::move(f));
        ++summary.plans;
    }
    return summary;
}

}  // namespace stretto

#endif
