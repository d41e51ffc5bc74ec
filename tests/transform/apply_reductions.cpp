#include "stretto/transform/apply_reductions.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/plan_reductions.hpp"
#include "stretto/transform/verify_reductions.hpp"
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

TEST_CASE("a sum that is reduced again is the one that the first reduction has made") {
    reduction_program p;
    const std::uint32_t x = p.input();
    std::uint32_t sums[2];
    for (std::uint32_t& sum : sums) {
        const std::uint32_t a = p.op(mix, {x}), b = p.op(mix, {a});
        const std::uint32_t ra = p.reduced(a), rb = p.reduced(b);
        sum = p.op(add, {ra, rb});
    }
    const std::uint32_t again = p.reduced(sums[0]), other = p.reduced(sums[1]);
    p.output({p.op(add, {again, other})});
    const auto plan = plan_reductions(reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
    REQUIRE(plan.reductions.size() == 3);
    REQUIRE(verify_reductions(plan, reduction_view{&p}, reduction_model{&p}, reduction_model{&p}));
    reduction_program made = p;
    reduction_rewriter rewriter{&made};
    apply_reductions(plan, reduction_view{&p}, rewriter);
    CHECK(run(made) == run(p));
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

namespace {

/// Gives a clone the extents that its part says, as rewriters of tensors do.
struct rewriter_of_parts : reduction_rewriter {
    std::size_t clones = 0;

    std::array<std::uint32_t, 1> clone(std::uint32_t v, std::span<const std::uint32_t> operands,
                                       const chunk_part& part) {
        ++clones;
        REQUIRE(part.operands.size() == operands.size());
        REQUIRE(part.results.size() == 1);
        CHECK(part.chunks == 1);
        CHECK(part.share(12) == 12);
        CHECK(part.operands[0] == chunk_state{});
        CHECK(part.results[0] == chunk_state{});
        return reduction_rewriter::clone(v, operands, part);
    }
};

}  // namespace

TEST_CASE("clones are told that they are everything") {
    reduction_program p;
    const std::uint32_t x = p.input(), ra = p.reduced(p.op(mix, {x})), rb = p.reduced(p.op(mix, {x}));
    p.output({p.op(add, {p.op(reverse, {ra}), p.op(reverse, {rb})})});
    const auto plan = plan_reductions(reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
    reduction_program made = p;
    rewriter_of_parts rewriter{{&made}};
    apply_reductions(plan, reduction_view{&p}, rewriter);
    CHECK(rewriter.clones == 3);  // start, wait and view
    CHECK(run(made) == run(p));
}

TEST_CASE("as the documentation shows it") {
    reduction_program p;
    const std::uint32_t x = p.input(), ra = p.reduced(p.op(mix, {x})), rb = p.reduced(p.op(mix, {x}));
    p.output({p.op(add, {ra, rb})});
    reduction_program made = p;
    reduction_rewriter rewriter{&made};
    const reduction_view view{&p};
    const reduction_model ops{&p}, linear{&p};
    // [reduce-once]
    const auto plan = plan_reductions(view, ops, linear);
    if (const auto verified = verify_reductions(plan, view, ops, linear); !verified)
        FAIL(explain(verified.error()[0].rule));
    apply_reductions(plan, view, rewriter);
    // [/reduce-once]
    CHECK(plan.reductions.size() == 1);
    CHECK(run(made) == run(p));
}
