#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>

#include "stretto/schedule/fit_contention.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

/// A transfer of so many nanoseconds and, beside it, a kernel of so many.
task_graph kernel_beside(std::int64_t transfer, std::int64_t work) {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {transfer}, .results = {{{8}, {}}}});
    p.ops.push_back({.duration = {work}});
    return support::graph_of(p);
}

}  // namespace

TEST_CASE("a kernel that is always beside a transfer is slower by what was measured") {
    // It takes a step of 1/1024 for each nanosecond more.
    const task_graph g = kernel_beside(1'000'000, 1'024);
    const auto order = support::program_order(g.size());
    CHECK(fit_contention(g, order, {1'280}) == contention{1'279, 1'024});
    CHECK(fit_contention(g, order, {2'049}) == contention{2'048, 1'024});
}

TEST_CASE("kernels that are not slower, or slower than transfers make them, have no contention") {
    const task_graph g = kernel_beside(100, 1'024);
    const auto order = support::program_order(g.size());
    CHECK(fit_contention(g, order, {1'000}).none());
    CHECK(fit_contention(g, order, {1'024}).none());
    CHECK_FALSE(fit_contention(g, order, {1'100}).none());
    CHECK(fit_contention(g, order, {1'000'000}).none());
}

TEST_CASE("property: the clock gives kernels less than was measured, and with one step more not less") {
    int fitted = 0;
    stretto_check("fit", 1'500, [&] {
        const toy_program p = *support::random_programs();
        const task_graph g = support::graph_of(p);
        const auto order = support::program_order(g.size());
        const auto of = [&](std::int64_t numerator) { return simulate(g, order, {numerator, 1'024}).compute; };
        const nanoseconds alone = of(1'024), slowest = of(16 * 1'024);
        const nanoseconds kernels = {*rc::gen::inRange<std::int64_t>(alone.count / 2, slowest.count + 10)};
        const contention c = fit_contention(g, order, kernels);
        RC_ASSERT(c.valid());
        RC_ASSERT(c.denominator == 1'024);
        if (!(alone < kernels) || slowest < kernels) {
            RC_ASSERT(c.none());
            return;
        }
        ++fitted;
        RC_ASSERT(of(c.numerator) < kernels);
        RC_ASSERT(!(of(c.numerator + 1) < kernels));
    });
    if (support::runs_all_cases()) CHECK(fitted > 50);
}
