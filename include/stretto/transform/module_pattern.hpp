// Patterns for modules of a model, such as "layers.*.moe" or "layers.0-26", as settings of chunks and buckets use them.
// An escape character makes it possible to name every module exactly, whatever characters its name contains.
//
// A pattern consists of components that are separated by dots. A component is `*`, which matches any single component;
// `0-26`, which matches a number from 0 to 26 without leading zeros (both ends have up to nine digits); or a literal
// text. In a literal text, `\` makes the next character literal: `\*` matches a module called *, and `0\-26` one called
// 0-26. `\xHH` is the character with that code. Characters with a meaning in the texts that contain patterns (`,` `=`
// `:` `+` and blanks) are also escaped with `\`.
#ifndef STRETTO_TRANSFORM_MODULE_PATTERN_HPP
#define STRETTO_TRANSFORM_MODULE_PATTERN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto {

namespace detail {

/// Returns the number that a text of up to nine digits denotes; -1 if it is not such a number.
[[nodiscard]] constexpr std::int64_t number_in(std::string_view text) noexcept {
    if (text.empty() || text.size() > 9) return -1;
    std::int64_t n = 0;
    for (char c : text) {
        if (c < '0' || c > '9') return -1;
        n = n * 10 + (c - '0');
    }
    return n;
}

/// The same, but without leading zeros, so that every number has exactly one text.
[[nodiscard]] constexpr std::int64_t plain_number_in(std::string_view text) noexcept {
    return text.size() > 1 && text[0] == '0' ? -1 : number_in(text);
}

/// The range of numbers that a component of a pattern matches; `first` is -1 if the component is not a range.
struct number_range {
    std::int64_t first = -1, last = -1;

    /// The range that the text of a component denotes.
    [[nodiscard]] static constexpr number_range of(std::string_view component) noexcept {
        const std::size_t between = component.find('-');
        if (between == std::string_view::npos) return {};
        const number_range r{number_in(component.substr(0, between)), number_in(component.substr(between + 1))};
        return r.first < 0 || r.last < 0 ? number_range() : r;
    }
};

/// Returns whether a component of a pattern may match several components of paths.
[[nodiscard]] constexpr bool is_wildcard(std::string_view component) noexcept {
    return component == "*" || number_range::of(component).first >= 0;
}

/// Returns the value of a hexadecimal digit; -1 if c is not one.
[[nodiscard]] constexpr int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Returns whether `\` may precede c. This holds for the printable ASCII characters except letters and digits, which
/// are reserved for future escapes, and the dot, which never occurs in a component.
[[nodiscard]] constexpr bool is_escapable(char c) noexcept {
    const bool named = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c >= ' ' && c <= '~' && !named && c != '.';
}

/// Takes the first character, with its escape resolved, from a nonempty component; returns false if the escape is
/// invalid.
[[nodiscard]] constexpr bool take_letter(std::string_view& component, char& letter) noexcept {
    letter = component[0];
    component.remove_prefix(1);
    if (letter != '\\') return true;
    if (component.empty()) return false;
    letter = component[0];
    if (letter == 'x' && component.size() >= 3) {
        const int high = hex_digit(component[1]), low = hex_digit(component[2]);
        if (high < 0 || low < 0) return false;
        letter = static_cast<char>(high * 16 + low);
        component.remove_prefix(3);
        return true;
    }
    component.remove_prefix(1);
    return is_escapable(letter);
}

/// Returns whether a component of a pattern matches a component of a path.
[[nodiscard]] constexpr bool names_component(std::string_view wanted, std::string_view own) noexcept {
    if (wanted == "*") return !own.empty();
    if (const number_range range = number_range::of(wanted); range.first >= 0) {
        const std::int64_t n = plain_number_in(own);
        return range.first <= n && n <= range.last;
    }
    char letter = 0;
    for (; !wanted.empty() && !own.empty(); own.remove_prefix(1))
        if (!take_letter(wanted, letter) || letter != own[0]) return false;
    return wanted.empty() && own.empty();
}

/// Returns whether a character of a module name must always be escaped in a pattern, in any context.
[[nodiscard]] constexpr bool needs_escape(char c) noexcept {
    return c == '\\' || c == ',' || c == '=' || c == ':' || c == '+' || c == '\x7f' ||
           static_cast<unsigned char>(c) <= ' ';
}

}  // namespace detail

/// Returns the leading part of a module path that a pattern matches: "layers.3" for the path "layers.3.moe.router" and
/// the pattern "layers.*" (where * is one component) or "layers.0-26". The result is empty if the path does not match
/// or if the pattern has an invalid escape. An empty component matches only an empty component, and an empty pattern
/// matches nothing. The result is a view into `path`. O(length).
[[nodiscard]] constexpr std::string_view matched_module(std::string_view path, std::string_view pattern) noexcept {
    std::size_t i = 0, j = 0;
    while (true) {
        const std::size_t end = std::min(path.find('.', i), path.size());
        const std::size_t pattern_end = std::min(pattern.find('.', j), pattern.size());
        if (!detail::names_component(pattern.substr(j, pattern_end - j), path.substr(i, end - i))) return {};
        if (pattern_end == pattern.size()) return path.substr(0, end);
        if (end == path.size()) return {};
        i = end + 1;
        j = pattern_end + 1;
    }
}

/// Returns how many components of a pattern are `*` or a range. O(length).
[[nodiscard]] constexpr std::size_t wildcards_in(std::string_view pattern) noexcept {
    std::size_t found = 0;
    for (std::size_t i = 0; i <= pattern.size();) {
        const std::size_t end = std::min(pattern.find('.', i), pattern.size());
        found += detail::is_wildcard(pattern.substr(i, end - i));
        i = end + 1;
    }
    return found;
}

/// Returns the components of a path for which a pattern has `*` or a range, joined by dots: "5.w" for the path
/// "layers.5.moe.w" and the pattern "layers.*.moe.*". Modules that several patterns name correspond to each other if
/// these are equal. Precondition: the path matches the pattern. O(length).
template <class = void>
[[nodiscard]] std::string matched_wildcards(std::string_view path, std::string_view pattern) {
    std::string found;
    for (std::size_t i = 0, j = 0; j <= pattern.size();) {
        const std::size_t end = std::min(path.find('.', i), path.size());
        const std::size_t pattern_end = std::min(pattern.find('.', j), pattern.size());
        const std::string_view component = pattern.substr(j, pattern_end - j);
        if (detail::is_wildcard(component)) {
            if (!found.empty()) found += '.';
            found += path.substr(i, end - i);
        }
        i = end < path.size() ? end + 1 : end;
        j = pattern_end + 1;
    }
    return found;
}

/// Returns whether a text is a pattern that may occur in the text of settings: it is not empty, every escape is valid,
/// and every character that needs an escape has one. O(length).
[[nodiscard]] constexpr bool is_module_pattern(std::string_view text) noexcept {
    if (text.empty()) return false;
    for (std::size_t i = 0; i <= text.size();) {
        const std::size_t end = std::min(text.find('.', i), text.size());
        std::string_view component = text.substr(i, end - i);
        while (!component.empty()) {
            char letter = component[0];
            if (letter != '\\' && detail::needs_escape(letter)) return false;
            if (!detail::take_letter(component, letter)) return false;
        }
        i = end + 1;
    }
    return true;
}

/// Returns the pattern that matches one module, with its submodules, and nothing else. It is the module itself if
/// nothing in it needs an escape. matched_module(path, exact_pattern(module)) is `module` for a path that begins with
/// its components, and empty for any other path. The pattern of an empty module is empty. O(length).
template <class = void>
[[nodiscard]] std::string exact_pattern(std::string_view module) {
    constexpr char digits[] = "0123456789abcdef";
    std::string pattern;
    for (std::size_t i = 0; i <= module.size();) {
        const std::size_t end = std::min(module.find('.', i), module.size());
        const std::string_view component = module.substr(i, end - i);
        const bool is_range = detail::number_range::of(component).first >= 0;
        for (char c : component) {
            const bool special = (c == '*' && component.size() == 1) || (c == '-' && is_range);
            const auto code = static_cast<unsigned char>(c);
            if (code < ' ' || code == 0x7f) {
                pattern += "\\x";
                pattern += digits[code / 16];
                pattern += digits[code % 16];
                continue;
            }
            if (special || detail::needs_escape(c)) pattern += '\\';
            pattern += c;
        }
        if (end != module.size()) pattern += '.';
        i = end + 1;
    }
    return pattern;
}

/// Returns the first position, not before `from`, at which a character occurs in a text of patterns without being part
/// of an escape; npos if there is none. O(length).
[[nodiscard]] constexpr std::size_t find_unescaped(std::string_view text, char letter, std::size_t from = 0) noexcept {
    for (std::size_t i = from; i < text.size(); ++i) {
        if (text[i] == letter) return i;
        if (text[i] == '\\') ++i;
    }
    return std::string_view::npos;
}

}  // namespace stretto

#endif
