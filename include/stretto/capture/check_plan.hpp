// Checks that a plan is a legal rewriting of the step from which it was made, and computes its figures. Two captures
// are compared by name, following the conventions of stretto-graph, version 1, for orders, buckets, collectives of sums
// and chunks. No scheduler is involved, so the check can judge one.
//
// It checks that every operation of the step is present unchanged, or was merged, absorbed or chunked by the rules;
// that additions are explained and paid for, in time and in memory; that uses of one storage keep their order; that
// nothing touches data in flight; and that peak memory is within a limit. It cannot check that the operators which
// split and recombine chunks compute the right values, or that extents in the arguments of clones are right; an
// interpreter can.
#ifndef STRETTO_CAPTURE_CHECK_PLAN_HPP
#define STRETTO_CAPTURE_CHECK_PLAN_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/plan_bucket_routes.hpp"
#include "stretto/capture/detail/plan_hazards.hpp"
#include "stretto/capture/detail/plan_match.hpp"
#include "stretto/capture/detail/plan_operations.hpp"
#include "stretto/capture/detail/plan_packs.hpp"
#include "stretto/capture/detail/plan_stand_ins.hpp"
#include "stretto/capture/detail/plan_sums.hpp"
#include "stretto/capture/plan_report.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {
namespace detail {

/// Returns the figures of a capture by the exact clock and the memory rule, in program order. Reports a capture whose
/// times or bytes are too large to be added.
inline plan_figures figures_of(const capture& c, contention under, plan_findings& found) {
    plan_figures figures;
    figures.nodes = c.size();
    std::vector<task_id> order(c.size());
    for (task_id v = 0; v < order.size(); ++v) {
        order[v] = v;
        if (c.kind(v) == op_kind::start) ++figures.collectives;
    }
    const auto tasks = make_task_graph(capture_view{&c}, capture_op_model{&c});
    if (!tasks) {
        found.add(plan_rule::figures_too_large, c.name(tasks.error().task), "",
                  "times or bytes up to here add up to more than 2^62", "are all costs in nanoseconds and bytes?");
        return figures;
    }
    if (!times_fit(*tasks, under)) {
        found.add(plan_rule::figures_too_large, "", "", "times under contention may add up to more than 2^62", "");
        return figures;
    }
    const simulation times = simulate(*tasks, order, under);
    figures.makespan = times.makespan;
    figures.exposed = times.exposed;
    figures.compute = times.compute;
    figures.peak = profile_memory(*tasks, order).peak;
    return figures;
}

}  // namespace detail

/// Finds every rule that `plan` breaks as a rewriting of `step`, and the exact figures of both. A plan without
/// violations is legal. `limit` is compared with the peak memory of the plan by the memory rule of the format. The
/// figures include contention, if any is given. Violations are listed in this order: roles of new nodes, absorbed
/// casts, presence of operations, nodes of the plan in program order, chunks, unpacks, sums, storages, data in flight,
/// figures, the limit. The result is deterministic.
///
/// It takes O(V log V + E + text of new nodes) time and O(V + E) space. It takes more for chains of recombinations and
/// storages with very many aliases, O(V) more for each collective of a sum, and O(V + E) for each storage over which a
/// sum is written.
[[nodiscard]] inline plan_report check_plan(const capture& step, const capture& plan, bytes limit = unlimited_bytes,
                                            contention under = {}) {
    detail::plan_findings found;
    detail::plan_match match(step, plan, found);
    detail::plan_stand_ins stand_ins(match);
    detail::plan_packs packs(match, stand_ins);
    detail::plan_bucket_routes buckets(match);
    detail::plan_operations operations(match, stand_ins);
    operations.check_presence();
    for (std::uint32_t v = 0; v < plan.size(); ++v) {
        operations.check(v);
        packs.check(v);
        buckets.check(v);
        stand_ins.pass(v);
    }
    operations.check_chunks();
    buckets.check_unpacks();
    detail::plan_sums(match).check();
    detail::plan_storage_order(match).check();
    detail::plan_flights(match).check();

    plan_report report;
    report.before = detail::figures_of(step, under, found);
    report.after = detail::figures_of(plan, under, found);
    if (report.after.peak > limit)
        found.add(plan_rule::exceeds_memory_limit, "", "",
                  "peak memory is " + std::to_string(report.after.peak.count) + " bytes, the limit " +
                      std::to_string(limit.count),
                  "");
    report.violations = std::move(found).take();
    return report;
}

}  // namespace stretto

#endif
