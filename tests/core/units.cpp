#include "stretto/core/units.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <type_traits>

#include "support/prop.hpp"

using namespace stretto;

namespace {

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept comparable = requires(A a, B b) { a < b; };
template <class A, class B>
concept multipliable = requires(A a, B b) { a* b; };

}  // namespace

TEST_CASE("time and memory do not mix, with each other or with bare numbers") {
    static_assert(addable<nanoseconds, nanoseconds> && addable<bytes, bytes>);
    static_assert(!addable<nanoseconds, bytes> && !comparable<nanoseconds, bytes>);
    static_assert(!std::convertible_to<std::int64_t, nanoseconds> && !std::convertible_to<nanoseconds, std::int64_t>);
    static_assert(!multipliable<nanoseconds, nanoseconds> && multipliable<nanoseconds, int>);
    static_assert(std::is_trivially_copyable_v<bytes> && sizeof(bytes) == 8);
    CHECK(nanoseconds{} == nanoseconds{0});
}

TEST_CASE("arithmetic is that of the counts") {
    stretto_check("arithmetic", 200, [](std::int32_t a, std::int32_t b) {
        const nanoseconds x{a}, y{b};
        RC_ASSERT((x + y).count == std::int64_t{a} + b);
        RC_ASSERT((x - y).count == std::int64_t{a} - b);
        RC_ASSERT((-x).count == -std::int64_t{a});
        RC_ASSERT((x * b).count == std::int64_t{a} * b);
        RC_ASSERT(b * x == x * b);
        RC_ASSERT((x < y) == (a < b));
        RC_ASSERT((x == y) == (a == b));
        nanoseconds z = x;
        z += y;
        RC_ASSERT(z == x + y);
        z -= y;
        RC_ASSERT(z == x);
    });
    CHECK(unlimited_bytes > bytes{INT64_MAX - 1});
}
