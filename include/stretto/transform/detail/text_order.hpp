// Maps keyed by text in which a string_view is looked up without a copy.
#ifndef STRETTO_TRANSFORM_DETAIL_TEXT_ORDER_HPP
#define STRETTO_TRANSFORM_DETAIL_TEXT_ORDER_HPP

#include <string_view>

#include "stretto/core/language.hpp"

namespace stretto::detail {

struct text_order {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a < b; }
};

}  // namespace stretto::detail

#endif
