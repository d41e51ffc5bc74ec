// An object that a library has created for us, as a value that releases it.
#ifndef STRETTO_BACKEND_DETAIL_OWNED_HPP
#define STRETTO_BACKEND_DETAIL_OWNED_HPP

#include <utility>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Holds a handle of a library, or none, and calls `End(handle)` at its end. The result of that call is ignored.
template <class T, auto End>
class owned {
public:
    owned() = default;
    owned(owned&& other) noexcept : handle_(other.handle_), is_there_(std::exchange(other.is_there_, false)) {}
    owned& operator=(owned&&) = delete;
    ~owned() {
        if (is_there_) static_cast<void>(End(handle_));
    }

    /// The place where the library writes the handle. It is held only after `keep(true)`, because a failed call may
    /// have written anything there.
    [[nodiscard]] T& slot() noexcept { return handle_; }
    void keep(bool made) noexcept { is_there_ = made; }

    [[nodiscard]] bool is_there() const noexcept { return is_there_; }
    [[nodiscard]] const T& get() const noexcept { return handle_; }

private:
    T handle_ = {};
    bool is_there_ = false;
};

}  // namespace stretto::detail

#endif
