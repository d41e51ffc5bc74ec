// Parses symbolic extents as frameworks write them, such as "8*((u3 + u4 + 71)//8)": computes their values, and finds
// and replaces their symbols. A text is read anew by each function; no expression is stored.
#ifndef STRETTO_TRANSFORM_EXTENT_EXPRESSION_HPP
#define STRETTO_TRANSFORM_EXTENT_EXPRESSION_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "stretto/core/language.hpp"
#include "stretto/transform/detail/text_order.hpp"

namespace stretto {

/// The values of the symbols in extents, by name.
using symbol_values = std::map<std::string, std::int64_t, detail::text_order>;

/// Applies an operator (+ - * / // % min max) to integers, with the semantics of Python: // rounds down, and % has the
/// sign of b. Returns nothing if the operator is another one, if the result is not an integer, or if it does not fit
/// into 64 bits.
[[nodiscard]] inline std::optional<std::int64_t> whole_number_of(std::string_view operation, std::int64_t a,
                                                                 std::int64_t b) {
    std::int64_t n = 0;
    const auto unless = [&n](bool overflow) { return overflow ? std::nullopt : std::optional(n); };
    if (operation == "+") return unless(__builtin_add_overflow(a, b, &n));
    if (operation == "-") return unless(__builtin_sub_overflow(a, b, &n));
    if (operation == "*") return unless(__builtin_mul_overflow(a, b, &n));
    if (operation == "min") return a < b ? a : b;
    if (operation == "max") return a < b ? b : a;
    if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
    const std::int64_t rest = a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;  // has the sign of b
    if (operation == "%") return rest;
    if (operation == "//") return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
    if (operation == "/" && rest == 0) return a / b;
    return std::nullopt;
}

/// Expressions of sums, products, quotients, remainders and powers of integers and symbols, and of Min, Max, Mod and
/// FloorDiv. A symbol is a word of letters, digits and underscores that does not begin with a digit and is not followed
/// by a parenthesis.
class extent_expression {
public:
    /// Returns the value of an expression. Returns nothing if a symbol has no value, if the text is not such an
    /// expression or nests deeper than 100 levels, or if an intermediate result is no 64-bit integer. O(length), with a
    /// look-up for each symbol.
    [[nodiscard]] static std::optional<std::int64_t> value(std::string_view text, const symbol_values& symbols) {
        extent_expression e(text, symbols);
        const std::optional<std::int64_t> n = e.sum(0);
        e.skip_blanks();
        return e.rest_.empty() ? n : std::nullopt;
    }

    /// Calls `f(word)` for every symbol, in the order of the text, as often as it occurs. O(length).
    template <class F>
    static void for_each_symbol(std::string_view text, F f) {
        for (std::size_t i = 0; i < text.size();) {
            std::size_t end = i;
            while (end < text.size() && is_word(text[end])) ++end;
            const bool number = text[i] >= '0' && text[i] <= '9';
            const bool function = end < text.size() && text[end] == '(';
            if (end > i && !number && !function) f(text.substr(i, end - i));
            i = end == i ? i + 1 : end;
        }
    }
    /// Returns whether the text contains symbols, and so is not a plain number.
    [[nodiscard]] static bool has_symbols(std::string_view text) {
        bool found = false;
        for_each_symbol(text, [&](std::string_view) { found = true; });
        return found;
    }

    /// Returns the text with symbols replaced. `f(word)` returns the replacement as an optional text, or nothing to
    /// keep the symbol: "u0*(u1//2)" -> "4*(u1//2)". O(length).
    template <class F>
    [[nodiscard]] static std::string substituted(std::string_view text, F f) {
        std::string now;
        const char* copied = text.data();
        for_each_symbol(text, [&](std::string_view symbol) {
            const std::optional<std::string> own = f(symbol);
            if (!own) return;
            now.append(copied, symbol.data()).append(*own);
            copied = symbol.data() + symbol.size();
        });
        return now.append(copied, text.data() + text.size());
    }
    /// Returns the text in which every symbol with a known value is replaced by that value.
    [[nodiscard]] static std::string substituted(std::string_view text, const symbol_values& symbols) {
        return substituted(text, [&](std::string_view symbol) -> std::optional<std::string> {
            const auto at = symbols.find(symbol);
            if (at == symbols.end()) return std::nullopt;
            return at->second < 0 ? "(" + std::to_string(at->second) + ")" : std::to_string(at->second);
        });
    }

    /// Returns whether `symbol` occurs in the text.
    [[nodiscard]] static bool mentions(std::string_view text, std::string_view symbol) {
        bool found = false;
        for_each_symbol(text, [&](std::string_view word) { found = found || word == symbol; });
        return found;
    }
    /// Returns the factor if an extent is a plain multiple of the symbol: 512 for "512*u0" or "8*u0*64", 1 for "u0".
    [[nodiscard]] static std::optional<std::int64_t> multiple(std::string_view text, std::string_view symbol) {
        const std::size_t at = text.find(symbol), end = at + symbol.size();
        if (at == std::string_view::npos || text.find_first_not_of("0123456789* ", end) != std::string_view::npos ||
            text.substr(0, at).find_first_not_of("0123456789* ") != std::string_view::npos)
            return std::nullopt;
        if (at > 0 && is_word(text[at - 1])) return std::nullopt;
        if (end < text.size() && is_word(text[end])) return std::nullopt;
        if (text.find("**") != std::string_view::npos) return std::nullopt;
        const symbol_values one = {{std::string(symbol), 1}};
        return value(text, one);
    }

private:
    [[nodiscard]] static constexpr bool is_word(char c) noexcept {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }

    // A recursive descent parser. Each function below reads one level of the grammar from the front of rest_, and
    // returns its value or nothing.
    using number = std::optional<std::int64_t>;
    static constexpr int deepest = 100;  // levels of parentheses; this bounds the recursion depth

    extent_expression(std::string_view text, const symbol_values& symbols) : rest_(text), symbols_(symbols) {}

    void skip_blanks() {
        while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    }
    /// Skips blanks, and the token if it comes next. Returns whether it did.
    bool skip(std::string_view token) {
        skip_blanks();
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    static number combine(std::string_view operation, number a, number b) {
        return a && b ? whole_number_of(operation, *a, *b) : std::nullopt;
    }

    number sum(int depth) {
        number n = product(depth);
        for (;;) {
            if (skip("+")) n = combine("+", n, product(depth));
            else if (skip("-")) n = combine("-", n, product(depth));
            else return n;
        }
    }
    number product(int depth) {
        number n = term(depth);
        for (;;) {
            if (skip("//")) n = combine("//", n, term(depth));
            else if (skip("*")) n = combine("*", n, term(depth));
            else if (skip("/")) n = combine("/", n, term(depth));
            else if (skip("%")) n = combine("%", n, term(depth));
            else return n;
        }
    }
    /// A negated term, or a power. As in Python, a sign binds less tightly than the ** behind it.
    number term(int depth) {
        if (depth == deepest) return std::nullopt;
        return skip("-") ? combine("-", 0, term(depth + 1)) : power(depth);
    }
    /// A factor, or a power of one. As in Python, the exponent is a term, so powers are grouped from right to left.
    number power(int depth) {
        const number base = factor(depth);
        if (!skip("**")) return base;
        const number exponent = term(depth + 1);
        if (!base || !exponent || *exponent < 0 || *exponent > 63) return std::nullopt;
        number n = 1;
        for (std::int64_t k = 0; k < *exponent; ++k) n = combine("*", n, base);
        return n;
    }
    /// An expression in parentheses, a call of a function, a symbol or an integer.
    number factor(int depth) {
        if (skip("(")) {
            const number n = sum(depth + 1);
            return skip(")") ? n : std::nullopt;
        }
        std::size_t end = 0;
        while (end < rest_.size() && is_word(rest_[end])) ++end;
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (skip("(")) return function(word, depth + 1);
        if (const auto at = symbols_.find(word); at != symbols_.end()) return at->second;
        std::int64_t n = 0;
        const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), n);
        if (word.empty() || error != std::errc() || last != word.data() + word.size()) return std::nullopt;
        return n;
    }
    /// The arguments of a function, combined from left to right.
    number function(std::string_view name, int depth) {
        const std::string_view operation = name == "Min"                          ? "min"
                                           : name == "Max"                        ? "max"
                                           : name == "FloorDiv"                   ? "//"
                                           : name == "Mod" || name == "PythonMod" ? "%"
                                                                                  : "";
        number n = sum(depth);
        while (skip(",")) n = combine(operation, n, sum(depth));
        return skip(")") && !operation.empty() ? n : std::nullopt;
    }

    std::string_view rest_;
    const symbol_values& symbols_;
};

}  // namespace stretto

#endif
