// Checks the language standard before anything else of the library is read. With an older standard there would
// otherwise be more than a thousand errors, none of which names the reason.
#ifndef STRETTO_CORE_LANGUAGE_HPP
#define STRETTO_CORE_LANGUAGE_HPP

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "stretto needs C++20: compile with -std=c++20 (CMake: link stretto::stretto, which asks for it)"
#include <stretto_needs_std_cxx20>  // no such file: the compiler stops here instead of going on with what it cannot read
#endif

#endif
