#include "stretto/testing/check_module_model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

struct table {
    std::array<std::string, 8> paths = {"", "", "", "a", "a.b", "", "a.b.0", ""};
    std::array<pass_direction, 8> directions{};
    bool forgetful = false;
    mutable std::size_t asked = 0;
};
struct table_modules {
    const table* t;
    std::string path(archetypes::vertex v) const {
        return t->forgetful && ++t->asked > 9 ? "z" : t->paths[archetypes::detail::position(v)];
    }
    pass_direction direction(archetypes::vertex v) const { return t->directions[archetypes::detail::position(v)]; }
};

std::string rule_of(const table& t) {
    const auto found = check_module_model(archetypes::vertex_list(0), table_modules{&t});
    return found ? "" : found.error().rule + (" " + std::to_string(found.error().vertex));
}

}  // namespace

TEST_CASE("a module model that keeps its promises") {
    const auto found = check_module_model(archetypes::vertex_list(0), archetypes::modules(0));
    REQUIRE(found);
    CHECK(*found == module_summary{2, 1, 1});
    CHECK(rule_of({}).empty());
}

TEST_CASE("a module model that breaks a rule") {
    table t;
    SUBCASE("an empty component") {
        t.paths[4] = "a..b";
        CHECK(rule_of(t) == "module-path 4");
    }
    SUBCASE("a dot in front") {
        t.paths[3] = ".a";
        CHECK(rule_of(t) == "module-path 3");
    }
    SUBCASE("a dot behind") {
        t.paths[6] = "a.b.0.";
        CHECK(rule_of(t) == "module-path 6");
    }
    SUBCASE("no direction") {
        t.directions[2] = static_cast<pass_direction>(7);
        CHECK(rule_of(t) == "direction 2");
    }
    SUBCASE("another answer") {
        t.forgetful = true;
        CHECK(rule_of(t) == "stable 4");
    }
}
