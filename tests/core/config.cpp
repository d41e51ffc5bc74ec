// The assertions as they are when nobody configures anything, in a build without NDEBUG.
#undef NDEBUG
#undef STRETTO_CHECKED
#include "stretto/core/config.hpp"
#include "stretto/core/language.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/dies.hpp"

TEST_CASE("a broken precondition ends the program with place, sentence and condition") {
    const std::string words = support::last_words([] { STRETTO_ASSERT(1 + 1 == 3, "arithmetic still holds"); });
    CHECK(words.find("config.cpp:") != std::string::npos);
    CHECK(words.find("stretto: arithmetic still holds (1 + 1 == 3)") != std::string::npos);
    CHECK(words.back() == '\n');
}

TEST_CASE("a kept precondition costs one evaluation and is an expression") {
    int evaluated = 0;
    const int result = (STRETTO_ASSERT(++evaluated == 1, "evaluated once"), 7);
    CHECK(evaluated == 1);
    CHECK(result == 7);
}

TEST_CASE("expensive checks are off unless STRETTO_CHECKED asks for them") {
    int evaluated = 0;
    STRETTO_AUDIT(++evaluated == 0, "never evaluated");
    CHECK(evaluated == 0);
}
