#include "stretto/testing/check_pure_call_model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;
using archetypes::vertex;

namespace {

struct table {
    std::array<int, 8> call = {0, 1, 2, 1, 3, 2, 1, 4};
    std::array<std::uint64_t, 8> hash = {0, 1, 2, 1, 1, 2, 1, 4};  // that of 3 is that of 1 by chance
    std::array<bool, 8> pure = {false, true, true, true, true, true, true, true};
    bool orders = false, forgetful = false, apart = false, near = false;
    mutable std::size_t asked = 0;
};
struct table_calls {
    const table* t;
    static std::size_t at(vertex v) { return archetypes::detail::position(v); }
    bool is_pure(vertex v) const { return t->pure[at(v)]; }
    bool same_call(vertex u, vertex v) const {
        if (t->apart && at(u) == at(v)) return false;
        if (t->orders) return t->call[at(u)] <= t->call[at(v)];
        if (t->near) return (at(u) > at(v) ? at(u) - at(v) : at(v) - at(u)) < 2;
        return t->call[at(u)] == t->call[at(v)];
    }
    std::uint64_t hash_of_call(vertex v) const { return t->forgetful ? ++t->asked : t->hash[at(v)]; }
};

std::string rule_of(const table& t) {
    const auto found = check_pure_call_model(archetypes::vertex_list(0), table_calls{&t});
    return found ? "" : found.error().rule + (" " + std::to_string(found.error().vertex));
}

}  // namespace

TEST_CASE("a pure call model that keeps its promises") {
    const table t;
    const auto found = check_pure_call_model(archetypes::vertex_list(0), table_calls{&t});
    REQUIRE(found);
    CHECK(*found == pure_call_summary{7, 4});
    CHECK(check_pure_call_model(archetypes::vertex_list(0), archetypes::pure_calls(0)).has_value());
}

TEST_CASE("a pure call model that breaks a rule") {
    table t;
    SUBCASE("equal calls have different hashes") {
        t.hash[5] = 7;
        CHECK(rule_of(t) == "call-hash 5");
    }
    SUBCASE("a call is not itself") {
        t.apart = true;
        CHECK(rule_of(t) == "same-call 1");
    }
    SUBCASE("not symmetric") {
        t.orders = true;
        CHECK(rule_of(t) == "same-call 2");
    }
    SUBCASE("not transitive") {
        t.near = true;
        t.hash = {};
        CHECK(rule_of(t) == "same-call 3");
    }
    SUBCASE("another hash each time") {
        t.forgetful = true;
        CHECK(rule_of(t) == "stable 1");
    }
}
