// Symbols of a capture on other extents, and types spelt with them.
#ifndef SUPPORT_SHRINK_SYMBOLS_HPP
#define SUPPORT_SHRINK_SYMBOLS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/detail/argument_text.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto::detail {

class shrunken_symbols {
public:
    shrunken_symbols(const capture& step, std::span<const capture_symbol> chosen)
        : symbols_(step.symbols().begin(), step.symbols().end()) {
        for (const capture_symbol& s : symbols_) values_[s.name] = s.value;
        for (const capture_symbol& s : chosen) set(s.name, s.value);
    }
    void set(std::string_view name, std::int64_t value) {
        for (capture_symbol& s : symbols_)
            if (s.name == name) values_[s.name] = s.value = value;
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
    /// The extent as an expression like the old one, or as a number.
    [[nodiscard]] std::string spelt(std::string_view old, std::int64_t extent) const {
        bool open = false;
        std::string_view symbol;
        extent_expression::for_each_symbol(old, [&](std::string_view word) {
            open = true;
            symbol = word;
        });
        if (open && extent_expression::value(old, values_) == extent) return std::string(old);
        // A factor was an extent: "512*u0" -> "16*u0".
        const auto value = values_.find(symbol);
        const bool product = old.find('*') != std::string_view::npos && value != values_.end() && value->second > 0 &&
                             extent_expression::multiple(old, symbol).has_value();
        if (product && extent % value->second == 0)
            return std::to_string(extent / value->second) + "*" + std::string(symbol);
        return std::to_string(extent);
    }

    std::vector<capture_symbol> symbols_;
    symbol_values values_;
};

}  // namespace stretto::detail

#endif
