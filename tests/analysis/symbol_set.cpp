#include "stretto/analysis/symbol_set.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <type_traits>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

TEST_CASE("a few symbols") {
    constexpr symbol_set<128> a{3, 70}, b{70, 127};
    static_assert(a.contains(3) && a.contains(70) && !a.contains(127));
    static_assert((a | b) == symbol_set<128>{3, 70, 127} && (a & b) == symbol_set<128>{70});
    static_assert((a - b) == symbol_set<128>{3} && !(a == b));
    static_assert(symbol_set<128>().empty() && !a.empty() && a.size() == 2);
    static_assert(symbol_set<128>::all().size() == 128 && symbol_set<128>::capacity == 128);
    CHECK(a.size() == 2);
}

TEST_CASE_TEMPLATE("against std::set", Set, symbol_set<64>, symbol_set<128>, symbol_set<256>, symbol_set<512>) {
    static_assert(std::is_trivially_copyable_v<Set> && sizeof(Set) == Set::capacity / 8);
    static_assert(alignof(Set) == sizeof(Set));
    stretto_check("insert, erase, and the three operations", 5000, [](const std::vector<std::uint8_t>& bytes) {
        Set sets[2];
        std::set<std::size_t> models[2];
        const auto agree = [](const Set& set, const std::set<std::size_t>& model) {
            for (std::size_t s = 0; s < Set::capacity; ++s)
                if (set.contains(s) != (model.count(s) == 1)) return false;
            return set.size() == model.size() && set.empty() == model.empty();
        };
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
            const std::size_t which = bytes[i] % 2, symbol = (bytes[i + 1] * 3u + bytes[i] / 8u) % Set::capacity;
            if (bytes[i] % 8 < 6) {
                sets[which].insert(symbol);
                models[which].insert(symbol);
            } else {
                sets[which].erase(symbol);
                models[which].erase(symbol);
            }
        }
        std::set<std::size_t> both = models[0], common, rest = models[0];
        both.insert(models[1].begin(), models[1].end());
        for (std::size_t s : models[0])
            if (models[1].count(s)) common.insert(s);
        for (std::size_t s : models[1]) rest.erase(s);
        RC_ASSERT(agree(sets[0], models[0]) && agree(sets[1], models[1]));
        RC_ASSERT(agree(sets[0] | sets[1], both));
        RC_ASSERT(agree(sets[0] & sets[1], common));
        RC_ASSERT(agree(sets[0] - sets[1], rest));
        RC_ASSERT((sets[0] == sets[1]) == (models[0] == models[1]));
    });
}
