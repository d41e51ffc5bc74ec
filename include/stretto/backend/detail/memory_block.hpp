// Owns the memory of an arena. Backends allocate memory in different ways, and each supplies the function that frees
// it.
#ifndef STRETTO_BACKEND_DETAIL_MEMORY_BLOCK_HPP
#define STRETTO_BACKEND_DETAIL_MEMORY_BLOCK_HPP

#include <cstddef>
#include <memory>
#include <utility>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// A block of `size()` bytes, or none. The destructor calls the `Release` with their address. The bytes do not move
/// with the object.
template <class Release>
class memory_block {
public:
    memory_block() = default;
    memory_block(std::byte* block, std::size_t size, Release release)
        : memory_(block, std::move(release)), size_(size) {}
    [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Returns the function that frees the memory, so that what it needs can be stored in it after the allocation.
    [[nodiscard]] Release& release() noexcept { return memory_.get_deleter(); }

private:
    std::unique_ptr<std::byte, Release> memory_;
    std::size_t size_ = 0;
};

}  // namespace stretto::detail

#endif
