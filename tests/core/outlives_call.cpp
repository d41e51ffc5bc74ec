#include "stretto/core/outlives_call.hpp"

#include <doctest/doctest.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"

namespace {

using numbers = std::span<const std::int64_t>;

// A pointer with a length, as compilers have them, that says nothing of itself.
struct array_ref {
    using iterator = const std::int64_t*;
    const std::int64_t* data_;
    std::size_t size_;
    const std::int64_t* begin() const { return data_; }
    const std::int64_t* end() const { return data_ + size_; }
    const std::int64_t* data() const { return data_; }
    std::size_t size() const { return size_; }
};

// The same, but with memory of its own.
struct small_vector : array_ref {
    small_vector(const small_vector& other);
    ~small_vector();
};

TEST_CASE("what is returned by reference or refers to other memory outlives the call") {
    static_assert(stretto::outlives_call<std::string_view, std::string_view>);
    static_assert(stretto::outlives_call<const char*, std::string_view>);
    static_assert(stretto::outlives_call<const char(&)[4], std::string_view>);
    static_assert(stretto::outlives_call<std::string&, std::string_view>);
    static_assert(stretto::outlives_call<const std::string&, std::string_view>);
    static_assert(stretto::outlives_call<stretto::archetypes::text, std::string_view>);
    static_assert(stretto::outlives_call<numbers, numbers>);
    static_assert(stretto::outlives_call<std::span<std::int64_t, 2>, numbers>);
    static_assert(stretto::outlives_call<const std::vector<std::int64_t>&, numbers>);
    static_assert(stretto::outlives_call<std::array<std::int64_t, 2>&, numbers>);
    static_assert(stretto::outlives_call<array_ref, numbers>);
}

TEST_CASE("what owns its elements and is returned by value does not") {
    static_assert(!stretto::outlives_call<std::string, std::string_view>);
    static_assert(!stretto::outlives_call<const std::string, std::string_view>);
    static_assert(!stretto::outlives_call<std::string&&, std::string_view>);
    static_assert(!stretto::outlives_call<std::vector<std::int64_t>, numbers>);
    static_assert(!stretto::outlives_call<const std::vector<std::int64_t>, numbers>);
    static_assert(!stretto::outlives_call<std::array<std::int64_t, 2>, numbers>);
    static_assert(!stretto::outlives_call<small_vector, numbers>);
}

TEST_CASE("what is no such text or list is nothing of the kind") {
    static_assert(!stretto::outlives_call<int, std::string_view>);
    static_assert(!stretto::outlives_call<std::string_view, numbers>);
    static_assert(!stretto::outlives_call<std::vector<double>&, numbers>);
}

}  // namespace
