// Where and why a text is not a plan: the error of the parsers of all plan texts.
#ifndef STRETTO_TRANSFORM_PLAN_TEXT_ERROR_HPP
#define STRETTO_TRANSFORM_PLAN_TEXT_ERROR_HPP

#include <cstddef>
#include <string>

#include "stretto/core/language.hpp"

namespace stretto {

/// The first fault of a text. `cause` is a sentence for people.
struct plan_text_error {
    std::size_t line = 0;  ///< counted from 1
    std::string cause;
    friend bool operator==(const plan_text_error&, const plan_text_error&) = default;
};

}  // namespace stretto

#endif
