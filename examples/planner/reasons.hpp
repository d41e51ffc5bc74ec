// Why a collective is exposed, in one line that names the operations to look at, and what keeps operations whole.
#ifndef STRETTO_PLANNER_REASONS_HPP
#define STRETTO_PLANNER_REASONS_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace planner {

/// The `count` most exposed collectives of an order, worst first, ties in issue order. Those that are hidden are left
/// out, so there may be fewer.
std::vector<stretto::collective_exposure> worst_collectives(const timeline& t, std::size_t count);

/// What stretto::explain says of a collective, with names cut and made printable. `limit` appears in reasons that blame
/// it.
std::string reason_of(const timeline& t, const stretto::collective_exposure& e, stretto::bytes limit);

/// How many operations the list of those that stay whole is about. Not empty: the list.
std::string title_of_whole(const comparison& c);
/// What follows from one reason to stay whole; empty if nothing does.
std::string what_is_behind(const kept_whole& g);

/// Up to `of_each` violations of every rule, in their order: one mistake often breaks a rule a thousand times.
std::vector<std::string> examples_of(const std::vector<stretto::plan_violation>& violations, std::size_t of_each);

}  // namespace planner

#endif
