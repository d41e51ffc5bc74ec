#include "stretto/capture/capture_chunker.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "support/chunk_step.hpp"
#include "support/example_step.hpp"
#include "support/plan_complaints.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

static_assert(chunk_model<capture_chunk_model, capture_view>);
static_assert(chunking_rewriter<capture_chunker, capture_view>);
static_assert(slice_writing_rewriter<capture_chunker, capture_view>);

/// All nodes but inputs and outputs, in chunks of these sizes.
capture_chunk_region whole_step(const capture& step, std::vector<std::int64_t> sizes) {
    capture_chunk_region region{{}, std::move(sizes)};
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (step.kind(v) != op_kind::input && step.kind(v) != op_kind::output) region.candidates.push_back(v);
    return region;
}

/// Everything that the tokens of a step reach, in chunks of these sizes.
chunked_capture in_chunks(const capture& step, const std::vector<std::int64_t>& sizes) {
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const std::vector<capture_token_symbol> symbols = token_symbols(step, *tensors);
    REQUIRE(!symbols.empty());
    const capture_chunk_region region = whole_step(step, sizes);
    auto made = support::chunk_step(step, *tensors, {&region, 1}, symbols[0].dimensions, {.skip_refused = true});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    return *std::move(made);
}

const char* small_step = R"({"format":"stretto-graph","version":1,"name":"block","groups":[{"name":"ep","size":4}],
"costs":{"memory_bytes_per_second":1e12,"launch_ns":100,
 "collectives":{"ep":{"all_to_all":[[0,1000],[1000000,2000]]}}},"symbols":{"s":8},
"nodes":[
{"name":"x","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[8,16],"dtype":"f32","symbolic":["s",16]}],"bytes":512,"ns":0},
{"name":"w","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[16,4],"dtype":"f32"}],"bytes":256,"ns":0},
{"name":"y","op":"aten.mm.default","kind":"compute","inputs":[0,1],"outputs":[{"shape":[8,4],"dtype":"f32","symbolic":["s",4]}],"bytes":128,"ns":900,"fqn":"block.up"},
{"name":"v","op":"aten.reshape.default","kind":"view","inputs":[2],"args":["%0",[8,2,2]],"alias":[2],"outputs":[{"shape":[8,2,2],"dtype":"f32","symbolic":["s",2,2]}],"bytes":0,"ns":0},
{"name":"t","op":"aten.sum.dim_IntList","kind":"compute","inputs":[3],"args":["%0",[0]],"outputs":[{"shape":[2,2],"dtype":"f32"}],"bytes":16,"ns":300},
{"name":"out","op":"output","kind":"output","inputs":[3,4],"outputs":[],"bytes":0,"ns":0}]})";

}  // namespace

TEST_CASE("clones have the extents, work and bytes of their part") {
    const auto step = support::parse_capture(small_step, "block.json");
    REQUIRE(step);
    const chunked_capture c = in_chunks(*step, {6, 2});
    const capture& made = c.step;
    CHECK(c.plan.counts() == chunk_counts{3, 6, 1, 1, 1});

    const auto at = [&](const char* name) {
        const auto v = made.find(name);
        REQUIRE_MESSAGE(v, name);
        return *v;
    };
    CHECK(!made.find("y"));
    const std::uint32_t part = at("x_part1"), first = at("y_chunk0"), second = at("y_chunk1");
    CHECK(made.op(part) == "aten.slice.Tensor");
    CHECK(*made.field(part, "args") == R"(["%0",0,6,8])");
    CHECK(made.outputs(first) == R"([{"shape":[6,4],"dtype":"f32"}])");
    CHECK(made.duration(first) == nanoseconds{100 + 600});
    CHECK(made.duration(second) == nanoseconds{100 + 200});
    CHECK(made.allocation(first) == bytes{96});
    CHECK(made.allocation(second) == bytes{32});
    CHECK(*made.field(second, "origin") == R"("y")");
    CHECK(*made.field(second, "chunk") == "1");
    CHECK(*made.field(second, "fqn") == R"("block.up")");
    CHECK(*made.field(at("v_chunk0"), "args") == R"(["%0",[6,2,2]])");
    CHECK(made.aliases(at("v_chunk1"))[0] == second);
    const std::uint32_t whole = at("v_whole"), sum = at("t_whole");
    CHECK(made.op(whole) == "aten.cat.default");
    CHECK(*made.field(whole, "args") == R"([["%0","%1"],0])");
    CHECK(made.allocation(whole) == bytes{128});
    CHECK(made.op(sum) == "aten.add.Tensor");
    CHECK(made.inputs(at("out"))[0] == whole);
    CHECK(support::complaints_about(*step, made) == "");
}

TEST_CASE("chunks of a collective cost what the table says, or their share of a step without one") {
    // The columns of x are exchanged.
    const auto exchanges = [](const std::string& collectives) {
        return R"({"format":"stretto-graph","version":1,"name":"exchanges","groups":[{"name":"ep","size":2}],)"
               R"("costs":{"memory_bytes_per_second":1e9,"launch_ns":100,"collectives":{)" +
               collectives + R"(}},"symbols":{"s":8},"nodes":[
{"name":"x","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[2,8],"dtype":"f32","symbolic":[2,"s"]}],"bytes":64,"ns":0},
{"name":"a","op":"_c10d_functional.all_to_all_single.default","kind":"start","inputs":[0],"args":["%0",[1,1],[1,1],"ep"],"outputs":[{"shape":[2,8],"dtype":"f32","symbolic":[2,"s"]}],"bytes":64,"collective":"all_to_all","group":0,"payload":64,"ns":800},
{"name":"b","op":"_c10d_functional.wait_tensor.default","kind":"wait","inputs":[1],"alias":[1],"outputs":[{"shape":[2,8],"dtype":"f32","symbolic":[2,"s"]}],"bytes":0,"ns":0},
{"name":"out","op":"output","kind":"output","inputs":[2],"outputs":[],"bytes":0,"ns":0}]})";
    };
    const auto times = [&](const std::string& collectives, const char* name) {
        const auto step = support::parse_capture(exchanges(collectives), "exchanges.json");
        REQUIRE(step);
        const capture made = in_chunks(*step, {6, 2}).step;
        CHECK(support::complaints_about(*step, made) == "");
        std::vector<std::int64_t> all;
        for (const char* k : {"0", "1"})
            if (const auto v = made.find(std::string(name) + "_chunk" + k)) all.push_back(made.duration(*v).count);
        return all;
    };
    const std::string table = R"("ep":{"all_to_all":[[0,900],[64,1540]]})";
    CHECK(times(table, "a") == std::vector<std::int64_t>{900 + 480, 900 + 160});
    CHECK(times("", "a") == std::vector<std::int64_t>{600, 200});
}

TEST_CASE("names that are taken are not taken again") {
    std::string text = small_step;
    text.replace(text.find("\"name\":\"w\""), 10, "\"name\":\"y_chunk0\"");
    const auto step = support::parse_capture(text, "block.json");
    REQUIRE(step);
    CHECK(in_chunks(*step, {4, 4}).step.find("y_chunk0_1"));
}

TEST_CASE("the captured mixture-of-experts step, forward and backward, in chunks of many sizes") {
    const support::example_step example = support::moe_ep_step();
    const capture& step = example.step;
    const std::int64_t tokens = token_symbols(step, example.tensors)[0].value;
    for (const std::vector<std::int64_t>& sizes :
         {equal_chunks(tokens, 2), equal_chunks(tokens, 3), equal_chunks(tokens, 4), equal_chunks(tokens, 7),
          std::vector<std::int64_t>{1, tokens - 1}, std::vector<std::int64_t>{tokens / 2, 0, tokens - tokens / 2}}) {
        const chunked_capture c = in_chunks(step, sizes);
        CHECK(c.plan.counts().chunked > step.size() / 2);
        CHECK(support::complaints_about(step, c.step) == "");
        std::size_t exchanges = 0, whole = 0;
        for (std::uint32_t v = 0; v < c.step.size(); ++v)
            exchanges += c.step.collective(v) == collective_kind::all_to_all;
        for (std::uint32_t v = 0; v < step.size(); ++v) whole += step.collective(v) == collective_kind::all_to_all;
        CHECK(exchanges == whole * c.plan.regions[0].sizes.size());
    }
}
