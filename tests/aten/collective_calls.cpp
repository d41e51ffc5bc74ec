#include "stretto/aten/collective_calls.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aten/tensor_program.hpp"

using namespace stretto;
using aten::collective_calls;
using support::program_model;
using support::program_view;
using support::tensor_program;

namespace {

collective_call call(const std::string& operation, std::string_view arguments) {
    tensor_program p;
    const auto x = p.input("x", support::floats({1}, {1}), 1), n = p.input("n", support::floats({1}, {1}), 1);
    p.record(x, element_type::bf16, {8});
    const auto start = p.start("start", "_c10d_functional." + operation, {x, n}, arguments);
    static collective_calls all;  // the call refers to sizes in there
    all = collective_calls::read(program_view{&p}, program_model{&p}, program_model{&p},
                                 [](std::uint32_t v) { return collective_calls::identity{v + std::uint64_t{100}, 3}; });
    CHECK(all.size() == 1);
    return all.at(start);
}
using sizes = std::vector<split_size>;
sizes list(std::span<const split_size> s) { return {s.begin(), s.end()}; }

}  // namespace

TEST_CASE("operators of _c10d_functional, in all their forms, are known by name") {
    using kind = collective_kind;
    using aten::collective_of_operator;
    CHECK(collective_of_operator("_c10d_functional.all_gather_into_tensor.default") == kind::all_gather);
    CHECK(collective_of_operator("_c10d_functional.all_gather_into_tensor_out.default") == kind::all_gather);
    CHECK(collective_of_operator("_c10d_functional.all_gather_into_tensor_coalesced.default") == kind::all_gather);
    CHECK(collective_of_operator("_c10d_functional.reduce_scatter_tensor.default") == kind::reduce_scatter);
    CHECK(collective_of_operator("_c10d_functional.all_reduce.default") == kind::all_reduce);
    CHECK(collective_of_operator("_c10d_functional.all_reduce_.default") == kind::all_reduce);
    CHECK(collective_of_operator("_c10d_functional.all_reduce_coalesced_.default") == kind::all_reduce);
    CHECK(collective_of_operator("_c10d_functional.all_to_all_single.default") == kind::all_to_all);
    CHECK(collective_of_operator("_c10d_functional.wait_tensor.default") == kind::other);
    CHECK(collective_of_operator("_c10d_functional.all_reduced.default") == kind::other);
    CHECK(collective_of_operator("aten.all_reduce.default") == kind::other);
}

TEST_CASE("reductions are read from their argument, wherever it stands") {
    CHECK(call("all_reduce.default", "%0 sum g").reduction == reduction_kind::sum);
    CHECK(call("reduce_scatter_tensor.default", "%0 avg 8 g").reduction == reduction_kind::average);
    CHECK(call("all_reduce.default", "%0 reduce_op=max").reduction == reduction_kind::max);
    CHECK(call("all_reduce.default", "%0 min g").reduction == reduction_kind::min);
    CHECK(call("all_reduce.default", "%0 product g").reduction == reduction_kind::product);
    CHECK(call("all_reduce.default", "%0 premul_sum g").reduction == reduction_kind::unknown);
    CHECK(call("all_reduce.default", "%0 3 g").reduction == reduction_kind::unknown);
    CHECK(call("all_reduce.default", "%0").reduction == reduction_kind::unknown);
    CHECK(call("all_gather_into_tensor.default", "%0 8 g").reduction == reduction_kind::none);
    CHECK(call("all_to_all_single.default", "%0 [] [] g").reduction == reduction_kind::none);
}

TEST_CASE("split sizes are numbers, operands, or symbols; none are equal shares") {
    using form = split_size::form;
    const collective_call c = call("all_to_all_single.default", "%0 [1, %1, u3] [4, 5, 6] g");
    CHECK(c.kind == collective_kind::all_to_all);
    CHECK(list(c.output_sizes) == sizes{{form::given, 1}, {form::measured, 1}, {form::symbolic, -1}});
    CHECK(list(c.input_sizes) == sizes{{form::given, 4}, {form::given, 5}, {form::given, 6}});
    CHECK(call("all_to_all_single.default", "%0 [] [] g").output_sizes.empty());
    CHECK(call("all_to_all_single.default", "%0 none none g").input_sizes.empty());
    CHECK(call("all_to_all_single.default", "%0").input_sizes.empty());
    const collective_call named = call("all_to_all_single.default", "%0 input_split_sizes=[2, 3]");
    CHECK(list(named.input_sizes) == sizes{{form::given, 2}, {form::given, 3}});
    CHECK(named.output_sizes.empty());
    CHECK(call("all_gather_into_tensor.default", "%0 [1, 2] [1, 2]").input_sizes.empty());  // no all-to-all
}

TEST_CASE("what is sent, and who it is") {
    const collective_call c = call("all_gather_into_tensor.default", "%0 8 g");
    CHECK(c.element == element_type::bf16);
    CHECK(c.logical_id == 102);
    CHECK(c.chunk == 3);
    CHECK(call("send.default", "%0").kind == collective_kind::other);
}
