// Maps by text in which a view of a text is looked up without making a text of it.
#ifndef STRETTO_TRANSFORM_DETAIL_TEXT_ORDER_HPP
#define STRETTO_TRANSFORM_DETAIL_TEXT_ORDER_HPP

#include <string_view>

namespace stretto::detail {

struct text_order {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a < b; }
};

}  // namespace stretto::detail

#endif
