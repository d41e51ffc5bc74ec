#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/order_fingerprint.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "support/prop.hpp"
#include "support/reading_model.hpp"

using namespace stretto;
using support::toy_program;

namespace {

/// Collectives without dependences: one for each pair of a group and a kind.
task_graph collectives(const std::vector<std::pair<group_id, collective_kind>>& calls) {
    toy_program p;
    p.groups = 3;
    for (const auto& [group, kind] : calls)
        p.ops.push_back({.kind = op_kind::start, .collective = kind, .group = group, .results = {{{8}, {}}}});
    return support::graph_of(p);
}
constexpr auto gather = collective_kind::all_gather, scatter = collective_kind::reduce_scatter;

/// What the documentation says that a fingerprint stands for.
using call = std::tuple<collective_kind, element_type, std::uint64_t, std::uint32_t>;
std::map<group_id, std::vector<call>> sequences(const task_graph& g, const std::vector<task_id>& order) {
    std::map<group_id, std::vector<call>> of_group;
    for (const task_id t : order) {
        if (g.kind[t] != op_kind::start) continue;
        const call_identity who = g.identity.empty() ? call_identity{} : g.identity[t];
        of_group[g.group[t]].emplace_back(g.collective[t], who.element, who.logical_id, who.chunk);
    }
    return of_group;
}

}  // namespace

TEST_CASE("the order on a group counts, how groups interleave does not") {
    const task_graph g = collectives({{0, gather}, {0, scatter}, {1, gather}});
    const auto of = [&](const std::vector<task_id>& order) { return fingerprint_of(g, order); };
    CHECK(of({0, 1, 2}) == of({2, 0, 1}));
    CHECK(of({0, 1, 2}) == of({0, 2, 1}));
    CHECK_FALSE(of({0, 1, 2}) == of({1, 0, 2}));
    CHECK_FALSE(of({0, 1, 2}) == of({0, 1}));
    CHECK_FALSE(of({0, 1, 2}) ==
                fingerprint_of(collectives({{0, gather}, {0, scatter}, {2, gather}}), std::vector<task_id>{0, 1, 2}));
    CHECK_FALSE(of({0}) == fingerprint_of(collectives({{1, gather}}), std::vector<task_id>{0}));
}

TEST_CASE("where the host reads numbers counts, but for what comes behind the last launch") {
    toy_program p;
    p.groups = 2;
    for (const group_id group : {0u, 1u})
        p.ops.push_back({.kind = op_kind::start, .collective = gather, .group = group, .results = {{{8}, {}}}});
    for (int k = 0; k < 2; ++k) p.ops.push_back({});
    const task_graph reads = support::graph_of(p, {0, 0, 1, 1}), quiet = support::graph_of(p);
    const auto of = [](const task_graph& g, const std::vector<task_id>& order) { return fingerprint_of(g, order); };
    CHECK(of(reads, {0, 1, 2, 3}) == of(quiet, {0, 1, 2, 3}));
    CHECK(of(reads, {0, 1, 2, 3}) == of(reads, {1, 0, 3, 2}));
    CHECK_FALSE(of(reads, {0, 2, 1, 3}) == of(reads, {0, 1, 2, 3}));
    CHECK_FALSE(of(reads, {0, 2, 1, 3}) == of(reads, {2, 0, 1, 3}));
    CHECK_FALSE(of(reads, {0, 2, 1, 3}) == of(reads, {0, 2, 3, 1}));
    CHECK(of(reads, {0, 2, 1, 3}) == of(reads, {0, 3, 1, 2}));  // which number it is nobody asks
    CHECK(of(quiet, {0, 2, 1, 3}) == of(quiet, {2, 0, 3, 1}));
}

TEST_CASE("collectives that nothing tells apart may change places, until something does") {
    task_graph g = collectives({{0, gather}, {0, gather}});
    const std::vector<task_id> order = {0, 1}, swapped = {1, 0};
    CHECK(fingerprint_of(g, order) == fingerprint_of(g, swapped));
    for (const call_identity second :
         {call_identity{.element = element_type::bf16}, call_identity{.chunk = 1}, call_identity{.logical_id = 1}}) {
        g.identity = {{}, second};
        CHECK_FALSE(fingerprint_of(g, order) == fingerprint_of(g, swapped));
    }
    g.identity = {{}, {}};
    const order_fingerprint nothing_told = fingerprint_of(g, order);
    g.identity.clear();
    CHECK(fingerprint_of(g, order) == nothing_told);
    g.duration = {{100}, {200}};  // which ranks measure, each for itself
    g.payload = {{1}, {2}};
    CHECK(fingerprint_of(g, order) == nothing_told);
}

TEST_CASE("a fingerprint is the same on every machine") {
    const task_graph g = collectives({{0, gather}, {2, scatter}});
    CHECK(fingerprint_of(g, std::vector<task_id>{}) == order_fingerprint{0xcd8e9833517351cdu, 0x06136c2fab3df7a0u});
    CHECK(fingerprint_of(g, std::vector<task_id>{0, 1}) == order_fingerprint{0x7c027d5993603a07u, 0x94096832d2f68c33u});
}

TEST_CASE("fingerprints are equal exactly if the sequences of all groups are") {
    int same = 0, different = 0;
    stretto_check("equal", 4000, [&](std::uint64_t bits, const std::vector<std::uint8_t>& picks) {
        // Few groups, kinds and ids, so that equal sequences are frequent.
        task_graph g = collectives({{bits & 1, bits & 2 ? gather : scatter},
                                    {bits >> 2 & 1, gather},
                                    {bits >> 3 & 1, gather},
                                    {bits >> 4 & 1, bits & 32 ? gather : scatter}});
        if (bits & 64) {
            g.identity.resize(4);
            for (std::size_t t = 0; t < 4; ++t)
                g.identity[t] = {bits >> (7 + t) & 1 ? element_type::f32 : element_type::other,
                                 static_cast<std::uint32_t>(bits >> (11 + t) & 1), bits >> (15 + t) & 1};
        }
        std::vector<task_id> one = {0, 1, 2, 3}, other = support::random_order(g, picks);
        if (bits >> 20 & 1) other.pop_back();
        const bool equal = sequences(g, one) == sequences(g, other);
        RC_ASSERT((fingerprint_of(g, one) == fingerprint_of(g, other)) == equal);
        ++(equal ? same : different);
    });
    if (support::runs_all_cases()) CHECK((same > 100 && different > 100));
}
