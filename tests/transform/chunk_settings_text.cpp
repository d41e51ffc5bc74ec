#include "stretto/transform/chunk_settings_text.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/module_names.hpp"
#include "support/prop.hpp"

using namespace stretto;

namespace {

using cause = chunk_setting_error::cause;
constexpr auto both = pass_direction::both, forward = pass_direction::forward, backward = pass_direction::backward;

/// The settings of a text in so many rows, printed again; or which one does not fit them.
std::string again(const std::string& text, std::int64_t rows) {
    const auto parsed = parse_chunk_settings(text);
    REQUIRE(parsed);
    const auto made = in_rows(*parsed, rows);
    return made ? print_chunk_settings(*made) : "setting " + std::to_string(made.error());
}

chunk_setting_error error_of(const std::string& text) {
    const auto parsed = parse_chunk_settings(text);
    REQUIRE_FALSE(parsed);
    return parsed.error();
}

}  // namespace

TEST_CASE("settings are read as they are written") {
    const auto all = parse_chunk_settings(R"(2,layers.0-26.moe:backward=4,:forward=3,layers.3=1+3,a\,b\:forward\=2=5)");
    REQUIRE(all);
    REQUIRE(all->size() == 5);
    CHECK((*all)[0].pattern.empty());
    CHECK((*all)[0].amounts == std::vector<std::int64_t>{2});
    CHECK((*all)[1].text == "layers.0-26.moe:backward=4");
    CHECK((*all)[1].pattern == "layers.0-26.moe");
    CHECK((*all)[1].direction == backward);
    CHECK((*all)[2].pattern.empty());
    CHECK((*all)[2].direction == forward);
    CHECK((*all)[3].amounts == std::vector<std::int64_t>{1, 3});
    CHECK((*all)[4].pattern == R"(a\,b\:forward\=2)");
    CHECK((*all)[4].direction == both);
}

TEST_CASE("settings are printed in the fewest words") {
    CHECK(again("3", 7) == "3");
    CHECK(again("a=3+2+2,b:forward=2+3+2", 7) == "a=3,b:forward=2+3+2");
    CHECK(again("a=7,:backward=02", 7) == "a=7,:backward=2");
    CHECK(print_chunk_settings({}).empty());
    const std::vector<module_chunks> many{{"a", both, std::vector<std::int64_t>(1001, 1)}};
    CHECK(print_chunk_settings(many).substr(0, 6) == "a=1+1+");
}

TEST_CASE("the first setting that is none is named, with what it lacks") {
    for (const auto& [text, why] : {std::pair{"", cause::no_number},
                                    {"2,", cause::no_number},
                                    {"two", cause::no_number},
                                    {"0", cause::no_number},
                                    {"1001", cause::no_number},
                                    {"1099511627777+1", cause::no_number},
                                    {"99999999999999999999", cause::no_number},
                                    {"layers.3", cause::no_number},
                                    {"=2", cause::no_module},
                                    {"a:sideways=2", cause::no_module},
                                    {"a:b:forward=2", cause::no_module},
                                    {"a b=2", cause::no_module},
                                    {"a\\=2", cause::no_number},
                                    {"a\\q=2", cause::no_module},
                                    {"a=", cause::no_amount},
                                    {"a=1+", cause::no_amount},
                                    {"a=-1", cause::no_amount},
                                    {"a=2=3", cause::no_amount}}) {
        CAPTURE(text);
        CHECK(error_of(text).why == why);
    }
    CHECK(error_of("2,a=1,b=x,c=y").text == "b=x");
}

TEST_CASE("the first setting that does not fit the rows is named") {
    CHECK(again("4,a=9", 8) == "setting 1");
    CHECK(again("4,a=3+4", 8) == "setting 1");
    CHECK(again("4+5", 8) == "setting 0");
    CHECK(again("8", 8) == "8");
}

TEST_CASE("settings of any modules are the same settings after printing and reading") {
    stretto_check("any settings", 2000, [] {
        const auto rows = *rc::gen::inRange<std::int64_t>(1, 12);
        std::vector<module_chunks> settings;
        for (std::size_t n = *rc::gen::inRange<std::size_t>(1, 5); n > 0; --n) {
            module_chunks s{{}, *rc::gen::element(both, forward, backward), {}};
            if (*rc::gen::inRange(0, 5) > 0) s.pattern = exact_pattern(support::any_module_name());
            if (*rc::gen::inRange(0, 5) == 0) s.pattern += ".*.0-3";
            if (s.pattern.starts_with('.')) s.pattern = s.pattern.substr(1);
            if (*rc::gen::arbitrary<bool>()) {
                s.sizes = equal_chunks(rows, *rc::gen::inRange<std::size_t>(1, static_cast<std::size_t>(rows) + 1));
            } else {
                for (std::int64_t rest = rows; rest > 0; rest -= s.sizes.back())
                    s.sizes.push_back(*rc::gen::inRange<std::int64_t>(1, rest + 1));
            }
            settings.push_back(std::move(s));
        }
        const auto parsed = parse_chunk_settings(print_chunk_settings(settings));
        RC_ASSERT(parsed.has_value());
        const auto made = in_rows(*parsed, rows);
        RC_ASSERT(made.has_value());
        RC_ASSERT(made->size() == settings.size());
        for (std::size_t k = 0; k < settings.size(); ++k) {
            RC_ASSERT((*made)[k].pattern == settings[k].pattern);
            RC_ASSERT((*made)[k].direction == settings[k].direction);
            RC_ASSERT((*made)[k].sizes == settings[k].sizes);
        }
    });
}
