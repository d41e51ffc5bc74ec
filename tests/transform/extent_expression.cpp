#include "stretto/transform/extent_expression.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

TEST_CASE("an expression has a value if all its symbols have one") {
    CHECK(extent_expression::value("Min(0, 2048*S)", {{"S", 4}}) == 0);
    CHECK(!extent_expression::value("Min(0, 2048*S)", {}));
}

TEST_CASE("K10: quotients are those of whole numbers, rounded down") {
    const auto value = [](std::string_view text) { return extent_expression::value(text, {{"S", 7}, {"W", 5}}); };
    CHECK(value("(S//2)*W") == 15);
    CHECK(value("8*(((S + W + 71)//8))") == 80);
    CHECK(value("-S//2") == -4);
    CHECK(value("-S % 2") == 1);
    CHECK(value("Mod(S, -2)") == -1);
    CHECK(value("2**W - FloorDiv(S, 2)") == 29);
    CHECK(value("Max(S, W, 9)") == 9);
    CHECK(value("(S - 1)/2") == 3);
    for (const char* no : {"S/2", "S//0", "S//(W - 5)", "T", "S +", "(S", "S)", "S W", "", "floor(S/2)", "S**(-1)",
                           "9223372036854775807 + S", "2**63", "9223372036854775808"})
        CHECK_MESSAGE(!value(no), no);
    CHECK(!value(std::string(200, '(') + "S" + std::string(200, ')')));
}

TEST_CASE("a power binds more tightly than the sign before it, and is grouped from the right") {
    const auto value = [](std::string_view text) { return extent_expression::value(text, {{"S", 7}, {"W", 5}}); };
    CHECK(value("-2**2") == -4);
    CHECK(value("(-2)**2") == 4);
    CHECK(value("W - -2**2") == 9);
    CHECK(value("2**3**2") == 512);
    CHECK(value("S**0") == 1);
    for (const char* no : {"T**0", "**0", "2**-1", "(S**0"}) CHECK_MESSAGE(!value(no), no);
    std::string tower = "1";
    for (int k = 0; k < 200; ++k) tower += "**1";
    CHECK(!value(tower));
}

TEST_CASE("symbols are whole words, and functions are none") {
    using expression = extent_expression;
    CHECK(!expression::mentions("s10 + s", "s1"));
    CHECK(expression::mentions("(s10)//s1", "s1"));
    CHECK(!expression::mentions("Max(s1, 2)", "Max"));
    CHECK(!expression::mentions("", "s1"));
    CHECK(expression::multiple("s1", "s1") == 1);
    CHECK(expression::multiple("512*s1", "s1") == 512);
    CHECK(expression::multiple("8 * s1*64", "s1") == 512);
    for (const char* no :
         {"8*s10", "s", "s1*s1", "s1 + 1", "s1**2", "2**s1", "s1*s2", "8*(s1//2)", "s1 8", "8*", "", "4"})
        CHECK_MESSAGE(!expression::multiple(no, "s1"), no);
    const auto renamed = [](std::string_view symbol) {
        return symbol == "a" ? std::optional(std::string("a_0")) : std::nullopt;
    };
    CHECK(expression::substituted("a*(b//2) + Max(a, aa, 3)", renamed) == "a_0*(b//2) + Max(a_0, aa, 3)");
    CHECK(expression::substituted("", renamed).empty());
}

namespace {

/// Text and value of a random expression of the symbols a = 3 and b = -5.
struct random_expression {
    const std::vector<std::uint8_t>& choices;
    std::size_t next = 0;

    std::uint8_t pick(std::uint8_t below) {
        return next < choices.size() ? static_cast<std::uint8_t>(choices[next++] % below) : std::uint8_t{0};
    }
    std::int64_t make(std::string& text, int depth) {
        const std::uint8_t what = depth == 0 ? pick(3) : pick(9);
        if (what == 1) return text += "a", 3;
        if (what == 2) return text += "b", -5;
        if (what < 3) {
            const int n = pick(20);
            text += std::to_string(n);
            return n;
        }
        if (what == 3) {
            text += "(-";
            const std::int64_t n = make(text, depth - 1);
            text += ")";
            return -n;
        }
        const char* signs[] = {" + ", " - ", "*", "//", " % "};
        text += "(";
        const std::int64_t x = make(text, depth - 1);
        text += signs[what - 4];
        const std::int64_t y = make(text, depth - 1);
        text += ")";
        if (what == 4) return x + y;
        if (what == 5) return x - y;
        if (what == 6) return x * y;
        undefined = undefined || y == 0;
        if (y == 0) return 0;
        std::int64_t quotient = x / y;
        while (quotient * y > x && y > 0) --quotient;
        while (quotient * y < x && y < 0) --quotient;
        return what == 7 ? quotient : x - quotient * y;
    }
    bool undefined = false;
};

}  // namespace

TEST_CASE("expressions have the value of the tree that they were written from") {
    const symbol_values symbols_of = {{"a", 3}, {"b", -5}};
    stretto_check("random trees", 3000, [&](const std::vector<std::uint8_t>& choices) {
        random_expression e{choices};
        std::string text;
        const std::int64_t value = e.make(text, 4);
        const auto found = extent_expression::value(text, symbols_of);
        if (e.undefined) RC_ASSERT(!found.has_value());
        else RC_ASSERT(found == std::optional(value));
        const std::string closed = extent_expression::substituted(text, symbols_of);
        RC_ASSERT(extent_expression::value(closed, {}) == found);
    });
}
