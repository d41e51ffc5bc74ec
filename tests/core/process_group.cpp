#include "stretto/core/process_group.hpp"

#include <doctest/doctest.h>

#include <array>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

TEST_CASE("a group of which only the size is known") {
    constexpr process_group g{.size = 9, .ranks_per_node = 8};
    static_assert(g.nodes() == 2 && !g.knows_ranks() && g.duplicate_of == no_group);
    static_assert(process_group{.size = 8}.nodes() == 1);
    CHECK(g.place_of(3) == 0);  // nobody is known to be a member
}

TEST_CASE("ranks stand in the order of their group") {
    static constexpr std::array<rank_id, 3> ranks = {6, 0, 3};
    constexpr process_group g{.size = 3, .ranks = ranks};
    CHECK(g.place_of(6) == 0);
    CHECK(g.place_of(3) == 2);
    CHECK(g.place_of(1) == g.ranks.size());
}

TEST_CASE("groups are compared member by member, and their ranks by what is known") {
    const std::array<rank_id, 2> ab = {0, 1}, copy = ab, ba = {1, 0}, longer = {0, 1};
    const process_group g{.size = 2, .id = 4, .ranks = ab};
    process_group other = g;
    CHECK(g == other);
    other.ranks = copy;  // the same numbers elsewhere
    CHECK(g == other);
    CHECK(compare_ranks(g, other) == rank_agreement::same);
    other.id = 5;
    CHECK_FALSE(g == other);
    CHECK(compare_ranks(g, other) == rank_agreement::same);
    other.ranks = ba;
    CHECK(compare_ranks(g, other) == rank_agreement::different);
    other.ranks = {};
    CHECK(compare_ranks(g, other) == rank_agreement::unknown);
    CHECK(compare_ranks(other, g) == rank_agreement::unknown);
    other.size = 3;
    CHECK(compare_ranks(g, other) == rank_agreement::different);
    for (auto change : {+[](process_group& x) { x.ranks_per_node = 4; }, +[](process_group& x) { x.priority = 1; },
                        +[](process_group& x) { x.duplicate_of = 0; }, +[](process_group& x) { x.ranks = {}; }}) {
        process_group changed = g;
        change(changed);
        CHECK_FALSE(changed == g);
    }
    CHECK(process_group{.size = 2, .id = 4, .ranks = longer} == g);
}

TEST_CASE("from a start to its ranks") {
    using program = archetypes::program;
    const archetypes::groups all(0);
    static_assert(group_model<archetypes::groups>);
    static_assert(!group_model<archetypes::kinds>);
    // A model without groups launches everything on group 0.
    const process_group g = process_group_of<program>(archetypes::kinds(0), all, archetypes::detail::at(1));
    CHECK(g.id == 0);
    CHECK(g.ranks.size() == 2);
    CHECK(g.ranks[1] == 0);
}
