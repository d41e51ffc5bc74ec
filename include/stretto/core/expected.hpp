// `expected<T, E>` is a result, or the reason why there is none. It is the subset of std::expected (C++23) that the
// library uses, with the same names. It is our own code because C++20 has no std::expected, and <tl/expected.hpp>
// includes <functional>, which doubles the cost of every header (docs/decisions/expected.md).
#ifndef STRETTO_CORE_EXPECTED_HPP
#define STRETTO_CORE_EXPECTED_HPP

#include <concepts>
#include <new>
#include <type_traits>
#include <utility>

#include "stretto/core/config.hpp"

namespace stretto {

/// Wraps an error so that it converts to any `expected<T, E>` whose E it converts to: `return unexpected(cycle);`
template <class E>
class [[nodiscard]] unexpected {
public:
    constexpr explicit unexpected(E error) : error_(std::move(error)) {}
    constexpr const E& error() const& noexcept { return error_; }
    constexpr E&& error() && noexcept { return std::move(error_); }

private:
    E error_;
};

/// Holds a `T` or an `E`. Accessing the one that it does not hold is a broken precondition (STRETTO_ASSERT) and never
/// throws.
template <class T, class E>
class [[nodiscard]] expected {
    static_assert(std::is_object_v<T> && std::is_object_v<E>, "expected holds objects, not references or void");

    static constexpr bool nothrow_move =
        std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_constructible_v<E>;

public:
    using value_type = T;
    using error_type = E;

    /// Holds a value. The conversion is implicit, so that a function can return the value itself.
    expected(T value) : has_value_(true) { ::new (static_cast<void*>(&value_)) T(std::move(value)); }
    /// Holds an error: `return unexpected(error);`.
    template <class F>
        requires std::convertible_to<F, E>
    expected(unexpected<F> e) : has_value_(false) {
        ::new (static_cast<void*>(&error_)) E(std::move(e).error());
    }
    expected(const expected& other) : has_value_(other.has_value_) {
        if (has_value_) ::new (static_cast<void*>(&value_)) T(other.value_);
        else ::new (static_cast<void*>(&error_)) E(other.error_);
    }
    expected(expected&& other) noexcept(nothrow_move) : has_value_(other.has_value_) { take(other); }
    /// Assigns by copying or moving. Moving T and E must not throw, because the old contents are destroyed before the
    /// new ones are moved in.
    expected& operator=(expected other) noexcept(nothrow_move) {
        destroy();
        has_value_ = other.has_value_;
        take(other);
        return *this;
    }
    ~expected() { destroy(); }

    [[nodiscard]] bool has_value() const noexcept { return has_value_; }
    explicit operator bool() const noexcept { return has_value_; }

    T& operator*() & noexcept {
        STRETTO_ASSERT(has_value_, "this expected holds an error, not a value");
        return value_;
    }
    const T& operator*() const& noexcept {
        STRETTO_ASSERT(has_value_, "this expected holds an error, not a value");
        return value_;
    }
    T&& operator*() && noexcept {
        STRETTO_ASSERT(has_value_, "this expected holds an error, not a value");
        return std::move(value_);
    }
    T* operator->() noexcept { return &**this; }
    const T* operator->() const noexcept { return &**this; }

    [[nodiscard]] const E& error() const& noexcept {
        STRETTO_ASSERT(!has_value_, "this expected holds a value, not an error");
        return error_;
    }
    [[nodiscard]] E&& error() && noexcept {
        STRETTO_ASSERT(!has_value_, "this expected holds a value, not an error");
        return std::move(error_);
    }

private:
    /// Moves in the contents of `other`. Precondition: this object holds nothing, and has_value_ already equals
    /// other's.
    void take(expected& other) noexcept(nothrow_move) {
        if (has_value_) ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
        else ::new (static_cast<void*>(&error_)) E(std::move(other.error_));
    }
    void destroy() noexcept {
        if (has_value_) value_.~T();
        else error_.~E();
    }

    union {
        T value_;
        E error_;
    };
    bool has_value_;
};

}  // namespace stretto

#endif
