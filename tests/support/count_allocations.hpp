// Counts the allocations of a test binary by replacing operator new. Only one translation unit of a binary may include
// it.
#ifndef STRETTO_TESTS_SUPPORT_COUNT_ALLOCATIONS_HPP
#define STRETTO_TESTS_SUPPORT_COUNT_ALLOCATIONS_HPP

#include <cstddef>
#include <cstdlib>
#include <new>

namespace support {

inline std::size_t allocations = 0;

/// The number of allocations that `f` makes.
template <class F>
std::size_t allocations_of(F f) {
    const std::size_t before = allocations;
    f();
    return allocations - before;
}

}  // namespace support

// These are not inlined, or the compiler would pair malloc with delete and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++support::allocations;
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (!memory) std::abort();
    return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
