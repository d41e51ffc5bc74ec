#include "stretto/testing/check_bucket_costs.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;

namespace {

struct costs_with_fault {
    int fault = 0;
    nanoseconds of_merged(std::uint32_t, bytes b) const {
        if (fault == 1) return {1000 - b.count / 1000};
        if (fault == 2) return {-5};
        if (fault == 3 && b.count > 64) return {10};  // less than what its own payload takes
        if (fault == 6 && b.count == 64) return {-5};
        if (fault == 7 && b.count == 64) return {99};  // less than what nothing takes
        return {100 + b.count / 8};
    }
    bytes size_of(std::uint32_t x) const { return {fault == 8 && x == 2 ? -1 : 8}; }
    nanoseconds of_moving(bytes b) const { return {fault == 4 ? 1000 - b.count : fault == 5 ? -1 : b.count}; }
};

std::string rule_of(int fault) {
    reduction_program p;
    p.output({p.reduced(p.input(8))});
    const auto found = check_bucket_costs(reduction_view{&p}, reduction_model{&p}, costs_with_fault{fault});
    if (found) CHECK(*found == bucket_cost_summary{1, {108}});
    return found ? "" : found.error().rule;
}

}  // namespace

TEST_CASE("costs of buckets that keep their promises, and those that break a rule") {
    CHECK(rule_of(0).empty());
    CHECK(rule_of(1) == "of_merged");
    CHECK(rule_of(2) == "of_merged");
    CHECK(rule_of(3) == "of_merged");
    CHECK(rule_of(4) == "of_moving");
    CHECK(rule_of(5) == "of_moving");
    CHECK(rule_of(6) == "of_merged");
    CHECK(rule_of(7) == "of_merged");
    CHECK(rule_of(8) == "size_of");
}
