// Traces and reports write text as JSON strings with these functions.
#ifndef STRETTO_SCHEDULE_JSON_QUOTE_HPP
#define STRETTO_SCHEDULE_JSON_QUOTE_HPP

#include <string>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Appends a UTF-8 text in quotes. It escapes what JSON requires to be escaped, and nothing else; bytes from 0x80 on
/// are copied without being checked.
inline void append_quoted(std::string& to, std::string_view text) {
    constexpr const char* hexadecimal = "0123456789abcdef";
    to += '"';
    for (char c : text) {
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            to += "\\u00";
            to += hexadecimal[static_cast<unsigned char>(c) >> 4];
            to += hexadecimal[static_cast<unsigned char>(c) & 15];
        } else {
            to += c;
        }
    }
    to += '"';
}

/// Appends the member `"key":text` to the members of an object, after a comma unless it is the first one. `text` is
/// written as it is, so it must be JSON.
inline void append_member(std::string& to, std::string_view key, std::string_view text) {
    if (!to.empty()) to += ',';
    append_quoted(to, key);
    to += ':';
    to += text;
}

}  // namespace stretto::detail

#endif
