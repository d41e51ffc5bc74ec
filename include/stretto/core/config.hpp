// Assertions. A mistake of the *caller* is checked by STRETTO_ASSERT if that is cheap, and by STRETTO_AUDIT if it takes
// linear time or more. A property of the caller's *data* is never an assertion; it is an `expected` with a witness.
//
// An embedding compiler replaces the behaviour by defining STRETTO_ASSERT(condition, sentence) before the first
// include, or in a header `stretto_config.hpp` on its include path. Neither macro tells the optimiser to assume the
// condition: a release build does not check preconditions, but the macros do not turn a broken one into undefined
// behaviour.
#ifndef STRETTO_CORE_CONFIG_HPP
#define STRETTO_CORE_CONFIG_HPP

#include "stretto/core/language.hpp"

#if defined(__has_include)
#if __has_include("stretto_config.hpp")
#include "stretto_config.hpp"
#endif
#endif

#ifndef STRETTO_ASSERT
#ifdef NDEBUG
#define STRETTO_ASSERT(condition, sentence) static_cast<void>(0)
#else
#include <cstdio>

namespace stretto::detail {

[[noreturn]] inline void assertion_failed(const char* condition, const char* sentence, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: stretto: %s (%s)\n", file, line, sentence, condition);
    __builtin_abort();  // including <cstdlib> would add a twentieth to the cost of our headers
}

}  // namespace stretto::detail

#define STRETTO_ASSERT(condition, sentence) \
    ((condition) ? static_cast<void>(0) : ::stretto::detail::assertion_failed(#condition, sentence, __FILE__, __LINE__))
#endif
#endif

// STRETTO_CHECKED turns on the expensive checks; the debug presets define it.
#ifndef STRETTO_AUDIT
#ifdef STRETTO_CHECKED
#define STRETTO_AUDIT(condition, sentence) STRETTO_ASSERT(condition, sentence)
#else
#define STRETTO_AUDIT(condition, sentence) static_cast<void>(0)
#endif
#endif

#endif
