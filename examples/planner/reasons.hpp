// Why a collective is exposed, in one line that names the operations to look at.
#ifndef STRETTO_PLANNER_REASONS_HPP
#define STRETTO_PLANNER_REASONS_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "comparison.hpp"

namespace planner {

/// The `count` most exposed collectives of an order, worst first, ties in issue order. Those that are hidden are left
/// out, so there may be fewer.
std::vector<stretto::collective_exposure> worst_collectives(const timeline& t, std::size_t count);

/// "depends on index_put__9, which ends at 613.7 ms; only 1.17 ms of other work was left before wait_tensor_239 needed
/// it". `limit` appears in reasons that blame it.
std::string reason_of(const timeline& t, const stretto::collective_exposure& e, stretto::bytes limit);

/// The operation that the reason blames: of a dependence, what it needs that was there last; of a channel, the
/// collective before it; else no_task.
stretto::task_id culprit_of(const timeline& t, const stretto::collective_exposure& e);

/// Up to `of_each` violations of every rule, in their order: one mistake often breaks a rule a thousand times.
std::vector<std::string> examples_of(const std::vector<stretto::plan_violation>& violations, std::size_t of_each);

/// As JSON and the page spell them.
std::string_view name_of(stretto::exposure_reason reason);
std::string_view name_of(stretto::bound_kind kind);

/// What a lower bound rests on, for people: "the channel of mesh_ep is busy that long".
std::string meaning_of(const stretto::lower_bound& bound, const program& p);

}  // namespace planner

#endif
