// Small, strided, exact tensors for tests. Elements are stored by class and not by width: every float is a double,
// every integer and truth value a 64-bit integer, and a complex number two doubles. Views share storage, as in the
// framework that the program came from, so all of them see a write in place.
#ifndef STRETTO_ATEN_TENSOR_HPP
#define STRETTO_ATEN_TENSOR_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/aten/detail/tensor_storage.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::aten {

/// A dense strided array that shares its storage with its copies and views; `cloned()` makes one with storage of its
/// own. A tensor without dimensions has one element. Strides and offset count elements of the storage, so those of a
/// complex tensor count halves of its elements.
class tensor {
public:
    /// Makes a tensor without dimensions that holds zero.
    tensor() : tensor(element_type::f64, {}) {}
    /// Makes a tensor of zeros in row-major order. O(elements). Precondition: no extent is negative.
    tensor(element_type element, std::vector<std::int64_t> shape)
        : tensor(element, std::move(shape), storage_handle(), 0) {
        const auto n = static_cast<std::size_t>(elements());
        if (integral()) storage_->integers.resize(n);
        else storage_->reals.resize(is_complex() ? 2 * n : n);
    }
    /// Makes a tensor of these elements in row-major order; a complex tensor takes pairs of doubles. Floats are stored
    /// as they are, and the elements of other types as `store` does it; integers are rounded towards zero first.
    /// Precondition: there are as many values as the shape has elements.
    [[nodiscard]] static tensor of(element_type element, std::vector<std::int64_t> shape, std::vector<double> values) {
        tensor made(element, std::move(shape));
        STRETTO_ASSERT(static_cast<std::size_t>(made.elements()) * (made.is_complex() ? 2 : 1) == values.size(),
                       "the shape has another number of elements");
        if (made.integral()) made.fill<double>(values);
        else made.storage_->reals = std::move(values);
        return made;
    }
    /// Makes a tensor of integers, which must not be converted through double. They are stored as `store` does it.
    [[nodiscard]] static tensor of_integers(element_type element, std::vector<std::int64_t> shape,
                                            std::vector<std::int64_t> values) {
        tensor made(element, std::move(shape));
        STRETTO_ASSERT(static_cast<std::size_t>(made.elements()) == values.size() && made.integral(),
                       "the shape has another number of elements, or the elements are no integers");
        made.fill<std::int64_t>(values);
        return made;
    }

    [[nodiscard]] element_type element() const noexcept { return element_; }
    [[nodiscard]] element_class category() const noexcept { return class_of(element_); }
    /// Returns whether the elements are integers or truth values.
    [[nodiscard]] bool integral() const noexcept { return category() <= element_class::integer; }
    [[nodiscard]] bool is_complex() const noexcept { return category() == element_class::complex; }
    /// Returns whether reads give the complex conjugate of what is stored.
    [[nodiscard]] bool conjugated() const noexcept { return conjugated_; }

    [[nodiscard]] std::size_t rank() const noexcept { return shape_.size(); }
    [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
    [[nodiscard]] const std::vector<std::int64_t>& strides() const noexcept { return strides_; }
    [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
    [[nodiscard]] std::int64_t extent(std::size_t dim) const noexcept { return shape_[dim]; }
    [[nodiscard]] std::int64_t elements() const noexcept { return detail::product(shape_); }
    /// Returns whether the elements lie in row-major order without gaps.
    [[nodiscard]] bool contiguous() const noexcept {
        std::int64_t step = is_complex() ? 2 : 1;
        for (std::size_t d = rank(); d-- > 0;) {
            if (shape_[d] != 1 && strides_[d] != step) return false;
            step *= shape_[d];
        }
        return true;
    }
    [[nodiscard]] const storage_handle& storage() const noexcept { return storage_; }

    /// Returns a view of the same storage with another shape. Strides and offset count elements of the storage.
    /// O(rank). Precondition: every slot lies in the storage.
    [[nodiscard]] tensor view(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
                              std::int64_t offset) const {
        tensor seen = *this;
        seen.shape_ = std::move(shape);
        seen.strides_ = std::move(strides);
        seen.offset_ = offset;
        return seen;
    }
    /// Returns a view of the same storage as elements of another type of the same class, as complex numbers instead of
    /// pairs of reals, or as pairs of reals instead of complex numbers. The shape stays; the caller adjusts it with
    /// view().
    [[nodiscard]] tensor reinterpreted(element_type element) const {
        tensor seen = *this;
        seen.element_ = element;
        return seen;
    }
    /// Returns a view that reads and writes the complex conjugate. Precondition: the tensor is complex.
    [[nodiscard]] tensor conjugate() const {
        tensor seen = *this;
        seen.conjugated_ = !conjugated_;
        return seen;
    }

    /// Returns the element at a slot of the storage, as a T: double, std::int64_t or complex_number.
    template <class T>
    [[nodiscard]] T load(std::int64_t slot) const noexcept {
        const auto at = static_cast<std::size_t>(slot);
        if (integral()) {
            const std::int64_t x = storage_->integers[at];
            if constexpr (std::is_same_v<T, complex_number>) return {static_cast<double>(x), 0};
            else return static_cast<T>(x);
        }
        const double x = storage_->reals[at];
        if constexpr (std::is_same_v<T, std::int64_t>) return detail::truncated(x);
        else if constexpr (std::is_same_v<T, double>) return x;
        else return {x, !is_complex() ? 0 : conjugated_ ? -storage_->reals[at + 1] : storage_->reals[at + 1]};
    }
    /// Writes an element to a slot. A bool element becomes true if the number is not zero, a narrow integer keeps the
    /// lower bits, and a complex number that is written to a real element loses its imaginary part. This does not count
    /// as a write of the storage.
    template <class T>
    void store(std::int64_t slot, T x) const noexcept {
        const auto at = static_cast<std::size_t>(slot);
        if constexpr (std::is_same_v<T, complex_number>) {
            if (is_complex()) {
                storage_->reals[at] = x.re;
                storage_->reals[at + 1] = conjugated_ ? -x.im : x.im;
            } else store(slot, category() == element_class::truth && x.im != 0 ? 1.0 : x.re);
        } else if (category() == element_class::truth) {
            storage_->integers[at] = x != T{};
        } else if (integral()) {
            if constexpr (std::is_same_v<T, double>) storage_->integers[at] = narrowed(detail::truncated(x));
            else storage_->integers[at] = narrowed(x);
        } else {
            storage_->reals[at] = static_cast<double>(x);
            if (is_complex()) storage_->reals[at + 1] = 0;
        }
    }

    /// Returns all elements in row-major order. O(elements).
    template <class T>
    [[nodiscard]] std::vector<T> values() const {
        std::vector<T> all;
        all.reserve(static_cast<std::size_t>(elements()));
        detail::for_each_slot(shape_, strides_, offset_, [&](std::int64_t slot) { all.push_back(load<T>(slot)); });
        return all;
    }
    /// Writes all elements in row-major order, which counts as one write of the storage. O(elements). Precondition:
    /// `from` has as many elements as the tensor.
    template <class T>
    void assign(std::span<const T> from) const {
        fill<T>(from);
        ++storage_->writes;
    }

    /// Returns a tensor with the same elements in row-major order in storage of its own. O(elements).
    [[nodiscard]] tensor cloned() const { return converted(element_); }
    /// Returns a copy with elements of another type. Floats that become integers are rounded towards zero, and integers
    /// wrap. O(elements).
    [[nodiscard]] tensor converted(element_type element) const {
        tensor made(element, shape_);
        const element_class wider = made.category() > category() ? made.category() : category();
        if (wider <= element_class::integer) made.assign<std::int64_t>(values<std::int64_t>());
        else if (wider == element_class::real) made.assign<double>(values<double>());
        else made.assign<complex_number>(values<complex_number>());
        made.storage_->writes = 0;
        return made;
    }

private:
    tensor(element_type element, std::vector<std::int64_t> shape, storage_handle storage, std::int64_t offset)
        : shape_(std::move(shape)),
          strides_(shape_.size()),
          storage_(std::move(storage)),
          offset_(offset),
          element_(element) {
        std::int64_t step = is_complex() ? 2 : 1;
        for (std::size_t d = rank(); d-- > 0; step *= shape_[d]) strides_[d] = step;
    }

    /// Stores all elements in row-major order, without counting a write. Precondition: as for `assign`.
    template <class T>
    void fill(std::span<const T> from) const {
        std::size_t k = 0;
        detail::for_each_slot(shape_, strides_, offset_, [&](std::int64_t slot) { store<T>(slot, from[k++]); });
    }

    /// Returns an integer as its type stores it: a narrow type keeps only the lower bits.
    std::int64_t narrowed(std::int64_t x) const noexcept {
        switch (element_) {
            case element_type::i8:
                return static_cast<std::int8_t>(x);
            case element_type::u8:
                return static_cast<std::uint8_t>(x);
            case element_type::i16:
                return static_cast<std::int16_t>(x);
            case element_type::i32:
                return static_cast<std::int32_t>(x);
            default:
                return x;
        }
    }

    std::vector<std::int64_t> shape_;
    std::vector<std::int64_t> strides_;
    storage_handle storage_;
    std::int64_t offset_ = 0;
    element_type element_ = element_type::f64;
    bool conjugated_ = false;
};

namespace detail {

/// Returns whether two floats have the same bits, or are both NaNs.
[[nodiscard]] inline bool same_bits(double p, double q) {
    return std::bit_cast<std::uint64_t>(p) == std::bit_cast<std::uint64_t>(q) || (p != p && q != q);
}

}  // namespace detail

/// Returns whether type, shape and elements are the same. Two NaNs count as the same; 0 and -0 do not. O(elements).
[[nodiscard]] bool identical(const tensor& a, const tensor& b);

/// Returns the position, in row-major order, of the first element in which two tensors of the same shape and class
/// differ; -1 if there is none. Bits are compared, but two NaNs count as the same. O(elements).
[[nodiscard]] inline std::int64_t first_difference(const tensor& a, const tensor& b) {
    if (a.integral()) {
        const std::vector<std::int64_t> x = a.values<std::int64_t>(), y = b.values<std::int64_t>();
        for (std::size_t k = 0; k < x.size(); ++k)
            if (x[k] != y[k]) return static_cast<std::int64_t>(k);
        return -1;
    }
    const std::vector<complex_number> x = a.values<complex_number>(), y = b.values<complex_number>();
    for (std::size_t k = 0; k < x.size(); ++k)
        if (!detail::same_bits(x[k].re, y[k].re) || !detail::same_bits(x[k].im, y[k].im))
            return static_cast<std::int64_t>(k);
    return -1;
}

inline bool identical(const tensor& a, const tensor& b) {
    return a.element() == b.element() && a.shape() == b.shape() && first_difference(a, b) < 0;
}

}  // namespace stretto::aten

#endif
