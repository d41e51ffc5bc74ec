// Names of vertices as no text of a plan expects them: with a quotation mark, a backslash and the end of a line.
#ifndef STRETTO_TESTS_SUPPORT_AWKWARD_NAMES_HPP
#define STRETTO_TESTS_SUPPORT_AWKWARD_NAMES_HPP

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace support {

inline std::string awkward_name(std::uint32_t v) { return "\"v\\" + std::to_string(v) + "\n"; }

/// The vertex of such a name.
inline std::optional<std::uint32_t> awkwardly_named(std::string_view name) {
    std::uint32_t v = 0;
    if (name.size() < 5 || std::from_chars(name.data() + 3, name.data() + name.size() - 1, v).ec != std::errc{})
        return {};
    return v;
}

}  // namespace support

#endif
