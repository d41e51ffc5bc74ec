#include "stretto/transform/apply_reductions.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/plan_reductions.hpp"
#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_rewriter;
using support::reduction_view;
using enum support::reduction_op;

TEST_CASE("the verbs, in the order that is documented") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.op(mix, {x}), ra = p.reduced(a), b = p.op(mix, {x}), rb = p.reduced(b);
    const std::uint32_t view = p.op(reverse, {ra}), other = p.op(reverse, {rb}), sum = p.op(add, {view, other});
    const std::uint32_t reader = p.op(mix, {sum});
    p.output({reader, sum});
    const auto plan = plan_reductions(reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
    REQUIRE(plan.reductions.size() == 1);
    reduction_program made = p;
    reduction_rewriter rewriter{&made};
    apply_reductions(plan, reduction_view{&p}, rewriter);
    CHECK(rewriter.log ==
          "add 1 4; clone 5; clone 6; clone 7; replace in 10; replace in 11; "
          "erase 9; erase 8; erase 7; erase 6; erase 5; erase 3; erase 2; ");
    const std::uint32_t first = 12;  // the new ones: sum of the operands, start, wait, view
    CHECK(made.order == std::vector<std::uint32_t>{0, 1, 4, first, first + 1, first + 2, first + 3, 10, 11});
    CHECK(run(made) == run(p));
    static_assert(reducing_rewriter<reduction_rewriter, reduction_view>);
}

TEST_CASE("an empty plan changes nothing") {
    reduction_program p;
    p.output({p.input()});
    const reduction_plan<std::uint32_t, std::uint32_t> nothing;
    reduction_rewriter rewriter{&p};
    apply_reductions(nothing, reduction_view{&p}, rewriter);
    CHECK(rewriter.log.empty());
    CHECK(nothing.saved() == 0);
}
