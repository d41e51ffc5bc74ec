// The language that the library is written in, checked before anything of it is read: without this, an older standard
// ends in more than a thousand errors, none of which says why.
#ifndef STRETTO_CORE_LANGUAGE_HPP
#define STRETTO_CORE_LANGUAGE_HPP

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "stretto needs C++20: compile with -std=c++20 (CMake: link stretto::stretto, which asks for it)"
#include <stretto_needs_std_cxx20>  // no such file: the compiler stops here instead of going on with what it cannot read
#endif

#endif
