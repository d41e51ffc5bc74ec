// Allocates many short arrays, one after another, that live as long as their owner. Spans of them stay valid while more
// are made, which would not be so if they were parts of one growing vector.
#ifndef STRETTO_CAPTURE_DETAIL_STABLE_ARRAYS_HPP
#define STRETTO_CAPTURE_DETAIL_STABLE_ARRAYS_HPP

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// Allocates arrays that keep their addresses, even if the object is moved. The elements are value-initialised. A new
/// block is begun when the last one has no room for an array, so that one allocation serves many small arrays.
template <class T>
class stable_arrays {
public:
    /// Returns an array of that many elements.
    [[nodiscard]] std::span<T> make(std::size_t count) {
        if (count > room_) {
            room_ = count > block ? count : block;
            blocks_.push_back(std::make_unique<T[]>(room_));
            next_ = blocks_.back().get();
        }
        const std::span<T> made(next_, count);
        next_ += count;
        room_ -= count;
        return made;
    }

private:
    static constexpr std::size_t block = 4096;

    std::vector<std::unique_ptr<T[]>> blocks_;
    T* next_ = nullptr;
    std::size_t room_ = 0;
};

}  // namespace stretto::detail

#endif
