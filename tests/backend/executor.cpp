#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/executor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/core/process_groups.hpp"
#include "support/reading_model.hpp"

using namespace stretto;
using support::toy_program;
using why = bind_error::reason;

namespace {

/// %0 is an input; %1 a kernel; %2 gathers it on group 0; %3 exchanges it on group 1; %4 and %5 wait; %6 reads both.
toy_program two_channels() {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_gather,
                     .group = 0,
                     .payload = {64},
                     .operands = {{1, 0}},
                     .results = {{{128}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_to_all,
                     .group = 1,
                     .payload = {64},
                     .operands = {{1, 0}},
                     .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}, .results = {{{0}, {{3, 0}}}}});
    p.ops.push_back({.operands = {{4, 0}, {5, 0}}, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{6, 0}}});
    p.groups = 2;
    return p;
}

process_groups two_groups() {
    process_groups groups;
    const std::vector<rank_id> ranks = {0, 1};
    groups.add({.size = 2, .ranks = ranks});
    groups.add({.size = 2, .ranks = ranks});
    return groups;
}

/// Says of each kernel which addresses it got.
struct source {
    const task_graph* g;
    std::vector<std::byte> memory = std::vector<std::byte>(64);
    bool has_memory = true;
    std::vector<std::pair<task_id, std::vector<std::byte*>>> bound = {};

    std::function<void()> kernel(task_id t, task_memory m) {
        std::vector<std::byte*> all(m.operands.begin(), m.operands.end());
        all.insert(all.end(), m.results.begin(), m.results.end());
        bound.emplace_back(t, std::move(all));
        return [] {};
    }
    collective_call call(task_id t) const {
        collective_call made;
        made.kind = g->collective[t];
        return made;
    }
    std::byte* address(value_id) { return has_memory ? memory.data() : nullptr; }
    bytes offset(value_id x) const { return {x == 4 ? 32 : 0}; }
};

checked_order in_program_order(const task_graph& g) { return *check_order(g, support::program_order(g.size())); }

}  // namespace

TEST_CASE("an executor puts into queues what the program says, at every replay") {
    const toy_program p = two_channels();
    const task_graph g = support::graph_of(p, {0, 1, 0, 0, 0, 0, 1, 0});
    source s{&g};
    recorder rank(two_groups(), 1);
    auto made = bind_order(g, in_program_order(g), s, rank);
    REQUIRE(made);
    CHECK(rank.log().empty());
    CHECK_FALSE(made->replay());
    CHECK(rank.log() == log_of(made->program()));
    CHECK(std::count(rank.log().begin(), rank.log().end(), log_entry{log_entry::form::settle, 0, 0}) == 2);
    CHECK(check_log(g, made->program().arena, rank.log()).empty());
    CHECK_FALSE(made->replay());
    CHECK(rank.log().size() == 2 * log_of(made->program()).size());
}

TEST_CASE("kernels get the addresses of values, in the arena, in inputs and inside of storages") {
    const task_graph g = support::graph_of(two_channels());
    source s{&g};
    recorder rank(two_groups(), 0);
    const auto made = bind_order(g, in_program_order(g), s, rank);
    REQUIRE(made);
    REQUIRE(s.bound.size() == 2);
    CHECK(s.bound[0].second == std::vector{s.memory.data(), made->address(1)});
    CHECK(s.bound[1].second == std::vector{made->address(2) + 32, made->address(3), made->address(6)});
    CHECK(made->address(4) == made->address(2) + 32);
    CHECK(reinterpret_cast<std::uintptr_t>(made->address(6)) - reinterpret_cast<std::uintptr_t>(made->address(1)) ==
          static_cast<std::uintptr_t>(made->program().arena.offset[6] - made->program().arena.offset[1]));
}

TEST_CASE("what cannot be bound is refused, with the task that is the cause") {
    const auto refusal = [](toy_program p, rank_id rank = 0, bool has_memory = true) {
        const task_graph g = support::graph_of(p);
        source s{&g};
        s.has_memory = has_memory;
        recorder r(two_groups(), rank);
        const auto made = bind_order(g, in_program_order(g), s, r);
        REQUIRE_FALSE(made);
        CHECK(r.log().empty());
        CHECK(r.make_events(1)->number == 0);  // none is left behind
        CHECK(!explain(made.error()).empty());
        return made.error();
    };
    toy_program p = two_channels();
    CHECK(refusal(p, 2) == bind_error{why::not_a_member, 2, 0});
    CHECK(refusal(p, 0, false) == bind_error{why::no_address, 1});
    p.ops[3].collective = collective_kind::other;
    CHECK(refusal(p) == bind_error{why::unknown_collective, 3});
    p = two_channels();
    p.ops[2].results[0].size = {127};
    CHECK(refusal(p) == bind_error{why::sizes_disagree, 2});
    p = two_channels();
    p.ops[3].results[0] = {{0}, {{1, 0}}};
    p.ops[3].effects = {{1, 0}};
    CHECK(refusal(p) == bind_error{why::in_place, 3});
    p = two_channels();
    p.ops[2].results[0] = {{0}, {{1, 0}}};  // the room is right, but not the place
    p.ops[2].effects = {{1, 0}};
    p.ops[1].results[0].size = {128};
    CHECK(refusal(p, 1) == bind_error{why::in_place, 2});
    p = two_channels();
    p.ops[5].results[0].aliases.push_back({2, 0});
    CHECK(refusal(p) == bind_error{why::several_storages, 6});
    p = two_channels();
    p.ops[2].payload = {65};
    p.ops[2].results[0].size = {130};
    CHECK(refusal(p) == bind_error{why::sizes_disagree, 2});

    const task_graph g = support::graph_of(two_channels());
    p.ops[1].operands.clear();
    source s{&g};
    recorder r(two_groups(), 0);
    const auto made = bind_order(g, in_program_order(support::graph_of(p)), s, r);
    REQUIRE_FALSE(made);
    CHECK(made.error().why == why::order_of_another_graph);
}

namespace {

/// Has the memory of all storages, by number: inputs and results are where it says.
struct placing : source {
    std::vector<std::byte*> at;

    std::byte* address(value_id x) { return at[x]; }
    std::byte* destination(value_id x) { return at[x]; }
};

}  // namespace

TEST_CASE("storages that the caller places are not in the arena, and must not share bytes that are written") {
    const toy_program p = two_channels();
    const task_graph g = support::graph_of(p);
    std::vector<std::byte> memory(512);
    const auto bound = [&](std::vector<std::byte*> at) {
        placing s{{&g}, std::move(at)};
        recorder r(two_groups(), 0);
        auto made = bind_order(g, in_program_order(g), s, r);
        CHECK((made || r.log().empty()));
        return made;
    };
    std::byte* const m = memory.data();
    const auto apart = bound({m, nullptr, m + 64, nullptr, nullptr, nullptr, m + 192});
    REQUIRE(apart);
    CHECK(apart->address(0) == m);
    CHECK(apart->address(2) == m + 64);
    CHECK(apart->address(6) == m + 192);
    CHECK(apart->program().arena.size.count == 128);  // %1 and %3 remain

    const auto refusal = [&](std::vector<std::byte*> at) {
        const auto made = bound(std::move(at));
        REQUIRE_FALSE(made);
        CHECK(explain(made.error()).find("bytes of its own") != std::string::npos);
        return made.error();
    };
    CHECK(refusal({m, nullptr, m + 63, nullptr, nullptr, nullptr, m + 256}) == bind_error{why::shared_memory, 2});
    CHECK(refusal({m + 127, nullptr, m, nullptr, nullptr, nullptr, m + 256}) == bind_error{why::shared_memory, 2});
    CHECK(refusal({m, nullptr, m + 64, m + 191, nullptr, nullptr, m + 256}) == bind_error{why::shared_memory, 3});
    CHECK(refusal({m, nullptr, nullptr, nullptr, nullptr, nullptr, m}) == bind_error{why::shared_memory, 6});
}

TEST_CASE("a start that sends no row has the room of its result or the length of a row from the source") {
    struct receiving : source {
        collective_call call(task_id t) const {
            static constexpr split_size sent[] = {{split_size::form::given, 0}, {split_size::form::given, 0}};
            static constexpr split_size received[] = {{split_size::form::given, 1}, {split_size::form::given, 2}};
            collective_call made = source::call(t);
            if (made.kind != collective_kind::all_to_all) return made;
            made.input_sizes = sent;
            made.output_sizes = received;
            return made;
        }
    };
    struct knowing : receiving {
        bytes row_bytes(task_id) const { return {16}; }
    };
    toy_program p = two_channels();
    p.ops[3].payload = {0};
    const task_graph g = support::graph_of(p);
    recorder rank(two_groups(), 0);
    receiving guesses{{&g}};
    const auto refused = bind_order(g, in_program_order(g), guesses, rank);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == bind_error{why::sizes_disagree, 3});  // 64 bytes are not 3 rows
    knowing knows{{{&g}}};
    CHECK(bind_order(g, in_program_order(g), knows, rank));
}
