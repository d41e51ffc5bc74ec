// In how many chunks modules run, as a line of text that people write and programs read back:
// "2,layers.0-26.moe:backward=4,layers.3=1+3" for two chunks of everything, four of the backward of some modules, and
// two of one row and three in another.
//
// There is a comma between settings, and each is `AMOUNT`, for everything, or `MODULE=AMOUNT`, where MODULE is a
// pattern of module_pattern.hpp, with its escapes, and may be followed, or replaced, by `:forward` or `:backward`.
// AMOUNT is a number of chunks, which are equal but for a remainder, or `ROWS+ROWS...`, the rows of each chunk.
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

/// One setting as it is written, before it is known how many rows there are.
struct chunk_setting {
    std::string text;     ///< as it was written
    std::string pattern;  ///< empty: everything
    pass_direction direction = pass_direction::both;
    std::vector<std::int64_t> amounts;  ///< one: so many equal chunks; several: rows per chunk
};

/// Why a text is no list of settings.
struct chunk_setting_error {
    enum class cause : std::uint8_t {
        no_module,  ///< before the = stands no pattern
        no_number,  ///< there is no =, and it is no number of chunks either
        no_amount   ///< behind the = stands no amount
    };
    std::string text;  ///< the first setting that is none, as it was written
    cause why = cause::no_number;
};

/// More equal chunks than these are written with the rows of each, and refused as a number: nobody means so many.
inline constexpr std::int64_t most_equal_chunks = 1000;

namespace detail {

inline constexpr std::string_view forward_suffix = ":forward", backward_suffix = ":backward";

/// "4" or "1+3" as numbers from 1 to 2^40; empty if it is neither. O(length).
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

/// The settings of a text in the form above, in its order. A text without any is refused, and whatever else
/// print_chunk_settings could not have written, but for zeros before numbers. O(length).
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

/// The settings in chunks of so many rows, for regions_in_chunks. Fails with the position of the first setting that
/// wants more chunks than there are rows, or whose chunks do not have all of them. O(settings and their chunks).
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

/// The text of settings, from which parse_chunk_settings and in_rows make the same settings again, if each has chunks,
/// all with rows, and each pattern is one (is_module_pattern) or empty. Of no settings it is empty. O(length).
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
