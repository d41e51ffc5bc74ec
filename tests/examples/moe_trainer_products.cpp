#include "products.hpp"
// Products of matrices, by the trainer's loops and by every BLAS that is there, held against sums in double precision.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "examples/moe_trainer_blas.hpp"
#include "support/prop.hpp"

using namespace trainer;

namespace {

/// Some numbers between -1 and 1.
std::vector<float> some_numbers(std::int64_t count, std::uint32_t& state) {
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& x : made) {
        state = state * 1664525u + 1013904223u;
        x = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
    return made;
}

/// Multiplies random matrices, of which one may be stored transposed. Extents are small, and some are 0.
void check_products() {
    stretto_check("products", 400, [](std::uint32_t extents, std::uint32_t seed) {
        const std::int64_t m = extents % 23, n = extents / 23 % 23, k = extents / 529 % 40;
        const bool a_turned = seed % 3 == 1, b_turned = seed % 3 == 2, adds = !b_turned && seed / 3 % 2 == 1;
        const std::vector<float> a = some_numbers(m * k + 3, seed), b = some_numbers(k * n + 3, seed);
        std::vector<float> c = some_numbers(m * n + 3, seed);
        const std::vector<float> before = c;
        // Memory of results may hold anything, unless it is added to.
        if (!adds) std::fill(c.begin(), c.end() - 3, std::numeric_limits<float>::quiet_NaN());
        if (b_turned) multiply_transposed(m, n, k, a.data(), b.data(), c.data());
        else multiply(m, n, k, a.data(), a_turned ? 1 : k, a_turned ? m : 1, b.data(), c.data(), adds);
        const auto at = [](const std::vector<float>& x, std::int64_t place) {
            return static_cast<double>(x[static_cast<std::size_t>(place)]);
        };
        for (std::int64_t r = 0; r < m; ++r)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = adds ? at(before, r * n + j) : 0, sizes = std::fabs(sum);
                for (std::int64_t x = 0; x < k; ++x) {
                    const double left = at(a, a_turned ? x * m + r : r * k + x);
                    const double right = at(b, b_turned ? j * k + x : x * n + j);
                    sum += left * right;
                    sizes += std::fabs(left * right);
                }
                RC_ASSERT(std::fabs(at(c, r * n + j) - sum) <= 4e-6 * sizes);
            }
        RC_ASSERT(std::equal(c.end() - 3, c.end(), before.end() - 3));  // nothing is written behind the results
    });
}

}  // namespace

TEST_CASE("products are sums of products, by loops and by every BLAS") {
    check_products();
    support::with_each_blas([](const std::string&) { check_products(); });
}

TEST_CASE("what is no BLAS is said, with a package to install, and the loops go on") {
    for (const std::string library : {"libnobody.so.7", "libm.so.6", "/"}) {
        CAPTURE(library);
        const std::optional<std::string> wrong = compute_products_with(library);
        REQUIRE(wrong);
        CHECK(wrong->find("--blas " + library + ": ") == 0);
        CHECK(wrong->find("install libopenblas0-pthread") != std::string::npos);
        CHECK(wrong->back() == ')');  // the cause
    }
    const float two = 2, three = 3;
    float six = 0;
    multiply(1, 1, 1, &two, 1, 1, &three, &six, false);
    CHECK(six == 6);
}
