#include "stretto/core/process_groups.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"

using namespace stretto;
using why = group_fault::reason;

namespace {

std::vector<rank_id> ranks_of(const process_groups& all, group_id id) {
    const process_group g = all.group_at(id);
    return {g.ranks.begin(), g.ranks.end()};
}
/// The second group thinks that it is number 7.
struct renumbered_groups {
    std::size_t group_count() const { return 2; }
    process_group group_at(group_id id) const { return {.size = 2, .id = id == 1 ? 7 : id}; }
};

group_fault fault_in(const process_groups& all) {
    const auto fault = first_fault(all);
    REQUIRE(fault.has_value());
    return *fault;
}

}  // namespace

TEST_CASE("a list of groups owns their ranks") {
    static_assert(group_model<process_groups>);
    process_groups all;
    {
        std::vector<rank_id> ranks = {2, 0};
        CHECK(all.add({.size = 2, .ranks_per_node = 1, .id = 77, .ranks = ranks, .priority = 3}) == 0);
    }
    CHECK(all.add({.size = 64}) == 1);
    CHECK(all.group_count() == 2);
    CHECK(ranks_of(all, 0) == std::vector<rank_id>{2, 0});
    CHECK(all.group_at(0).id == 0);
    CHECK(all.group_at(0).priority == 3);
    CHECK_FALSE(all.group_at(1).knows_ranks());
    process_groups copy = all;
    CHECK(copy == all);
    CHECK(copy.group_at(0) == all.group_at(0));
    copy.add({});
    CHECK_FALSE(copy == all);
    CHECK_FALSE(first_fault(all).has_value());
}

TEST_CASE("a duplicate has the ranks of its original and is another group") {
    const std::array<rank_id, 2> ranks = {4, 1};
    process_groups all;
    all.add({.size = 2, .ranks_per_node = 2, .ranks = ranks, .priority = 1});
    for (int k = 0; k < 20; ++k) all.duplicate(static_cast<group_id>(k));  // rows move while one of them is read
    for (group_id id = 1; id <= 20; ++id) {
        const process_group g = all.group_at(id), original = all.group_at(id - 1);
        CHECK(g.id == id);
        CHECK(g.duplicate_of == id - 1);
        CHECK(compare_ranks(g, original) == rank_agreement::same);
        CHECK(g.priority == 1);
        CHECK(g.ranks_per_node == 2);
    }
    CHECK_FALSE(first_fault(all).has_value());
}

TEST_CASE("strided groups are those of a mesh") {
    const process_groups rows = strided_groups(8, 4), columns = strided_groups(8, 4, 2);
    REQUIRE(rows.group_count() == 2);
    REQUIRE(columns.group_count() == 2);
    CHECK(ranks_of(rows, 1) == std::vector<rank_id>{4, 5, 6, 7});
    CHECK(ranks_of(columns, 0) == std::vector<rank_id>{0, 2, 4, 6});
    CHECK(ranks_of(columns, 1) == std::vector<rank_id>{1, 3, 5, 7});
    CHECK(strided_groups(6, 1).group_count() == 6);
    stretto_check("strided groups hold every rank once", 100,
                  [](std::uint8_t size, std::uint8_t stride, std::uint8_t blocks) {
                      const std::size_t s = 1 + size % 5u, d = 1 + stride % 5u, world = s * d * (1 + blocks % 4u);
                      const process_groups all = strided_groups(world, s, d);
                      std::vector<int> seen(world, 0);
                      for (group_id id = 0; id < all.group_count(); ++id)
                          for (const rank_id r : all.group_at(id).ranks) ++seen[r];
                      RC_ASSERT(seen == std::vector<int>(world, 1));
                      RC_ASSERT(!first_fault(all).has_value());
                  });
}

TEST_CASE("what is wrong with a list is found, with its place") {
    const std::array<rank_id, 3> twice = {1, 0, 1}, other = {0, 1, 3}, good = {0, 1, 2};
    process_groups none;
    none.add({});
    none.add({.size = 0});
    CHECK(fault_in(none).why == why::no_rank);
    CHECK(fault_in(none).group == 1);

    process_groups nowhere;
    nowhere.add({.size = 2, .ranks_per_node = 0});
    CHECK(fault_in(nowhere).why == why::no_rank_on_node);

    process_groups fewer;
    fewer.add({.size = 4, .ranks = good});
    CHECK(fault_in(fewer).why == why::rank_count);

    process_groups repeated;
    repeated.add({.size = 3, .ranks = twice});
    CHECK(fault_in(repeated).why == why::rank_twice);
    CHECK(fault_in(repeated).rank == 1);

    process_groups itself;
    itself.add({.size = 3, .ranks = good, .duplicate_of = 0});
    CHECK(fault_in(itself).why == why::unknown_original);
    CHECK(fault_in(itself).other == 0);

    process_groups changed;
    changed.add({.size = 3, .ranks = good});
    changed.add({.size = 3, .duplicate_of = 0});  // its ranks are not known: no contradiction
    changed.add({.size = 3, .ranks = other, .duplicate_of = 0});
    CHECK(fault_in(changed).why == why::other_ranks_than_original);
    CHECK(fault_in(changed).group == 2);
    CHECK(fault_in(changed).other == 0);

    process_groups smaller;
    smaller.add({.size = 3});
    smaller.add({.size = 2, .duplicate_of = 0});
    CHECK(fault_in(smaller).why == why::other_ranks_than_original);
}

TEST_CASE("a group whose id is not its position is found") {
    const auto fault = first_fault(renumbered_groups{});
    REQUIRE(fault.has_value());
    CHECK(fault->why == why::other_id);
    CHECK(fault->group == 1);
    CHECK(fault->other == 7);
}

TEST_CASE("a list that offers no more than its concept can be checked") {
    CHECK_FALSE(first_fault(archetypes::groups(0)).has_value());
}
