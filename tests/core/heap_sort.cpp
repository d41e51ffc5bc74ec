#include "stretto/core/heap_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using keys = std::vector<std::uint32_t>;

TEST_CASE("ascending, duplicates kept") {
    keys k{3, 1, 2, 1};
    stretto::detail::heap_sort(k);
    CHECK(k == keys{1, 1, 2, 3});
}

TEST_CASE("against std::sort") {
    stretto_check("random, nearly sorted, descending", 20000, [](const std::vector<std::uint8_t>& bytes) {
        keys k;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const std::uint32_t at = static_cast<std::uint32_t>(i);
            k.push_back(bytes[0] % 3 == 0 ? bytes[i] : bytes[0] % 3 == 1 ? at * 8 + bytes[i] / 16u : 10'000 - at);
        }
        keys expected = k;
        std::sort(expected.begin(), expected.end());
        stretto::detail::heap_sort(k);
        RC_ASSERT(k == expected);
    });
}
