#include "stretto/capture/capture_writer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "support/prop.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using support::complaint;
using support::edited;
using support::parse_capture;
using support::read_capture;
using support::tiny_step;

namespace {

capture tiny() { return *parse_capture(tiny_step, "tiny.json"); }

std::vector<std::uint32_t> program_order(const capture& c) {
    std::vector<std::uint32_t> order(c.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

std::vector<std::string> names_of(const capture& c, std::span<const std::uint32_t> nodes) {
    std::vector<std::string> names;
    for (std::uint32_t v : nodes) names.emplace_back(c.name(v));
    return names;
}

/// Some order in which every node comes after those it reads, aliases or writes.
std::vector<std::uint32_t> some_legal_order(const capture& c) {
    std::vector<bool> done(c.size(), false);
    std::vector<std::uint32_t> order;
    while (order.size() < c.size()) {
        std::vector<std::uint32_t> ready;
        for (std::uint32_t v = 0; v < c.size(); ++v) {
            const auto is_done = [&](std::uint32_t u) { return done[u]; };
            if (!done[v] && std::ranges::all_of(c.inputs(v), is_done) && std::ranges::all_of(c.aliases(v), is_done) &&
                std::ranges::all_of(c.writes(v), is_done))
                ready.push_back(v);
        }
        order.push_back(ready[*rc::gen::inRange<std::size_t>(0, ready.size())]);
        done[order.back()] = true;
    }
    return order;
}

/// A random step with any text in it: built here, so that it holds what no file of ours does.
capture random_step() {
    const auto text =
        rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6)), [](std::vector<int> parts) {
            static const std::string pieces[] = {"a", "\"", "\\", "\n", "\x01", "\xc3\xa9"};
            std::string s;
            for (int k : parts) s += pieces[k];
            return s;
        });
    capture_builder b(*text);
    const auto groups = *rc::gen::inRange(1, 4);
    for (int k = 0; k < groups; ++k) {
        capture_group g{"g" + std::to_string(k) + *text, *rc::gen::inRange(1, 100), ""};
        if (*rc::gen::arbitrary<bool>())
            for (std::int64_t r = g.size; r-- > 0;) g.ranks.push_back(static_cast<std::uint32_t>(7 * r + k));
        const auto id = b.add_group(g);
        if (*rc::gen::inRange(0, 3) != 0) continue;
        b.add_group({"copy of " + g.name, g.size, R"("x":1)", g.ranks, id});
        ++k;
    }
    capture_costs costs;
    costs.memory_bytes_per_second = *rc::gen::element(1.0, 2.68e12, 0.1, 1e300);
    costs.launch = nanoseconds{*rc::gen::inRange(0, 5000)};
    for (int k = 0; k < 4; ++k)
        if (*rc::gen::arbitrary<bool>())
            costs.collectives.push_back(
                {*rc::gen::element<std::string>("g0", "g1", "\""),
                 static_cast<collective_kind>(k),
                 {{bytes{0}, nanoseconds{5}}, {bytes{*rc::gen::inRange(1, 9)}, nanoseconds{6}}}});
    b.set_costs(costs);
    const auto symbols = *rc::gen::inRange(0, 3);
    for (int k = 0; k < symbols; ++k) b.add_symbol("u" + std::to_string(k), *rc::gen::inRange(-9, 9));
    const auto nodes = *rc::gen::inRange<std::uint32_t>(0, 12);
    for (std::uint32_t v = 0; v < nodes; ++v) {
        const auto earlier = [&] {
            std::vector<std::uint32_t> list;
            for (std::uint32_t u = 0; u < v; ++u)
                if (*rc::gen::inRange(0, 3) == 0)
                    list.insert(*rc::gen::arbitrary<bool>() ? list.begin() : list.end(), u);
            return list;
        };
        capture_node n;
        const std::string name = "n" + std::to_string(v) + *text, op = *text, note = *text;
        std::string quoted;
        detail::append_quoted(quoted, note);
        n.name = name;
        n.op = op;
        n.kind = *rc::gen::element(op_kind::compute, op_kind::input, op_kind::view, op_kind::output, op_kind::start);
        n.inputs = earlier();
        n.aliases = earlier();
        n.writes = earlier();
        n.allocation = bytes{*rc::gen::inRange(0, 1000)};
        n.duration = nanoseconds{*rc::gen::inRange(0, 1000)};
        if (n.kind == op_kind::start) {
            n.collective = static_cast<collective_kind>(*rc::gen::inRange(0, 4));
            n.group = static_cast<group_id>(*rc::gen::inRange(0, groups));
            n.payload = bytes{*rc::gen::inRange(0, 1000)};
        }
        n.fields = {{"note", quoted}, {"list", "[1, {\"a\" : null}]"}};
        b.append(n);
    }
    auto c = std::move(b).build();
    if (!c) RC_FAIL(c.error().message());
    return *std::move(c);
}

}  // namespace

TEST_CASE("one node a line, members in one order") {
    const std::string json = to_json(tiny());
    CHECK(json.starts_with(
        R"({"format":"stretto-graph","version":1,"name":"tiny",)"
        "\n"
        R"("groups":[{"name":"dp","size":8,"desc":"data parallel"},{"name":"ep","size":4}],)"
        "\n"
        R"("costs":{"memory_bytes_per_second":2000000000000,"launch_ns":2000,"collectives":{"dp":{"all_gather":[[0,30000],[1048576,50000]],"reduce_scatter":[[0,31000]]}}},)"
        "\n"
        R"("symbols":{"u0":4},)"
        "\n"
        R"("nodes":[)"
        "\n"
        R"({"name":"w","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[4],"dtype":"f32"}],"bytes":16,"ns":0},)"
        "\n"
        R"({"name":"gather","op":"all_gather.default","kind":"start","inputs":[0],"outputs":[{"shape":[32],"dtype":"f32"}],"bytes":128,"collective":"all_gather","group":0,"payload":16,"ns":30000,"args":["%0",8,"dp"]},)"
        "\n"));
    CHECK(json.ends_with("\n]}\n"));
    CHECK(std::ranges::count(json, '\n') == 13);
}

TEST_CASE("reading what was written gives the same capture, and writing it again the same text") {
    const auto again = parse_capture(to_json(tiny()), "f");
    REQUIRE_MESSAGE(again, complaint(again));
    CHECK(*again == tiny());
    stretto_check("read(write(c)) == c", 300, [] {
        const capture c = random_step();
        const std::string json = to_json(c);
        const auto back = parse_capture(json, "f");
        if (!back) RC_FAIL(back.error().message());
        RC_ASSERT(*back == c);
        RC_ASSERT(to_json(*back) == json);
    });
}

TEST_CASE("the captured steps of the reference survive writing and reading") {
    for (const std::string& path : support::captured_steps("STRETTO_REFERENCE_GRAPHS")) {
        const auto c = read_capture(path);
        REQUIRE_MESSAGE(c, complaint(c));
        const auto back = parse_capture(to_json(*c), path);
        REQUIRE_MESSAGE(back, complaint(back));
        CHECK_MESSAGE(*back == *c, path);
    }
}

TEST_CASE("files: plain or gzipped by name, and the same bytes every time") {
    const support::scratch_folder folder;
    for (const char* name : {"a.json", "a.json.gz"}) {
        const auto size = write_capture(tiny(), folder.file(name));
        REQUIRE_MESSAGE(size, complaint(size));
        CHECK(std::filesystem::file_size(folder.file(name)) == *size);
        const auto back = read_capture(folder.file(name));
        REQUIRE_MESSAGE(back, complaint(back));
        CHECK(*back == tiny());
    }
    REQUIRE(write_capture(tiny(), folder.file("b.json.gz")));
    const auto bytes_of = [&](const char* name) { return *read_text(folder.file(name), {}); };
    CHECK(bytes_of("a.json.gz") == bytes_of("b.json.gz"));
    CHECK(bytes_of("a.json") == to_json(tiny()));
    CHECK(complaint(write_capture(tiny(), folder.path.string())) ==
          folder.path.string() + ": cannot be opened: Is a directory");
}

TEST_CASE("the program order changes nothing") {
    const capture c = tiny();
    const auto same = reordered(c, program_order(c));
    REQUIRE_MESSAGE(same, complaint(same));
    CHECK(*same == c);
}

TEST_CASE("another order renumbers what is named by position, and keeps the order of inputs") {
    const capture c = tiny();
    const std::vector<std::uint32_t> order = {0, 1, 3, 4, 5, 2, 6};  // the view of the start goes down
    const auto plan = reordered(c, order);
    REQUIRE_MESSAGE(plan, complaint(plan));
    REQUIRE(plan->size() == 7);
    CHECK(plan->name(5) == "view");
    CHECK(names_of(*plan, plan->inputs(4)) == std::vector<std::string>{"mul", "wait"});
    CHECK(names_of(*plan, plan->inputs(6)) == std::vector<std::string>{"add_", "view"});
    CHECK(names_of(*plan, plan->writes(4)) == std::vector<std::string>{"mul"});
    CHECK(plan->field(4, "binds") == c.field(5, "binds"));
}

TEST_CASE("every legal order keeps every node but for its position") {
    stretto_check("reordered", 300, [] {
        const capture c = random_step();
        const std::vector<std::uint32_t> order = some_legal_order(c);
        const auto plan = reordered(c, order);
        if (!plan) RC_FAIL(plan.error().message());
        RC_ASSERT(plan->size() == c.size());
        for (std::uint32_t i = 0; i < c.size(); ++i) {
            const std::uint32_t v = order[i];
            RC_ASSERT(plan->name(i) == c.name(v));
            RC_ASSERT(plan->duration(i) == c.duration(v));
            RC_ASSERT(plan->group(i) == c.group(v));
            RC_ASSERT(names_of(*plan, plan->inputs(i)) == names_of(c, c.inputs(v)));
            RC_ASSERT(names_of(*plan, plan->aliases(i)) == names_of(c, c.aliases(v)));
            RC_ASSERT(names_of(*plan, plan->writes(i)) == names_of(c, c.writes(v)));
            RC_ASSERT(plan->field(i, "note") == c.field(v, "note"));
        }
        std::vector<std::uint32_t> back(order.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) back[order[i]] = i;
        RC_ASSERT(*reordered(*plan, back) == c);
    });
}

TEST_CASE("orders that are none are refused") {
    const capture c = tiny();
    const std::string once = "; an order names every node of the step once";
    using ids = std::vector<std::uint32_t>;
    CHECK(complaint(reordered(c, ids{0, 1, 2})) == "order: has 3 of 7 nodes" + once);
    CHECK(complaint(reordered(c, ids{0, 1, 2, 3, 4, 5, 5})) == "order: names node 5 twice" + once);
    CHECK(complaint(reordered(c, ids{0, 1, 2, 3, 4, 5, 7})) == "order: names node 7, which does not exist" + once);
    CHECK(complaint(reordered(c, ids{0, 1, 2, 4, 3, 5, 6})) ==
          "node 3 (mul): inputs: names node 4 (wait), which comes later; a node may only name nodes before it");
    CHECK(complaint(write_plan(c, ids{0}, "plan.json")) == "plan.json: order: has 1 of 7 nodes" + once);
}

TEST_CASE("a plan is written under the names of the step") {
    const support::scratch_folder folder;
    const capture c = tiny();
    const std::vector<std::uint32_t> order = {0, 1, 3, 2, 4, 5, 6};
    const auto size = write_plan(c, order, folder.file("plan.json.gz"));
    REQUIRE_MESSAGE(size, complaint(size));
    const auto plan = read_capture(folder.file("plan.json.gz"));
    REQUIRE_MESSAGE(plan, complaint(plan));
    CHECK(*plan == *reordered(c, order));
    CHECK(plan->name(3) == "view");
}
