#include "stretto/transform/apply_buckets.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/bucket_programs.hpp"

using namespace stretto;
using support::reduction_program;
using support::reduction_rewriter;
using support::reduction_view;

namespace {

struct without_parts : reduction_rewriter {
    void parts() = delete;
};

}  // namespace

TEST_CASE("the verbs of a bucketing rewriter, in the order in which they are called") {
    static_assert(bucketing_rewriter<reduction_rewriter, reduction_view>);
    static_assert(!bucketing_rewriter<without_parts, reduction_view>);
    const support::two_buckets t;
    reduction_program packed = t.p;
    reduction_rewriter rewriter{&packed};
    apply_buckets(t.plan(), reduction_view{&t.p}, rewriter);
    CHECK(rewriter.log ==
          "move 6; move 7; move 10; move 11; "
          "pack 2; launch 2; wait; unpack; replace in 5; replace in 10; erase 4; erase 7; erase 3; erase 6; erase 2; "
          "pack 2; launch 2; wait; unpack; replace in 16; replace in 13; replace in 16; erase 9; erase 12; erase 8; "
          "erase 11; ");
    CHECK(run(packed) == run(t.p));

    reduction_program at_once = t.p;
    reduction_rewriter other{&at_once};
    apply_buckets(t.plan(bucket_mode::coalesced), reduction_view{&t.p}, other);
    CHECK(other.log.find("pack") == std::string::npos);
    CHECK(other.log.find("launch 2; wait; parts; ") != std::string::npos);
    CHECK(run(at_once) == run(t.p));
}

TEST_CASE("an empty plan changes nothing") {
    const support::two_buckets t;
    reduction_program same = t.p;
    reduction_rewriter rewriter{&same};
    apply_buckets({}, reduction_view{&t.p}, rewriter);
    CHECK(rewriter.log.empty());
}
