#include "stretto/aten/interpretation.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

interpreted_value of_tensor(std::vector<double> elements, element_type element = element_type::f32) {
    const auto n = static_cast<std::int64_t>(elements.size());
    interpreted_value v;
    v.tensors = {tensor::of(element, {n}, std::move(elements))};
    return v;
}
template <class T>
interpreted_value of_number(T x) {
    interpreted_value v;
    v.is_number = true;
    v.scalar = number::of(x);
    return v;
}
interpretation with_outputs(std::vector<std::vector<interpreted_value>> outputs) {
    interpretation made;
    for (std::size_t k = 0; k < outputs.size(); ++k)
        made.outputs.push_back({k, "out" + std::to_string(k), false, std::move(outputs[k])});
    return made;
}
std::string difference(const interpretation& a, const interpretation& b) {
    const auto found = compare(a, b);
    return found.empty() ? "" : found[0].message();
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a failure says where, why, what helps and what was read") {
    interpretation_failure f{3, "y", "aten.mm.default", 1, "shapes do not fit", "", {}};
    CHECK(f.message() == "y (aten.mm.default) on rank 1: shapes do not fit");
    f.hint = "transpose one of them";
    f.operands = {{0, "a f32[2]"}, {1, "b f32[3]"}};
    CHECK(f.message() ==
          "y (aten.mm.default) on rank 1: shapes do not fit; transpose one of them; it reads a f32[2], b f32[3]");
}

TEST_CASE("runs that are equal differ nowhere") {
    CHECK(difference({}, {}) == "");
    const interpretation a = with_outputs({{of_tensor({1, not_a_number}), of_tensor({})}, {of_number(true)}});
    CHECK(difference(a, a) == "");
}

TEST_CASE("the first difference is named by output, rank and element") {
    const interpretation a = with_outputs({{of_tensor({1, 2}), of_tensor({3, 4})}});
    CHECK(difference(a, with_outputs({{of_tensor({1, 2}), of_tensor({3, 0.1})}})) ==
          "output 0 (out0) on rank 1, element 1: 4 against 0.10000000000000001");
    CHECK(difference(a, with_outputs({{of_tensor({1, 2}), of_tensor({3, not_a_number})}})).find("nan") !=
          std::string::npos);
}

TEST_CASE("zeros of either sign are different bits") {
    CHECK(difference(with_outputs({{of_tensor({0.0})}}), with_outputs({{of_tensor({-0.0})}})) ==
          "output 0 (out0) on rank 0, element 0: 0 against -0");
}

TEST_CASE("numbers are compared bit by bit, as elements are, and two NaNs are equal") {
    const auto against = [](double x, double y) {
        return difference(with_outputs({{of_number(x)}}), with_outputs({{of_number(y)}}));
    };
    CHECK(against(not_a_number, not_a_number) == "");
    CHECK(against(0.0, -0.0) == "output 0 (out0) on rank 0: 0 against -0");
    CHECK(against(1.5, not_a_number).find("nan") != std::string::npos);
}

TEST_CASE("types are compared before elements, and numbers are no tensors") {
    const auto against = [](interpreted_value x, interpreted_value y) {
        return difference(with_outputs({{std::move(x)}}), with_outputs({{std::move(y)}}));
    };
    CHECK(against(of_tensor({1}), of_tensor({1, 2})) == "output 0 (out0) on rank 0: f32[1] against f32[2]");
    CHECK(against(of_tensor({1}), of_tensor({1}, element_type::f64)) ==
          "output 0 (out0) on rank 0: f32[1] against f64[1]");
    CHECK(against(of_tensor({1}, element_type::i64), of_tensor({2}, element_type::i64)) ==
          "output 0 (out0) on rank 0, element 0: 1 against 2");
    CHECK(against(of_number(std::int64_t{3}), of_number(std::int64_t{4})) == "output 0 (out0) on rank 0: 3 against 4");
    CHECK(against(of_number(std::int64_t{3}), of_number(3.0)) != "");  // equal, and of another class
    CHECK(against(of_number(std::int64_t{3}), interpreted_value{}) == "output 0 (out0) on rank 0: 3 against nothing");
}

TEST_CASE("complex elements are shown with both halves") {
    const auto complex = [](double im) {
        interpreted_value v;
        v.tensors = {tensor::of(element_type::c64, {1}, {2, im})};
        return v;
    };
    CHECK(difference(with_outputs({{complex(1)}}), with_outputs({{complex(5)}})) ==
          "output 0 (out0) on rank 0, element 0: 2 + 1i against 2 + 5i");
}

TEST_CASE("numbers of outputs, inputs and ranks must agree, and inputs are compared as well") {
    CHECK(difference(with_outputs({}), with_outputs({{of_number(true)}})) ==
          "the number of outputs on rank 0: 0 against 1");
    CHECK(difference(with_outputs({{of_number(true)}}), with_outputs({{of_number(true), of_number(true)}})) ==
          "output 0 (out0) on rank 0: 1 ranks against 2 ranks");
    interpretation a, b;
    a.inputs.push_back({0, "load", false, {of_tensor({1})}});
    b.inputs.push_back({9, "store", true, {of_tensor({2})}});
    CHECK(difference(a, b) == "input 0 (load / store) on rank 0, element 0: 1 against 2");
    CHECK(difference(a, {}) == "the number of inputs on rank 0: 1 against 0");
}

TEST_CASE("the first element that was changed is found") {
    stretto_check("anywhere", 200, [] {
        const auto ranks = *rc::gen::inRange<std::size_t>(1, 4), outputs = *rc::gen::inRange<std::size_t>(1, 4);
        const auto n = *rc::gen::inRange<std::size_t>(1, 9);
        std::vector<std::vector<std::vector<double>>> values(outputs, {ranks, std::vector<double>(n, 1)});
        const auto make = [&] {
            std::vector<std::vector<interpreted_value>> all(outputs);
            for (std::size_t k = 0; k < outputs; ++k)
                for (const std::vector<double>& elements : values[k]) all[k].push_back(of_tensor(elements));
            return with_outputs(std::move(all));
        };
        const interpretation before = make();
        const auto output = *rc::gen::inRange<std::size_t>(0, outputs), rank = *rc::gen::inRange<std::size_t>(0, ranks);
        const auto element = *rc::gen::inRange<std::size_t>(0, n);
        values[output][rank][element] = 2;
        values.back().back().back() = 2;  // another one, behind
        const auto found = compare(before, make());
        RC_ASSERT(found.size() == 1u);
        RC_ASSERT(found[0].where == "output " + std::to_string(output) + " (out" + std::to_string(output) + ")");
        RC_ASSERT(found[0].rank == rank);
        RC_ASSERT(found[0].position == static_cast<std::int64_t>(element));
    });
}
