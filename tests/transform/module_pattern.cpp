#include "stretto/transform/module_pattern.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/module_names.hpp"
#include "support/prop.hpp"

using namespace stretto;

namespace {

/// What a pattern without anything special in it names, by the words of the documentation: the components of the
/// module are the first ones of the path.
bool lies_in(const std::string& path, const std::string& module) {
    return path == module || path.substr(0, module.size() + 1) == module + ".";
}

}  // namespace

TEST_CASE("patterns match the beginning of a path, component by component") {
    CHECK(matched_module("layers.3.moe.router", "layers.3") == "layers.3");
    CHECK(matched_module("layers.3.moe.router", "layers.*") == "layers.3");
    CHECK(matched_module("layers.3.moe.router", "layers.*.moe") == "layers.3.moe");
    CHECK(matched_module("layers.3", "layers.3") == "layers.3");
    CHECK(matched_module("layers.30", "layers.3").empty());
    CHECK(matched_module("layers.3", "layers.3.moe").empty());
    CHECK(matched_module("layers.3", "*.*") == "layers.3");
    CHECK(matched_module("layers", "*.*").empty());
    CHECK(matched_module("layers.3", "layer*").empty());
    CHECK(matched_module("", "*").empty());
    CHECK(matched_module("layers.3", "").empty());
    CHECK(matched_module("layers.3", "layers..3").empty());
    CHECK(matched_module("layers.3.moe", "layers.0-3") == "layers.3");
    CHECK(matched_module("layers.3.moe", "layers.3-3.moe") == "layers.3.moe");
    CHECK(matched_module("layers.4", "layers.0-3").empty());
    CHECK(matched_module("layers.x", "layers.0-3").empty());
    CHECK(matched_module("layers.3", "layers.-3").empty());
    CHECK(matched_module("layers.3", "layers.0-3-5").empty());
    CHECK(matched_module("layers.03", "layers.0-3").empty());  // layers.3 is the third
    CHECK(matched_module("layers.0", "layers.0-3") == "layers.0");
    CHECK(matched_module("layers.30000000000", "layers.0-3").empty());
}

TEST_CASE("an escape takes the meaning from a letter") {
    CHECK(matched_module("layers.*", R"(layers.\*)") == "layers.*");
    CHECK(matched_module("layers.3", R"(layers.\*)").empty());
    CHECK(matched_module("layers.3-5.moe", R"(layers.3\-5)") == "layers.3-5");
    CHECK(matched_module("layers.4", R"(layers.3\-5)").empty());
    CHECK(matched_module("layers.3-5", "layers.3-5").empty());  // a range, in which no number is called so
    CHECK(matched_module(R"(a\b)", R"(a\\b)") == R"(a\b)");
    CHECK(matched_module("a\nb", R"(a\x0Ab)") == "a\nb");
    for (const char* broken : {R"(a\)", R"(\a)", R"(\xg0)", R"(\x1)", R"(\3)", R"(a\.b)"}) {
        CAPTURE(broken);
        CHECK(matched_module(broken, broken).empty());
        CHECK_FALSE(is_module_pattern(broken));
    }
}

TEST_CASE("the pattern of one module is its name, with escapes only where it needs them") {
    CHECK(exact_pattern("layers.3.moe") == "layers.3.moe");
    CHECK(exact_pattern("_orig_mod.a-b.x*y") == "_orig_mod.a-b.x*y");
    CHECK(exact_pattern("") == "");
    CHECK(exact_pattern("a..b.") == "a..b.");
    CHECK(exact_pattern("layers.*") == R"(layers.\*)");
    CHECK(exact_pattern("0-1.x") == R"(0\-1.x)");
    CHECK(exact_pattern("a:b=c,d e\\") == R"(a\:b\=c\,d\ e\\)");
    CHECK(exact_pattern("a\tb\x7f") == R"(a\x09b\x7f)");
}

TEST_CASE("what may stand in the text of settings is a pattern") {
    for (const char* good : {"*", "layers.0-26.moe", "a..b", R"(a\,b)", "b\xc3\xbcro"}) CHECK(is_module_pattern(good));
    for (const char* bad : {"", "a,b", "a=b", "a:b", "a b", "a\nb"}) CHECK_FALSE(is_module_pattern(bad));
}

TEST_CASE("a letter that is part of an escape is not found") {
    CHECK(find_unescaped(R"(a\,b,c)", ',') == 4);
    CHECK(find_unescaped(R"(a\\,b)", ',') == 3);
    CHECK(find_unescaped("a,b,c", ',', 2) == 3);
    CHECK(find_unescaped(R"(a\,)", ',') == std::string_view::npos);
}

TEST_CASE("an exact pattern names its module and what lies in it, whatever both are called") {
    stretto_check("any names", 2000, [] {
        const std::string module = support::any_module_name();
        std::string path = *rc::gen::arbitrary<bool>() ? module + "." : "";
        path += support::any_module_name();
        const std::string pattern = exact_pattern(module);
        RC_ASSERT(is_module_pattern(pattern));
        RC_ASSERT(matched_module(module, pattern) == module);
        RC_ASSERT(matched_module(path, pattern) == (lies_in(path, module) ? module : ""));
        for (char letter : pattern) RC_ASSERT(letter >= ' ');
    });
}
