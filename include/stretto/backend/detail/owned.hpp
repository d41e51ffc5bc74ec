// Owns an object of a library, such as a stream, an event or a datatype, by the handle that the library has returned.
#ifndef STRETTO_BACKEND_DETAIL_OWNED_HPP
#define STRETTO_BACKEND_DETAIL_OWNED_HPP

#include <utility>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Holds a handle of a library, or none. The destructor calls `End(handle)` and ignores the result. It can be moved,
/// but not assigned.
template <class T, auto End>
class owned {
public:
    owned() = default;
    owned(owned&& other) noexcept : handle_(other.handle_), is_there_(std::exchange(other.is_there_, false)) {}
    owned& operator=(owned&&) = delete;
    ~owned() {
        if (is_there_) static_cast<void>(End(handle_));
    }

    /// Returns the place where the library writes the handle. The handle is owned only after `keep(true)`, because a
    /// failed call may have written anything there.
    [[nodiscard]] T& slot() noexcept { return handle_; }
    void keep(bool made) noexcept { is_there_ = made; }

    /// Returns whether it owns a handle.
    [[nodiscard]] bool is_there() const noexcept { return is_there_; }
    [[nodiscard]] const T& get() const noexcept { return handle_; }

private:
    T handle_ = {};
    bool is_there_ = false;
};

}  // namespace stretto::detail

#endif
