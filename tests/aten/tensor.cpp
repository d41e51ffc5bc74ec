#include "stretto/aten/tensor.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "stretto/aten/detail/interpreter_shapes.hpp"

using namespace stretto::aten;
using stretto::element_type;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

tensor three_by_two() { return tensor::of(element_type::f64, {3, 2}, {1, 2, 3, 4, 5, 6}); }

}  // namespace

TEST_CASE("a tensor holds its elements in row-major order") {
    const tensor t = three_by_two();
    CHECK(t.rank() == 2);
    CHECK(t.elements() == 6);
    CHECK(t.strides() == std::vector<std::int64_t>{2, 1});
    CHECK(t.contiguous());
    CHECK(t.values<double>() == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK(tensor().values<double>() == std::vector<double>{0});
    CHECK(tensor(element_type::i64, {2, 0}).values<double>().empty());
}

TEST_CASE("elements are made as they are stored: truth values are 0 or 1, and narrow integers wrap") {
    CHECK(tensor::of(element_type::boolean, {2}, {2, 0}).values<std::int64_t>() == std::vector<std::int64_t>{1, 0});
    CHECK(tensor::of_integers(element_type::boolean, {2}, {2, 0}).values<std::int64_t>() ==
          std::vector<std::int64_t>{1, 0});
    CHECK(tensor::of(element_type::i8, {1}, {300.5}).values<std::int64_t>() == std::vector<std::int64_t>{44});
    CHECK(tensor::of_integers(element_type::i8, {1}, {300}).values<std::int64_t>() == std::vector<std::int64_t>{44});
    CHECK(tensor::of_integers(element_type::i8, {1}, {300}).storage()->writes == 0);
}

TEST_CASE("views share storage, clones do not") {
    const tensor t = three_by_two();
    const tensor transposed = t.view({2, 3}, {1, 2}, 0);
    const tensor copy = transposed.cloned();
    CHECK(transposed.values<double>() == std::vector<double>{1, 3, 5, 2, 4, 6});
    CHECK_FALSE(transposed.contiguous());
    transposed.view({3}, {2}, 1).assign<double>(std::vector<double>{20, 40, 60});
    CHECK(t.values<double>() == std::vector<double>{1, 20, 3, 40, 5, 60});
    CHECK(copy.values<double>() == std::vector<double>{1, 3, 5, 2, 4, 6});
    CHECK(copy.contiguous());
    CHECK(t.storage() == transposed.storage());
    CHECK_FALSE(t.storage() == copy.storage());
    CHECK(t.storage()->writes == 1);
    CHECK(copy.storage()->writes == 0);
}

TEST_CASE("storage outlives the tensor that made it") {
    tensor view;
    {
        const tensor t = three_by_two();
        view = t.view({2}, {2}, 2);
        const tensor& self = view;
        view = self;
    }
    CHECK(view.values<double>() == std::vector<double>{3, 5});
}

TEST_CASE("casts truncate towards zero and wrap, and truth is not being zero") {
    const tensor t = tensor::of(element_type::f64, {5}, {-1.75, 0.5, 300, not_a_number, 0});
    CHECK(t.converted(element_type::i64).values<std::int64_t>() ==
          std::vector<std::int64_t>{-1, 0, 300, std::numeric_limits<std::int64_t>::min(), 0});
    CHECK(t.converted(element_type::boolean).values<std::int64_t>() == std::vector<std::int64_t>{1, 1, 1, 1, 0});
    const tensor whole = tensor::of_integers(element_type::i64, {3}, {300, -1, (std::int64_t{1} << 62) + 1});
    CHECK(whole.converted(element_type::u8).values<std::int64_t>() == std::vector<std::int64_t>{44, 255, 1});
    CHECK(whole.converted(element_type::i8).values<std::int64_t>() == std::vector<std::int64_t>{44, -1, 1});
    CHECK(whole.cloned().values<std::int64_t>()[2] == (std::int64_t{1} << 62) + 1);
    CHECK(detail::truncated(infinite) == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("complex numbers are pairs of reals in the same storage") {
    const tensor pairs = tensor::of(element_type::f64, {2, 2}, {1, 2, 3, 4});
    const tensor z = pairs.reinterpreted(element_type::c128).view({2}, {2}, 0);
    CHECK(z.values<complex_number>() == std::vector<complex_number>{{1, 2}, {3, 4}});
    const tensor conjugate = z.conjugate();
    CHECK(conjugate.values<complex_number>() == std::vector<complex_number>{{1, -2}, {3, -4}});
    conjugate.view({1}, {2}, 0).assign<complex_number>(std::vector<complex_number>{{5, 6}});
    CHECK(pairs.values<double>() == std::vector<double>{5, -6, 3, 4});
    CHECK(conjugate.cloned().values<complex_number>() == std::vector<complex_number>{{5, 6}, {3, -4}});
    CHECK(complex_number{1, 2} * complex_number{3, -1} == complex_number{5, 5});
}

TEST_CASE("differences are found bit by bit") {
    const auto of = [](std::vector<double> x) {
        const auto n = static_cast<std::int64_t>(x.size());
        return tensor::of(element_type::f64, {n}, std::move(x));
    };
    CHECK(first_difference(of({1, not_a_number}), of({1, -not_a_number})) == -1);
    CHECK(first_difference(of({0.0, 1}), of({-0.0, 1})) == 0);
    CHECK(first_difference(of({1, 2, 3}), of({1, 2, std::nextafter(3.0, 4.0)})) == 2);
    CHECK(identical(of({1}), of({1})));
    CHECK_FALSE(identical(of({1}), of({1}).converted(element_type::f32)));
    CHECK_FALSE(identical(of({1}), of({1}).view({1, 1}, {1, 1}, 0)));
}

TEST_CASE("rounding is to nearest, ties to even") {
    using detail::rounded;
    CHECK(rounded(1.0 / 3, element_type::f64) == 1.0 / 3);
    CHECK(rounded(1.0 / 3, element_type::f32) == static_cast<double>(1.0f / 3.0f));
    CHECK(rounded(1.0 / 3, element_type::bf16) == 0.333984375);
    CHECK(rounded(257, element_type::bf16) == 256);  // halfway: 8 bits
    CHECK(rounded(259, element_type::bf16) == 260);
    CHECK(rounded(-257.5, element_type::bf16) == -258);
    CHECK(rounded(0x1p-133, element_type::bf16) == 0x1p-133);  // the smallest of all
    CHECK(rounded(0x1p-135, element_type::bf16) == 0);
    CHECK(rounded(3.4e38, element_type::bf16) == infinite);
    CHECK(rounded(2049, element_type::f16) == 2048);  // 11 bits
    CHECK(rounded(65519, element_type::f16) == 65504);
    CHECK(rounded(65520, element_type::f16) == infinite);
    CHECK(rounded(0x1p-24, element_type::f16) == 0x1p-24);
    CHECK(rounded(0, element_type::f16) == 0);
    CHECK(std::isnan(rounded(not_a_number, element_type::bf16)));
}
