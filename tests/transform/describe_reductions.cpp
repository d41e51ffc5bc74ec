#include "stretto/transform/describe_reductions.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "stretto/transform/plan_reductions.hpp"
#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

TEST_CASE("what goes and what comes") {
    reduction_program p;
    const std::uint32_t x = p.input();
    std::uint32_t total = 0;
    for (int k = 0; k < 3; ++k) {
        const std::uint32_t r = p.reduced(p.op(mix, {x}));
        total = k == 0 ? r : p.op(add_to, {total, r});
    }
    const std::uint32_t lone = p.reduced(p.op(mix, {x})), odd = p.reduced(p.op(mix, {x}), {.group = 1});
    p.output({total, p.op(add, {lone, odd})});
    const auto plan = plan_reductions(reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
    const std::string text = describe_reductions(
        plan, reduction_view{&p}, [](std::uint32_t) { return "all_reduce"; },
        [](std::uint32_t v) { return "x" + std::to_string(v); });
    CHECK(
        text ==
        "3 collectives become one, of the sum\n"
        "- x2 = all_reduce(x1)\n"
        "- x5 = all_reduce(x4)\n"
        "- x9 = all_reduce(x8)\n"
        "- 3 waits, 2 sums and views\n"
        "+ sum of 2 = x1 + x4, in place of x1\n"
        "+ sum of 3 = sum of 2 + x8\n"
        "+ x11 = all_reduce(sum of 3)\n"
        "stay apart: x13, x16: the collectives differ in kind, reduction, group, payload, element type or arguments\n");
}
