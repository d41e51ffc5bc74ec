// Writes arguments and shapes in the notation of stretto-graph, for nodes that a transform adds. Existing text of the
// program is kept as it is; only new arguments are spelt here.
#ifndef STRETTO_CAPTURE_DETAIL_ARGUMENT_TEXT_HPP
#define STRETTO_CAPTURE_DETAIL_ARGUMENT_TEXT_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "stretto/core/tensor_model.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto::detail {

/// Appends a double in the shortest form that reads back as the same double, always with a point or an exponent:
/// without one it would read as an integer, which changes type promotion. Precondition: x is finite, because JSON has
/// no other numbers.
inline void append_real(std::string& to, double x) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, x);
    static_cast<void>(error);  // 32 characters are enough for the shortest form of every double
    std::string_view text(digits, static_cast<std::size_t>(end - digits));
    to += text;
    if (text.find_first_of(".e") == std::string_view::npos) to += ".0";
}

inline void append_argument(std::string& to, const tensor_argument& a);

/// Appends a list of arguments.
inline void append_arguments(std::string& to, std::span<const tensor_argument> all) {
    to += '[';
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k != 0) to += ',';
        append_argument(to, all[k]);
    }
    to += ']';
}

/// Appends one argument. An argument without a notation ("other") becomes null.
inline void append_argument(std::string& to, const tensor_argument& a) {
    using form = tensor_argument::form;
    switch (a.what) {
        case form::none:
        case form::other:
            to += "null";
            break;
        case form::truth:
            to += a.integer != 0 ? "true" : "false";
            break;
        case form::integer:
            to += std::to_string(a.integer);
            break;
        case form::real:
            append_real(to, a.real);
            break;
        case form::text:
            append_quoted(to, a.text);
            break;
        case form::operand:
            to += "\"%" + std::to_string(a.integer) + '"';
            break;
        case form::list:
            append_arguments(to, a.items);
            break;
    }
}

/// Appends named arguments as an object.
inline void append_arguments(std::string& to, std::span<const named_tensor_argument> all) {
    to += '{';
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k != 0) to += ',';
        append_quoted(to, all[k].name);
        to += ':';
        append_argument(to, all[k].value);
    }
    to += '}';
}

/// Appends one element of `outputs`. `symbolic` has one text for each extent, an expression or a number, or is empty;
/// it is written if one of them is an expression.
inline void append_tensor(std::string& to, std::span<const std::int64_t> shape, std::string_view dtype,
                          std::span<const std::string> symbolic) {
    to += "{\"shape\":[";
    for (std::size_t d = 0; d < shape.size(); ++d) to += (d == 0 ? "" : ",") + std::to_string(shape[d]);
    to += "],\"dtype\":";
    append_quoted(to, dtype);
    const auto is_number = [](std::string_view text) {
        return text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (!std::all_of(symbolic.begin(), symbolic.end(), is_number)) {
        to += ",\"symbolic\":[";
        for (std::size_t d = 0; d < symbolic.size(); ++d) {
            if (d != 0) to += ',';
            if (is_number(symbolic[d])) to += symbolic[d];
            else append_quoted(to, symbolic[d]);
        }
        to += ']';
    }
    to += '}';
}

}  // namespace stretto::detail

#endif
