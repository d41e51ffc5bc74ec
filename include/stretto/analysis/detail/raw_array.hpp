// An array whose elements are not initialised when it is created, so that memory is written only once, by the code that
// fills it.
#ifndef STRETTO_ANALYSIS_DETAIL_RAW_ARRAY_HPP
#define STRETTO_ANALYSIS_DETAIL_RAW_ARRAY_HPP

#include <cstddef>
#include <type_traits>
#include <utility>

#include "stretto/core/config.hpp"

namespace stretto::detail {

/// An owning array of trivial elements, uninitialised until they are assigned.
template <class T>
class raw_array {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>);

public:
    raw_array() = default;
    explicit raw_array(std::size_t size) : elements_(new T[size]), size_(size) {}
    raw_array(const raw_array& other) : raw_array(other.size_) {
        for (std::size_t k = 0; k < size_; ++k) elements_[k] = other.elements_[k];
    }
    raw_array(raw_array&& other) noexcept
        : elements_(std::exchange(other.elements_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    raw_array& operator=(raw_array other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~raw_array() { delete[] elements_; }

    [[nodiscard]] T& operator[](std::size_t k) {
        STRETTO_ASSERT(k < size_, "this array has no such element: are the numbers of a view stale?");
        return elements_[k];
    }
    [[nodiscard]] const T& operator[](std::size_t k) const {
        STRETTO_ASSERT(k < size_, "this array has no such element: are the numbers of a view stale?");
        return elements_[k];
    }
    [[nodiscard]] T* begin() noexcept { return elements_; }
    [[nodiscard]] T* end() noexcept { return elements_ + size_; }
    [[nodiscard]] const T* begin() const noexcept { return elements_; }
    [[nodiscard]] const T* end() const noexcept { return elements_ + size_; }
    [[nodiscard]] const T* data() const noexcept { return elements_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    T* elements_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace stretto::detail

#endif
