#include "stretto/testing/check_input_roles.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/testing/archetypes.hpp"
#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

/// Inputs 0 and 1 are parameters, input 2 is a buffer and input 3 is not known.
struct roles_with_fault {
    int fault = 0;
    mutable std::size_t asked = 0;
    input_role role(std::uint32_t x) const {
        if (fault == 1) return static_cast<input_role>(9);
        if (fault == 2 && ++asked % 2 == 0) return input_role::gradient;
        return x < 2 ? input_role::parameter : x == 2 ? input_role::buffer : input_role::other;
    }
    std::uint32_t place(std::uint32_t x) const {
        if (fault == 3) return no_place;
        if (fault == 4) return x;
        if (fault == 5) return x < 2 ? 7 : no_place;
        return x < 2 ? 1 - x : no_place;
    }
};

std::string rule_of(int fault) {
    reduction_program p;
    for (int k = 0; k < 4; ++k) p.input();
    p.output({p.op(mix, {0, 1, 2, 3})});
    const auto found = check_input_roles(reduction_view{&p}, reduction_model{&p}, roles_with_fault{fault});
    if (found) CHECK(*found == input_role_summary{4, 2, 1});
    return found ? "" : found.error().rule;
}

}  // namespace

TEST_CASE("roles of inputs that keep their promises, and those that break a rule") {
    CHECK(rule_of(0).empty());
    CHECK(rule_of(1) == "input-role");
    CHECK(rule_of(2) == "stable");
    CHECK(rule_of(3) == "place");
    CHECK(rule_of(4) == "place");
    CHECK(rule_of(5) == "place");
}
