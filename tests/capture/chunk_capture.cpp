#include "stretto/capture/chunk_capture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/analysis/unread_storage.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "support/chunk_step.hpp"
#include "support/plan_complaints.hpp"
#include "support/read_step.hpp"
#include "support/small_step.hpp"

using namespace stretto;
using support::small_step;
using support::two_inputs;

namespace {

using regions = std::vector<capture_chunk_region>;
using token_list = std::vector<capture_token_dimension>;

/// What chunk_capture says of these regions, whose tokens are those of x.
std::string complaint(const capture& step, const regions& of, chunk_options options = {},
                      const token_list& tokens = {{0, 0}}) {
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const auto made = support::chunk_step(step, *tensors, of, tokens, options);
    return made ? "none" : made.error().message();
}
std::string complaint(const small_step& small, const regions& of, chunk_options options = {},
                      const token_list& tokens = {{0, 0}}) {
    return complaint(small.made(), of, options, tokens);
}

bool says(const std::string& message, std::string_view part) { return message.find(part) != std::string::npos; }

/// x -> a -> b -> c -> out; w -> v.
small_step chain() {
    return two_inputs()
        .add("a", "aten.neg.default", "compute", {"x"}, {-4, 3})
        .add("b", "aten.neg.default", "compute", {"a"}, {-4, 3})
        .add("c", "aten.neg.default", "compute", {"b"}, {-4, 3})
        .add("v", "aten.neg.default", "compute", {"w"}, {3, 3})
        .add("out", "output", "output", {"c", "v"}, {});
}

}  // namespace

TEST_CASE("a step in chunks, with the plan that made it") {
    const capture step = chain().made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const regions all = {{chain().region, {1, 3}}};
    const auto made = support::chunk_step(step, *tensors, all, token_symbols(step, *tensors)[0].dimensions);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    CHECK(made->plan.counts() == chunk_counts{3, 6, 1, 1, 0});
    CHECK(made->step.find("c_chunk1"));
    CHECK(made->step.find("v"));
    CHECK(!made->step.find("c"));
}

TEST_CASE("a step in chunks, put together slice by slice") {
    const capture step = chain().made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const regions all = {{chain().region, {1, 3}}};
    const token_list tokens = token_symbols(step, *tensors)[0].dimensions;
    const auto made = support::chunk_step(step, *tensors, all, tokens, {.slices_from = 4 * 3});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    CHECK(made->plan.counts() == chunk_counts{3, 6, 1, 0, 0, 1, 2});
    const capture& c = made->step;
    const auto at = [&](const char* name) {
        const auto v = c.find(name);
        REQUIRE_MESSAGE(v, name);
        return *v;
    };
    // Memory when the first part is there, which launches nothing and holds the whole.
    const std::uint32_t whole = at("c_whole");
    CHECK(c.kind(whole) == op_kind::view);
    CHECK(c.op(whole) == "aten.new_empty.default");
    CHECK(*c.field(whole, "args") == R"(["%0",[4,3]])");
    CHECK(c.inputs(whole)[0] == at("c_chunk0"));
    CHECK(c.aliases(whole).empty());
    CHECK(c.allocation(whole) == step.allocation(*step.find("c")));
    CHECK(c.duration(whole) == nanoseconds{0});
    CHECK(c.outputs(whole) == step.outputs(*step.find("c")));
    // Each part goes to its place before the next one is made.
    const std::uint32_t place = at("c_slice1"), write = at("c_slice1_write");
    CHECK(*c.field(place, "args") == R"(["%0",0,1,4])");
    CHECK(c.aliases(place)[0] == whole);
    CHECK(c.inputs(write)[0] == place);
    CHECK(c.inputs(write)[1] == at("c_chunk1"));
    CHECK(c.writes(write)[0] == place);
    CHECK(c.allocation(write) == bytes{0});
    CHECK(c.outputs(write).find(R"("shape":[3,3])") != std::string_view::npos);
    const double written = 3 * 3 * 4;
    CHECK(static_cast<double>(c.duration(write).count) >=
          static_cast<double>(c.costs().launch.count) + 2 * written / c.costs().memory_bytes_per_second * 1e9);
    CHECK(at("c_slice0_write") < at("c_chunk1"));
    CHECK(c.inputs(at("out"))[0] == whole);

    // With extents that follow the tokens, memory and places do too.
    const std::string symbol = token_symbols(step, *tensors)[0].name;
    const auto open = support::chunk_step(step, *tensors, all, tokens, {.slices_from = 0}, symbol);
    REQUIRE_MESSAGE(open, (open ? "" : open.error().message()));
    const auto text = [&](const char* node) { return std::string(*open->step.field(*open->step.find(node), "args")); };
    CHECK(text("c_whole") == R"(["%0",["%1",3]])");
    CHECK(text("c_slice1") == R"(["%0",0,1,"%1"])");
    CHECK(open->step.outputs(*open->step.find("c_slice1_write")).find("\"" + symbol + " - 1\"") !=
          std::string_view::npos);

    const auto larger = support::chunk_step(step, *tensors, all, tokens, {.slices_from = 4 * 3 + 1});
    REQUIRE(larger);
    CHECK(larger->plan.counts() == chunk_counts{3, 6, 1, 1, 0});
    CHECK(!larger->step.find("c_slice0"));
}

TEST_CASE("a write that names who allocates it, not the view of it that it goes through") {
    // x -> b = 0; b[:, 0:2] = -x; out = -b
    const small_step small =
        two_inputs()
            .add("b", "aten.zeros_like.default", "compute", {"x"}, {-4, 3})
            .add("place", "aten.slice.Tensor", "view", {"b"}, {-4, 2}, R"(["%0",1,0,2])", R"(,"alias":[2])")
            .add("left", "aten.slice.Tensor", "view", {"x"}, {-4, 2}, R"(["%0",1,0,2])", R"(,"alias":[0])")
            .add("write", "aten.copy_.default", "compute", {"place", "left"}, {-4, 2}, "null",
                 R"(,"alias":[2],"mutates":[2])")
            .add("read", "aten.neg.default", "compute", {"b"}, {-4, 3})
            .add("out", "output", "output", {"read"}, {});
    const capture step = small.made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const auto made = support::chunk_step(step, *tensors, regions{{small.region, {1, 3}}}, token_list{{0, 0}});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    CHECK(made->step.find("write_chunk1"));
    CHECK(support::complaints_about(step, made->step) == "");
}

TEST_CASE("a view behind a region lives in what it reads, whatever it names as its storage") {
    // a is made in chunks, and so is its view b; c and d are views of b behind the region that name a. v, a view of x
    // through y, names x, which stays.
    const small_step small =
        two_inputs()
            .add("a", "aten.neg.default", "compute", {"x"}, {-4, 3})
            .add("b", "aten.slice.Tensor", "view", {"a"}, {-4, 2}, R"(["%0",1,0,2])", R"(,"alias":[2])")
            .add("y", "aten.slice.Tensor", "view", {"x"}, {-4, 2}, R"(["%0",1,0,2])", R"(,"alias":[0])")
            .add("z", "aten.neg.default", "compute", {"y"}, {-4, 2})
            .add("c", "aten.slice.Tensor", "view", {"b"}, {-4, 1}, R"(["%0",1,0,1])", R"(,"alias":[2])")
            .add("d", "aten.slice.Tensor", "view", {"c"}, {-4, 1}, R"(["%0",1,0,1])", R"(,"alias":[2])")
            .add("v", "aten.slice.Tensor", "view", {"y"}, {-4, 1}, R"(["%0",1,0,1])", R"(,"alias":[0])")
            .add("e", "aten.neg.default", "compute", {"a"}, {-4, 3})
            .add("out", "output", "output", {"z", "d", "v", "e"}, {});
    const capture step = small.made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const regions all{{{small.at("a"), small.at("b"), small.at("y"), small.at("z")}, {1, 3}}};
    const auto made = support::chunk_step(step, *tensors, all, token_list{{0, 0}});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    const capture& c = made->step;
    const auto at = [&](const char* name) {
        const auto v = c.find(name);
        REQUIRE_MESSAGE(v, name);
        return *v;
    };
    const auto lives_in = [&](const char* name, std::uint32_t other) {
        const auto shared = c.aliases(at(name));
        return std::find(shared.begin(), shared.end(), other) != shared.end();
    };
    REQUIRE(!c.find("a"));
    REQUIRE(!c.find("b"));
    const std::uint32_t whole_b = c.inputs(at("c"))[0], whole_a = c.inputs(at("e"))[0];
    REQUIRE(whole_a != whole_b);
    CHECK(lives_in("c", whole_b));
    CHECK(!lives_in("c", whole_a));
    CHECK(lives_in("d", at("c")));
    CHECK(!lives_in("d", whole_a));
    CHECK(lives_in("v", c.inputs(at("v"))[0]));
    CHECK(!lives_in("v", at("x")));
    CHECK(!first_unread_storage(capture_view{&c}, capture_op_model{&c}));
    CHECK(support::complaints_about(step, c) == "");
}

TEST_CASE("what a collective brings is not cut before it has arrived, even if only its shape is read") {
    const small_step small =
        two_inputs()
            .add("s", "_c10d_functional.all_to_all_single.default", "start", {"x"}, {-4, 3}, R"(["%0",[4],[4],"dp"])",
                 R"(,"collective":"all_to_all","group":0,"payload":48)")
            .add("n", "aten.sym_size.int", "view", {"s"}, {}, R"(["%0",0])")
            .add("a", "_c10d_functional.wait_tensor.default", "wait", {"s"}, {-4, 3}, "null", R"(,"alias":[2])")
            .add("b", "aten.neg.default", "compute", {"a"}, {-4, 3})
            .add("out", "output", "output", {"b", "n"}, {});
    const capture step = small.made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const auto made = support::chunk_step(step, *tensors, regions{{small.region, {1, 3}}},
                                          token_symbols(step, *tensors)[0].dimensions, {.skip_refused = true});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    CHECK(made->step.find("a_part1"));
    CHECK(!made->step.find("s_part0"));
    CHECK(made->step.find("n"));
    CHECK(support::complaints_about(step, made->step) == "");
}

TEST_CASE("regions and sizes that make no sense") {
    const small_step s = chain();
    CHECK(complaint(s, {}) == "no region to chunk is given; a region is a set of nodes, and rows per chunk");
    CHECK(complaint(s, {{{}, {2, 2}}}) == "region 0: has no nodes; a region is a set of nodes, and rows per chunk");
    CHECK(complaint(s, {{s.region, {}}}) ==
          "region 0 (from a): is to run in chunks, and none of them has any rows; rows per chunk add up to the tokens; "
          "one chunk of all of them changes nothing");
    CHECK(says(complaint(s, {{s.region, {0, 0}}}), "region 0 (from a): is to run in chunks, and none of them"));
    CHECK(says(complaint(s, {{s.region, {5, -1}}}), "region 0 (from a): is to run in chunks of 5 + -1 rows;"));
    CHECK(complaint(s, {{s.region, {2, 1}}}) ==
          "node 0 (x): has 4 rows of tokens along dimension 0, and the chunks of the region have 2 + 1 = 3; rows per "
          "chunk add up to the tokens, or to a number that divides them");
    CHECK(says(complaint(s, {{s.region, {3}}}), "the chunks of the region have 3;"));
    CHECK(complaint(s, {{{2, 3}, {2, 2}}, {{3, 4}, {1, 3}}}) ==
          "node 3 (b): region 1: is a node of two regions: also of region 0; give every node to one region; what has "
          "equal chunks may be one region");
    CHECK(says(complaint(s, {{{2, 99}, {2, 2}}}), "node 99: there is no node of that number: the step has 7 nodes;"));
    CHECK(says(complaint(s, {{{5}, {2, 2}}}), "region 0 (from v): has no node that a token reaches"));
}

TEST_CASE("a region that is left and entered again") {
    const small_step s = chain();
    CHECK(complaint(s, {{{2, 4}, {2, 2}}}, {.only_convex = true}) ==
          "node 3 (b): lies on a path that leaves the region and enters it again: a -> b -> c; take what lies between "
          "into the region, or give what comes behind it a region of its own");
    CHECK(complaint(s, {{{2, 4}, {2, 2}}}) == "none");
    CHECK(complaint(s, {{s.region, {2, 2}}}, {.only_convex = true}) == "none");

    small_step longer = two_inputs();
    const char* names[] = {"x", "n1", "n2", "n3", "n4", "n5", "n6"};
    for (std::size_t k = 1; k < 7; ++k) longer.add(names[k], "aten.neg.default", "compute", {names[k - 1]}, {-4, 3});
    longer.add("out", "output", "output", {"n6"}, {});
    CHECK(says(complaint(longer, {{{longer.at("n1"), longer.at("n6")}, {2, 2}}}, {.only_convex = true}),
               "again: n1 -> n2 -> n3 -> (2 more) -> n6;"));
}

TEST_CASE("token dimensions that are none") {
    const small_step s = chain();
    CHECK(complaint(s, {{s.region, {2, 2}}}, {}, {{0, 2}}) ==
          "node 0 (x): is to be cut along dimension 2, and has 2 dimensions; tokens lie along a dimension of one "
          "tensor, counted from 0");
    CHECK(says(complaint(s, {{s.region, {2, 2}}}, {}, {{6, 0}}), "node 6 (out): is to be cut, and is no tensor but 0"));
    CHECK(says(complaint(s, {{s.region, {2, 2}}}, {}, {{70, 0}}), "node 70: there is no node of that number"));
}

TEST_CASE("nodes that cannot be chunked, and what would help") {
    const small_step s = two_inputs()
                             .add("a", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("m", "aten.amax.default", "compute", {"a"}, {3}, "[\"%0\",[0]]")
                             .add("k", "my.own_kernel", "compute", {"a"}, {-4, 3})
                             .add("out", "output", "output", {"m", "k"}, {});
    const std::string maximum = complaint(s, {{{2, 3}, {2, 2}}});
    CHECK(says(maximum, "node 3 (m): cannot run per chunk: "));
    CHECK(says(maximum, "; leave it out of the region, or let what cannot be cut stay whole"));
    CHECK(says(complaint(s, {{{2, 4}, {2, 2}}}), "node 4 (k): cannot run per chunk: no rule for my.own_kernel;"));

    const capture step = s.made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const auto made =
        support::chunk_step(step, *tensors, regions{{s.region, {2, 2}}}, token_list{{0, 0}}, {.skip_refused = true});
    REQUIRE(made);
    REQUIRE(made->kept_whole.size() == 2);
    CHECK(made->kept_whole[0].in_words.message() == maximum);
    CHECK(says(made->kept_whole[1].in_words.message(), "node 4 (k): cannot run per chunk: no rule for my.own_kernel;"));

    const small_step writes =
        two_inputs()
            .add("a", "aten.neg.default", "compute", {"x"}, {-4, 3})
            .add("early", "aten.neg.default", "compute", {"a"}, {-4, 3})
            .add("w1", "aten.neg_.default", "compute", {"a"}, {-4, 3}, "null", ",\"alias\":[2],\"mutates\":[2]")
            .add("out", "output", "output", {"early", "w1"}, {});
    CHECK(complaint(writes, {{{2}, {2, 2}}}) ==
          "node 2 (a): is written in place outside of the region by w1; take the write into the region, or leave this "
          "node out");
    CHECK(complaint(writes, {{{2, 4}, {2, 2}}}) ==
          "node 2 (a): is read outside of the region by early before the region has written it for the last time; take "
          "the reader into the region, or leave the writes out");
}

TEST_CASE("recorded shapes that contradict their operators") {
    const auto check = [](std::initializer_list<int> recorded) {
        const small_step wrong = two_inputs()
                                     .add("a", "aten.neg.default", "compute", {"x"}, recorded)
                                     .add("b", "aten.neg.default", "compute", {"x"}, {-4, 3})
                                     .add("out", "output", "output", {"a", "b"}, {});
        for (const std::int64_t slices_from : {std::int64_t{0}, INT64_MAX}) {
            CAPTURE(slices_from);
            const regions all = {{wrong.region, {1, 3}}};
            const std::string refusal = complaint(wrong, all, {.slices_from = slices_from});
            CHECK_MESSAGE(says(refusal, "node 2 (a): cannot run per chunk: its result would be cut"), refusal);
            CHECK(complaint(wrong, all, {.skip_refused = true, .slices_from = slices_from}) == "none");
        }
    };
    check({});
    check({3});
    check({3, 3});
    check({0});
    // Operands and results of fewer dimensions than their operators need: whatever is said of them, nothing else is
    // read.
    for (const auto& [op, args] :
         {std::pair("aten.expand.default", R"(["%0",[4,3]])"), std::pair("aten.gather.default", R"(["%0",1,"%1"])"),
          std::pair("aten.index_select.default", R"(["%0",7,"%1"])"),
          std::pair("aten.index_add.default", R"(["%0",1,"%1","%0"])"),
          std::pair("aten.select_backward.default", R"(["%0",[4,3],1,0])"),
          std::pair("aten.addmm.default", R"(["%0","%1","%1"])")}) {
        CAPTURE(op);
        const small_step wrong = two_inputs()
                                     .add("i", "aten.sum.dim_IntList", "compute", {"x"}, {-4}, R"(["%0",[1]])")
                                     .add("a", op, "compute", {"x", "i"}, {}, args)
                                     .add("b", op, "compute", {"i", "x"}, {-4}, args)
                                     .add("out", "output", "output", {"a", "b"}, {});
        CHECK(complaint(wrong, {{wrong.region, {1, 3}}}, {.skip_refused = true}) == "none");
    }
}

TEST_CASE("rows on their way between ranks do not leave a region") {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    const auto step = support::read_capture(std::string(graphs) + "/moe_ep_step.json.gz");
    REQUIRE(step);
    // The exchange of counts is the first of the first block, then the rows themselves.
    std::vector<std::uint32_t> exchanges;
    for (std::uint32_t v = 0; v < step->size() && exchanges.size() < 2; ++v)
        if (step->collective(v) == collective_kind::all_to_all) exchanges.push_back(v);
    REQUIRE(exchanges.size() == 2);
    const std::uint32_t start = exchanges[1], wait = step->readers(start)[0];
    const auto tensors = support::read_tensors(*step);
    REQUIRE(tensors);
    const token_list tokens = token_symbols(*step, *tensors)[0].dimensions;
    const auto up_to = [&](std::uint32_t last) {
        capture_chunk_region region{{}, {128, 128}};
        for (std::uint32_t v = 0; v <= last; ++v)
            if (step->kind(v) != op_kind::input) region.candidates.push_back(v);
        return complaint(*step, {region}, {}, tokens);
    };
    const auto named = [&](std::uint32_t v) {
        return "node " + std::to_string(v) + " (" + std::string(step->name(v)) + "): ";
    };
    CHECK(up_to(start) == named(start) + "is a collective that must be chunked together with its wait " +
                              std::string(step->name(wait)) + "; take both into the region, or neither");
    const std::string arrived = up_to(wait);
    CHECK(says(arrived, named(wait) + "is read outside of the region by "));
    CHECK(says(arrived, ", and nothing is known to make its parts whole again; take the reader into the region"));
}
