#include "stretto/core/element_type.hpp"

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>

using stretto::element_type;
using stretto::size_of;
using stretto::widens;

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

TEST_CASE("a wider type has every number of the narrower one") {
    using e = element_type;
    CHECK(widens(e::bf16, e::f32));
    CHECK(widens(e::f16, e::f32));
    CHECK(widens(e::f16, e::f64));
    CHECK(widens(e::f32, e::f64));
    CHECK(widens(e::i8, e::i16));
    CHECK(widens(e::i32, e::i64));
    CHECK_FALSE(widens(e::f16, e::bf16));
    CHECK_FALSE(widens(e::bf16, e::f16));
    CHECK_FALSE(widens(e::f32, e::f32));
    CHECK_FALSE(widens(e::f64, e::f32));
    CHECK_FALSE(widens(e::i64, e::f64));
    CHECK_FALSE(widens(e::i8, e::f32));
    CHECK_FALSE(widens(e::u8, e::i16));  // whether such types mix in a sum differs from system to system
    CHECK_FALSE(widens(e::boolean, e::i64));
    CHECK_FALSE(widens(e::c64, e::c128));
    CHECK_FALSE(widens(e::f32, e::other));
    CHECK_FALSE(widens(e::other, e::f32));
}
