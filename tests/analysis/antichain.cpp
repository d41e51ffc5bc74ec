#include "stretto/analysis/antichain.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/testing/archetypes.hpp"
#include "support/dag_shapes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/small_dag.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::small_dag;
using support::small_dag_view;

namespace {

using bits = std::uint64_t;
constexpr bits bit(std::uint32_t v) { return bits{1} << v; }

/// Chains in a least cover: vertices minus a maximum matching of the closure, found one augmenting path at a time.
class matching {
public:
    explicit matching(const std::vector<bits>& closure) : closure_(closure), before_(closure.size(), nobody) {}
    std::size_t width() {
        std::size_t chains = closure_.size();
        for (std::uint32_t u = 0; u < closure_.size(); ++u) {
            tried_ = 0;
            if (follow(u)) --chains;
        }
        return chains;
    }

private:
    static constexpr std::uint32_t nobody = UINT32_MAX;

    bool follow(std::uint32_t u) {
        for (std::uint32_t v = 0; v < closure_.size(); ++v) {
            if (v == u || (closure_[u] & bit(v)) == 0 || (tried_ & bit(v)) != 0) continue;
            tried_ |= bit(v);
            if (before_[v] != nobody && !follow(before_[v])) continue;
            before_[v] = u;
            return true;
        }
        return false;
    }

    const std::vector<bits>& closure_;
    std::vector<std::uint32_t> before_;
    bits tried_ = 0;
};

/// Both witnesses, each by its definition.
template <class Certificate>
void check_certificate(const Certificate& found, const std::vector<bits>& closure) {
    RC_ASSERT(found.chains.size() == found.width());
    for (std::uint32_t u : found.widest)
        for (std::uint32_t v : found.widest) RC_ASSERT(u == v || (closure[u] & bit(v)) == 0);
    bits members = 0, covered = 0;
    for (std::uint32_t v : found.widest) members |= bit(v);
    RC_ASSERT(static_cast<std::size_t>(std::popcount(members)) == found.width());
    std::size_t vertices = 0;
    for (std::size_t c = 0; c < found.chains.size(); ++c) {
        const auto chain = found.chains[c];
        RC_ASSERT(!chain.empty());
        vertices += chain.size();
        for (std::size_t i = 0; i < chain.size(); ++i) {
            covered |= bit(chain[i]);
            if (i > 0) RC_ASSERT((closure[chain[i - 1]] & bit(chain[i])) != 0);
        }
    }
    RC_ASSERT(vertices == closure.size());
    RC_ASSERT(static_cast<std::size_t>(std::popcount(covered)) == vertices);
}

}  // namespace

TEST_CASE("two chains that meet") {
    // 0 -> 1 -> 4, 2 -> 3 -> 4: the latest two that do not depend on each other are 1 and 3.
    const small_dag g = small_dag::of_edges(5, {{0, 1}, {1, 4}, {2, 3}, {3, 4}});
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    const width_certificate found = maximum_antichain(small_dag_view{&g}, *order);
    CHECK(found.width() == 2);
    CHECK(std::vector<std::uint32_t>(found.widest.begin(), found.widest.end()) == std::vector<std::uint32_t>{1, 3});
    REQUIRE(found.chains.size() == 2);
    CHECK(found.chains[0].front() == 0);
    CHECK(found.chains[1].front() == 2);
    CHECK(found.chains[0].size() + found.chains[1].size() == 5);
}

TEST_CASE("chains run through vertices of other chains") {
    // 0, 1 -> 2 -> 3, 4: the second chain passes 2, which belongs to the first.
    const small_dag g = small_dag::of_edges(5, {{0, 2}, {1, 2}, {2, 3}, {2, 4}});
    const auto order = topological_sort(small_dag_view{&g});
    REQUIRE(order);
    const width_certificate found = maximum_antichain(small_dag_view{&g}, *order);
    CHECK(found.width() == 2);
    check_certificate(found, g.closure());
}

TEST_CASE("only maximum_antichain makes the witnesses; the empty graph has width 0") {
    using V = std::uint32_t;
    static_assert(!std::default_initializable<antichain<V>> && !std::constructible_from<antichain<V>, std::vector<V>>);
    static_assert(!std::default_initializable<chain_cover<V>> && std::copyable<width_certificate<V>>);
    const small_dag nothing;
    const auto order = topological_sort(small_dag_view{&nothing});
    REQUIRE(order);
    const width_certificate found = maximum_antichain(small_dag_view{&nothing}, *order);
    CHECK(found.width() == 0);
    CHECK(found.chains.size() == 0);
}

TEST_CASE("as wide as a matching of the closure says, and both witnesses hold") {
    const auto check_width = [](const small_dag& g) {
        const auto order = topological_sort(small_dag_view{&g});
        RC_ASSERT(order.has_value());
        const std::vector<bits> closure = g.closure();
        const width_certificate found = maximum_antichain(small_dag_view{&g}, *order);
        RC_ASSERT(found.width() == matching(closure).width());
        check_certificate(found, closure);
    };
    stretto_check("width", 100'000,
                  [&](const std::vector<std::uint8_t>& bytes) { check_width(small_dag::decode(bytes)); });
    stretto_check("up to 64 vertices, sparse", 10'000,
                  [&](const std::vector<std::uint8_t>& bytes) { check_width(small_dag::decode(bytes, 65)); });
}

TEST_CASE("the latest of all largest antichains, whatever the order") {
    stretto_check("every antichain of a small graph", 4'000, [](const std::vector<std::uint8_t>& bytes) {
        small_dag g = small_dag::decode(bytes, 11);
        const std::vector<bits> closure = g.closure();
        const auto found_in = [&](std::uint64_t listing) {
            g.listed = support::shuffled(g.size, listing);
            const auto order = topological_sort(small_dag_view{&g});
            RC_ASSERT(order.has_value());
            bits members = 0;
            for (std::uint32_t v : maximum_antichain(small_dag_view{&g}, *order).widest) members |= bit(v);
            return members;
        };
        const bits found = found_in(1);
        RC_ASSERT(found == found_in(2));
        for (bits set = 0; set < bit(g.size); ++set) {
            bool independent = true;
            bits leads_to = 0;
            for (std::uint32_t v = 0; v < g.size; ++v)
                if (set & bit(v)) {
                    independent = independent && (closure[v] & set) == bit(v);
                    if ((closure[v] & found) == 0) leads_to = 1;  // nowhere
                }
            if (!independent) continue;
            RC_ASSERT(std::popcount(set) <= std::popcount(found));
            if (std::popcount(set) == std::popcount(found)) RC_ASSERT(leads_to == 0u);
        }
    });
}

TEST_CASE_TEMPLATE("the width of any IR is that of its program", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 200, [] {
        const support::toy_program p = *support::random_programs();
        const small_dag g = small_dag::of_program(p);
        RC_PRE(g.size <= 64u);
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const auto order = topological_sort(ir.view());
        RC_ASSERT(order.has_value());
        const std::vector<bits> closure = g.closure();
        const auto found = maximum_antichain(ir.view(), *order);
        RC_ASSERT(found.width() == matching(closure).width());
        std::vector<std::uint32_t> position = support::positions_of(ir.view());
        bits members = 0;
        for (auto v : found.widest) members |= bit(position[ir.view().index(v)]);
        for (std::uint32_t v = 0; v < g.size; ++v)
            if (members & bit(v)) RC_ASSERT((closure[v] & members) == bit(v));
    });
}

TEST_CASE("large graphs whose width is known: path, star, butterfly, replicas of a spine that share their source") {
    constexpr std::uint32_t spokes = 100'000, copies = 16, length = 1000;
    index_lists replicas;
    replicas.close_row();
    for (std::uint32_t copy = 0; copy < copies; ++copy)
        for (std::uint32_t v = 0; v < length; ++v) {
            // Every third vertex of the spine also reads the source, so nothing can be contracted there.
            replicas.push(v == 0 ? 0 : copy * length + v);
            if (v > 0 && v % 3 == 0) replicas.push(0);
            replicas.close_row();
        }
    const std::pair<support::dag_shape, std::size_t> graphs[] = {{support::path_shape(1'000'000), 1},
                                                                 {support::star_shape(spokes), spokes},
                                                                 {support::butterflies(6, 500), 64},
                                                                 {support::dag_shape(std::move(replicas)), copies}};
    for (const auto& [graph, width] : graphs) {
        const snapshot_view g = graph.view();
        const auto order = topological_sort(g);
        REQUIRE(order);
        const width_certificate found = maximum_antichain(g, *order);
        CHECK(found.width() == width);
        CHECK(found.chains.size() == width);
    }
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    const auto found = maximum_antichain(g, *order);
    REQUIRE(found.width() == 2);
    CHECK(found.widest[0] == (*order)[2]);
    CHECK(found.widest[1] == (*order)[3]);
}
