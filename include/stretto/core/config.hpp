// Assertions. Everything that is the *caller's* mistake goes through STRETTO_ASSERT (cheap) or STRETTO_AUDIT
// (linear or worse); everything that is a property of the caller's *data* is an `expected` with a witness instead.
//
// An embedding compiler replaces the behaviour by defining STRETTO_ASSERT(condition, sentence) before the first
// include, or in a header `stretto_config.hpp` on its include path. Neither macro is ever an assumption for the
// optimiser: in a release build a broken precondition is unchecked, not undefined by our hand.
#ifndef STRETTO_CORE_CONFIG_HPP
#define STRETTO_CORE_CONFIG_HPP

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
    __builtin_abort();  // <cstdlib> would be a twentieth of what including a header of ours costs
}

}  // namespace stretto::detail

#define STRETTO_ASSERT(condition, sentence) \
    ((condition) ? static_cast<void>(0) : ::stretto::detail::assertion_failed(#condition, sentence, __FILE__, __LINE__))
#endif
#endif

// Define STRETTO_CHECKED to turn the expensive checks on (the debug presets do).
#ifndef STRETTO_AUDIT
#ifdef STRETTO_CHECKED
#define STRETTO_AUDIT(condition, sentence) STRETTO_ASSERT(condition, sentence)
#else
#define STRETTO_AUDIT(condition, sentence) static_cast<void>(0)
#endif
#endif

#endif
