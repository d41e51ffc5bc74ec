#include "stretto/transform/describe_buckets.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "support/bucket_programs.hpp"

using namespace stretto;

TEST_CASE("a bucket plan, as a difference to read") {
    const support::two_buckets t;
    const auto operator_name = [&](std::uint32_t v) {
        return std::string(t.p.nodes[v].kind == collective_kind::all_gather ? "all_gather" : "all_reduce");
    };
    const auto value_name = [](std::uint32_t x) { return "v" + std::to_string(x); };
    const auto text = [&](bucket_mode mode) {
        return describe_buckets(t.plan(mode), support::reduction_view{&t.p}, operator_name, value_name);
    };
    CHECK(text(bucket_mode::pack) ==
          "2 collectives become one: 64 bytes sent, 128 received; 0 ns together, 0 merged, 0 for copies\n"
          "- v3 = all_gather(v2)\n"
          "- v6 = all_gather(v1)\n"
          "- 2 waits, 1 casts\n"
          "+ packed = pack(v0, v1)\n"
          "+ all_gather(packed), wait\n"
          "+ v4, v7 = unpack\n"
          "2 collectives become one: 128 bytes sent, 128 received; 0 ns together, 0 merged, 0 for copies\n"
          "- v8 = all_reduce(v5)\n"
          "- v11 = all_reduce(v10)\n"
          "- 2 waits, 0 casts\n"
          "+ packed = pack(v5, v10)\n"
          "+ all_reduce(packed), wait\n"
          "+ v9, v12 = unpack\n"
          "stays apart: v14, see v11: one of them depends on the other\n");
    CHECK(text(bucket_mode::coalesced).find("+ all_gather(v2, v1), wait\n+ v4, v7 = parts of the result\n") !=
          std::string::npos);
    CHECK(describe_buckets({}, support::reduction_view{&t.p}, operator_name, value_name).empty());
}
