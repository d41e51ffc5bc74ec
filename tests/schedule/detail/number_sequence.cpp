#include "stretto/schedule/detail/number_sequence.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace stretto;

TEST_CASE("numbers are spread over the range, and magnitudes over all orders") {
    detail::number_sequence numbers;
    std::array<int, 10> seen{};
    for (int k = 0; k < 10'000; ++k) ++seen[static_cast<std::size_t>(numbers.below(10))];
    for (const int times : seen) CHECK(std::abs(times - 1000) < 150);
    std::array<int, 3> digits{};
    for (int k = 0; k < 10'000; ++k) {
        const std::uint32_t m = numbers.magnitude(999);
        REQUIRE(m >= 1);
        REQUIRE(m <= 999);
        ++digits[m < 10 ? 0 : m < 100 ? 1 : 2];
    }
    for (const int times : digits) CHECK(times > 1500);
    std::int64_t sum = 0;
    std::array<int, 3> above{};  // one, two and three times the mean
    for (int k = 0; k < 10'000; ++k) {
        const std::int64_t x = numbers.exponential(1000);
        REQUIRE(x >= 0);
        sum += x;
        for (int times = 1; times <= 3; ++times) above[static_cast<std::size_t>(times - 1)] += x > 1000 * times;
    }
    CHECK(std::abs(sum / 10'000 - 1000) < 100);
    CHECK(std::abs(above[0] - 3679) < 300);
    CHECK(std::abs(above[1] - 1353) < 200);
    CHECK(std::abs(above[2] - 498) < 100);
    CHECK(numbers.exponential(0) == 0);
    CHECK(numbers.magnitude(1) == 1);
    CHECK(numbers.below(1) == 0);
    CHECK(detail::number_sequence().below(1 << 20) == detail::number_sequence().below(1 << 20));
}
