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

#include "stretto/interop/capture_tensors.hpp"
#include "stretto/interop/capture_tokens.hpp"
#include "stretto/interop/capture_view.hpp"
#include "stretto/interop/chunk_capture.hpp"
#include "stretto/testing/interpreter.hpp"
#include "support/shrunken_step.hpp"
#include "support/small_step.hpp"

using namespace stretto;
using namespace stretto::testing;
using support::small_step;
using support::two_inputs;

namespace {

interpretation run(const capture& step, const capture_tensors& tensors, const capture& original) {
    const capture_view view{&step};
    const support::named_tensor_model model{{&step, &tensors}};
    input_options options;
    options.whole_numbers = true;
    const auto inputs = make_inputs(view, capture_op_model{&step}, model, options);
    CHECK(original.name(0) == step.name(0));  // inputs come first in both, in the same order
    const auto done = interpret(
        view, capture_op_model{&step}, model,
        [&](std::uint32_t v) { return std::span<const interpreted_value>(inputs[v]); }, interpreter_options{});
    REQUIRE_MESSAGE(done, (done ? std::string() : done.error().message()));
    return *done;
}

auto try_in_chunks(const capture& step, const capture_tensors& tensors,
                   const std::vector<capture_chunk_region>& regions) {
    const auto tokens = token_symbols_of(step);
    REQUIRE(tokens.size() == 1);
    return chunk_capture(step, tensors, regions, tokens[0].dimensions);
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
    const auto different = compare(run(step, *tensors, step), run(made->step, *new_tensors, step));
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

TEST_CASE("C5 chunk_batch_rejects_invalid_region_boundaries: rows that the extent is no multiple of") {
    const small_step s =
        two_inputs().add("r", "aten.neg.default", "compute", {"x"}, {-4, 3}).add("out", "output", "output", {"r"}, {});
    CHECK(refusal(s, {{s.region, {2, 1}}}).cause.find("have 2 + 1 = 3") != std::string::npos);
}

TEST_CASE("C14 chunk_batch_rejects_unsupported_live_outs: a maximum over the tokens") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("m", "aten.amax.default", "compute", {"r"}, {3}, "[\"%0\",[0]]")
                             .add("out", "output", "output", {"m"}, {});
    CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("m"));
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

TEST_CASE("C17 chunk_batch_rejects_non_ep_collective_in_body: it is no sum of its parts") {
    const small_step s =
        two_inputs()
            .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
            .add("all", "_c10d_functional.all_reduce.default", "start", {"r"}, {-4, 3}, "[\"%0\",\"sum\",\"dp\"]",
                 ",\"collective\":\"all_reduce\",\"group\":0,\"payload\":48")
            .add("done", "_c10d_functional.wait_tensor.default", "wait", {"all"}, {-4, 3}, "null", ",\"alias\":[3]")
            .add("out", "output", "output", {"done"}, {});
    CHECK(refusal(s, {{s.region, {2, 2}}}).node == s.at("all"));
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
