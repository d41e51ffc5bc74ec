// Scenarios of torchtitan's graph chunker, one test case each, named after them: what its tests expect of a chunked
// program, and what ours does. Every plan is verified and executed against the program whole, on whole numbers,
// exactly.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "support/chunk_step.hpp"
#include "support/run_step.hpp"
#include "support/small_step.hpp"

using namespace stretto;
using namespace stretto::aten;
using support::small_step;
using support::two_inputs;

namespace {

interpretation run(const capture& step, const capture_tensors& tensors, const capture& original, std::size_t ranks) {
    input_options options;
    options.whole_numbers = true;
    options.ranks = ranks;
    interpreter_options all;
    all.ranks = ranks;
    const auto inputs = support::make_step_inputs(step, tensors, options);
    CHECK(original.name(0) == step.name(0));  // inputs come first in both, in the same order
    const auto done = support::run_step(
        step, tensors, [&](std::uint32_t v) { return std::span<const interpreted_value>(inputs[v]); }, all);
    REQUIRE_MESSAGE(done, (done ? std::string() : done.error().message()));
    return *done;
}

auto try_in_chunks(const capture& step, const capture_tensors& tensors,
                   const std::vector<capture_chunk_region>& regions) {
    const auto tokens = token_symbols(step, tensors);
    REQUIRE(tokens.size() == 1);
    return support::chunk_step(step, tensors, regions, tokens[0].dimensions);
}

/// Chunks the region, verifies, executes both forms and compares them exactly.
chunked_capture in_chunks(const small_step& small, const std::vector<capture_chunk_region>& regions) {
    const capture step = small.made();
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    auto made = try_in_chunks(step, *tensors, regions);
    REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
    const auto new_tensors = capture_tensors::read(made->step);
    REQUIRE(new_tensors);
    const auto different =
        compare(run(step, *tensors, step, small.ranks), run(made->step, *new_tensors, step, small.ranks));
    CHECK_MESSAGE(different.empty(), (different.empty() ? std::string() : different[0].message()));
    return *std::move(made);
}

std::size_t count(const chunked_capture& c, std::string_view op) {
    std::size_t n = 0;
    for (std::uint32_t v = 0; v < c.step.size(); ++v) n += c.step.op(v) == op;
    return n;
}

diagnostic refusal(const small_step& small, const std::vector<capture_chunk_region>& regions) {
    const capture step = small.made();
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const auto made = try_in_chunks(step, *tensors, regions);
    REQUIRE(!made);
    return made.error();
}

/// Changes what the last node says.
small_step edited(small_step s, const std::string& from, const std::string& to) {
    const std::size_t at = s.nodes.rfind(from);
    REQUIRE(at != std::string::npos);
    s.nodes.replace(at, from.size(), to);
    return s;
}

/// Adds a node that makes a number.
small_step with_number(small_step s, const char* name, const char* op, const char* reads, const char* args) {
    s.add(name, op, "view", {reads}, {}, args);
    return edited(std::move(s), R"({"shape":[],"dtype":"f32","symbolic":[]})", "");
}
small_step with_size(const char* name) {
    return with_number(two_inputs(), name, "aten.sym_size.int", "x", R"(["%0",0])");
}

/// A weight gradient gw of x and g, four tokens.
small_step weight_gradient() {
    return two_inputs()
        .add("g", "placeholder", "input", {}, {-4, 3})
        .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
        .add("gw", "aten.mm.default", "compute", {"xt", "g"}, {3, 3});
}

std::uint32_t at(const chunked_capture& c, std::string_view name) {
    const auto v = c.step.find(name);
    REQUIRE_MESSAGE(v, name);
    return *v;
}

}  // namespace

TEST_CASE("C1 chunk_batch_forward_region_semantics") {
    const small_step s = two_inputs()
                             .add("y", "aten.mm.default", "compute", {"x", "w"}, {-4, 3})
                             .add("r", "aten.neg.default", "compute", {"y"}, {-4, 3})
                             .add("out", "output", "output", {"r"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(o.plan.counts() == chunk_counts{2, 4, 1, 1, 0});
    CHECK(count(o, "aten.mm.default") == 2);
    CHECK(count(o, "aten.cat.default") == 1);
    CHECK(count(o, "aten.clone.default") == 0);
}

TEST_CASE("C2 chunk_batch_treats_previous_module_output_as_live_in") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("n", "aten.neg.default", "compute", {"r"}, {-4, 3})
                             .add("out", "output", "output", {"n"}, {});
    const chunked_capture o = in_chunks(s, {{{s.at("n")}, {2, 2}}});
    CHECK(o.plan.splits[0].value == s.at("r"));
    CHECK(count(o, "aten.neg.default") == 3);
}

TEST_CASE("C3 chunk_batch_materializes_between_selected_roots: only if they are two regions") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("n", "aten.neg.default", "compute", {"r"}, {-4, 3})
                             .add("out", "output", "output", {"n"}, {});
    const chunked_capture apart = in_chunks(s, {{{s.at("r")}, {2, 2}}, {{s.at("n")}, {1, 3}}});
    CHECK(count(apart, "aten.cat.default") == 2);
    CHECK(apart.plan.splits.size() == 2);
    const chunked_capture together = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(count(together, "aten.cat.default") == 1);
}

TEST_CASE("C4 chunk_batch_materializes_scalar_live_out: sizes of parts add up") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("t", "aten.sum.dim_IntList", "compute", {"r"}, {3}, "[\"%0\",[0]]")
                             .add("out", "output", "output", {"r", "t"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {3, 1}}});
    CHECK(count(o, "aten.add.Tensor") == 1);
}

TEST_CASE("C4, M7 a number is recombined as numbers are") {
    small_step s = two_inputs().add("r", "aten.neg.default", "compute", {"x"}, {-4, 3});
    s = with_number(std::move(s), "n", "aten.sym_size.int", "r", R"(["%0",0])");
    s.add("out", "output", "output", {"r", "n"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {3, 1}}});
    CHECK(count(o, "add") == 1);
    CHECK(count(o, "aten.add.Tensor") == 0);
}

TEST_CASE("C5 chunk_batch_rejects_invalid_region_boundaries: rows that the extent is no multiple of") {
    const small_step s =
        two_inputs().add("r", "aten.neg.default", "compute", {"x"}, {-4, 3}).add("out", "output", "output", {"r"}, {});
    CHECK(refusal(s, {{s.region, {2, 1}}}).cause.find("have 2 + 1 = 3") != std::string::npos);
}

TEST_CASE("C6, C9 as_strided: refused by name, strides of a part are not those of the whole") {
    const small_step s =
        two_inputs()
            .add("y", "aten.as_strided.default", "view", {"x"}, {-4, 3}, R"(["%0",[4,3],[3,1]])", ",\"alias\":[0]")
            .add("out", "output", "output", {"y"}, {});
    const diagnostic error = refusal(s, {{s.region, {2, 2}}});
    CHECK(error.node == s.at("y"));
    CHECK(error.cause.find("no rule for aten.as_strided.default") != std::string::npos);
}

TEST_CASE("C7 chunk_seq_keeps_parent_shape_template_full: what is read outside has its full extent") {
    small_step s = with_size("n");
    s.add("z", "aten.zeros.default", "compute", {"n"}, {-4, 3}, R"([["%0",3]])")
        .add("y", "aten.add.Tensor", "compute", {"x", "z"}, {-4, 3});
    const std::vector<std::uint32_t> body = s.region;
    s.add("template", "aten.zeros.default", "compute", {"n"}, {-4, 3}, R"([["%0",3]])")
        .add("out", "output", "output", {"y", "template"}, {});
    const chunked_capture o = in_chunks(s, {{body, {1, 3}}});
    CHECK(count(o, "aten.zeros.default") == 3);
    CHECK(o.step.outputs(at(o, "template")).find("[4,3]") != std::string_view::npos);
}

TEST_CASE("C8, C11, C12, C13 shapes that views spell: with -1, with numbers, as constants; and lists of dimensions") {
    small_step s = two_inputs();
    std::vector<std::int64_t> sizes = {3, 1};
    SUBCASE("C8: away and back, by the size of the tokens") {
        s = with_size("n");
        s.add("v", "aten.view.default", "view", {"x"}, {12}, R"(["%0",[-1]])", ",\"alias\":[0]")
            .add("a", "aten.neg.default", "compute", {"v"}, {12})
            .add("y", "aten.view.default", "view", {"a", "n"}, {-4, 3}, R"(["%0",["%1",3]])", ",\"alias\":[4]");
    }
    SUBCASE("C11: a constant is the part's in a part") {
        s.add("a", "aten.neg.default", "compute", {"x"}, {-4, 3})
            .add("y", "aten.view.default", "view", {"a"}, {-4, 3}, R"(["%0",[4,3]])", ",\"alias\":[2]");
    }
    SUBCASE("C12: -1") {
        s.add("a", "aten.neg.default", "compute", {"x"}, {-4, 3})
            .add("y", "aten.view.default", "view", {"a"}, {-4, 3}, R"(["%0",[-1,3]])", ",\"alias\":[2]");
    }
    SUBCASE("C13: dimensions are no extents") {
        s.add("a", "aten.unsqueeze.default", "view", {"x"}, {-4, 1, 3}, R"(["%0",1])", ",\"alias\":[0]")
            .add("y", "aten.squeeze.dims", "view", {"a"}, {-4, 3}, R"(["%0",[1]])", ",\"alias\":[2]");
    }
    s.add("out", "output", "output", {"y"}, {});
    CHECK(in_chunks(s, {{s.region, sizes}}).plan.counts().concats == 1);
}

TEST_CASE("C10, M15 extents that are computed are shared out once, exactly") {
    small_step s = with_size("n");
    s = with_number(std::move(s), "twice", "mul", "n", R"(["%0",2])");
    s = with_number(std::move(s), "flat", "mul", "n", R"(["%0",3])");
    s.add("z", "aten.zeros.default", "compute", {"twice"}, {8, 3}, R"([["%0",3]])")
        .add("y", "aten.neg.default", "compute", {"z"}, {8, 3})
        .add("v", "aten.view.default", "view", {"x", "flat"}, {12}, R"(["%0",["%1"]])", ",\"alias\":[0]")
        .add("out", "output", "output", {"y", "v"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {3, 1}}});
    CHECK(o.step.outputs(at(o, "z_chunk0")).find("[6,3]") != std::string_view::npos);
    CHECK(o.step.outputs(at(o, "z_chunk1")).find("[2,3]") != std::string_view::npos);
    CHECK(o.step.outputs(at(o, "v_chunk0")).find("[9]") != std::string_view::npos);
}

TEST_CASE("C14 chunk_batch_rejects_unsupported_live_outs: a maximum over the tokens") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("m", "aten.amax.default", "compute", {"r"}, {3}, "[\"%0\",[0]]")
                             .add("out", "output", "output", {"m"}, {});
    CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("m"));
}

TEST_CASE("C15, X3 a result of two tensors: a dead one is cloned like the other, and no parts of both leave") {
    small_step s = two_inputs().add("m", "aten.sort.default", "compute", {"x"}, {-4, 3}, R"(["%0",1])");
    const std::string one = R"({"shape":[4,3],"dtype":"f32","symbolic":["s",3]})";
    s = edited(std::move(s), one, one + R"(,{"shape":[4,3],"dtype":"i64","symbolic":["s",3]})");
    s = edited(std::move(s), R"("bytes":48)", R"("bytes":144)");
    s.add("used", "getitem", "view", {"m"}, {-4, 3}, R"(["%0",0])", ",\"alias\":[2]")
        .add("dead", "getitem", "view", {"m"}, {-4, 3}, R"(["%0",1])", ",\"alias\":[2]");
    s = edited(std::move(s), "f32", "i64");
    s.add("out", "output", "output", {"used"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(count(o, "aten.sort.default") == 2);
    CHECK(count(o, "getitem") == 4);
    CHECK(o.plan.joins.size() == 1);
    const diagnostic error = refusal(s, {{{s.at("m")}, {2, 2}}});
    CHECK(error.node == s.at("m"));
    CHECK(error.cause.find("read outside of the region by used") != std::string::npos);
}

TEST_CASE("C16 chunk_batch_preserves_buffer_mutation_order: every chunk adds to what the one before has left") {
    const small_step s = two_inputs()
                             .add("buffer", "placeholder", "input", {}, {3})
                             .add("count", "aten.sum.dim_IntList", "compute", {"x"}, {3}, "[\"%0\",[0]]")
                             .add("up", "aten.add_.Tensor", "compute", {"buffer", "count"}, {3}, "null",
                                  ",\"alias\":[2],\"mutates\":[2]")
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("out", "output", "output", {"r"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {2, 2}}});
    REQUIRE(o.plan.operations.size() == 3);
    CHECK(o.plan.operations[1].chained == 0);
    CHECK(o.plan.counts().sums == 0);
    CHECK(count(o, "aten.add_.Tensor") == 2);
    const auto first = o.step.find("up_chunk0"), second = o.step.find("up_chunk1");
    REQUIRE((first && second));
    CHECK(o.step.inputs(*second)[0] == *first);
}

/// The start of a collective and its wait, `name` and "done_" + name.
small_step& exchange(small_step& s, const std::string& name, const char* collective, const char* reads,
                     std::initializer_list<int> shape, const char* args) {
    const std::string op = std::string("_c10d_functional.") + collective + ".default", done = "done_" + name;
    const std::string kind = op.find("gather") != std::string::npos    ? "all_gather"
                             : op.find("scatter") != std::string::npos ? "reduce_scatter"
                                                                       : "all_reduce";
    const std::string alias = ",\"alias\":[" + std::to_string(s.names.size()) + "]";
    s.add(name.c_str(), op.c_str(), "start", {reads}, shape, args,
          (",\"collective\":\"" + kind + "\",\"group\":0,\"payload\":48").c_str());
    return s.add(done.c_str(), "_c10d_functional.wait_tensor.default", "wait", {name.c_str()}, shape, "null",
                 alias.c_str());
}

TEST_CASE("C17 chunk_batch_rejects_non_ep_collective_in_body: rows that all ranks cut alike may be reduced in chunks") {
    for (const char* how : {"sum", "avg", "max"}) {
        small_step s = two_inputs();
        s.ranks = 2;
        s.add("r", "aten.mm.default", "compute", {"x", "w"}, {-4, 3});
        exchange(s, "all", "all_reduce", "r", {-4, 3}, (R"(["%0",")" + std::string(how) + R"(","dp"])").c_str());
        s.add("y", "aten.mul.Tensor", "compute", {"done_all", "x"}, {-4, 3}).add("out", "output", "output", {"y"}, {});
        for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{2, 2}, {1, 3}, {1, 2, 1}})
            CHECK(count(in_chunks(s, {{s.region, sizes}}), "_c10d_functional.all_reduce.default") == sizes.size());
    }
}

TEST_CASE("blocks of ranks are gathered and scattered in chunks of what lies across them, and not along them") {
    small_step s = two_inputs();
    s.ranks = 2;
    s.add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
        .add("mine", "aten.neg.default", "compute", {"xt"}, {3, -4});
    exchange(s, "all", "all_gather_into_tensor", "mine", {6, -4}, R"(["%0",2,"dp"])");
    s.add("square", "aten.mul.Tensor", "compute", {"done_all"}, {6, -4}, R"(["%0","%0"])");
    exchange(s, "part", "reduce_scatter_tensor", "square", {3, -4}, R"(["%0","sum",2,"dp"])");
    s.add("out", "output", "output", {"done_part"}, {});
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{2, 2}, {3, 1}, {1, 1, 2}}) {
        const chunked_capture o = in_chunks(s, {{s.region, sizes}});
        CHECK(count(o, "_c10d_functional.all_gather_into_tensor.default") == sizes.size());
        CHECK(count(o, "_c10d_functional.reduce_scatter_tensor.default") == sizes.size());
    }
    small_step along = two_inputs();
    along.ranks = 2;
    along.add("r", "aten.neg.default", "compute", {"x"}, {-4, 3});
    exchange(along, "part", "reduce_scatter_tensor", "r", {2, 3}, R"(["%0","sum",2,"dp"])");
    along.add("out", "output", "output", {"done_part"}, {});
    CHECK(refusal(along, {{along.region, {2, 2}}}).node == along.at("part"));
}

TEST_CASE("the batch may be cut behind the sequence: rows of products lie in blocks, one for each place") {
    // As tensor parallelism along the sequence has it: gathered, multiplied, scattered; and the gradient of the weight.
    small_step s = two_inputs();
    s.ranks = 2;
    s.add("x3", "placeholder", "input", {}, {2, -4, 3});
    exchange(s, "all", "all_gather_into_tensor", "x3", {4, -4, 3}, R"(["%0",2,"dp"])");
    s.add("rows", "aten.reshape.default", "view", {"done_all"}, {16, 3}, R"(["%0",[16,3]])", ",\"alias\":[3]")
        .add("y", "aten.mm.default", "compute", {"rows", "w"}, {16, 3})
        .add("y3", "aten.reshape.default", "view", {"y"}, {4, -4, 3}, R"(["%0",[4,4,3]])", ",\"alias\":[6]");
    exchange(s, "part", "reduce_scatter_tensor", "y3", {2, -4, 3}, R"(["%0","sum",2,"dp"])");
    s.add("rt", "aten.t.default", "view", {"rows"}, {3, 16}, "null", ",\"alias\":[3]")
        .add("gw", "aten.mm.default", "compute", {"rt", "y"}, {3, 3})
        .add("out", "output", "output", {"done_part", "gw"}, {});
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{2, 2}, {1, 3}, {2, 1, 1}}) {
        const chunked_capture o = in_chunks(s, {{s.region, sizes}});
        CHECK(count(o, "aten.mm.default") == 2 * sizes.size());
        CHECK(count(o, "_c10d_functional.all_gather_into_tensor.default") == sizes.size());
        CHECK(count(o, "_c10d_functional.reduce_scatter_tensor.default") == sizes.size());
    }
}

TEST_CASE("M5 a reduction of shares of chunks runs once, on their sum") {
    const small_step s =
        two_inputs()
            .add("t", "aten.sum.dim_IntList", "compute", {"x"}, {3}, "[\"%0\",[0]]")
            .add("all", "_c10d_functional.all_reduce.default", "start", {"t"}, {3}, "[\"%0\",\"sum\",\"dp\"]",
                 ",\"collective\":\"all_reduce\",\"group\":0,\"payload\":12")
            .add("done", "_c10d_functional.wait_tensor.default", "wait", {"all"}, {3}, "null", ",\"alias\":[3]")
            .add("y", "aten.mul.Tensor", "compute", {"x", "done"}, {-4, 3})
            .add("out", "output", "output", {"y"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {1, 3}}});
    CHECK(count(o, "_c10d_functional.all_reduce.default") == 1);
    CHECK(count(o, "aten.mul.Tensor") == 2);
}

TEST_CASE("C18 chunk_batch_keeps_no_dim_control_path_to_ep_marker: rows times a sum of all rows need all rows") {
    const small_step s = two_inputs()
                             .add("t", "aten.sum.dim_IntList", "compute", {"x"}, {3}, "[\"%0\",[0]]")
                             .add("u", "aten.sum.default", "compute", {"t"}, {})
                             .add("y", "aten.mul.Tensor", "compute", {"x", "u"}, {-4, 3})
                             .add("out", "output", "output", {"y"}, {});
    CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("y"));
    const chunked_capture o = in_chunks(s, {{{s.at("t"), s.at("y")}, {2, 2}}});  // u waits for both chunks
    CHECK(count(o, "aten.mul.Tensor") == 2);
    CHECK(o.plan.counts().sums == 1);
}

TEST_CASE("C19, C20 factories and numbers of rows of a chunk") {
    small_step s = with_size("n");
    SUBCASE("C19: extents") {
        s.add("z", "aten.zeros.default", "compute", {"n"}, {-4, 3}, R"([["%0",3]])")
            .add("like", "aten.zeros_like.default", "compute", {"x"}, {-4, 3})
            .add("a", "aten.add.Tensor", "compute", {"z", "like"}, {-4, 3})
            .add("y", "aten.add.Tensor", "compute", {"a", "x"}, {-4, 3})
            .add("out", "output", "output", {"y"}, {});
        const chunked_capture o = in_chunks(s, {{s.region, {3, 1}}});
        CHECK(count(o, "aten.zeros.default") == 2);
        CHECK(o.step.outputs(at(o, "z_chunk0")).find("[3,3]") != std::string_view::npos);
    }
    SUBCASE("C20: rows that are looked up backwards, and backwards again") {
        s.add("k", "aten.arange.default", "compute", {"n"}, {-4}, R"(["%0"])");
        s = edited(std::move(s), "f32", "i64");
        s = edited(std::move(s), R"("bytes":16)", R"("bytes":32)");
        s.add("f", "aten.flip.default", "compute", {"k"}, {-4}, R"(["%0",[0]])");
        s = edited(std::move(s), "f32", "i64");
        s = edited(std::move(s), R"("bytes":16)", R"("bytes":32)");
        s.add("r", "aten.index_select.default", "compute", {"x", "f"}, {-4, 3}, R"(["%0",0,"%1"])");
        small_step back = s;
        s.add("out", "output", "output", {"r"}, {});
        // Each chunk backwards is not all rows backwards.
        CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("r"));
        back.add("y", "aten.flip.default", "compute", {"r"}, {-4, 3}, R"(["%0",[0]])")
            .add("out", "output", "output", {"y"}, {});
        const capture step = back.made();
        const auto tensors = capture_tensors::read(step);
        REQUIRE(tensors);
        const auto made = try_in_chunks(step, *tensors, {{back.region, {3, 1}}});  // verified, not executed
        REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
        CHECK(count(*made, "aten.arange.default") == 2);
        CHECK(count(*made, "aten.index_select.default") == 2);
    }
}

TEST_CASE("W1 cats_activation_grad_and_sums_param_grad") {
    const small_step s = two_inputs()
                             .add("g", "placeholder", "input", {}, {-4, 3})
                             .add("gx", "aten.mm.default", "compute", {"g", "w"}, {-4, 3})
                             .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
                             .add("gw", "aten.mm.default", "compute", {"xt", "g"}, {3, 3})
                             .add("out", "output", "output", {"gx", "gw"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {1, 1, 2}}});
    CHECK(count(o, "aten.cat.default") == 1);
    CHECK(count(o, "aten.add.Tensor") == 2);
    CHECK(count(o, "aten.mm.default") == 6);
}

TEST_CASE("W2, W6 sums_internal_no_dim_live_out: what only carries the sum on runs once") {
    const small_step s = two_inputs()
                             .add("g", "placeholder", "input", {}, {-4, 3})
                             .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
                             .add("gw", "aten.mm.default", "compute", {"xt", "g"}, {3, 3})
                             .add("n", "aten.neg.default", "compute", {"gw"}, {3, 3})
                             .add("out", "output", "output", {"n"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(count(o, "aten.add.Tensor") == 1);
    CHECK(count(o, "aten.neg.default") == 1);
}

TEST_CASE(
    "W2 one of several sums is taken out of them in every chunk: a loss over rows is not made of all rows again") {
    small_step s = two_inputs().add("y", "aten.argmax.default", "compute", {"x"}, {-4}, R"(["%0",1])");
    s = edited(std::move(s), R"("shape":[4],"dtype":"f32")", R"("shape":[4],"dtype":"i64")");
    s = edited(std::move(s), R"("bytes":16)", R"("bytes":32)");
    s.add("l", "aten.nll_loss_forward.default", "compute", {"x", "y"}, {}, R"(["%0","%1",null,2,-100])");
    const std::string one = R"({"shape":[],"dtype":"f32","symbolic":[]})";
    s = edited(std::move(s), one, one + "," + one);
    s = edited(std::move(s), R"("bytes":4)", R"("bytes":8)");
    s.add("loss", "getitem", "view", {"l"}, {}, R"(["%0",0])", ",\"alias\":[3]")
        .add("n", "aten.neg.default", "compute", {"loss"}, {})
        .add("out", "output", "output", {"n"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(count(o, "aten.nll_loss_forward.default") == 2);
    CHECK(count(o, "aten.cat.default") == 0);
    CHECK(count(o, "aten.add.Tensor") == 1);
    CHECK(count(o, "aten.neg.default") == 1);
}

TEST_CASE("W3 sums_grad_before_grad_collective") {
    const small_step s =
        two_inputs()
            .add("g", "placeholder", "input", {}, {-4, 3})
            .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
            .add("gw", "aten.mm.default", "compute", {"xt", "g"}, {3, 3})
            .add("all", "_c10d_functional.all_reduce.default", "start", {"gw"}, {3, 3}, "[\"%0\",\"sum\",\"dp\"]",
                 ",\"collective\":\"all_reduce\",\"group\":0,\"payload\":36")
            .add("done", "_c10d_functional.wait_tensor.default", "wait", {"all"}, {3, 3}, "null", ",\"alias\":[5]")
            .add("out", "output", "output", {"done"}, {});
    const std::vector<std::uint32_t> body = {s.at("xt"), s.at("gw")};
    const chunked_capture o = in_chunks(s, {{body, {2, 2}}});
    CHECK(count(o, "aten.add.Tensor") == 1);
    CHECK(count(o, "_c10d_functional.all_reduce.default") == 1);
}

TEST_CASE("W3 the sum is there before the collective asks for it: right behind the last part") {
    small_step s = weight_gradient();
    s.add("gx", "aten.mm.default", "compute", {"g", "w"}, {-4, 3})
        .add("rs", "_c10d_functional.reduce_scatter_tensor.default", "start", {"gw"}, {3, 3},
             "[\"%0\",\"sum\",1,\"dp\"]", ",\"collective\":\"reduce_scatter\",\"group\":0,\"payload\":36")
        .add("done", "_c10d_functional.wait_tensor.default", "wait", {"rs"}, {3, 3}, "null", ",\"alias\":[6]")
        .add("out", "output", "output", {"gx", "done"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {1, 1, 2}}});  // the collective reads sums: it runs once
    CHECK(count(o, "_c10d_functional.reduce_scatter_tensor.default") == 1);
    const std::uint32_t sum = o.step.inputs(at(o, "rs"))[0];
    CHECK(o.step.op(sum) == "aten.add.Tensor");
    CHECK(sum == at(o, "gw_chunk2") + 2);
    CHECK(sum < at(o, "gx_chunk0"));
}

TEST_CASE("W4 sums_after_dtype_change") {
    std::string op = "prims.convert_element_type.default", args = R"(["%0","f64"])", named;
    std::size_t converted = 1;  // the sum converts the other parts
    SUBCASE("as prims spell it") {}
    SUBCASE("as aten spells it") {
        op = "aten._to_copy.default";
        args = R"(["%0"])";
        named = R"(,"kwargs":{"dtype":"f64"})";
    }
    SUBCASE("to another device, which no sum does") {
        op = "aten._to_copy.default";
        args = R"(["%0"])";
        named = R"(,"kwargs":{"dtype":"f64","device":"cpu"})";
        converted = 3;
    }
    small_step s = weight_gradient();
    s.add("c", op.c_str(), "compute", {"gw"}, {3, 3}, args.c_str(), named.c_str());
    s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"f64")");
    s = edited(std::move(s), R"("bytes":36)", R"("bytes":72)");
    s.add("out", "output", "output", {"c"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {1, 2, 1}}});
    CHECK(count(o, op) == converted);
    CHECK(count(o, "aten.mm.default") == 3);
    CHECK(count(o, "aten.add.Tensor") == 2);
    const std::uint32_t sum = o.step.inputs(at(o, "out"))[0], first = o.step.inputs(sum)[0];
    CHECK(o.step.inputs(first)[0] == at(o, "c_chunk0"));
    CHECK(o.step.inputs(first)[1] == at(o, converted == 1 ? "gw_chunk1" : "c_chunk1"));
    CHECK(o.step.inputs(sum)[1] == at(o, converted == 1 ? "gw_chunk2" : "c_chunk2"));
    CHECK(o.step.outputs(first).find("f64") != std::string_view::npos);
    CHECK(o.step.outputs(sum).find("f64") != std::string_view::npos);
}

TEST_CASE("a narrowing conversion runs in every chunk") {
    small_step s = weight_gradient();
    s.add("c", "prims.convert_element_type.default", "compute", {"gw"}, {3, 3}, R"(["%0","f16"])");
    s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"f16")");
    s = edited(std::move(s), R"("bytes":36)", R"("bytes":18)");
    s.add("out", "output", "output", {"c"}, {});
    CHECK(count(in_chunks(s, {{s.region, {2, 2}}}), "prims.convert_element_type.default") == 2);
}

TEST_CASE("W5 replays_grad_collective_after_dtype_change") {
    small_step s = weight_gradient();
    s.add("c", "prims.convert_element_type.default", "compute", {"gw"}, {3, 3}, R"(["%0","f64"])");
    s = edited(std::move(s), "f32", "f64");
    s = edited(std::move(s), R"("bytes":36)", R"("bytes":72)");
    s.add("rs", "_c10d_functional.reduce_scatter_tensor.default", "start", {"c"}, {3, 3}, "[\"%0\",\"sum\",1,\"dp\"]",
          ",\"collective\":\"reduce_scatter\",\"group\":0,\"payload\":72");
    s = edited(std::move(s), "f32", "f64");
    s = edited(std::move(s), R"("bytes":36)", R"("bytes":72)");
    s.add("done", "_c10d_functional.wait_tensor.default", "wait", {"rs"}, {3, 3}, "null", ",\"alias\":[6]");
    s = edited(std::move(s), "f32", "f64");
    s.add("out", "output", "output", {"done"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(count(o, "prims.convert_element_type.default") == 1);
    CHECK(count(o, "aten.add.Tensor") == 1);
    CHECK(count(o, "_c10d_functional.reduce_scatter_tensor.default") == 1);
    CHECK(count(o, "_c10d_functional.wait_tensor.default") == 1);
}

TEST_CASE("backward reads the parts that forward has left") {
    const small_step s = two_inputs()
                             .add("g", "placeholder", "input", {}, {-4, 3})
                             .add("y", "aten.mm.default", "compute", {"x", "w"}, {-4, 3})
                             .add("r", "aten.relu.default", "compute", {"y"}, {-4, 3})
                             .add("loss", "aten.sum.default", "compute", {"r"}, {})
                             .add("gr", "aten.mul.Tensor", "compute", {"g", "r"}, {-4, 3})
                             .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
                             .add("gw", "aten.mm.default", "compute", {"xt", "gr"}, {3, 3})
                             .add("out", "output", "output", {"loss", "gw"}, {});
    const chunked_capture o = in_chunks(s, {{s.region, {1, 3}}});
    CHECK(o.plan.counts() == chunk_counts{6, 12, 2, 0, 2});  // M14: x is cut once for both directions
    CHECK(o.step.inputs(at(o, "gr_chunk1"))[1] == at(o, "r_chunk1"));
}

TEST_CASE("counts that are added to zeros in place are those of a chunk where rows are read by them") {
    small_step s = two_inputs().add("choice", "aten.argmax.default", "compute", {"x"}, {-4}, R"(["%0",1])");
    const auto integers = [&](const char* bytes, const char* twice) {
        s = edited(edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i64")"), bytes, twice);
    };
    integers(R"("bytes":16)", R"("bytes":32)");
    s.add("ones", "aten.ones_like.default", "compute", {"choice"}, {-4});
    integers(R"("bytes":16)", R"("bytes":32)");
    bool beside = false;
    SUBCASE("made of nothing") {
        s.add("zeros", "aten.zeros.default", "compute", {}, {3}, "[[3]]", R"(,"kwargs":{"dtype":"i64"})");
    }
    SUBCASE("made beside rows") {
        s.add("zeros", "aten.new_zeros.default", "compute", {"choice"}, {3}, R"(["%0",[3]])");
        beside = true;
    }
    integers(R"("bytes":12)", R"("bytes":24)");
    s.add("counts", "aten.index_add_.default", "compute", {"zeros", "choice", "ones"}, {3}, R"(["%0",0,"%1","%2"])",
          R"(,"alias":[4],"mutates":[4])");
    s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i64")");
    const small_step counted = s;

    // Rows in groups of the counts: they are in no order that all chunks share.
    s = with_number(std::move(s), "n", "aten.sym_size.int", "choice", R"(["%0",0])");
    s.add("runs", "aten.repeat_interleave.Tensor", "compute", {"counts", "n"}, {-4}, R"(["%0"])",
          R"(,"kwargs":{"output_size":"%1"})");
    integers(R"("bytes":16)", R"("bytes":32)");
    s.add("rows", "aten.index_select.default", "compute", {"w", "runs"}, {-4, 3}, R"(["%0",0,"%1"])")
        .add("total", "aten.sum.dim_IntList", "compute", {"rows"}, {3}, R"(["%0",[0]])")
        .add("out", "output", "output", {"total", "counts"}, {});
    const chunked_capture apart = in_chunks(s, {{s.region, {1, 2, 1}}});
    CHECK(count(apart, beside ? "aten.new_zeros.default" : "aten.zeros.default") == 3);
    CHECK(count(apart, "aten.index_add_.default") == 3);
    CHECK(apart.step.inputs(at(apart, "counts_chunk1"))[0] == at(apart, "zeros_chunk1"));
    CHECK(apart.step.inputs(at(apart, "runs_chunk1"))[0] == at(apart, "counts_chunk1"));

    // Nobody needs the parts: one buffer is enough.
    s = counted;
    s.add("less", "aten.neg.default", "compute", {"counts"}, {3});
    integers(R"("bytes":12)", R"("bytes":24)");
    s.add("out", "output", "output", {"less"}, {});
    const chunked_capture chain = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(count(chain, beside ? "aten.new_zeros.default" : "aten.zeros.default") == 1);
    CHECK(chain.step.inputs(at(chain, "counts_chunk1"))[0] == at(chain, "counts_chunk0"));

    // Rows beside all counts: they must be whole, which is no reason for the rows to be.
    s = counted;
    s.add("scaled", "aten.mul.Tensor", "compute", {"x", "counts"}, {-4, 3})
        .add("sum", "aten.sum.dim_IntList", "compute", {"scaled"}, {3}, R"(["%0",[0]])")
        .add("out", "output", "output", {"sum"}, {});
    const chunked_capture whole = in_chunks(s, {{s.region, {2, 2}}});
    CHECK(whole.step.inputs(at(whole, "counts_chunk1"))[0] == at(whole, "counts_chunk0"));
    CHECK(whole.step.inputs(at(whole, "scaled_chunk0"))[1] == at(whole, "counts_chunk1"));
}

TEST_CASE("rows that a grouped product has in groups are in the order of runs of the same counts") {
    const auto integers = [](small_step s, const char* type, const std::string& from, const std::string& to) {
        return edited(edited(std::move(s), R"("dtype":"f32")", std::string(R"("dtype":")") + type + '"'), from, to);
    };
    small_step s = two_inputs()
                       .add("experts", "placeholder", "input", {}, {3, 3, 3})
                       .add("biases", "placeholder", "input", {}, {3, 3})
                       .add("choice", "aten.argmax.default", "compute", {"x"}, {-4}, R"(["%0",1])");
    s = integers(std::move(s), "i64", R"("bytes":16)", R"("bytes":32)");
    s.add("counts", "aten.histc.default", "compute", {"choice"}, {3}, R"(["%0",3,0,3])");
    s = integers(std::move(s), "i64", R"("bytes":12)", R"("bytes":24)");
    s.add("sorted", "aten.sort.stable", "compute", {"choice"}, {-4}, "null", R"(,"kwargs":{"stable":true})");
    const std::string one = R"({"shape":[4],"dtype":"i64","symbolic":["s"]})";
    s = edited(integers(std::move(s), "i64", R"("bytes":16)", R"("bytes":64)"), one, one + "," + one);
    s.add("order", "getitem", "view", {"sorted"}, {-4}, R"(["%0",1])", R"(,"alias":[6])");
    s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i64")");
    s.add("rows", "aten.index.Tensor", "compute", {"x", "order"}, {-4, 3}, R"(["%0",["%1"]])")
        .add("ends", "aten.cumsum.default", "compute", {"counts"}, {3}, R"(["%0",0])", R"(,"kwargs":{"dtype":"i32"})");
    s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i32")");
    s = with_number(std::move(s), "n", "aten.sym_size.int", "order", R"(["%0",0])");
    const auto finish = [&](const char* counts) {
        s.add("runs", "aten.repeat_interleave.Tensor", "compute", {counts, "n"}, {-4}, R"(["%0"])",
              R"(,"kwargs":{"output_size":"%1"})");
        s = integers(std::move(s), "i64", R"("bytes":16)", R"("bytes":32)");
        s.add("bias", "aten.index_select.default", "compute", {"biases", "runs"}, {-4, 3}, R"(["%0",0,"%1"])");
    };
    const auto product = [&] {
        s.add("product", "aten._grouped_mm.default", "compute", {"rows", "experts", "ends"}, {-4, 3});
    };
    const char* counts = "counts";
    SUBCASE("the product first") {
        product();
        finish(counts);
    }
    SUBCASE("the runs first") {
        finish(counts);
        product();
    }
    SUBCASE("the counts as differences of their running sum") {
        s.add("zero", "aten.zeros.default", "compute", {}, {1}, "[[1]]", R"(,"kwargs":{"dtype":"i32"})");
        s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i32")");
        s.add("bounds", "aten.cat.default", "compute", {"zero", "ends"}, {4}, R"([["%0","%1"],0])");
        s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i32")");
        s.add("above", "aten.slice.Tensor", "view", {"bounds"}, {3}, R"(["%0",0,1,9223372036854775807])",
              R"(,"alias":[11])");
        s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i32")");
        s.add("below", "aten.slice.Tensor", "view", {"bounds"}, {3}, R"(["%0",0,0,-1])", R"(,"alias":[11])");
        s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i32")");
        s.add("apart", "aten.sub.Tensor", "compute", {"above", "below"}, {3}, R"(["%0","%1"])");
        s = edited(std::move(s), R"("dtype":"f32")", R"("dtype":"i32")");
        s.add("again", "aten._to_copy.default", "compute", {"apart"}, {3}, R"(["%0"])", R"(,"kwargs":{"dtype":"i64"})");
        s = integers(std::move(s), "i64", R"("bytes":12)", R"("bytes":24)");
        product();
        finish("again");
    }
    SUBCASE("other counts: no") {
        s.add("others", "aten.mul.Tensor", "compute", {"counts"}, {3}, R"(["%0",1])");
        s = integers(std::move(s), "i64", R"("bytes":12)", R"("bytes":24)");
        counts = "others";
        product();
        finish(counts);
    }
    s.add("y", "aten.add.Tensor", "compute", {"product", "bias"}, {-4, 3})
        .add("zeros", "aten.zeros_like.default", "compute", {"x"}, {-4, 3})
        .add("back", "aten.index_put.default", "compute", {"zeros", "order", "y"}, {-4, 3}, R"(["%0",["%1"],"%2"])")
        .add("out", "output", "output", {"back"}, {});
    if (std::string_view(counts) == "others") {
        CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("y"));
    } else {
        const chunked_capture o = in_chunks(s, {{s.region, {1, 3}}});
        CHECK(count(o, "aten._grouped_mm.default") == 2);
        CHECK(count(o, "aten.index_put.default") == 2);
    }
}

TEST_CASE("X1 eager_chunking_is_idempotent: parts are not cut again") {
    const small_step s =
        two_inputs().add("r", "aten.neg.default", "compute", {"x"}, {-4, 3}).add("out", "output", "output", {"r"}, {});
    const chunked_capture once = in_chunks(s, {{s.region, {2, 2}}});
    const auto tensors = capture_tensors::read(once.step);
    REQUIRE(tensors);
    const auto again = try_in_chunks(once.step, *tensors, {{{at(once, "x_part0"), at(once, "r_chunk0")}, {2, 2}}});
    REQUIRE(!again);
    CHECK(again.error().node == at(once, "x_part0"));
}

TEST_CASE("X4, X5, X6, X7 inputs beside the activation are cut where rows meet rows") {
    small_step s = two_inputs();
    std::size_t splits = 1;
    SUBCASE("X6: none") { s.add("y", "aten.neg.default", "compute", {"x"}, {-4, 3}); }
    SUBCASE("X4, X7: positions, which lie along the tokens as well") {
        s.add("p", "placeholder", "input", {}, {-4, 1}).add("y", "aten.mul.Tensor", "compute", {"x", "p"}, {-4, 3});
        splits = 2;
    }
    SUBCASE("X5: a mask of the same extent, of which nobody said so") {
        s.add("mask", "placeholder", "input", {}, {4, 3})
            .add("y", "aten.mul.Tensor", "compute", {"x", "mask"}, {-4, 3});
        splits = 2;
    }
    s.add("out", "output", "output", {"y"}, {});
    CHECK(in_chunks(s, {{s.region, {1, 3}}}).plan.splits.size() == splits);
}

TEST_CASE("X9, R1 block masks are refused: which rows a table names is not a share of the whole") {
    const small_step s = two_inputs()
                             .add("k", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("v", "aten.neg.default", "compute", {"k"}, {-4, 3})
                             .add("y", "flex_attention", "compute", {"x", "k", "v"}, {-4, 3})
                             .add("out", "output", "output", {"y"}, {});
    CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("y"));
}
