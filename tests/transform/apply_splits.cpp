#include "stretto/transform/apply_splits.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "support/bucket_programs.hpp"
#include "transform/split_programs.hpp"

using namespace stretto;
using support::reduction_program;
using support::reduction_view;
using support::splitting_program_rewriter;

namespace {

struct without_parts : splitting_program_rewriter {
    void wait_part() = delete;
};

}  // namespace

TEST_CASE("the verbs of a splitting rewriter, in the order in which they are called") {
    static_assert(splitting_rewriter<splitting_program_rewriter, reduction_view>);
    static_assert(!splitting_rewriter<without_parts, reduction_view>);
    const support::two_buckets t;
    const reduction_program merged = support::merged_by(t.plan(), t.p);
    reduction_program apart = merged;
    splitting_program_rewriter rewriter{&apart};
    apply_splits(support::splits_of(merged), reduction_view{&merged}, rewriter);
    CHECK(rewriter.log ==
          "launch 0; launch 1; wait 0; wait 1; replace in 5; replace in 10; erase 22; erase 21; erase 20; erase 19; "
          "erase 18; erase 17; "
          "launch 0; launch 1; wait 0; wait 1; replace in 16; replace in 13; replace in 16; erase 28; erase 27; "
          "erase 26; erase 25; erase 24; erase 23; ");
    CHECK(run(apart) == run(t.p));
}

TEST_CASE("a part that is the result of another bucket is read where that is now") {
    reduction_program p;
    const std::uint32_t x = p.input(), y = p.input();
    using enum support::reduction_op;
    const std::uint32_t a = p.start(x), b = p.start(y), c = p.op(wait, {a}), d = p.op(wait, {b});
    const std::uint32_t e = p.start(c), f = p.start(d), g = p.op(wait, {e}), h = p.op(wait, {f});
    p.output({g, h});
    const auto plan = plan_buckets(reduction_view{&p}, support::reduction_model{&p},
                                   [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v}; });
    REQUIRE(plan->buckets.size() == 2);
    const reduction_program merged = support::merged_by(*plan, p);
    const auto apart = support::splits_of(merged);
    REQUIRE(apart.buckets.size() == 2);
    const reduction_program made = support::taken_apart(apart, merged);
    CHECK(made.count(part) == 0);
    CHECK(made.count(start) == 4);
    CHECK(run(made) == run(p));
}

TEST_CASE("an empty plan changes nothing") {
    const support::two_buckets t;
    reduction_program same = t.p;
    splitting_program_rewriter rewriter{&same};
    apply_splits({}, reduction_view{&t.p}, rewriter);
    CHECK(rewriter.log.empty());
}
