#include "stretto/transform/verify_rules.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

using namespace stretto;

TEST_CASE("every rule says what it demands, each something else, in a sentence without an end") {
    std::set<std::string_view> said;
    for (unsigned k = 0; k <= static_cast<unsigned>(chunk_rule::result_unset); ++k) {
        const std::string_view sentence = hint(static_cast<chunk_rule>(k));
        CAPTURE(k);
        REQUIRE(!sentence.empty());
        CHECK(said.insert(sentence).second);
        CHECK(sentence.find("  ") == std::string_view::npos);  // literals that were put together without care
        CHECK(sentence.back() != '.');
        CHECK((sentence.front() >= 'a' && sentence.front() <= 'z'));
    }
    CHECK(hint(static_cast<chunk_rule>(static_cast<unsigned>(chunk_rule::result_unset) + 1)).empty());
}

TEST_CASE("sentences are there when a program is compiled") {
    static_assert(hint(chunk_rule::join_doubled) == "a value is recombined once");
    CHECK(hint(chunk_rule::collective_torn) == "a collective and the waits for it are chunked together");
}

TEST_CASE("a violation names nobody unless it is told") {
    const chunk_violation<std::uint32_t> v{chunk_rule::sizes, 2};
    CHECK(v.position == 2);
    CHECK(v.vertex == 0);
    CHECK(v.detail == "");
    CHECK(v.component == 0);
}
