#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/bound_step.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backend/random_step.hpp"
#include "stretto/backend/check_log.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/core/process_groups.hpp"
#include "support/legality.hpp"
#include "support/prop.hpp"

using namespace stretto;
using namespace support::steps;
using support::program_view;
using support::toy_program;
using support::toy_value;
using why = bind_error::reason;

namespace {

/// What operations of random_step do, by their position in the program, and without any number of a task or a value.
struct work {
    const toy_program* p;

    void compute(std::uint32_t v, task_memory m) const {
        row_kernel{v, m.operand<std::uint32_t>(0), m.operand<std::uint32_t>(1), m.result<std::uint32_t>(0)}();
    }
    collective_call call(std::uint32_t v) const {
        collective_call made;
        made.kind = p->ops[v].collective;
        made.reduction = made.kind == collective_kind::all_reduce ? reduction_kind::sum : reduction_kind::none;
        made.element = element_type::i32;
        return made;
    }
};
static_assert(step_work<work, program_view>);

/// The memory of a caller who has one of the inputs, and wants some of the results where it says.
struct caller_memory {
    std::vector<row> rows;
    std::uint32_t share = 3;  // of the operations, every so many

    [[nodiscard]] std::byte* of(toy_value x) { return reinterpret_cast<std::byte*>(rows[x.op].data()); }
};
struct work_with_memory : work {
    caller_memory* memory;

    std::byte* address(toy_value x) const { return x.op == 0 ? memory->of(x) : nullptr; }
    std::byte* destination(toy_value x) const { return x.op % memory->share == 0 ? memory->of(x) : nullptr; }
};
static_assert(step_work<work_with_memory, program_view>);

process_groups two_groups(std::size_t ranks) {
    std::vector<rank_id> all(ranks);
    for (rank_id r = 0; r < ranks; ++r) all[r] = r;
    process_groups groups;
    for (int k = 0; k < 2; ++k) groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    return groups;
}

/// A random step in a random order, and what its output reads on each rank.
struct drawn_step {
    drawn_step(const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks)
        : ranks(1 + picks.size() % 3),
          p(random_step(bytes)),
          g(support::graph_of(p)),
          order(*check_order(g, support::random_order(g, picks))),
          expected(interpret(p, ranks)) {}

    std::size_t ranks;
    toy_program p;
    task_graph g;
    checked_order order;
    std::vector<std::vector<row>> expected;
};

void fill(std::span<std::uint32_t> to, const row& from) { std::copy(from.begin(), from.end(), to.begin()); }

}  // namespace

TEST_CASE("random steps make what they make one operation after the other, found by the handles of the program") {
    std::size_t compared = 0;
    const auto property = [&](const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks) {
        const drawn_step d(bytes, picks);
        std::vector<std::string> wrong(d.ranks);
        host_world world(d.ranks, two_groups(d.ranks));
        const auto failure = world.run([&](host_rank& rank) {
            const std::size_t me = rank.rank();
            auto step = bind_step(program_view{&d.p}, d.g, d.order, work{&d.p}, rank);
            if (!step) {
                wrong[me] = explain(step.error());
                return;
            }
            for (int replay = 0; replay < 2; ++replay) {
                for (std::uint32_t v = 0; v < 2; ++v)
                    fill(step->template memory<std::uint32_t>({v, 0}), input(rank.rank(), v));
                for (std::uint32_t v = 0; v < 2; ++v)
                    if (reinterpret_cast<std::uintptr_t>(step->template memory<std::byte>({v, 0}).data()) % 64 != 0)
                        wrong[me] = "an input is not aligned";
                if (step->replay()) return;
                if (step->last_replay() <= nanoseconds{}) wrong[me] = "a replay has taken no time";
                const auto& seen = d.p.ops.back().operands;
                for (std::size_t k = 0; k < seen.size(); ++k) {
                    const auto there = step->template memory<std::uint32_t>(seen[k]);
                    if (there.size() != length || !std::equal(there.begin(), there.end(), d.expected[me][k].begin()))
                        wrong[me] = "value " + std::to_string(k) + " differs";
                }
            }
        });
        RC_ASSERT_FALSE(failure);
        for (const std::string& w : wrong) RC_ASSERT(w == "");
        compared += d.ranks * d.p.ops.back().operands.size();
    };
    stretto_check("bound by handles", 60, property);
    if (support::runs_all_cases()) CHECK(compared > 500);
}

TEST_CASE("a step reads inputs where the caller has them, and leaves results where the caller wants them") {
    std::size_t found = 0;
    const auto property = [&](const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks) {
        const drawn_step d(bytes, picks);
        const auto memory_of_rank = [&] {
            return caller_memory{std::vector<row>(d.p.ops.size()), 1 + static_cast<std::uint32_t>(bytes.size() % 3)};
        };
        std::vector<std::string> wrong(d.ranks);
        std::vector<std::size_t> found_there(d.ranks);
        host_world world(d.ranks, two_groups(d.ranks));
        const auto failure = world.run([&](host_rank& rank) {
            const std::size_t me = rank.rank();
            caller_memory own = memory_of_rank();
            auto step = bind_step(program_view{&d.p}, d.g, d.order, work_with_memory{{&d.p}, &own}, rank);
            if (!step) {
                wrong[me] = explain(step.error());
                return;
            }
            for (int replay = 0; replay < 2; ++replay) {
                own.rows[0] = input(rank.rank(), 0);
                fill(step->template memory<std::uint32_t>({1, 0}), input(rank.rank(), 1));
                if (step->replay()) return;
                const auto& seen = d.p.ops.back().operands;
                for (std::size_t k = 0; k < seen.size(); ++k) {
                    const auto there = step->template memory<std::uint32_t>(seen[k]);
                    if (there.size() != length || !std::equal(there.begin(), there.end(), d.expected[me][k].begin()))
                        wrong[me] = "value " + std::to_string(k) + " differs";
                    const bool allocates = d.p.ops[seen[k].op].results[0].size.count != 0;
                    if (!allocates || seen[k].op == 1 || seen[k].op % own.share != 0) continue;
                    ++found_there[me];
                    if (reinterpret_cast<std::byte*>(there.data()) != own.of(seen[k]))
                        wrong[me] = "value " + std::to_string(k) + " is elsewhere";
                }
            }
        });
        RC_ASSERT_FALSE(failure);
        for (const std::string& w : wrong) RC_ASSERT(w == "");
        for (const std::size_t n : found_there) found += n;

        // No two operations race in that memory, and no wait is superfluous.
        caller_memory own = memory_of_rank();
        recorder records(two_groups(d.ranks), 0);
        auto step = bind_step(program_view{&d.p}, d.g, d.order, work_with_memory{{&d.p}, &own}, records);
        RC_ASSERT(step.has_value());
        RC_ASSERT_FALSE(step->replay());
        RC_ASSERT(check_log(d.g, step->order().program().arena, records.log()).empty());
    };
    stretto_check("memory of the caller", 60, property);
    if (support::runs_all_cases()) CHECK(found > 100);
}

namespace {

/// %0 and %1 are inputs, %2 has views of both halves of what %1 makes, and %4 reads all.
toy_program with_views() {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{24}, {}}, {{8}, {}}}});
    p.ops.push_back({.operands = {{0, 0}, {0, 1}}, .results = {{{40}, {}}}});
    p.ops.push_back(
        {.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {{1, 0}}}, {{0}, {{1, 0}}}, {{0}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_gather,
                     .payload = {16},
                     .operands = {{2, 1}},
                     .results = {{{32}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}, .results = {{{0}, {{3, 0}}}}});
    p.ops.push_back({.operands = {{4, 0}, {2, 0}}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{5, 0}}});
    return p;
}

/// Writes down what it is asked. `lane` stands for what a backend has for kernels, such as a stream.
struct noting {
    std::vector<std::pair<std::uint32_t, std::size_t>>* ran;

    void compute(std::uint32_t v, task_memory m) const {
        ran->emplace_back(v, m.operands.size() + 10 * m.results.size());
    }
    void compute(std::uint32_t v, task_memory, int lane) const { ran->emplace_back(v, static_cast<std::size_t>(lane)); }
    collective_call call(std::uint32_t) const {
        collective_call made;
        made.kind = collective_kind::all_gather;
        return made;
    }
    bytes offset(toy_value x) const { return {x == toy_value{2, 1} ? 24 : 0}; }
};

}  // namespace

TEST_CASE("values are found in inputs, in the arena and inside of storages, with what is left of these") {
    const toy_program p = with_views();
    const task_graph g = support::graph_of(p);
    const auto order = check_order(g, program_order(g));
    std::vector<std::pair<std::uint32_t, std::size_t>> ran;
    recorder rank(two_groups(2), 1);
    auto step = bind_step(program_view{&p}, g, *order, noting{&ran}, rank);
    REQUIRE(step);
    const auto at = [&](std::uint32_t op, std::uint32_t result) { return step->memory<std::byte>({op, result}); };
    CHECK(at(0, 0).size() == 24);
    CHECK(at(0, 1).size() == 8);
    CHECK(at(0, 1).data() - at(0, 0).data() == 64);  // each is aligned by itself
    CHECK(at(1, 0).size() == 40);
    CHECK(at(2, 0).data() == at(1, 0).data());
    CHECK(at(2, 0).size() == 40);
    CHECK(at(2, 1).data() == at(1, 0).data() + 24);
    CHECK(at(2, 1).size() == 16);
    CHECK(step->memory<std::uint64_t>({2, 1}).size() == 2);
    CHECK(at(2, 2).empty());  // it has no storage
    CHECK(at(4, 0).data() == at(3, 0).data());
    CHECK(at(4, 0).size() == 32);
    CHECK_THROWS(static_cast<void>(at(9, 0)));
}

TEST_CASE("what is wrong is told by the position of the operation, and a kernel may have what its lane has") {
    toy_program p = with_views();
    const task_graph g = support::graph_of(p);
    std::vector<std::pair<std::uint32_t, std::size_t>> ran;
    p.ops.push_back({.kind = op_kind::output});
    const task_graph other = support::graph_of(p);
    recorder rank(two_groups(2), 1);
    const auto wrong = bind_step(program_view{&p}, other, *check_order(g, program_order(g)), noting{&ran}, rank);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().why == why::order_of_another_graph);
    CHECK_THROWS(
        static_cast<void>(bind_step(program_view{&p}, g, *check_order(g, program_order(g)), noting{&ran}, rank)));

    p.ops[3].payload = {48};  // more than there is
    const task_graph large = support::graph_of(p);
    const auto too_much =
        bind_step(program_view{&p}, large, *check_order(large, program_order(large)), noting{&ran}, rank);
    REQUIRE_FALSE(too_much);
    CHECK(too_much.error().task == 3);
    CHECK(explain(too_much.error(), [](task_id t) {
              return "gather " + std::to_string(t);
          }).starts_with("gather 3 moves amounts"));

    std::byte* const memory[] = {nullptr, nullptr, nullptr};
    const detail::step_kernel<std::uint32_t, noting> kernel({&ran}, 7,
                                                            {std::span(memory).first(2), std::span(memory).last(1)});
    kernel();
    kernel(5);
    CHECK(ran == std::vector<std::pair<std::uint32_t, std::size_t>>{{7, 12}, {7, 5}});
}
