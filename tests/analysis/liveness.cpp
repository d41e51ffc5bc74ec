#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "stretto/analysis/liveness.hpp"
#include "stretto/analysis/storage_rules.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/count_allocations.hpp"
#include "support/prop.hpp"
#include "support/shuffle.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::program_model;
using support::program_view;
using support::toy_program;

namespace {

/// A program listed in another order, which says nothing.
struct listed_view : program_view {
    const std::vector<std::uint32_t>* listing;
    const std::vector<std::uint32_t>& vertices() const { return *listing; }
};

/// Some topological order of a program: of those that its data dependences leave, the one nearest to a shuffled one.
topological_order<std::uint32_t> some_order(const toy_program& p, std::uint64_t seed) {
    const std::vector<std::uint32_t> listing = support::shuffled(p.ops.size(), seed);
    auto order = topological_sort(listed_view{{&p}, &listing});
    if (!order) support::assertion_failed("a toy program has a cycle");
    return *std::move(order);
}

/// The smallest program with everything: an input, an alias, a write in place, a collective and an output.
toy_program small_step() {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{100}, {}}}});                                 // 0
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{10}, {}}}});                                    // 1
    p.ops.push_back({.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}}});        // 2
    p.ops.push_back({.kind = op_kind::start, .operands = {{2, 0}}, .results = {{{20}, {}}}});            // 3
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{3}, {}}, {{4}, {}}}});                          // 4
    p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}, .results = {{{0}, {{3, 0}}}}});        // 5
    p.ops.push_back({.operands = {{4, 0}, {5, 0}}, .results = {{{0}, {{4, 0}}}}, .effects = {{4, 0}}});  // 6
    p.ops.push_back({.kind = op_kind::output, .operands = {{6, 0}}, .results = {}});                     // 7
    return p;
}

/// What must be alive, by definition, in terms of the oracle's storages: one bit a position.
struct naive_life {
    std::uint32_t value, first, last;
    bool input, kept;
    std::int64_t size;
};

std::vector<naive_life> lives_of(const toy_program& p, const std::vector<std::uint32_t>& order) {
    const support::storage_facts f = support::facts_of(p);
    std::vector<naive_life> lives;
    std::uint32_t x = 0;
    for (const support::toy_op& op : p.ops)
        for (const support::toy_result& r : op.results) {
            if (r.size.count > 0 || r.aliases.empty()) {
                naive_life life{x, 0, 0, op.kind == op_kind::input, op.kind == op_kind::input, r.size.count};
                for (std::uint32_t at = 0; at < order.size(); ++at) {
                    const std::uint32_t v = order[at];
                    if (v == f.owner[x]) life.first = at;
                    const auto touched = support::touched_by(p, f, v);
                    const bool touches = std::find(touched.begin(), touched.end(), x) != touched.end();
                    if (touches) life.last = at;
                    if (touches && p.ops[v].kind == op_kind::output)
                        life.kept = life.kept || std::binary_search(f.reads[v].begin(), f.reads[v].end(), x);
                }
                lives.push_back(life);
            }
            ++x;
        }
    return lives;
}

template <class Liveness>
void check_against_definition(const Liveness& found, const toy_program& p, const std::vector<std::uint32_t>& order) {
    const std::vector<naive_life> expected = lives_of(p, order);
    RC_ASSERT(found.lives().size() == expected.size());
    std::vector<std::uint32_t> first_value;
    for (std::uint32_t v = 0, values = 0; v < p.ops.size(); ++v) {
        first_value.push_back(values);
        values += static_cast<std::uint32_t>(p.ops[v].results.size());
    }
    for (std::size_t s = 0; s < expected.size(); ++s) {
        const auto& life = found.lives()[s];
        RC_ASSERT(first_value[life.value.op] + life.value.result == expected[s].value);
        RC_ASSERT(life.size.count == expected[s].size);
        RC_ASSERT(life.first == expected[s].first);
        RC_ASSERT(life.last == expected[s].last);
        RC_ASSERT(life.input == expected[s].input);
        RC_ASSERT(life.kept == expected[s].kept);
    }
    live_storage most_bytes, most_storages;
    for (std::uint32_t at = 0; at < order.size(); ++at) {
        live_storage due{at, {}, 0}, listed{at, {}, 0};
        for (const naive_life& life : expected)
            if (!life.input && life.first <= at && (life.kept || at <= life.last)) {
                due.size.count += life.size;
                ++due.storages;
            }
        RC_ASSERT(found.profile()[at] == due);
        found.for_each_live(at, [&](const auto& life) {
            listed.size += life.size;
            ++listed.storages;
        });
        RC_ASSERT(listed == due);
        if (at == 0 || due.size > most_bytes.size) most_bytes = due;
        if (at == 0 || due.storages > most_storages.storages) most_storages = due;
    }
    RC_ASSERT(found.profile().size() == order.size());
    RC_ASSERT(found.most_bytes() == most_bytes);
    RC_ASSERT(found.most_storages() == most_storages);
}

}  // namespace

TEST_CASE("from the operation that allocates to the last that needs it, through aliases and waits") {
    const toy_program p = small_step();
    const buffer_liveness found = liveness_of(program_view{&p}, program_model{&p});
    REQUIRE(found.lives().size() == 5);
    using life = storage_life<program_view>;
    CHECK(found.lives()[0] == life{{0, 0}, {100}, 0, 4, true, true});
    CHECK(found.lives()[1] == life{{1, 0}, {10}, 1, 5, false, false});  // the collective reads it until its wait
    CHECK(found.lives()[2] == life{{3, 0}, {20}, 3, 6, false, false});  // read through the wait
    CHECK(found.lives()[3] == life{{4, 0}, {3}, 4, 7, false, true});    // written in place, then returned
    CHECK(found.lives()[4] == life{{4, 1}, {4}, 4, 4, false, false});   // nobody wants it
    CHECK(found.storages_of({6, 0}).size() == 1);
    CHECK(found.storages_of({6, 0})[0] == 3);
    CHECK(found.storages_of({2, 0})[0] == found.storages_of({1, 0})[0]);
    CHECK(found.most_bytes() == live_storage{4, {37}, 4});
    CHECK(found.most_storages() == live_storage{4, {37}, 4});
    CHECK(found.profile()[7] == live_storage{7, {3}, 1});
    std::vector<support::toy_value> live;
    found.for_each_live(5, [&](const life& l) { live.push_back(l.value); });
    CHECK(live == std::vector<support::toy_value>{{1, 0}, {3, 0}, {4, 0}});
}

TEST_CASE("an empty graph, and one whose values allocate nothing anybody knows of") {
    const toy_program nothing;
    const buffer_liveness none = liveness_of(program_view{&nothing}, program_model{&nothing});
    CHECK(none.lives().empty());
    CHECK(none.profile().empty());
    CHECK(none.most_bytes() == live_storage{});

    // Storages without sizes are still counted.
    toy_program p = small_step();
    for (support::toy_op& op : p.ops)
        for (support::toy_result& r : op.results) r.size = {};
    const buffer_liveness found = liveness_of(program_view{&p}, program_model{&p});
    CHECK(found.lives().size() == 5);
    CHECK(found.most_storages() == live_storage{4, {0}, 4});
    CHECK(found.most_bytes() == live_storage{0, {0}, 0});
}

TEST_CASE("lives are those of the definition, in any order") {
    stretto_check("against the oracle", 20'000, [](const std::vector<std::uint8_t>& bytes) {
        const toy_program p = (*support::scheduling_cases(30)).program();
        const program_view view{&p};
        buffer_liveness found = liveness_of(view, program_model{&p});
        check_against_definition(found, p, support::program_order(p.ops.size()));
        const auto order = some_order(p, bytes.size() + 1);
        const std::vector<std::uint32_t> ids(order.begin(), order.end());
        found.update(order);
        check_against_definition(found, p, ids);
    });
}

TEST_CASE("live bytes are those of the task graph, in any order") {
    stretto_check("against profile_memory", 60'000, [](const std::vector<std::uint8_t>& bytes) {
        const toy_program p = (*support::scheduling_cases(40)).program();
        const task_graph g = support::graph_of(p);
        const program_view view{&p};
        buffer_liveness found = liveness_of(view, program_model{&p});
        std::vector<task_id> ids = support::program_order(p.ops.size());
        for (std::uint64_t round = 0; round < 2; ++round) {
            const memory_profile due = profile_memory(g, ids);
            RC_ASSERT(found.profile().size() == due.live.size());
            for (std::size_t i = 0; i < due.live.size(); ++i) RC_ASSERT(found.profile()[i].size == due.live[i]);
            RC_ASSERT(found.most_bytes().size == due.peak);
            if (!ids.empty()) RC_ASSERT(ids[found.most_bytes().at] == due.peak_at);
            const auto order = some_order(p, bytes.size() + 1);
            ids.assign(order.begin(), order.end());
            found.update(order);
        }
    });
}

TEST_CASE("made under an order is made in program order and then taken along") {
    stretto_check("both ways", 5'000, [](const std::vector<std::uint8_t>& bytes) {
        const toy_program p = *support::random_programs({.max_ops = 30});
        const auto order = some_order(p, bytes.size() + 1);
        const program_view view{&p};
        const buffer_liveness direct = liveness_of(view, program_model{&p}, order);
        buffer_liveness moved = liveness_of(view, program_model{&p});
        moved.update(order);
        RC_ASSERT(std::equal(direct.profile().begin(), direct.profile().end(), moved.profile().begin(),
                             moved.profile().end()));
        RC_ASSERT(direct.most_bytes() == moved.most_bytes());
        RC_ASSERT(direct.most_storages() == moved.most_storages());
        RC_ASSERT(direct.lives().size() == moved.lives().size());
        for (const auto& life : direct.lives())
            RC_ASSERT(std::count(moved.lives().begin(), moved.lives().end(), life) == 1);
        // Listed differently, the same again.
        const std::vector<std::uint32_t> listing = support::shuffled(p.ops.size(), 7);
        const auto other = liveness_of(listed_view{{&p}, &listing}, program_model{&p}, order);
        RC_ASSERT(
            std::equal(other.profile().begin(), other.profile().end(), moved.profile().begin(), moved.profile().end()));
    });
}

TEST_CASE_TEMPLATE("any IR has the liveness of its program", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 300, [] {
        const toy_program p = *support::random_programs();
        const buffer_liveness due = liveness_of(program_view{&p}, program_model{&p});
        const IR ir(p, *rc::gen::inRange<std::uint64_t>(0, 100));
        const auto order = topological_sort(ir.view());
        RC_ASSERT(order.has_value());
        const auto found = liveness_of(ir.view(), ir.model(), *order);
        RC_ASSERT(found.lives().size() == due.lives().size());
        for (std::size_t s = 0; s < found.lives().size(); ++s) {
            RC_ASSERT(found.lives()[s].size == due.lives()[s].size);
            RC_ASSERT(found.lives()[s].first == due.lives()[s].first);
            RC_ASSERT(found.lives()[s].last == due.lives()[s].last);
            RC_ASSERT(found.lives()[s].kept == due.lives()[s].kept);
        }
        RC_ASSERT(
            std::equal(found.profile().begin(), found.profile().end(), due.profile().begin(), due.profile().end()));
        std::uint32_t op = 0;
        for (auto v : ir.view().vertices()) {
            std::uint32_t result = 0;
            for (auto x : ir.view().results(v)) {
                const auto a = found.storages_of(x), b = due.storages_of({op, result++});
                RC_ASSERT(std::equal(a.begin(), a.end(), b.begin(), b.end()));
            }
            ++op;
        }
    });
}

TEST_CASE("a write is a use, even of what is not read; a result may alias an earlier one of its operation") {
    toy_program p;
    p.ops.push_back({.results = {{{8}, {}}}});
    p.ops.push_back({.results = {{{1}, {}}, {{0}, {{1, 0}}}}});
    p.ops.push_back({.results = {}, .effects = {{0, 0}}});
    const buffer_liveness found = liveness_of(program_view{&p}, program_model{&p});
    REQUIRE(found.lives().size() == 2);
    CHECK(found.lives()[0].last == 2);
    CHECK(found.lives()[1].value == support::toy_value{1, 0});
    CHECK(found.most_storages() == live_storage{1, {9}, 2});
    const memory_profile due = profile_memory(support::graph_of(p), support::program_order(3));
    for (std::size_t i = 0; i < 3; ++i) CHECK(found.profile()[i].size == due.live[i]);
}

TEST_CASE("long chains in place, many readers, aliases of aliases of both") {
    constexpr std::uint32_t length = 100'000;
    toy_program chain;
    chain.ops.push_back({.results = {{{64}, {}}}});
    for (std::uint32_t v = 1; v < length; ++v)
        chain.ops.push_back({.operands = {{v - 1, 0}}, .results = {{{0}, {{v - 1, 0}}}}, .effects = {{v - 1, 0}}});
    const buffer_liveness in_place = liveness_of(program_view{&chain}, program_model{&chain});
    REQUIRE(in_place.lives().size() == 1);
    CHECK(in_place.lives()[0].last == length - 1);
    CHECK(in_place.most_bytes() == live_storage{0, {64}, 1});

    toy_program star;
    star.ops.push_back({.results = {{{64}, {}}}});
    for (std::uint32_t v = 1; v <= length; ++v) star.ops.push_back({.operands = {{0, 0}}, .results = {{{1}, {}}}});
    const buffer_liveness read = liveness_of(program_view{&star}, program_model{&star});
    CHECK(read.lives()[0].last == length);
    CHECK(read.profile()[length].size.count == 65);

    // Every value aliases the two before it: without care, as many storages as there are ways down.
    toy_program woven;
    for (std::uint32_t v = 0; v < 100; ++v) {
        if (v < 2) woven.ops.push_back({.results = {{{8}, {}}}});
        else
            woven.ops.push_back({.kind = op_kind::view,
                                 .operands = {{v - 1, 0}, {v - 2, 0}},
                                 .results = {{{0}, {{v - 1, 0}, {v - 2, 0}}}}});
    }
    const buffer_liveness both = liveness_of(program_view{&woven}, program_model{&woven});
    CHECK(both.storages_of({99, 0}).size() == 2);
    CHECK(both.most_bytes() == live_storage{1, {16}, 2});
    CHECK(both.profile()[99].storages == 2);
}

TEST_CASE("another order allocates nothing") {
    const toy_program p = support::seeded_program(3, 200);
    const auto order = some_order(p, 5);
    buffer_liveness found = liveness_of(program_view{&p}, program_model{&p});
    CHECK(support::allocations_of([&] { (void)liveness_of(program_view{&p}, program_model{&p}); }) > 0);
    CHECK(support::allocations_of([&] { found.update(order); }) == 0);
}

TEST_CASE("a broken precondition is noticed") {
    toy_program p = small_step();
    const buffer_liveness found = liveness_of(program_view{&p}, program_model{&p});
    CHECK_THROWS((void)found.storages_of({4, 2}));
    std::swap(p.ops[1], p.ops[2]);
    CHECK_THROWS((void)liveness_of(program_view{&p}, program_model{&p}));
}

TEST_CASE("a graph with a cycle is refused with the hint that topological_sort names it") {
    toy_program p;
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{1}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{1}, {}}}});
    std::string reason;
    try {
        (void)liveness_of(program_view{&p}, program_model{&p});
    } catch (const std::logic_error& e) {
        reason = e.what();
    }
    CHECK(reason.find("topological_sort names it") != std::string::npos);
    CHECK_FALSE(topological_sort(program_view{&p}).has_value());
}

TEST_CASE("archetypes suffice") {
    const archetypes::program g(0);
    const auto order = topological_sort(g);
    REQUIRE(order);
    const auto found = liveness_of(g, archetypes::kinds(0), *order);
    CHECK(found.lives().size() == 8);
    // Results of both starts and of everything else are storages of their own: nothing says that a wait aliases.
    CHECK(found.lives()[1].last == 2);
    CHECK(found.lives()[7].kept);
    CHECK(liveness_of(g, archetypes::kinds(0)).most_storages() == found.most_storages());
}
