// The parts of which tensors (stretto/aten/tensor.hpp) are made: classes of elements, shared storage, and the walk over
// its slots.
#ifndef STRETTO_ATEN_DETAIL_TENSOR_STORAGE_HPP
#define STRETTO_ATEN_DETAIL_TENSOR_STORAGE_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "stretto/core/tensor_model.hpp"

namespace stretto::aten {

/// The kind of arithmetic in which an element takes part. The classes ascend: an operation on two classes is done in
/// the later one.
enum class element_class : std::uint8_t {
    truth,
    integer,
    real,
    complex
};

/// Returns the class of an element type; `other` counts as real.
[[nodiscard]] constexpr element_class class_of(element_type e) noexcept {
    switch (e) {
        case element_type::boolean:
            return element_class::truth;
        case element_type::i8:
        case element_type::u8:
        case element_type::i16:
        case element_type::i32:
        case element_type::i64:
            return element_class::integer;
        case element_type::c64:
        case element_type::c128:
            return element_class::complex;
        default:
            return element_class::real;
    }
}

/// A complex number. std::complex is not used, because <complex> would include streams.
struct complex_number {
    double re = 0;
    double im = 0;

    friend constexpr complex_number operator+(complex_number a, complex_number b) { return {a.re + b.re, a.im + b.im}; }
    friend constexpr complex_number operator-(complex_number a, complex_number b) { return {a.re - b.re, a.im - b.im}; }
    friend constexpr complex_number operator*(complex_number a, complex_number b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    friend constexpr bool operator==(complex_number, complex_number) = default;
};

/// Memory that views share. Only one of the two lists is in use.
struct tensor_storage {
    std::vector<double> reals;           ///< for real elements, and for complex ones in pairs
    std::vector<std::int64_t> integers;  ///< for integers and truth values
    std::uint64_t writes = 0;            ///< how often it has been written in place
};

/// A handle that owns storage together with all its copies, by counting them. It must not be shared between threads.
/// std::shared_ptr is not used, because <memory> would cost more to include than this whole header.
class storage_handle {
public:
    storage_handle() : held_(new counted) {}
    storage_handle(const storage_handle& other) noexcept : held_(other.held_) { ++held_->owners; }
    storage_handle& operator=(const storage_handle& other) noexcept {
        ++other.held_->owners;
        leave();
        held_ = other.held_;
        return *this;
    }
    ~storage_handle() { leave(); }

    [[nodiscard]] tensor_storage& operator*() const noexcept { return held_->storage; }
    [[nodiscard]] tensor_storage* operator->() const noexcept { return &held_->storage; }
    friend bool operator==(const storage_handle& a, const storage_handle& b) noexcept { return a.held_ == b.held_; }

private:
    struct counted {
        tensor_storage storage;
        std::size_t owners = 1;
    };
    void leave() noexcept {
        if (--held_->owners == 0) delete held_;
    }
    counted* held_;
};

namespace detail {

using extents = std::vector<std::int64_t>;

/// Returns the number of elements of a shape.
inline std::int64_t product(std::span<const std::int64_t> shape) noexcept {
    std::int64_t n = 1;
    for (std::int64_t e : shape) n *= e;
    return n;
}

/// Calls `f(slot)` for every element in row-major order. O(elements). Rows along the last dimension are walked by an
/// inner loop; an odometer over the other dimensions keeps the slot where the row begins, so that no slot is computed
/// by multiplying out a position. A stride may be 0; then a slot comes up once for each position that shares it.
template <class F>
void for_each_slot(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, std::int64_t offset,
                   F f) {
    if (product(shape) == 0) return;
    if (shape.empty()) return f(offset);
    const std::size_t last = shape.size() - 1;
    extents at(shape.size(), 0);
    for (std::int64_t slot = offset;;) {
        for (std::int64_t k = 0; k < shape[last]; ++k) f(slot + k * strides[last]);
        std::size_t d = last;
        for (;;) {
            if (d == 0) return;
            --d;
            slot += strides[d];
            if (++at[d] < shape[d]) break;
            slot -= strides[d] * shape[d];
            at[d] = 0;
        }
    }
}

/// Returns a float as an integer, rounded towards zero; the smallest integer if no integer can hold it.
inline std::int64_t truncated(double x) noexcept {
    constexpr double bound = 9223372036854775808.0;  // 2^63
    return x >= -bound && x < bound ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::min();
}

}  // namespace detail

}  // namespace stretto::aten

#endif
