// The order of maps whose keys are texts, which lets a string_view be looked up without a copy. std::less<> would do
// the same, but it needs <functional>, which this layer does not include.
#ifndef STRETTO_TRANSFORM_DETAIL_TEXT_ORDER_HPP
#define STRETTO_TRANSFORM_DETAIL_TEXT_ORDER_HPP

#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Compares texts byte by byte. The member type tells std::map that keys may be compared with views of texts.
struct text_order {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a < b; }
};

}  // namespace stretto::detail

#endif
