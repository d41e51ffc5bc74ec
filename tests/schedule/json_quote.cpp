#include "stretto/schedule/json_quote.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <optional>
#include <string>

#include "support/prop.hpp"

using stretto::detail::append_member;
using stretto::detail::append_quoted;

namespace {

std::string quoted(const std::string& text) {
    std::string made;
    append_quoted(made, text);
    return made;
}

/// What a JSON string stands for, read as RFC 8259 has it, without surrogates; nothing if it is none.
std::optional<std::string> read(const std::string& json) {
    if (json.size() < 2 || json.front() != '"' || json.back() != '"') return std::nullopt;
    std::string text;
    for (std::size_t k = 1; k + 1 < json.size(); ++k) {
        const char c = json[k];
        if (c == '"' || static_cast<unsigned char>(c) < 0x20) return std::nullopt;
        if (c != '\\') {
            text += c;
            continue;
        }
        const char escaped = json[++k];
        if (escaped == '"' || escaped == '\\') {
            if (k + 1 == json.size()) return std::nullopt;  // that was the closing quote
            text += escaped;
        } else if (escaped == 'u' && k + 5 < json.size()) {
            text += static_cast<char>(std::stoi(json.substr(k + 1, 4), nullptr, 16));
            k += 4;
        } else {
            return std::nullopt;
        }
    }
    return text;
}

}  // namespace

TEST_CASE("quotes, backslashes and control characters are escaped, and nothing else") {
    CHECK(quoted("") == R"("")");
    CHECK(quoted("a/b c") == R"("a/b c")");
    CHECK(quoted(R"(say "no" to \n)") == R"("say \"no\" to \\n")");
    CHECK(quoted("a\nb\tc") == R"("a\u000ab\u0009c")");
    CHECK(quoted(std::string("\0\x1f\x20\x7f", 4)) == "\"\\u0000\\u001f \x7f\"");
    CHECK(quoted("K\xc3\xa4se") == "\"K\xc3\xa4se\"");  // UTF-8 stays as it is
}

TEST_CASE("text is appended to what is there") {
    std::string made = "[";
    append_quoted(made, "x");
    CHECK(made == R"(["x")");
}

TEST_CASE("members are separated by commas, and their texts are taken as they are") {
    std::string made;
    append_member(made, "ts", "1.5");
    CHECK(made == R"("ts":1.5)");
    append_member(made, "na\"me", R"("x")");
    CHECK(made == R"("ts":1.5,"na\"me":"x")");
}

TEST_CASE("whatever is quoted is read back") {
    stretto_check("any bytes", 500, [](const std::vector<std::uint8_t>& bytes) {
        const std::string text(bytes.begin(), bytes.end());
        const std::optional<std::string> back = read(quoted(text));
        RC_ASSERT(back.has_value());
        RC_ASSERT(*back == text);
    });
}
