#include "stretto/schedule/cost/alpha_beta.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>

#include "stretto/schedule/cost/table.hpp"
#include "support/prop.hpp"

using namespace stretto;
using kind = collective_kind;

namespace {

static_assert(collective_cost_model<alpha_beta>);
static_assert(collective_cost_model<ring_alpha_beta>);

constexpr ring_alpha_beta ring{.intra_node = {nanoseconds{1000}, 400}, .inter_node = {nanoseconds{5000}, 50}};
constexpr process_group one_node{.size = 8, .ranks_per_node = 8};
constexpr process_group four_nodes{.size = 32, .ranks_per_node = 8};

}  // namespace

TEST_CASE("alpha plus bytes over beta, per collective") {
    alpha_beta model;
    model.costs[static_cast<std::size_t>(kind::all_gather)] = {nanoseconds{3000}, 2};
    model.costs[static_cast<std::size_t>(kind::all_to_all)] = {nanoseconds{7000}, 0.5};
    CHECK(model.duration(kind::all_gather, {1000}, one_node).count == 3500);
    CHECK(model.duration(kind::all_to_all, {1000}, one_node).count == 9000);
    CHECK(model.duration(kind::all_gather, {0}, one_node).count == 3000);
    CHECK(model.duration(kind::all_gather, {1000}, {.size = 1}).count == 0);
}

TEST_CASE("a tabulated ring answers for collectives of no known kind, too") {
    const process_group groups[] = {four_nodes};
    const auto table = tabulate(ring, groups, {1 << 20});
    REQUIRE(table.has_value());
    REQUIRE(table->contains(kind::other, four_nodes.id));
    for (const std::int64_t size : {0, 1, 1 << 10, 1 << 20})
        CHECK(table->duration(kind::other, {size}, four_nodes) == ring.duration(kind::other, {size}, four_nodes));
}

TEST_CASE("steps of a ring within a node") {
    CHECK(ring.duration(kind::all_gather, {4000}, one_node).count == 7 * (1000 + 10));
    CHECK(ring.duration(kind::reduce_scatter, {32000}, one_node).count == 7 * (1000 + 10));
    CHECK(ring.duration(kind::all_reduce, {32000}, one_node).count == 14 * (1000 + 10));
    CHECK(ring.duration(kind::all_to_all, {32000}, one_node).count == 7 * (1000 + 10));
    CHECK(ring.duration(kind::other, {4000}, one_node).count == 1000 + 10);
    CHECK(ring.duration(kind::all_reduce, {32000}, {.size = 1}).count == 0);
}

TEST_CASE("a ring over nodes moves at the pace of the network; a pairwise exchange only while it crosses") {
    // 28 steps within nodes and 3 across, all in lock step at 50 GB/s.
    CHECK(ring.duration(kind::all_gather, {4000}, four_nodes).count == 28 * 1000 + 3 * 5000 + 31 * 80);
    CHECK(ring.duration(kind::reduce_scatter, {128000}, four_nodes).count == 28 * 1000 + 3 * 5000 + 31 * 80);
    CHECK(ring.duration(kind::all_reduce, {128000}, four_nodes).count == 2 * (28 * 1000 + 3 * 5000 + 31 * 80));
    // 7 partners on the node and 24 elsewhere.
    CHECK(ring.duration(kind::all_to_all, {128000}, four_nodes).count == 7 * (1000 + 10) + 24 * (5000 + 80));
    CHECK(ring.duration(kind::other, {4000}, four_nodes).count == 5000 + 80);
}

TEST_CASE("identities between collectives hold for every size and layout") {
    stretto_check("ring_alpha_beta", 300, [](std::uint32_t size, std::uint8_t ranks, std::uint8_t per_node) {
        const process_group group{.size = 1 + ranks, .ranks_per_node = 1 + per_node % 16};
        const bytes input{std::int64_t{size} * group.size};
        const std::int64_t gather = ring.duration(kind::all_gather, {size}, group).count;
        const std::int64_t scatter = ring.duration(kind::reduce_scatter, input, group).count;
        const std::int64_t reduce = ring.duration(kind::all_reduce, input, group).count;
        RC_ASSERT(gather == scatter);
        RC_ASSERT(std::abs(reduce - gather - scatter) <= 1);  // rounded once instead of twice
        for (const kind k : all_collective_kinds)
            RC_ASSERT(ring.duration(k, input, group) <= ring.duration(k, input + bytes{4096}, group));
        // An exchange moves a part per step, as a reduce-scatter does, but crosses more often.
        if (group.nodes() == 1) RC_ASSERT(ring.duration(kind::all_to_all, input, group).count == scatter);
    });
}
