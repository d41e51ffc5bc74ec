#include "stretto/transform/chunk_plan.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

namespace {

using plan = chunk_plan<std::uint32_t, std::uint32_t>;
using join = chunk_join<std::uint32_t, std::uint32_t>;

join joined(recombination how, bool late = false, std::uint32_t region = 0) { return {0, region, how, 0, {}, late}; }

}  // namespace

TEST_CASE("a plan without operations is empty and makes nothing") {
    const plan p;
    CHECK(p.empty());
    CHECK(p.counts() == chunk_counts{});
}

TEST_CASE("an operation runs once a chunk, or once") {
    plan p;
    p.regions = {{6, {4, 2}}, {6, {3, 2, 1}}};
    p.operations = {{7, 0}, {8, 1}, {9, 1, true}};
    p.splits = {{3, 0, 0}};
    CHECK(!p.empty());
    const chunk_counts n = p.counts();
    CHECK(n.chunked == 3);
    CHECK(n.clones == 2 + 3 + 1);
    CHECK(n.splits == 1);
    CHECK(n.concats + n.sums + n.empties + n.slice_writes == 0);
}

TEST_CASE("where a sum widens, only the first chunk runs the conversion") {
    plan p;
    p.regions = {{6, {3, 2, 1}}};
    p.operations = {{.vertex = 7, .sum_widens = true}, {.vertex = 8}};
    CHECK(p.operations[0].parts(3) == 3);
    CHECK(p.operations[0].clones(3) == 1);
    CHECK(p.counts().clones == 1 + 3);
}

TEST_CASE("slices need memory once and a write for each part") {
    plan p;
    p.regions = {{6, {4, 2}}, {6, {3, 2, 1}}};
    p.joins = {joined(recombination::concat), joined(recombination::sum), joined(recombination::first),
               joined(recombination::slices), joined(recombination::slices, false, 1)};
    const chunk_counts n = p.counts();
    CHECK(n.concats == 1);
    CHECK(n.sums == 1);
    CHECK(n.empties == 2);
    CHECK(n.slice_writes == 2 + 3);
}

TEST_CASE("states of an operation are those of its operands, then those of its results") {
    plan p;
    for (std::int64_t k = 0; k < 6; ++k) p.states.push_back({chunk_state::kind::sliced, 0, k, 0, 0});
    const chunked_operation<std::uint32_t> o{0, 0, false, 1, 3, 4};
    REQUIRE(p.operand_states(o).size() == 2);
    CHECK(p.operand_states(o)[0].positions == 1);
    CHECK(p.operand_states(o)[1].positions == 2);
    REQUIRE(p.result_states(o).size() == 1);
    CHECK(p.result_states(o)[0].positions == 3);
    CHECK(p.result_states({0, 0, false, 6, 6, 6}).empty());
}

TEST_CASE("only an operation that writes an operand through all chunks is a chain") {
    chunked_operation<std::uint32_t> o{0};
    CHECK(!o.is_chain());
    o.chained = 0;
    CHECK(o.is_chain());
}

TEST_CASE("what is recombined late, summed or taken as it is never becomes slices") {
    CHECK(joined(recombination::concat).may_be_slices());
    CHECK(joined(recombination::slices).may_be_slices());
    CHECK(!joined(recombination::concat, true).may_be_slices());
    CHECK(!joined(recombination::sum).may_be_slices());
    CHECK(!joined(recombination::first).may_be_slices());
}

TEST_CASE("slices are chosen join by join, asked once each in order, and back again") {
    stretto_check("any joins", 200, [] {
        plan p;
        p.regions = {{2, {1, 1}}};
        const auto count = *rc::gen::inRange<std::size_t>(0, 20);
        for (std::size_t k = 0; k < count; ++k)
            p.joins.push_back(joined(*rc::gen::element(recombination::concat, recombination::sum, recombination::first,
                                                       recombination::slices),
                                     *rc::gen::arbitrary<bool>()));
        const std::vector<join> before = p.joins;
        for (std::size_t k = 0; k < count; ++k) p.joins[k].value = static_cast<std::uint32_t>(k);
        std::vector<std::uint32_t> asked;
        choose_slices(p, [&](const join& j) {
            asked.push_back(j.value);
            return j.value % 2 == 0;
        });
        std::vector<std::uint32_t> expected;
        for (std::size_t k = 0; k < count; ++k) {
            const bool open = before[k].may_be_slices();
            if (open) expected.push_back(static_cast<std::uint32_t>(k));
            RC_ASSERT(p.joins[k].how == (!open        ? before[k].how
                                         : k % 2 == 0 ? recombination::slices
                                                      : recombination::concat));
        }
        RC_ASSERT(asked == expected);
        choose_slices(p, [](const join&) { return false; });
        const chunk_counts n = p.counts();
        RC_ASSERT(n.empties == 0u);
        RC_ASSERT(n.slice_writes == 0u);
    });
}
