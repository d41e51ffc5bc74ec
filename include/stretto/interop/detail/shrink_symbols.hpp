// Symbols of a capture on other extents, and types spelt with them.
#ifndef STRETTO_INTEROP_DETAIL_SHRINK_SYMBOLS_HPP
#define STRETTO_INTEROP_DETAIL_SHRINK_SYMBOLS_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "stretto/interop/capture.hpp"
#include "stretto/interop/capture_fields.hpp"
#include "stretto/interop/detail/argument_text.hpp"

namespace stretto::detail {

class shrunken_symbols {
public:
    shrunken_symbols(const capture& step, std::span<const capture_symbol> chosen)
        : symbols_(step.symbols().begin(), step.symbols().end()) {
        for (const capture_symbol& s : chosen) set(s.name, s.value);
    }
    void set(std::string_view name, std::int64_t value) {
        for (capture_symbol& s : symbols_)
            if (s.name == name) s.value = value;
    }
    [[nodiscard]] const std::vector<capture_symbol>& all() const noexcept { return symbols_; }

    /// {"shape":[...],"dtype":"...","symbolic":[...]}. An expression that no longer gives the extent becomes a number.
    void append_type(std::string& to, const capture_tensor& recorded, std::span<const std::int64_t> shape) const {
        std::vector<std::string> symbolic;
        if (recorded.symbolic.size() == shape.size())
            for (std::size_t d = 0; d < shape.size(); ++d) symbolic.push_back(spelt(recorded.symbolic[d], shape[d]));
        append_tensor(to, shape, recorded.dtype, symbolic);
    }

private:
    /// A sum of products of integers and symbols; nothing for what is spelt otherwise.
    [[nodiscard]] std::optional<std::int64_t> value_of(std::string_view text) const {
        std::int64_t sum = 0;
        while (!text.empty()) {
            std::string_view term = cut(text, '+');
            std::int64_t product = 1;
            while (!term.empty()) {
                const std::optional<std::int64_t> factor = value_of_word(cut(term, '*'));
                if (!factor) return std::nullopt;
                product *= *factor;
            }
            sum += product;
        }
        return sum;
    }
    [[nodiscard]] std::optional<std::int64_t> value_of_word(std::string_view word) const {
        for (const capture_symbol& s : symbols_)
            if (s.name == word) return s.value;
        std::int64_t n = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), n);
        if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
        return n;
    }
    /// Takes what stands before a separator off the front of a text, without the blanks around it.
    static std::string_view cut(std::string_view& text, char separator) {
        const std::size_t at = text.find(separator);
        std::string_view piece = text.substr(0, at);
        text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
        while (piece.starts_with(' ')) piece.remove_prefix(1);
        while (piece.ends_with(' ')) piece.remove_suffix(1);
        return piece;
    }
    /// The extent as an expression like the old one, or as a number.
    [[nodiscard]] std::string spelt(std::string_view old, std::int64_t extent) const {
        const bool number = !old.empty() && old.find_first_not_of("0123456789") == std::string_view::npos;
        if (!number && value_of(old) == extent) return std::string(old);
        // A factor was an extent: "512*u0" -> "16*u0".
        std::string_view rest = old;
        const std::string_view factor = cut(rest, '*');
        const std::optional<std::int64_t> symbol = value_of_word(rest);
        const bool product = !number && value_of_word(factor) && symbol && rest.find('*') == std::string_view::npos;
        if (product && *symbol > 0 && extent % *symbol == 0)
            return std::to_string(extent / *symbol) + "*" + std::string(rest);
        return std::to_string(extent);
    }

    std::vector<capture_symbol> symbols_;
};

}  // namespace stretto::detail

#endif
