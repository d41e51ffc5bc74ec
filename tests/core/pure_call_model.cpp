#include "stretto/core/pure_call_model.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "stretto/testing/model_archetypes.hpp"

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

struct copies : right {
    std::size_t copied_operand(vertex) const { return 1; }
};
struct copies_a_value : right {
    archetypes::value copied_operand(vertex) const;
};

}  // namespace

TEST_CASE("a model may say what is copied, and one that says it wrongly is none") {
    static_assert(pure_call_model<copies, archetypes::graph> && !pure_call_model<copies_a_value, archetypes::graph>);
    CHECK(copied_operand_of<archetypes::graph>(copies{}, archetypes::detail::at(3)) == 1);
    CHECK(copied_operand_of<archetypes::graph>(right{}, archetypes::detail::at(3)) == SIZE_MAX);
}

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
