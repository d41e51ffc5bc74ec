#include "stretto/transform/describe_splits.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "support/bucket_programs.hpp"
#include "transform/split_programs.hpp"

using namespace stretto;
using support::reduction_program;
using support::reduction_view;

TEST_CASE("what goes and what comes") {
    const support::two_buckets t;
    reduction_program merged = support::merged_by(t.plan(), t.p);
    const auto second = support::splits_of(merged).buckets[1];
    merged.nodes[t.out].operands.push_back(second.wait);  // somebody looks at it
    const std::string text = describe_splits(
        support::splits_of(merged), reduction_view{&merged}, [](std::uint32_t) { return "all_gather"; },
        [](std::uint32_t v) { return "x" + std::to_string(v); });
    CHECK(text ==
          "1 collective becomes 2\n"
          "- x18 = all_gather(x17)\n"
          "- operations that pack: 1, that unpack: 3\n"
          "+ x21 = all_gather(x0), 32 bytes a row\n"
          "+ x22 = all_gather(x1), 32 bytes a row\n"
          "stays whole: x24: somebody else reads its buffers (x16)\n");
}
