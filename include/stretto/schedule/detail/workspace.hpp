// A workspace is scratch memory for passes that run one after the other. Without it the allocator would return the
// pages of large arrays to the system between two passes, and the next pass would spend a quarter of its time on
// getting them again.
#ifndef STRETTO_SCHEDULE_DETAIL_WORKSPACE_HPP
#define STRETTO_SCHEDULE_DETAIL_WORKSPACE_HPP

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "stretto/core/language.hpp"

namespace stretto::detail {

/// A stack of arrays. An array is valid until the scope ends in which it was taken; scopes nest. Memory of ended scopes
/// is reused, and all memory is returned to the allocator when the workspace is destroyed. `take` takes O(1) amortised
/// time, plus the time to write initial values. The workspace can be neither copied nor moved.
class workspace {
public:
    /// A scope: the arrays that are taken while it is alive end with it.
    class scope {
    public:
        explicit scope(workspace& w) : w_(w), block_(w.current_), used_(w.used_) {}
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
        ~scope() {
            w_.current_ = block_;
            w_.used_ = used_;
        }

    private:
        workspace& w_;
        std::size_t block_, used_;
    };

    /// Makes a workspace with room for `room` bytes. If all passes fit into it, they reuse the pages that the largest
    /// of them has touched.
    explicit workspace(std::size_t room = 0) {
        if (room != 0) add_block(room);
    }
    workspace(const workspace&) = delete;
    workspace& operator=(const workspace&) = delete;
    ~workspace() {
        for (const block& b : blocks_) ::operator delete(b.data);
    }

    /// Takes `count` objects with indeterminate values, which must be written before they are read.
    template <class T>
    [[nodiscard]] std::span<T> take(std::size_t count) {
        static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignment);
        const std::size_t size = (count * sizeof(T) + alignment - 1) / alignment * alignment;
        while (current_ < blocks_.size() && blocks_[current_].size - used_ < size) {
            ++current_;
            used_ = 0;
        }
        if (current_ == blocks_.size()) add_block(size);
        T* const begin = static_cast<T*>(static_cast<void*>(blocks_[current_].data + used_));
        used_ += size;
        return {begin, count};
    }
    /// Takes `count` copies of `value`.
    template <class T>
    [[nodiscard]] std::span<T> take(std::size_t count, T value) {
        const std::span<T> all = take<T>(count);
        for (T& x : all) x = value;
        return all;
    }

private:
    static constexpr std::size_t alignment = 16, smallest_block = std::size_t{1} << 14;
    struct block {
        std::byte* data;
        std::size_t size;
    };

    /// Adds a block that is at least as large as all others together, so that there are few blocks. Memory pages that
    /// are never written are never allocated.
    void add_block(std::size_t size) {
        if (size < total_) size = total_;
        if (size < smallest_block) size = smallest_block;
        blocks_.push_back({static_cast<std::byte*>(::operator new(size)), size});
        total_ += size;
    }

    std::vector<block> blocks_;
    std::size_t current_ = 0, used_ = 0;  // the position of the next array
    std::size_t total_ = 0;
};

}  // namespace stretto::detail

#endif
