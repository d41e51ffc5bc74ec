#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/certificate.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <concepts>
#include <cstdint>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

static_assert(!std::default_initializable<schedule>);

TEST_CASE("a contention that makes times longer than 2^62 is a mistake of the caller") {
    toy_program p;
    for (int k = 0; k < 2; ++k) p.ops.push_back({.duration = {std::int64_t{1} << 60}});
    const task_graph g = support::graph_of(p);
    CHECK(certify(g, {0, 1}, unlimited_bytes, {2, 1}).has_value());
    CHECK_THROWS((void)certify(g, {0, 1}, unlimited_bytes, {5, 2}));
    CHECK_THROWS((void)certify(g, {0, 1}, unlimited_bytes, {1, 2}));
}

TEST_CASE("the certificate of an order that nobody searched for") {
    // 0 kernel, 1 start, 2 wait, 3 kernel that reads 2
    toy_program p;
    p.ops.push_back({.duration = {70}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start, .duration = {50}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});
    p.ops.push_back({.duration = {10}, .operands = {{2, 0}}, .results = {{{8}, {}}}});
    const task_graph g = support::graph_of(p);

    const auto slow = certify(g, {0, 1, 2, 3}), quick = certify(g, {1, 0, 2, 3});
    REQUIRE(slow.has_value());
    REQUIRE(quick.has_value());
    CHECK(slow->makespan().count == 130);
    CHECK(quick->makespan().count == 80);
    CHECK(slow->bound().value.count == 80);
    CHECK(slow->gap() == 0.625);
    CHECK(quick->gap() == 0);
    CHECK(slow->memory_limit() == unlimited_bytes);
    REQUIRE(slow->exposures().size() == 1);
    CHECK(slow->exposures()[0].exposed.count == 50);
    CHECK(slow->exposures()[0].reason == exposure_reason::dependence);
    CHECK(quick->exposures()[0].reason == exposure_reason::hidden);
    CHECK(slow->fingerprint() == quick->fingerprint());

    const auto illegal = certify(g, {2, 1, 0, 3});
    REQUIRE_FALSE(illegal.has_value());
    CHECK(illegal.error().task == 2);
    CHECK(illegal.error().other == 1);
    const auto too_much = certify(g, {1, 0, 2, 3}, {15});
    REQUIRE_FALSE(too_much.has_value());
    CHECK(too_much.error().broken == order_violation::rule::exceeds_memory_limit);
}

TEST_CASE("the empty order of the empty step") {
    const auto nothing = certify(support::graph_of(toy_program{}), {});
    REQUIRE(nothing.has_value());
    CHECK(nothing->makespan().count == 0);
    CHECK(nothing->exposures().empty());
}

TEST_CASE("the certificate of any legal order is exact, and no order is below its bound") {
    stretto_check("exact", 2000, [](const std::vector<std::uint8_t>& picks) {
        support::scheduling_case problem = *support::scheduling_cases(40);
        const toy_program p = problem.program();
        const task_graph g = support::graph_of(p);
        const support::task_order order = support::random_order(g, picks);
        const support::naive_figures due = support::figures_of(p, support::facts_of(p), order);
        const auto made = certify(g, order, {due.peak});
        RC_ASSERT(made.has_value());
        RC_ASSERT(made->order() == order);
        RC_ASSERT(made->makespan().count == due.makespan);
        RC_ASSERT(made->times().exposed.count == due.exposed);
        RC_ASSERT(made->memory().peak.count == due.peak);
        RC_ASSERT(made->memory_limit().count == due.peak);
        RC_ASSERT(made->bound().value <= made->makespan());
        nanoseconds exposed;
        for (const collective_exposure& e : made->exposures()) exposed += e.exposed;
        RC_ASSERT(exposed == made->times().exposed);
        RC_ASSERT(made->fingerprint() == fingerprint_of(g, order));
        RC_ASSERT(made->in_flight() == communicators_in_flight(g, order));
        RC_ASSERT(!certify(g, order, {due.peak - 1}).has_value());
    });
}

TEST_CASE("what the scheduler certifies, certify certifies as well") {
    stretto_check("agree", 1000, [] {
        const task_graph g = support::graph_of(support::scheduling_case(*support::scheduling_cases(30)).program());
        const auto found = list_schedule(g);
        RC_ASSERT(found.has_value());
        const auto again = certify(g, found->order(), found->memory_limit());
        RC_ASSERT(again.has_value());
        RC_ASSERT(again->makespan() == found->makespan());
        RC_ASSERT(again->bound().value == found->bound().value);
        RC_ASSERT(again->gap() == found->gap());
        RC_ASSERT(again->memory().live == found->memory().live);
        RC_ASSERT(again->fingerprint() == found->fingerprint());
        RC_ASSERT(again->exposures().size() == found->exposures().size());
    });
}
