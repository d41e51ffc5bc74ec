#include "stretto/aten/aten_calls.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/analysis/value_numbers.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/testing/check_pure_call_model.hpp"
#include "support/prop.hpp"
#include "support/recomputed_steps.hpp"
#include "support/run_tensor_program.hpp"
#include "support/tensor_steps.hpp"

using namespace stretto;
using aten::interpreted_value;
using aten::tensor;
using support::step_operation;
using support::tensor_program;

namespace {

using toy_calls = aten_calls<support::program_view, support::program_model>;

toy_calls calls_of(const tensor_program& p) { return {support::program_view{&p}, support::program_model{&p}}; }

bool is_pure(const std::string& operation, const std::string& arguments) {
    tensor_program p;
    const std::uint32_t x = p.input("x", std::vector<tensor>());
    const std::uint32_t v = p.add("node", operation, {x, x, x}, arguments);
    return calls_of(p).is_pure(v);
}

}  // namespace

TEST_CASE("operators with a rule are pure, but for unwritten memory, drop-out and what the program does not show") {
    CHECK(is_pure("aten.mm.default", ""));
    CHECK(is_pure("aten.add_.Tensor", ""));
    CHECK(is_pure("_c10d_functional.all_gather_into_tensor.default", "%0 8 g"));
    CHECK_FALSE(is_pure("aten.native_dropout.default", "%0 0.5 true"));
    CHECK_FALSE(is_pure("aten.rand_like.default", "%0"));
    CHECK_FALSE(is_pure("aten.uniform_.default", "%0 0.0 1.0"));
    CHECK_FALSE(is_pure("aten.new_empty.default", "%0 [2]"));
    CHECK_FALSE(is_pure("placeholder", ""));
    CHECK_FALSE(is_pure("triton_kernel_wrapper_functional", ""));
    const std::string attention = "aten._scaled_dot_product_flash_attention.default";
    CHECK(is_pure(attention, "%0 %1 %2"));
    CHECK(is_pure(attention, "%0 %1 %2 0.0 true"));
    CHECK_FALSE(is_pure(attention, "%0 %1 %2 0.1 true"));
}

TEST_CASE("calls are the same if operator, arguments and recorded results are") {
    tensor_program p;
    const std::uint32_t x = p.input("x", std::vector<tensor>());
    const auto add = [&](const char* operation, const char* arguments) {
        return p.add("node " + std::to_string(p.nodes.size()), operation, {x}, arguments);
    };
    const std::uint32_t sum = add("aten.sum.dim_IntList", "%0 [0, 1]");
    const std::uint32_t again = add("aten.sum.dim_IntList", "%0 [0, 1]");
    const std::uint32_t others[] = {add("aten.sum.dim_IntList", "%0 [0]"), add("aten.sum.dim_IntList", "%0 [0, 2]"),
                                    add("aten.sum.dim_IntList", "%0 [0, 1] keepdim=true"),
                                    add("aten.amax.default", "%0 [0, 1]")};
    const toy_calls calls = calls_of(p);
    CHECK(calls.same_call(sum, again));
    CHECK(calls.hash_of_call(sum) == calls.hash_of_call(again));
    for (std::uint32_t other : others) CHECK_FALSE(calls.same_call(sum, other));
    p.record(sum, element_type::f32, {3});
    p.record(again, element_type::bf16, {3});
    CHECK_FALSE(calls.same_call(sum, again));
    p.record(again, element_type::f32, {3});
    CHECK(calls.same_call(sum, again));
    const std::uint32_t scaled = add("aten.mul.Scalar", "%0 0.5"), other = add("aten.mul.Scalar", "%0 0.25");
    CHECK_FALSE(calls.same_call(scaled, other));
    const auto found = check_pure_call_model(support::program_view{&p}, calls);
    if (!found) FAIL(found.error().message());
    CHECK(found->pure == 8);
    CHECK(found->calls == 7);
}

TEST_CASE("what is offloaded and loaded again is what it was, unless its type has changed") {
    tensor_program p;
    const std::uint32_t x = p.input("x", std::vector<tensor>());
    const std::uint32_t there = p.add("there", "aten._to_copy.default", {x}, "%0 device=cpu");
    const std::uint32_t back = p.add("back", "aten._to_copy.default", {there}, "%0 device=cuda");
    const std::uint32_t narrow = p.add("narrow", "aten._to_copy.default", {back}, "%0 dtype=bf16");
    const std::uint32_t clone = p.add("clone", "aten.clone.default", {narrow}, "%0");
    const std::uint32_t sum = p.add("sum", "aten.sum.default", {back}, "%0");
    const std::uint32_t same_sum = p.add("same sum", "aten.sum.default", {x}, "%0");
    for (std::uint32_t v : {x, there, back}) p.record(v, element_type::f32, {3});
    for (std::uint32_t v : {narrow, clone}) p.record(v, element_type::bf16, {3});
    CHECK(calls_of(p).copied_operand(back) == 0);
    CHECK(calls_of(p).copied_operand(narrow) == SIZE_MAX);
    CHECK(calls_of(p).copied_operand(sum) == SIZE_MAX);
    const support::program_view view{&p};
    const value_numbers<support::program_view> numbers(view, support::program_model{&p}, calls_of(p));
    CHECK(numbers.number(back) == numbers.number(x));
    CHECK(numbers.number(narrow) != numbers.number(x));
    CHECK(numbers.number(clone) == numbers.number(narrow));
    CHECK(numbers.number(sum) == numbers.number(same_sum));
}

TEST_CASE("a conjugate is no copy, and two conjugates of one value are one value") {
    tensor_program p;
    const std::uint32_t x = p.input("x", std::vector<tensor>());
    const std::uint32_t a = p.add("a", "aten._conj.default", {x}), b = p.add("b", "aten._conj.default", {x});
    for (std::uint32_t v : {x, a, b}) p.record(v, element_type::c64, {3});
    CHECK(calls_of(p).copied_operand(a) == SIZE_MAX);
    const support::program_view view{&p};
    const value_numbers<support::program_view> numbers(view, support::program_model{&p}, calls_of(p));
    CHECK(numbers.number(a) != numbers.number(x));
    CHECK(numbers.number(a) == numbers.number(b));
}

TEST_CASE("what is offloaded while the step runs on, waited for and loaded again is what it was") {
    tensor_program p;
    const std::uint32_t x = p.input("x", std::vector<tensor>());
    const std::uint32_t leaving = p.add("leaving", "ao.offload.default", {x});
    const std::uint32_t there = p.add("there", "ao.wait_tensor.default", {leaving, x}, "%0 %1 %1");
    const std::uint32_t coming = p.add("coming", "ao.reload.default", {there}, "%0 device=cuda");
    const std::uint32_t back = p.add("back", "ao.wait_tensor.default", {coming, there});
    for (std::uint32_t v : {x, leaving, there, coming, back}) p.record(v, element_type::f32, {3});
    const support::program_view view{&p};
    const value_numbers<support::program_view> numbers(view, support::program_model{&p}, calls_of(p));
    for (std::uint32_t v : {leaving, there, coming, back}) CHECK(numbers.number(v) == numbers.number(x));
}

TEST_CASE("an argument that no operator reads makes a call unlike any other") {
    tensor_program p;
    const std::uint32_t x = p.input("x", std::vector<tensor>());
    const std::uint32_t a = p.add("a", "aten.relu.default", {x}), b = p.add("b", "aten.relu.default", {x});
    CHECK(calls_of(p).same_call(a, b));
    for (std::uint32_t v : {a, b}) p.nodes[v].positional[0].what = tensor_argument::form::other;
    CHECK_FALSE(calls_of(p).same_call(a, b));
}

namespace {

constexpr std::size_t ranks = 2;

bool is_bitwise_equal(const interpreted_value& a, const interpreted_value& b) {
    if (a.is_number != b.is_number || a.tensors.size() != b.tensors.size()) return false;
    if (a.is_number && !(a.scalar == b.scalar)) return false;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        if (a.tensors[k].shape() != b.tensors[k].shape() || a.tensors[k].element() != b.tensors[k].element())
            return false;
        const std::vector<double> x = a.tensors[k].values<double>(), y = b.tensors[k].values<double>();
        for (std::size_t i = 0; i < x.size(); ++i)
            if (std::bit_cast<std::uint64_t>(x[i]) != std::bit_cast<std::uint64_t>(y[i])) return false;
    }
    return true;
}

interpreted_value random_input(const step_operation& o, const std::vector<std::int64_t>& shape, std::uint32_t& noise) {
    std::int64_t elements = 1;
    for (std::int64_t e : shape) elements *= e;
    std::vector<double> all;
    for (std::int64_t k = 0; k < elements; ++k) {
        noise = noise * 1664525u + 1013904223u;
        all.push_back(o.elements[0] == element_type::i64 ? static_cast<double>((noise >> 16) % 3)
                                                         : static_cast<double>((noise >> 16) % 97) - 48);
    }
    interpreted_value v;
    v.tensors.push_back(tensor::of(o.elements[0], shape, std::move(all)));
    return v;
}

}  // namespace

TEST_CASE("what has one number is one value, bit for bit, when the program runs") {
    std::size_t programs = 0, ran = 0, same = 0, different = 0;
    stretto_check("value numbers of tensor programs", 2000, [&](const std::vector<std::uint8_t>& bytes) {
        const support::recomputed_steps step(bytes, true, true);
        tensor_program p = support::program_for(step.made, 3);
        std::uint32_t noise = static_cast<std::uint32_t>(bytes.size());
        for (std::uint32_t v = 0; v < step.made.size(); ++v)
            for (std::size_t rank = 0; rank < ranks && step.made[v].kind == op_kind::input; ++rank)
                p.inputs[v].push_back(random_input(step.made[v], p.nodes[v].shapes[0], noise));
        ++programs;
        const auto done = support::run_tensor_program(p, {.ranks = ranks, .keep_everything = true});
        if (!done) return;  // something is written while a collective still reads it
        ++ran;
        const support::step_view view{{&p}};
        const support::step_model model{{&p}, &step.made};
        const value_numbers<support::step_view> numbers(
            view, model, aten_calls<support::step_view, support::step_model>(view, model));
        for (std::size_t a = 0; a < step.looks.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                const std::uint32_t u = step.looks[b], v = step.looks[a];
                bool equal = true;
                for (std::size_t rank = 0; rank < ranks; ++rank)
                    equal = equal && is_bitwise_equal(done->values[u][0][rank], done->values[v][0][rank]);
                const bool one_number = numbers.number(u) == numbers.number(v);
                if (one_number && !equal) RC_FAIL(p.nodes[u].name + " and " + p.nodes[v].name + " are two values");
                same += one_number && step.made[u].reads != step.made[v].reads;
                different += !equal && step.made[u].reads == step.made[v].reads;  // written in between
            }
    });
    MESSAGE(ran << " of " << programs << " programs ran; " << same << " pairs are one value, " << different
                << " were written in between");
    if (!support::runs_all_cases()) return;
    CHECK(2 * ran > programs);
    CHECK(same > 10000);
    CHECK(different > 100);
}
