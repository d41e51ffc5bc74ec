#include "stretto/transform/module_pattern.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
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
    CHECK(exact_pattern("a:b=c,d e+\\") == R"(a\:b\=c\,d\ e\+\\)");
    CHECK(exact_pattern("a\tb\x7f") == R"(a\x09b\x7f)");
}

TEST_CASE("what may stand in the text of settings is a pattern") {
    for (const char* good : {"*", "layers.0-26.moe", "a..b", R"(a\,b)", "b\xc3\xbcro"}) CHECK(is_module_pattern(good));
    for (const char* bad : {"", "a,b", "a=b", "a:b", "a+b", "a b", "a\nb"}) CHECK_FALSE(is_module_pattern(bad));
}

TEST_CASE("what the wildcards of a pattern stand for") {
    CHECK(matched_wildcards("layers.5.moe.w.x", "layers.*.moe.*") == "5.w");
    CHECK(matched_wildcards("layers.5.moe", "layers.0-9") == "5");
    CHECK(matched_wildcards("layers.5", "layers.*") == "5");
    CHECK(matched_wildcards("layers.5.moe", "layers.5") == "");
    CHECK(matched_wildcards("layers.*", R"(layers.\*)") == "");
    CHECK(wildcards_in("layers.*.moe.0-3") == 2);
    CHECK(wildcards_in("*") == 1);
    CHECK(wildcards_in(R"(layers.\*.0\-3.x*)") == 0);
}

TEST_CASE("a pattern with what its wildcards stand for in their places names the module that it matches") {
    stretto_check("any module, some of whose components are wildcards", 2000, [] {
        std::string module, pattern, path, stands;
        for (const int kind : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3))) {
            const std::string own = std::to_string(*rc::gen::inRange(0, 30));
            for (std::string* text : {&module, &pattern})
                if (!text->empty()) *text += '.';
            module += own;
            pattern += kind == 0 ? own : kind == 1 ? "*" : "0-29";
            if (kind != 0) stands += (stands.empty() ? "" : ".") + own;
        }
        RC_PRE(!module.empty());
        path = module + (*rc::gen::arbitrary<bool>() ? ".w" : "");
        RC_ASSERT(matched_module(path, pattern) == module);
        RC_ASSERT(matched_wildcards(path, pattern) == stands);
        const auto dots = static_cast<std::size_t>(std::ranges::count(stands, '.'));
        RC_ASSERT(wildcards_in(pattern) == (stands.empty() ? 0 : dots + 1));
    });
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
