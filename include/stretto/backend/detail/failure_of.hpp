// What a callable of the caller throws, as a value.
#ifndef STRETTO_BACKEND_DETAIL_FAILURE_OF_HPP
#define STRETTO_BACKEND_DETAIL_FAILURE_OF_HPP

#include <exception>
#include <optional>
#include <string>

namespace stretto::detail {

/// Calls `f`. Returns the message of what it has thrown, where exceptions are enabled. The exception must not
/// propagate, because it would end the process: kernels are called by threads of ours, or of the device.
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
