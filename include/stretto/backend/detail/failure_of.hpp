// Turns an exception of the caller's code into a value. Backends call kernels and the programs of ranks through it.
// Most of these run in threads of this library or of the device, where an exception that propagates would end the
// process.
#ifndef STRETTO_BACKEND_DETAIL_FAILURE_OF_HPP
#define STRETTO_BACKEND_DETAIL_FAILURE_OF_HPP

#include <exception>
#include <optional>
#include <string>

namespace stretto::detail {

/// Calls `f`. Returns the message of the exception that it throws, or nothing. Without support for exceptions, it only
/// calls `f`.
template <class F>
[[nodiscard]] std::optional<std::string> failure_of(F&& f) {
#if defined(__cpp_exceptions)
    try {
        f();
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception of an unknown type";
    }
#else
    f();
#endif
    return {};
}

}  // namespace stretto::detail

#endif
