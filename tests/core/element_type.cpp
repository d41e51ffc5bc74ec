#include "stretto/core/element_type.hpp"

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>

using stretto::element_type;
using stretto::size_of;

TEST_CASE("sizes of elements are those of the types they are named after") {
    CHECK(size_of(element_type::f32) == sizeof(float));
    CHECK(size_of(element_type::f64) == sizeof(double));
    CHECK(size_of(element_type::f16) == 2);
    CHECK(size_of(element_type::bf16) == 2);
    CHECK(size_of(element_type::i8) == sizeof(std::int8_t));
    CHECK(size_of(element_type::u8) == sizeof(std::uint8_t));
    CHECK(size_of(element_type::i16) == sizeof(std::int16_t));
    CHECK(size_of(element_type::i32) == sizeof(std::int32_t));
    CHECK(size_of(element_type::i64) == sizeof(std::int64_t));
    CHECK(size_of(element_type::boolean) == 1);
    CHECK(size_of(element_type::c64) == sizeof(std::complex<float>));
    CHECK(size_of(element_type::c128) == sizeof(std::complex<double>));
    CHECK(size_of(element_type::other) == 0);
}
