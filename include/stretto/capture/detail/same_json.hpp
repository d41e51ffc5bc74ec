// Compares JSON texts of a step and of a plan, ignoring only the space between tokens.
#ifndef STRETTO_CAPTURE_DETAIL_SAME_JSON_HPP
#define STRETTO_CAPTURE_DETAIL_SAME_JSON_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stretto::detail {

/// Returns the text of a JSON value without the space between its tokens, in which writers may differ.
inline std::string without_space(std::string_view json) {
    std::string dense;
    bool quoted = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (!quoted && (c == ' ' || c == '\n' || c == '\r' || c == '\t')) continue;
        dense += c;
        if (quoted && c == '\\' && i + 1 < json.size()) dense += json[++i];
        else if (c == '"') quoted = !quoted;
    }
    return dense;
}
/// Returns whether two values have the same spelling apart from space, or are both missing. Two spellings of one number
/// count as different, which can make the check too strict, but never too lax.
inline bool same_json(std::optional<std::string_view> a, std::optional<std::string_view> b) {
    return a == b || (a && b && without_space(*a) == without_space(*b));
}

}  // namespace stretto::detail

#endif
