// Renames the operands in the text of arguments, for concretise_capture. There, the rest of the text must stay
// unchanged, but the positions of a node's inputs have changed. Parsing and printing would lose the spelling of
// numbers.
#ifndef STRETTO_CAPTURE_DETAIL_RENAME_OPERANDS_HPP
#define STRETTO_CAPTURE_DETAIL_RENAME_OPERANDS_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Returns the text of well-formed JSON in which every string "%k" with k below names.size(), however deep it is, is
/// replaced by the text names[k]. Keys are kept. O(length).
[[nodiscard]] inline std::string rename_operands(std::string_view json, std::span<const std::string> names) {
    std::string now;
    for (std::size_t i = 0; i < json.size();) {
        if (json[i] != '"') {
            now += json[i++];
            continue;
        }
        std::size_t end = i + 1;
        // The text is well-formed, so every string ends, and a backslash is followed by another character.
        while (json[end] != '"') end += json[end] == '\\' ? 2u : 1u;
        const std::string_view quoted = json.substr(i + 1, end - i - 1);
        i = end + 1;
        std::size_t k = 0, digits = 0;
        if (quoted.starts_with('%'))
            for (char c : quoted.substr(1)) {
                if (c < '0' || c > '9' || k >= names.size()) break;
                k = k * 10 + static_cast<std::size_t>(c - '0');
                ++digits;
            }
        // A string before a colon is a key, and keys never name operands.
        std::size_t behind = i;
        while (behind < json.size() &&
               (json[behind] == ' ' || json[behind] == '\t' || json[behind] == '\n' || json[behind] == '\r'))
            ++behind;
        const bool key = behind < json.size() && json[behind] == ':';
        if (!key && digits > 0 && digits + 1 == quoted.size() && k < names.size()) now += names[k];
        else now.append("\"").append(quoted).append("\"");
    }
    return now;
}

}  // namespace stretto::detail

#endif
