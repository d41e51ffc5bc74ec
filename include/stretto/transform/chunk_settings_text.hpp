// The number of chunks for each module, as a line of text that people write and programs parse:
// "2,layers.0-26.moe:backward=4,layers.3=1+3" means two chunks for everything, four for the backward pass of some
// modules, and for another module one chunk of one row and one of three.
//
// Settings are separated by commas. A setting is `AMOUNT`, which applies to everything, or `MODULE=AMOUNT`. MODULE is a
// pattern of module_pattern.hpp, with its escapes; it may be followed by, or consist of, `:forward` or `:backward`.
// AMOUNT is a number of chunks, which are equal except for a remainder, or `ROWS+ROWS...`, the rows of each chunk.
#ifndef STRETTO_TRANSFORM_CHUNK_SETTINGS_TEXT_HPP
#define STRETTO_TRANSFORM_CHUNK_SETTINGS_TEXT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/module_pattern.hpp"
#include "stretto/transform/module_regions.hpp"

namespace stretto {

/// One parsed setting, before the number of rows is known.
struct chunk_setting {
    std::string text;     ///< the original text of the setting
    std::string pattern;  ///< empty if the setting applies to everything
    pass_direction direction = pass_direction::both;
    std::vector<std::int64_t> amounts;  ///< one entry: the number of equal chunks; several entries: rows per chunk
};

/// Why a text is not a list of settings.
struct chunk_setting_error {
    enum class cause : std::uint8_t {
        no_module,  ///< the text before the = is not a pattern
        no_number,  ///< there is no =, and the text is not an amount
        no_amount   ///< the text after the = is not an amount
    };
    std::string text;  ///< the first invalid setting, as it was written
    cause why = cause::no_number;
};

/// More equal chunks than these are printed with the rows of each, and are rejected as a number: it is surely an error.
inline constexpr std::int64_t most_equal_chunks = 1000;

namespace detail {

inline constexpr std::string_view forward_suffix = ":forward", backward_suffix = ":backward";

/// Returns the numbers in a text such as "4" or "1+3". The result is empty if the text is no AMOUNT, if a number is not
/// from 1 to 2^40, or if there is a single number above most_equal_chunks. O(length).
template <class = void>
[[nodiscard]] std::vector<std::int64_t> amounts_in(std::string_view text) {
    std::vector<std::int64_t> amounts;
    for (std::size_t i = 0; i <= text.size();) {
        const std::size_t end = std::min(text.find('+', i), text.size());
        std::int64_t n = 0;
        for (char c : text.substr(i, end - i)) {
            if (c < '0' || c > '9' || n > (std::int64_t{1} << 40)) return {};
            n = n * 10 + (c - '0');
        }
        if (n < 1 || n > (std::int64_t{1} << 40)) return {};
        amounts.push_back(n);
        i = end + 1;
    }
    if (amounts.size() == 1 && amounts[0] > most_equal_chunks) return {};
    return amounts;
}

}  // namespace detail

/// Parses settings in the form above, and keeps their order. An empty text is an error, and so is any other text that
/// does not have this form. Numbers are at most 2^40 and may have leading zeros. O(length).
template <class = void>
[[nodiscard]] expected<std::vector<chunk_setting>, chunk_setting_error> parse_chunk_settings(std::string_view text) {
    using cause = chunk_setting_error::cause;
    std::vector<chunk_setting> all;
    for (std::size_t i = 0; i <= text.size();) {
        const std::size_t end = std::min(find_unescaped(text, ',', i), text.size());
        const std::string_view piece = text.substr(i, end - i);
        i = end + 1;
        chunk_setting s{std::string(piece), {}, pass_direction::both, {}};
        const std::size_t equals = find_unescaped(piece, '=');
        const bool names = equals != std::string_view::npos;
        if (names) {
            std::string_view name = piece.substr(0, equals);
            if (const std::size_t colon = find_unescaped(name, ':'); colon != std::string_view::npos) {
                const std::string_view way = name.substr(colon);
                if (way != detail::forward_suffix && way != detail::backward_suffix)
                    return unexpected(chunk_setting_error{s.text, cause::no_module});
                s.direction = way == detail::forward_suffix ? pass_direction::forward : pass_direction::backward;
                name = name.substr(0, colon);
            }
            const bool everything = name.empty() && s.direction != pass_direction::both;
            if (!everything && !is_module_pattern(name))
                return unexpected(chunk_setting_error{s.text, cause::no_module});
            s.pattern = name;
        }
        s.amounts = detail::amounts_in(names ? piece.substr(equals + 1) : piece);
        if (s.amounts.empty())
            return unexpected(chunk_setting_error{s.text, names ? cause::no_amount : cause::no_number});
        all.push_back(std::move(s));
    }
    return all;
}

/// Converts settings into chunks of rows, for regions_in_chunks. The error is the position of the first setting that
/// has more chunks than there are rows, or whose chunks do not add up to all rows. O(settings and their chunks).
template <class = void>
[[nodiscard]] expected<std::vector<module_chunks>, std::size_t> in_rows(std::span<const chunk_setting> settings,
                                                                        std::int64_t rows) {
    std::vector<module_chunks> all;
    for (std::size_t s = 0; s < settings.size(); ++s) {
        module_chunks made{settings[s].pattern, settings[s].direction, settings[s].amounts};
        if (made.sizes.size() == 1) {
            if (made.sizes[0] > rows) return unexpected(s);
            made.sizes = equal_chunks(rows, static_cast<std::size_t>(made.sizes[0]));
        }
        std::int64_t rest = rows;
        for (std::int64_t size : made.sizes) {
            if (size > rest) return unexpected(s);
            rest -= size;
        }
        if (rest != 0) return unexpected(s);
        all.push_back(std::move(made));
    }
    return all;
}

/// Returns the text of the settings. parse_chunk_settings and in_rows turn it back into the same settings. Precondition
/// for this: each setting has at least one chunk, each chunk has at least one row and at most 2^40, and each pattern
/// satisfies is_module_pattern or is empty. The text of no settings is empty. O(length).
template <class = void>
[[nodiscard]] std::string print_chunk_settings(std::span<const module_chunks> settings) {
    std::string text;
    for (const module_chunks& s : settings) {
        if (!text.empty()) text += ',';
        text += s.pattern;
        if (s.direction == pass_direction::forward) text += detail::forward_suffix;
        if (s.direction == pass_direction::backward) text += detail::backward_suffix;
        if (!s.pattern.empty() || s.direction != pass_direction::both) text += '=';
        std::int64_t rows = 0;
        for (std::int64_t size : s.sizes) rows += size;
        const bool few = static_cast<std::int64_t>(s.sizes.size()) <= most_equal_chunks;
        if (few && s.sizes == equal_chunks(rows, s.sizes.size())) {
            text += std::to_string(s.sizes.size());
            continue;
        }
        for (std::size_t k = 0; k < s.sizes.size(); ++k) {
            if (k > 0) text += '+';
            text += std::to_string(s.sizes[k]);
        }
    }
    return text;
}

}  // namespace stretto

#endif
