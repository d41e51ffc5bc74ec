#include "stretto/capture/plan_report.hpp"

#include <doctest/doctest.h>

using namespace stretto;

TEST_CASE("a violation says where, why and what to do, on one line whatever the names contain") {
    plan_violation v{plan_rule::operation_lost, "mm_3", "", "is neither there nor replaced", "keep it"};
    CHECK(v.message() == "mm_3: is neither there nor replaced; keep it");
    v.hint.clear();
    CHECK(v.message() == "mm_3: is neither there nor replaced");
    v.node = "a\nb";
    CHECK(v.message() == "a?b: is neither there nor replaced");
    v.node.clear();
    CHECK(v.message() == "plan: is neither there nor replaced");
}

TEST_CASE("a plan is legal if nothing was found, and findings keep their order") {
    plan_report report;
    CHECK(report.legal());
    detail::plan_findings findings;
    findings.add(plan_rule::cost_changed, "x", "", "first", "");
    findings.add(plan_rule::wait_lost, "y", "z", "second", "");
    report.violations = std::move(findings).take();
    CHECK_FALSE(report.legal());
    REQUIRE(report.violations.size() == 2);
    CHECK(report.violations[0].node == "x");
    CHECK(report.violations[1].other == "z");
    CHECK(report.violations[1].rule == plan_rule::wait_lost);
}
