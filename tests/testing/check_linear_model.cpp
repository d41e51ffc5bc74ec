#include "stretto/testing/check_linear_model.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/testing/model_archetypes.hpp"
#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

struct faulty : reduction_model {
    int fault = 0;
    mutable std::size_t asked = 0;
    explicit faulty(const reduction_program& program, int which) : reduction_model{&program}, fault(which) {}
    linear_kind linearity(std::uint32_t v) const {
        if (fault == 1) return static_cast<linear_kind>(9);
        if (fault == 2 && ++asked % 2 == 0) return linear_kind::sum;
        if (fault == 3 && v == 1) return linear_kind::sum;
        if (fault == 4 && v == 0) return linear_kind::relayout;
        return reduction_model::linearity(v);
    }
    bool alike(std::uint32_t v, std::uint32_t w) const {
        if (fault == 5) return false;
        if (fault == 6) return v <= w;
        return reduction_model::alike(v, w);
    }
};

reduction_program three_parts() {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t a = p.reduced(p.op(mix, {x})), b = p.reduced(p.op(mix, {x}));
    const std::uint32_t c = p.reduced(p.op(mix, {x}), {.flavour = 1});
    p.output({p.op(same, {p.op(add, {a, b})}), c});
    return p;
}

std::string rule_of(int fault) {
    const reduction_program p = three_parts();
    const auto found = check_linear_model(reduction_view{&p}, reduction_model{&p}, faulty(p, fault));
    return found ? "" : found.error().rule;
}

}  // namespace

TEST_CASE("a linear model that keeps its promises") {
    const reduction_program p = three_parts();
    const auto found = check_linear_model(reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
    REQUIRE(found);
    CHECK(*found == linear_summary{1, 1, 3, 1});
    CHECK(rule_of(0).empty());
    static_assert(linear_model<archetypes::sums, archetypes::dataflow>);
}

TEST_CASE("a linear model that breaks a rule") {
    CHECK(rule_of(1) == "linearity");
    CHECK(rule_of(2) == "stable");
    CHECK(rule_of(3) == "sum");
    CHECK(rule_of(4) == "relayout");
    CHECK(rule_of(5) == "alike");
    CHECK(rule_of(6) == "alike");
}
