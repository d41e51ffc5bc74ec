// Whether two JSON texts say the same, to the letter.
#ifndef STRETTO_CAPTURE_DETAIL_SAME_JSON_HPP
#define STRETTO_CAPTURE_DETAIL_SAME_JSON_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stretto::detail {

/// The text of a JSON value without the space between its tokens. Writers differ in that space, and in nothing else.
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
/// Whether two values are spelt alike but for space, or are both missing. Two spellings of one number differ, which
/// makes the check stricter than it need be, and never laxer.
inline bool same_json(std::optional<std::string_view> a, std::optional<std::string_view> b) {
    return a == b || (a && b && without_space(*a) == without_space(*b));
}

}  // namespace stretto::detail

#endif
