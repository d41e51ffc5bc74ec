#include "stretto/capture/capture_builder.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using support::complaint;
using support::parse_capture;

namespace {

capture tiny() { return *parse_capture(support::tiny_step, "tiny.json"); }

capture_node named(std::string_view name, std::vector<std::uint32_t> inputs = {}) {
    capture_node n;
    n.name = name;
    n.op = "op";
    n.inputs = std::move(inputs);
    return n;
}

/// What build() says of one node that is built after two sound ones and a group.
std::string verdict(const capture_node& n) {
    capture_builder b("step");
    b.add_group({"dp", 8, ""});
    b.append(named("a"));
    b.append(named("b", {0}));
    b.append(n);
    return complaint(std::move(b).build());
}

}  // namespace

TEST_CASE("a step is built node by node") {
    capture_builder b("mine");
    CHECK(b.add_group({"dp", 8, ""}) == 0);
    CHECK(b.append(named("x")) == 0);
    capture_node n = named("launch", {0});
    n.kind = op_kind::start;
    n.collective = collective_kind::all_reduce;
    n.payload = bytes{64};
    n.duration = nanoseconds{10};
    const std::string members = R"(["a","b"])";
    n.fields = {{"members", members}};
    CHECK(b.append(n) == 1);
    CHECK(b.size() == 2);
    const auto c = std::move(b).build();
    REQUIRE_MESSAGE(c, complaint(c));
    CHECK(c->name() == "mine");
    CHECK(c->name(1) == "launch");
    CHECK(c->collective(1) == collective_kind::all_reduce);
    CHECK(c->field(1, "members") == R"(["a","b"])");
    CHECK(c->outputs(1) == "[]");
    CHECK(c->readers(0).size() == 1);
    CHECK(c->find("launch") == 1);
}

TEST_CASE("an empty step is a step") {
    const auto c = capture_builder("nothing").build();
    REQUIRE(c);
    CHECK(c->size() == 0);
    CHECK(c->find("x") == std::nullopt);
}

TEST_CASE("copying every node of a capture gives an equal one, and outlives the original") {
    auto original = std::make_unique<capture>(tiny());
    capture_builder b = capture_builder::like(*original);
    for (std::uint32_t v = 0; v < original->size(); ++v) b.append(node_of(*original, v));
    original.reset();
    const auto copy = std::move(b).build();
    REQUIRE(copy);
    CHECK(*copy == tiny());
}

TEST_CASE("text inside of the adopted text is not copied, text from elsewhere is kept as well") {
    std::string text = "alpha beta, and so much more that it lives on the heap";
    capture_builder b = capture_builder::over(std::move(text));
    std::string elsewhere = "gamma";
    capture_node n = named(b.text().substr(6, 4));
    n.op = elsewhere;
    b.append(n);
    elsewhere = "xxxxx";
    const auto c = std::move(b).build();
    REQUIRE(c);
    CHECK(c->name(0) == "beta");
    CHECK(c->op(0) == "gamma");
}

TEST_CASE("nodes with equal operators share the text of its name, and other nodes keep their own") {
    capture_builder b("step");
    std::vector<std::string> ops;
    for (int k = 0; k < 5000; ++k) ops.push_back("op." + std::to_string(k % 2500));  // more than the table remembers
    for (std::size_t k = 0; k < ops.size(); ++k) {
        const std::string name = "n" + std::to_string(k);
        capture_node n = named(name);
        n.op = k % 2 == 0 ? std::string_view("aten.add.Tensor") : std::string_view(ops[k]);
        b.append(n);
    }
    const capture c = *std::move(b).build();
    std::size_t shared = 0;
    for (capture::node_id v = 0; v < c.size(); ++v) {
        CHECK(c.op(v) == (v % 2 == 0 ? std::string_view("aten.add.Tensor") : std::string_view(ops[v])));
        shared += v % 2 == 0 && c.op(v).data() == c.op(0).data();
    }
    CHECK(shared > 1);
}

TEST_CASE("build refuses what a reader would refuse") {
    CHECK(verdict(named("c", {0, 1})) == "read without complaint");
    CHECK(verdict(named("")) == "node 2: name: is empty; every node needs a name");
    CHECK(verdict(named("a")) == "node 2 (a): name: is that of node 0 already; names are unique in a step");
    CHECK(verdict(named("c", {2})) == "node 2 (c): inputs: names node 2, itself; a node may only name nodes before it");
    CHECK(verdict(named("c", {7})) ==
          "node 2 (c): inputs: names node 7, which does not exist; the step has 3 nodes, counted from 0");
    CHECK(verdict(named("c", {1, 0, 1})) == "node 2 (c): inputs: names node 1 twice; name every node once");

    capture_node n = named("c");
    n.aliases = {0, 0};
    CHECK(verdict(n) == "node 2 (c): alias: names node 0 twice; name every node once");
    n = named("c");
    n.writes = {3};
    CHECK(verdict(n) ==
          "node 2 (c): mutates: names node 3, which does not exist; the step has 3 nodes, counted from 0");
    n = named("c");
    n.duration = nanoseconds{-1};
    CHECK(verdict(n) == "node 2 (c): ns: is negative; durations are whole nanoseconds from 0 up");
    n = named("c");
    n.allocation = bytes{-1};
    CHECK(verdict(n) == "node 2 (c): bytes: is negative; a node allocates 0 bytes or more");
}

TEST_CASE("build refuses nodes that are half a collective") {
    capture_node start = named("c", {0});
    start.kind = op_kind::start;
    start.collective = collective_kind::all_to_all;
    CHECK(verdict(start) == "read without complaint");
    capture_node n = start;
    n.collective = collective_kind::other;
    CHECK(verdict(n) ==
          "node 2 (c): collective: is missing; a start launches one of all_gather, reduce_scatter, "
          "all_reduce, all_to_all");
    n = start;
    n.group = 1;
    CHECK(verdict(n) ==
          "node 2 (c): group: names group 1, which does not exist; the step has 1 groups, counted from 0");
    n = start;
    n.payload = bytes{-4};
    CHECK(verdict(n) == "node 2 (c): payload: is negative; 0 bytes is the least");
    n = start;
    n.kind = op_kind::compute;
    CHECK(verdict(n) ==
          "node 2 (c): kind: is not \"start\", but the node has a collective, a group or a payload; only "
          "a start launches a collective");
}

TEST_CASE("a wait for two starts is refused: it would wait for one of them") {
    capture_builder b("step");
    b.add_group({"dp", 8, ""});
    capture_node start = named("s");
    start.kind = op_kind::start;
    start.collective = collective_kind::all_gather;
    b.append(start);
    start.name = "t";
    b.append(start);
    capture_node wait = named("w", {0, 1});
    wait.kind = op_kind::wait;
    b.append(wait);
    CHECK(complaint(std::move(b).build()) ==
          "node 2 (w): inputs: has a start in place 1; a wait waits for the first "
          "node it reads; give every start its own wait");
}

TEST_CASE("the first wrong node is the one that is reported, whatever is wrong with later ones") {
    capture_builder b("step");
    b.append(named("a"));
    b.append(named("b", {5}));
    b.append(named("a"));
    b.append(named("b", {9}));
    CHECK(complaint(std::move(b).build()) ==
          "node 1 (b): inputs: names node 5, which does not exist; the step has 4 nodes, counted from 0");
    capture_builder names("step");
    for (const char* name : {"d", "c", "b", "a", "b", "a", "c", "b"}) names.append(named(name));
    CHECK(complaint(std::move(names).build()) ==
          "node 4 (b): name: is that of node 2 already; names are unique in a step");
}

TEST_CASE("sums that overflow 64 bits are found where they do") {
    constexpr std::int64_t half = std::numeric_limits<std::int64_t>::max() / 2 + 1;
    const auto two = [](auto set) {
        capture_builder b("step");
        b.add_group({"dp", 8, ""});
        for (const char* name : {"a", "b"}) {
            capture_node n = named(name);
            set(n);
            b.append(n);
        }
        return complaint(std::move(b).build());
    };
    const std::string hint = "; the sum over the step must fit in a signed 64-bit integer";
    CHECK(two([](capture_node& n) { n.duration = nanoseconds{half}; }) ==
          "node 1 (b): ns: makes the step too long" + hint);
    CHECK(two([](capture_node& n) { n.allocation = bytes{half}; }) == "node 1 (b): bytes: is too much in all" + hint);
    CHECK(two([](capture_node& n) {
              n.kind = op_kind::start;
              n.collective = collective_kind::all_gather;
              n.payload = bytes{half};
          }) == "node 1 (b): payload: is too much in all" + hint);
    CHECK(two([](capture_node& n) { n.duration = nanoseconds{half - 1}; }) == "read without complaint");
}

TEST_CASE("groups, symbols and costs are checked as well") {
    const auto step = [](auto change) {
        capture_builder b("step");
        change(b);
        return complaint(std::move(b).build());
    };
    const auto costs = [&](auto change) {
        capture_costs c = tiny().costs();
        change(c);
        return step([&](capture_builder& b) { b.set_costs(c); });
    };
    CHECK(step([](capture_builder& b) { b.add_group({"dp", 0, ""}); }) ==
          "groups: group \"dp\" has 0 ranks; a group has one rank at least");
    CHECK(step([](capture_builder& b) { b.add_group({"a", 1, ""}), b.add_group({"a", 1, ""}); }) ==
          "groups: two groups are called \"a\"; cost tables tell groups apart by name");
    const auto with = [&](const capture_group& second) {
        return step([&](capture_builder& b) { b.add_group({"dp", 2, "", {0, 1}}), b.add_group(second); });
    };
    CHECK(with({"ep", 2, "", {3, 1}}) == "read without complaint");
    CHECK(
        with({"ep", 2, "", {3, 1, 2}}) ==
        "groups.ranks: group \"ep\" lists 3 ranks, but its size is 2; list every rank of the group once, or leave the "
        "member out");
    CHECK(with({"ep", 3, "", {3, 1, 3}}) ==
          "groups.ranks: group \"ep\" lists rank 3 twice; list every rank of the group once");
    CHECK(with({"ep", 2, "", {0, 1}, 0}) == "read without complaint");
    CHECK(with({"ep", 2, "", {}, 0}) == "read without complaint");
    const std::string original =
        "; a duplicate names the position of its original, which stands before it in the list of groups";
    CHECK(with({"ep", 2, "", {}, 1}) ==
          "groups.duplicate_of: group \"ep\" duplicates group \"ep\", which does not stand before it" + original);
    CHECK(with({"ep", 2, "", {}, 7}) ==
          "groups.duplicate_of: group \"ep\" duplicates group 7, which does not exist" + original);
    CHECK(with({"ep", 2, "", {1, 0}, 0}) ==
          "groups.duplicate_of: group \"ep\" duplicates group \"dp\", which has other ranks; a duplicate has the ranks "
          "of "
          "its original, in the same order");
    CHECK(step([](capture_builder& b) { b.add_symbol("u0", 1), b.add_symbol("u1", 1), b.add_symbol("u0", 1); }) ==
          "symbols: two symbols are called \"u0\"; a symbol has one value");
    for (double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        CHECK(costs([&](capture_costs& c) { c.memory_bytes_per_second = wrong; }) ==
              "costs.memory_bytes_per_second: is not positive; give the bandwidth of the memory");
    CHECK(costs([](capture_costs& c) { c.launch = nanoseconds{-1}; }) ==
          "costs.launch_ns: is negative; 0 ns is the least");
    const std::string points =
        "costs.collectives: the table of group \"dp\" has points that are negative or do not "
        "ascend; points are [payload bytes, ns], from small payloads to large";
    CHECK(costs([](capture_costs& c) { c.collectives[0].points[1].payload = bytes{0}; }) == points);
    CHECK(costs([](capture_costs& c) { c.collectives[0].points[0].payload = bytes{-1}; }) == points);
    CHECK(costs([](capture_costs& c) { c.collectives[0].points[1].time = nanoseconds{-1}; }) == points);
    CHECK(costs([](capture_costs& c) { c.collectives[1].points.clear(); }) ==
          "costs.collectives: the table of group \"dp\" has a collective without points; the first point is the "
          "latency of an empty message");
    CHECK(costs([](capture_costs& c) { c.collectives[1].collective = collective_kind::all_gather; }) ==
          "costs.collectives: the table of group \"dp\" has a collective twice; join the two lists");
    CHECK(costs([](capture_costs& c) { c.collectives[1].collective = collective_kind::other; }) ==
          "costs.collectives: the table of group \"dp\" has an unknown collective; known are all_gather, "
          "reduce_scatter, all_reduce, all_to_all");
}

TEST_CASE("tables of one group stand together, in whatever order they were given") {
    capture_costs costs = tiny().costs();
    std::vector<collective_cost_table> tables = costs.collectives;
    costs.collectives = {{"z", collective_kind::all_reduce, tables[0].points},
                         tables[1],
                         {"z", collective_kind::all_gather, tables[0].points},
                         tables[0]};
    capture_builder b("step");
    b.set_costs(costs);
    const auto c = std::move(b).build();
    REQUIRE_MESSAGE(c, complaint(c));
    REQUIRE(c->costs().collectives.size() == 4);
    CHECK(c->costs().collectives[0] == tables[0]);
    CHECK(c->costs().collectives[1] == tables[1]);
    CHECK(c->costs().collectives[2].collective == collective_kind::all_gather);
    CHECK(parse_capture(to_json(*c), "f"));
}
