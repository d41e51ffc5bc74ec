#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/rank_groups.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/backend/archetypes.hpp"
#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "support/prop.hpp"

using namespace stretto;

static_assert(backend<rank_in_groups<host_rank>>);
static_assert(backend<rank_in_groups<archetypes::single_rank>>);

TEST_CASE("every rank meets those of its own block, under the number that the program has for them") {
    rank_groups groups(8);
    CHECK(groups.add(strided_groups(8, 8)) == 0);
    CHECK(groups.add(strided_groups(8, 4)) == 1);
    CHECK(groups.add(strided_groups(8, 2, 4)) == 2);
    CHECK(groups.add(strided_groups(8, 8)) == 3);  // the same ranks once more, on a communicator of their own
    CHECK(groups.all().group_count() == 1 + 2 + 4 + 1);
    CHECK_FALSE(first_fault(groups.all()));
    for (rank_id r = 0; r < 8; ++r) {
        REQUIRE(groups.of(r).size() == 4);
        const auto members = [&](std::size_t g) {
            const process_group some = groups.all().group_at(groups.of(r)[g]);
            return std::vector<rank_id>(some.ranks.begin(), some.ranks.end());
        };
        CHECK(members(0) == std::vector<rank_id>{0, 1, 2, 3, 4, 5, 6, 7});
        CHECK(members(1) == (r < 4 ? std::vector<rank_id>{0, 1, 2, 3} : std::vector<rank_id>{4, 5, 6, 7}));
        CHECK(members(2) == std::vector<rank_id>{r % 4, r % 4 + 4});
        CHECK(members(3) == members(0));
        CHECK(groups.of(r)[3] != groups.of(r)[0]);
    }
}

TEST_CASE("lists that leave a rank out, or have it twice, are no group of a program") {
    process_groups half, twice;
    half.add({.size = 1, .ranks = std::vector<rank_id>{0}});
    for (int k = 0; k < 2; ++k) twice.add({.size = 2, .ranks = std::vector<rank_id>{0, 1}});
    for (const process_groups* wrong : {&half, &twice}) CHECK_THROWS(rank_groups(2).add(*wrong));
    CHECK_THROWS(rank_groups(2).add(strided_groups(4, 2)));
}

TEST_CASE("sums over random blocks are those over the ranks of each") {
    std::size_t several = 0;
    stretto_check("sums in blocks", 40, [&](const std::vector<std::uint8_t>& picks) {
        const std::size_t shapes[][3] = {{4, 2, 1}, {4, 2, 2}, {4, 4, 1}, {4, 1, 1}, {2, 2, 1}, {3, 3, 1}};
        const std::size_t ranks = 1 + picks.size() % 4;
        rank_groups groups(ranks);
        std::vector<process_groups> lists = {strided_groups(ranks, 1)};
        for (const std::uint8_t pick : picks) {
            const auto& [world, size, stride] = shapes[pick % 6];
            if (world == ranks && lists.size() < 5) lists.push_back(strided_groups(world, size, stride));
        }
        for (const process_groups& list : lists) groups.add(list);
        several += ranks == 4 && lists.size() > 2;
        std::vector<std::vector<std::int64_t>> sums(ranks, std::vector<std::int64_t>(lists.size()));
        host_world world(ranks, groups.all());
        const auto failure = world.run([&](host_rank& on) {
            rank_in_groups<host_rank> rank(on, on.rank(), groups);
            for (group_id g = 0; g < lists.size(); ++g) {
                const std::int64_t mine = std::int64_t{1} << on.rank();
                collective_operation o;
                o.kind = transfer_kind::all_reduce;
                o.reduction = reduction_kind::sum;
                o.element = element_type::i64;
                o.send = reinterpret_cast<const std::byte*>(&mine);
                o.receive = reinterpret_cast<std::byte*>(&sums[on.rank()][g]);
                o.send_bytes = o.receive_bytes = sizeof(mine);
                rank.begin();
                if (!rank.channel(g)->launch(o) || rank.finish()) return;
            }
            if (rank.channel(static_cast<group_id>(lists.size())) != nullptr) sums[on.rank()][0] = -1;
        });
        RC_ASSERT_FALSE(failure);
        for (std::size_t g = 0; g < lists.size(); ++g)
            for (group_id k = 0; k < lists[g].group_count(); ++k) {
                const process_group some = lists[g].group_at(k);
                std::int64_t sum = 0;
                for (const rank_id r : some.ranks) sum += std::int64_t{1} << r;
                for (const rank_id r : some.ranks) RC_ASSERT(sums[r][g] == sum);
            }
    });
    if (support::runs_all_cases()) CHECK(several > 0);
}
