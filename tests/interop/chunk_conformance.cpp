// Scenarios of torchtitan's graph chunker, one test case each, named after them: what its tests expect of a chunked
// program, and what ours does. Every plan is verified and executed against the program whole, on whole numbers,
// exactly.
#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/interop/capture_chunker.hpp"
#include "stretto/interop/capture_reader.hpp"
#include "stretto/interop/capture_tokens.hpp"
#include "stretto/testing/interpreter.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using namespace stretto::testing;
using reason = chunk_error<std::uint32_t>::reason;

namespace {

/// A step of a few operations on f32; an extent -4 is the four tokens, s.
struct small_step {
    std::string nodes;
    std::vector<std::string> names;
    std::vector<std::uint32_t> region;  // all but inputs and outputs

    small_step& add(const char* name, const char* op, const char* kind, std::initializer_list<const char*> reads,
                    std::initializer_list<int> shape, const char* args = "null", const char* more = "") {
        std::string inputs, extents, symbolic;
        std::int64_t size = 4;
        for (const char* r : reads)
            for (std::size_t k = 0; k < names.size(); ++k)
                if (names[k] == r) inputs += (inputs.empty() ? "" : ",") + std::to_string(k);
        for (int e : shape) {
            const std::string comma = extents.empty() ? "" : ",";
            extents += comma + std::to_string(e < 0 ? -e : e);
            symbolic += comma + (e < 0 ? "\"s\"" : std::to_string(e));
            size *= e < 0 ? -e : e;
        }
        const bool allocates = std::string_view(kind) != "view" && std::string_view(kind) != "wait" &&
                               std::string_view(kind) != "output" &&
                               std::string_view(more).find("alias") == std::string_view::npos;
        const std::string output =
            std::string_view(kind) == "output"
                ? ""
                : "{\"shape\":[" + extents + "],\"dtype\":\"f32\",\"symbolic\":[" + symbolic + "]}";
        nodes += (nodes.empty() ? "" : ",\n") + std::string("{\"name\":\"") + name + "\",\"op\":\"" + op +
                 "\",\"kind\":\"" + kind + "\",\"inputs\":[" + inputs + "],\"args\":" + args + ",\"outputs\":[" +
                 output + "],\"bytes\":" + std::to_string(allocates ? size : 0) +
                 ",\"ns\":" + (std::string_view(kind) == "compute" ? "1000" : "0") + more + "}";
        if (std::string_view(kind) != "input" && std::string_view(kind) != "output")
            region.push_back(static_cast<std::uint32_t>(names.size()));
        names.emplace_back(name);
        return *this;
    }
    [[nodiscard]] capture made() const {
        auto step = parse_capture(
            R"({"format":"stretto-graph","version":1,"name":"small","groups":[{"name":"dp","size":1}],)"
            R"("costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{}},"symbols":{"s":4},"nodes":[)" +
                nodes + "]}",
            "small.json");
        REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
        return *std::move(step);
    }
    [[nodiscard]] std::uint32_t at(std::string_view name) const {
        for (std::uint32_t k = 0; k < names.size(); ++k)
            if (names[k] == name) return k;
        return UINT32_MAX;
    }
};

small_step two_inputs() {
    return small_step().add("x", "placeholder", "input", {}, {-4, 3}).add("w", "placeholder", "input", {}, {3, 3});
}

struct outcome {
    chunk_plan<std::uint32_t, std::uint32_t> plan;
    capture step;
    [[nodiscard]] std::size_t count(std::string_view op) const {
        std::size_t n = 0;
        for (std::uint32_t v = 0; v < step.size(); ++v) n += step.op(v) == op;
        return n;
    }
};

auto plan_of(const capture& step, const capture_chunk_model& model, const std::vector<chunk_region<std::uint32_t>>& r,
             bool skip = false) {
    const auto tokens = token_symbols_of(step);
    REQUIRE(tokens.size() == 1);
    return plan_chunks(capture_view{&step}, capture_op_model{&step}, model,
                       std::span<const chunk_region<std::uint32_t>>(r),
                       std::span<const token_dimension<std::uint32_t>>(tokens[0].dimensions), {.skip_refused = skip});
}

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

/// Chunks the region, verifies, executes both forms and compares them exactly.
outcome chunked(const small_step& small, std::vector<chunk_region<std::uint32_t>> regions) {
    const capture step = small.made();
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const capture_view view{&step};
    aten_ledger ledger;
    const capture_chunk_model model(view, {&step, &*tensors}, ledger);
    auto plan = plan_of(step, model, regions);
    REQUIRE_MESSAGE(plan, (plan ? std::string() : std::string(plan.error().detail)));
    const auto verified = verify_chunks(*plan, view, capture_op_model{&step}, model);
    REQUIRE(verified);
    capture_chunker chunker(step, *tensors, model);
    apply_chunks(*plan, view, chunker);
    auto made = chunker.build();
    REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
    const auto new_tensors = capture_tensors::read(*made);
    REQUIRE(new_tensors);
    const auto different = compare(run(step, *tensors, step), run(*made, *new_tensors, step));
    CHECK_MESSAGE(different.empty(), (different.empty() ? std::string() : different[0].message()));
    return {std::move(*plan), std::move(*made)};
}

chunk_error<std::uint32_t> refusal(const small_step& small, std::vector<chunk_region<std::uint32_t>> regions) {
    const capture step = small.made();
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    aten_ledger ledger;
    const capture_chunk_model model(capture_view{&step}, {&step, &*tensors}, ledger);
    const auto plan = plan_of(step, model, regions);
    REQUIRE(!plan);
    return {plan.error().why, plan.error().region, plan.error().vertex, plan.error().other, {}};
}

}  // namespace

TEST_CASE("C1 chunk_batch_forward_region_semantics") {
    const small_step s = two_inputs()
                             .add("y", "aten.mm.default", "compute", {"x", "w"}, {-4, 3})
                             .add("r", "aten.neg.default", "compute", {"y"}, {-4, 3})
                             .add("out", "output", "output", {"r"}, {});
    const outcome o = chunked(s, {{s.region, {2, 2}}});
    CHECK(o.plan.counts() == chunk_counts{2, 4, 1, 1, 0});
    CHECK(o.count("aten.mm.default") == 2);
    CHECK(o.count("aten.cat.default") == 1);
    CHECK(o.count("aten.clone.default") == 0);
}

TEST_CASE("C2 chunk_batch_treats_previous_module_output_as_live_in") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("n", "aten.neg.default", "compute", {"r"}, {-4, 3})
                             .add("out", "output", "output", {"n"}, {});
    const outcome o = chunked(s, {{{s.at("n")}, {2, 2}}});
    CHECK(o.plan.splits[0].value == s.at("r"));
    CHECK(o.count("aten.neg.default") == 3);
}

TEST_CASE("C3 chunk_batch_materializes_between_selected_roots: only if they are two regions") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("n", "aten.neg.default", "compute", {"r"}, {-4, 3})
                             .add("out", "output", "output", {"n"}, {});
    const outcome apart = chunked(s, {{{s.at("r")}, {2, 2}}, {{s.at("n")}, {1, 3}}});
    CHECK(apart.count("aten.cat.default") == 2);
    CHECK(apart.plan.splits.size() == 2);
    const outcome together = chunked(s, {{s.region, {2, 2}}});
    CHECK(together.count("aten.cat.default") == 1);
}

TEST_CASE("C4 chunk_batch_materializes_scalar_live_out: sizes of parts add up") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("t", "aten.sum.dim_IntList", "compute", {"r"}, {3}, "[\"%0\",[0]]")
                             .add("out", "output", "output", {"r", "t"}, {});
    const outcome o = chunked(s, {{s.region, {3, 1}}});
    CHECK(o.count("aten.add.Tensor") == 1);
}

TEST_CASE("C5 chunk_batch_rejects_invalid_region_boundaries: rows that the extent is no multiple of") {
    const small_step s =
        two_inputs().add("r", "aten.neg.default", "compute", {"x"}, {-4, 3}).add("out", "output", "output", {"r"}, {});
    CHECK(refusal(s, {{s.region, {2, 1}}}).why == reason::extent_indivisible);
}

TEST_CASE("C14 chunk_batch_rejects_unsupported_live_outs: a maximum over the tokens") {
    const small_step s = two_inputs()
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("m", "aten.amax.default", "compute", {"r"}, {3}, "[\"%0\",[0]]")
                             .add("out", "output", "output", {"m"}, {});
    const auto error = refusal(s, {{s.region, {2, 2}}});
    CHECK(error.vertex == s.at("m"));
}

TEST_CASE("C16 chunk_batch_preserves_buffer_mutation_order: written once, with the sum") {
    const small_step s = two_inputs()
                             .add("buffer", "placeholder", "input", {}, {3})
                             .add("count", "aten.sum.dim_IntList", "compute", {"x"}, {3}, "[\"%0\",[0]]")
                             .add("up", "aten.add_.Tensor", "compute", {"buffer", "count"}, {3}, "null",
                                  ",\"alias\":[2],\"mutates\":[2]")
                             .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
                             .add("out", "output", "output", {"r"}, {});
    const outcome o = chunked(s, {{s.region, {2, 2}}});
    CHECK(o.count("aten.add_.Tensor") == 1);
    CHECK(o.count("aten.add.Tensor") == 1);
}

TEST_CASE("C17 chunk_batch_rejects_non_ep_collective_in_body: it is no sum of its parts") {
    const small_step s =
        two_inputs()
            .add("r", "aten.neg.default", "compute", {"x"}, {-4, 3})
            .add("all", "_c10d_functional.all_reduce.default", "start", {"r"}, {-4, 3}, "[\"%0\",\"sum\",\"dp\"]",
                 ",\"collective\":\"all_reduce\",\"group\":0,\"payload\":48")
            .add("done", "_c10d_functional.wait_tensor.default", "wait", {"all"}, {-4, 3}, "null", ",\"alias\":[3]")
            .add("out", "output", "output", {"done"}, {});
    CHECK(refusal(s, {{s.region, {2, 2}}}).vertex == s.at("all"));
}

TEST_CASE("W1 cats_activation_grad_and_sums_param_grad") {
    const small_step s = two_inputs()
                             .add("g", "placeholder", "input", {}, {-4, 3})
                             .add("gx", "aten.mm.default", "compute", {"g", "w"}, {-4, 3})
                             .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
                             .add("gw", "aten.mm.default", "compute", {"xt", "g"}, {3, 3})
                             .add("out", "output", "output", {"gx", "gw"}, {});
    const outcome o = chunked(s, {{s.region, {1, 1, 2}}});
    CHECK(o.count("aten.cat.default") == 1);
    CHECK(o.count("aten.add.Tensor") == 2);
    CHECK(o.count("aten.mm.default") == 6);
}

TEST_CASE("W2, W6 sums_internal_no_dim_live_out: what only carries the sum on runs once") {
    const small_step s = two_inputs()
                             .add("g", "placeholder", "input", {}, {-4, 3})
                             .add("xt", "aten.t.default", "view", {"x"}, {3, -4}, "null", ",\"alias\":[0]")
                             .add("gw", "aten.mm.default", "compute", {"xt", "g"}, {3, 3})
                             .add("n", "aten.neg.default", "compute", {"gw"}, {3, 3})
                             .add("out", "output", "output", {"n"}, {});
    const outcome o = chunked(s, {{s.region, {2, 2}}});
    CHECK(o.count("aten.add.Tensor") == 1);
    CHECK(o.count("aten.neg.default") == 1);
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
    const outcome o = chunked(s, {{body, {2, 2}}});
    CHECK(o.count("aten.add.Tensor") == 1);
    CHECK(o.count("_c10d_functional.all_reduce.default") == 1);
}
