// Explains in one line why a collective is exposed, naming the operations to look at; and explains why operations stay
// whole.
#ifndef STRETTO_PLANNER_REASONS_HPP
#define STRETTO_PLANNER_REASONS_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace planner {

/// Returns the `count` most exposed collectives of an order, the worst first and ties in issue order. Hidden
/// collectives are left out, so there may be fewer.
std::vector<stretto::collective_exposure> worst_collectives(const timeline& t, std::size_t count);

/// Returns the explanation of stretto::explain for a collective, with names cut and made printable. `limit` appears in
/// reasons that blame it.
std::string reason_of(const timeline& t, const stretto::collective_exposure& e, stretto::bytes limit);

/// Returns the title of the list of operations that stay whole. Precondition: the list is not empty.
std::string title_of_whole(const comparison& c);
/// Returns what follows from one reason to stay whole; an empty text if nothing does.
std::string what_is_behind(const kept_whole& g);

/// Returns why sums are not reduced once, and what a higher limit would change. Precondition: there are such sums, and
/// they are not reduced once.
std::string why_not_once(const comparison& c);

/// Returns up to `of_each` violations of every rule, in their order, because one mistake often breaks a rule a thousand
/// times.
std::vector<std::string> examples_of(const std::vector<stretto::plan_violation>& violations, std::size_t of_each);

}  // namespace planner

#endif
