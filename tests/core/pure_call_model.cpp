#include "stretto/core/pure_call_model.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "stretto/testing/archetypes.hpp"

using namespace stretto;

namespace {

using archetypes::vertex;

struct right {
    bool is_pure(vertex) const { return true; }
    bool same_call(vertex, vertex) const { return false; }
    std::uint64_t hash_of_call(vertex) const { return 0; }
};
struct without_hash {
    bool is_pure(vertex) const { return true; }
    bool same_call(vertex, vertex) const { return false; }
};
struct pure_is_a_number : right {
    int is_pure(vertex) const { return 1; }
};
struct compares_one : without_hash {
    bool same_call(vertex) const { return false; }
    std::uint64_t hash_of_call(vertex) const { return 0; }
};

}  // namespace

TEST_CASE("a pure call model tells whether calls are pure and the same, and hashes them") {
    static_assert(pure_call_model<right, archetypes::graph>);
    static_assert(pure_call_model<archetypes::pure_calls, archetypes::graph>);
    static_assert(!pure_call_model<without_hash, archetypes::graph>);
    static_assert(!pure_call_model<pure_is_a_number, archetypes::graph>);
    static_assert(!pure_call_model<compares_one, archetypes::graph>);
    static_assert(!pure_call_model<right, int>);
    const archetypes::pure_calls calls(0);
    CHECK(calls.same_call(archetypes::detail::at(3), archetypes::detail::at(3)));
}

TEST_CASE("of a program about which nothing is known no operation is pure") {
    static_assert(pure_call_model<no_pure_calls, archetypes::graph>);
    CHECK_FALSE(no_pure_calls{}.is_pure(archetypes::detail::at(3)));
}
