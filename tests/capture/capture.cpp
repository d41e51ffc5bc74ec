#include "stretto/capture/capture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using support::edited;
using support::parse_capture;
using support::tiny_step;

namespace {

using ids = std::vector<std::uint32_t>;

ids list(std::span<const std::uint32_t> s) { return {s.begin(), s.end()}; }

capture tiny() {
    auto c = parse_capture(tiny_step, "tiny.json");
    REQUIRE_MESSAGE(c, support::complaint(c));
    return *std::move(c);
}

}  // namespace

TEST_CASE("a capture says what the file says") {
    const capture c = tiny();
    CHECK(c.name() == "tiny");
    REQUIRE(c.size() == 7);
    CHECK(c.name(1) == "gather");
    CHECK(c.op(1) == "all_gather.default");
    CHECK(c.kind(0) == op_kind::input);
    CHECK(c.kind(1) == op_kind::start);
    CHECK(c.kind(2) == op_kind::view);
    CHECK(c.kind(3) == op_kind::wait);
    CHECK(c.kind(4) == op_kind::compute);
    CHECK(c.kind(6) == op_kind::output);
    CHECK(c.collective(1) == collective_kind::all_gather);
    CHECK(c.group(1) == 0);
    CHECK(c.payload(1) == bytes{16});
    CHECK(c.allocation(1) == bytes{128});
    CHECK(c.duration(1) == nanoseconds{30000});
    CHECK(c.collective(4) == collective_kind::other);
    CHECK(c.duration(5) == nanoseconds{2600});
    CHECK(list(c.inputs(5)) == ids{4, 3});
    CHECK(list(c.aliases(5)) == ids{4});
    CHECK(list(c.writes(5)) == ids{4});
    CHECK(list(c.writes(4)).empty());
    CHECK(c.outputs(2) == "[]");
    CHECK(c.outputs(3) == R"([{"shape":[32],"dtype":"f32","symbolic":["8*u0"]}])");
}

TEST_CASE("readers are the other side of inputs, ascending") {
    const capture c = tiny();
    CHECK(list(c.readers(1)) == ids{2, 3});
    CHECK(list(c.readers(3)) == ids{4, 5});
    CHECK(list(c.readers(6)).empty());
}

TEST_CASE("a wait waits for the start that it reads first, or for nothing") {
    const capture c = tiny();
    CHECK(c.launch_of(3) == 1);
    CHECK(c.launch_of(2) == std::nullopt);  // reads a start, but is no wait
    const auto nothing =
        parse_capture(edited(tiny_step, R"("kind":"wait","inputs":[1])", R"("kind":"wait","inputs":[0,2])"), "f");
    REQUIRE(nothing);
    CHECK(nothing->launch_of(3) == std::nullopt);
    const auto empty =
        parse_capture(edited(tiny_step, R"("kind":"wait","inputs":[1])", R"("kind":"wait","inputs":[])"), "f");
    REQUIRE(empty);
    CHECK(empty->launch_of(3) == std::nullopt);
}

TEST_CASE("fields that are not interpreted are kept as they are written, in their order") {
    const capture c = tiny();
    REQUIRE(c.field_count(4) == 5);
    CHECK(c.field(4, 0) == json_field{"args", R"(["%0","%0"])"});
    CHECK(c.field(4, 1) == json_field{"kwargs", R"({"out":null})"});
    CHECK(c.field(4, "fqn") == R"("layers.0")");
    CHECK(c.field(4, "chunk") == "1");
    CHECK(c.field(4, "origin") == std::nullopt);
    CHECK(c.field(4, "ns") == std::nullopt);
    CHECK(c.field_count(0) == 0);
}

TEST_CASE("groups, costs and symbols") {
    const capture c = tiny();
    REQUIRE(c.groups().size() == 2);
    CHECK(c.groups()[0] == capture_group{"dp", 8, R"("desc":"data parallel")"});
    CHECK(c.groups()[1] == capture_group{"ep", 4, ""});
    CHECK(c.group_count() == 2);
    CHECK(c.group_at(1) == stretto::process_group{.size = 4, .id = 1});
    CHECK(c.costs().memory_bytes_per_second == 2e12);
    CHECK(c.costs().launch == nanoseconds{2000});
    REQUIRE(c.costs().collectives.size() == 2);
    CHECK(c.costs().collectives[0] ==
          collective_cost_table{"dp",
                                collective_kind::all_gather,
                                {{bytes{0}, nanoseconds{30000}}, {bytes{1048576}, nanoseconds{50000}}}});
    CHECK(c.costs().collectives[1].collective == collective_kind::reduce_scatter);
    REQUIRE(c.symbols().size() == 1);
    CHECK(c.symbols()[0] == capture_symbol{"u0", 4});
    CHECK(c.fields().empty());
}

TEST_CASE("nodes are found by name") {
    const capture c = tiny();
    for (std::uint32_t v = 0; v < c.size(); ++v) CHECK(c.find(c.name(v)) == v);
    CHECK(c.find("nobody") == std::nullopt);
    CHECK(c.find("") == std::nullopt);
}

TEST_CASE("copies and moved captures keep their text") {
    capture c = tiny();
    const capture copy = c;
    const capture moved = std::move(c);
    CHECK(copy == moved);
    CHECK(moved.name(4) == "mul");
    CHECK(copy.name(4).data() != moved.name(4).data());
    capture assigned = tiny();
    assigned = copy;
    CHECK(assigned.field(4, "fqn") == R"("layers.0")");
}

TEST_CASE("captures differ as soon as anything in them differs") {
    const capture c = tiny();
    CHECK(c == tiny());
    const auto changed = [](std::string_view from, std::string_view to) {
        const auto other = parse_capture(edited(tiny_step, from, to), "f");
        REQUIRE_MESSAGE(other, support::complaint(other));
        return *other;
    };
    CHECK(c != changed(R"("name":"tiny")", R"("name":"other")"));
    CHECK(c != changed(R"("size":8)", R"("size":9)"));
    CHECK(c != changed("data parallel", "data"));
    CHECK(c != changed(R"("launch_ns":2000)", R"("launch_ns":2001)"));
    CHECK(c != changed("[1048576,50000]", "[1048576,50001]"));
    CHECK(c != changed(R"({"u0":4})", R"({"u0":5})"));
    CHECK(c != changed(R"("name":"mul")", R"("name":"multiply")"));
    CHECK(c != changed("aten.mul.Tensor", "aten.mul"));
    CHECK(c != changed(R"("kind":"view")", R"("kind":"compute")"));
    CHECK(c != changed(R"("inputs":[4,3])", R"("inputs":[3,4])"));
    CHECK(c != changed(R"("alias":[4])", R"("alias":[3])"));
    CHECK(c != changed(R"("mutates":[4])", R"("mutates":[3])"));
    CHECK(c != changed(R"("bytes":16)", R"("bytes":17)"));
    CHECK(c != changed(R"("payload":16)", R"("payload":17)"));
    CHECK(c != changed(R"("collective":"all_gather")", R"("collective":"all_reduce")"));
    CHECK(c != changed(R"("group":0)", R"("group":1)"));
    CHECK(c != changed(R"("ns":2600)", R"("ns":2601)"));
    CHECK(c != changed(R"("shape":[4])", R"("shape":[5])"));
    CHECK(c != changed(R"("fqn":"layers.0")", R"("fqn":"layers.1")"));
    CHECK(c != changed(R"("binds")", R"("bind")"));
    CHECK(c != changed(R"("symbols":{"u0":4})", R"("symbols":{"u0":4},"by":"us")"));
}

TEST_CASE("a group of a capture knows its ranks if the file does, and a duplicate costs what its original costs") {
    const auto c =
        parse_capture(edited(tiny_step, R"({"name":"ep","size":4})",
                             R"({"name":"ep","size":4,"ranks":[6,2,4,0]},{"name":"dp2","size":8,"duplicate_of":0},)"
                             R"({"name":"dp3","size":8,"duplicate_of":2})"),
                      "f");
    REQUIRE(c.has_value());
    const std::vector<stretto::rank_id> ranks = {6, 2, 4, 0};
    CHECK(c->group_at(1) == stretto::process_group{.size = 4, .id = 1, .ranks = ranks});
    CHECK(c->group_at(3).duplicate_of == 2);
    const auto* own = c->cost_table(0, stretto::collective_kind::all_gather);
    REQUIRE(own != nullptr);
    CHECK(own->group == "dp");
    CHECK(c->cost_table(2, stretto::collective_kind::all_gather) == own);
    CHECK(c->cost_table(3, stretto::collective_kind::all_gather) == own);
    CHECK(c->cost_table(0, stretto::collective_kind::all_reduce) == nullptr);
    CHECK(c->cost_table(1, stretto::collective_kind::all_gather) == nullptr);
    const auto copy = *c;
    CHECK(copy == *c);
    CHECK(copy.group_at(1).ranks.data() != c->group_at(1).ranks.data());
}
