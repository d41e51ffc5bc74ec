// Owns the memory of an arena, which a backend may allocate in its own way.
#ifndef STRETTO_BACKEND_DETAIL_MEMORY_BLOCK_HPP
#define STRETTO_BACKEND_DETAIL_MEMORY_BLOCK_HPP

#include <cstddef>
#include <memory>
#include <utility>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// A block of bytes. The destructor calls `Release` with their address. Moving the object does not move the bytes.
template <class Release>
class memory_block {
public:
    memory_block() = default;
    memory_block(std::byte* block, std::size_t size, Release release)
        : memory_(block, std::move(release)), size_(size) {}
    [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The function that frees the memory, so that it can be given what it needs.
    [[nodiscard]] Release& release() noexcept { return memory_.get_deleter(); }

private:
    std::unique_ptr<std::byte, Release> memory_;
    std::size_t size_ = 0;
};

}  // namespace stretto::detail

#endif
