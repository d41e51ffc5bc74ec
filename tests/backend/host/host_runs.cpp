#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/random_step.hpp"
#include "backend/timed_runs.hpp"
#include "stretto/backend/check_log.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/measured_span.hpp"
#include "support/prop.hpp"

// Orders are executed on ranks that are threads, and compared with the program, done one operation after the other.

using namespace stretto;
using support::toy_program;
using namespace support::steps;

namespace {

/// What is wrong with that which a rank launches, whatever the timing of its lanes; nothing if it races with nobody and
/// waits for no more than it must.
std::string race_in(const task_graph& g, const checked_order& order, kernels source, const process_groups& groups) {
    recorder rank(groups, 0);
    auto bound = bind_order(g, order, source, rank);
    if (!bound) return explain(bound.error());
    if (bound->replay()) return "failed";
    const auto found = check_log(g, bound->program().arena, rank.log());
    return found.empty() ? "" : explain(found[0], [](task_id t) { return std::to_string(t); });
}

}  // namespace

TEST_CASE("what ranks compute in any legal order is what the program says, at every replay") {
    std::size_t collectives = 0, reused = 0;
    stretto_check("executed and interpreted", 150,
                  [&](const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks) {
                      const toy_program p = random_step(bytes);
                      const std::size_t ranks = 1 + picks.size() % 4;
                      const task_graph g = support::graph_of(p);
                      const auto order = check_order(g, support::random_order(g, picks));
                      RC_ASSERT(order.has_value());
                      const std::vector<std::vector<row>> expected = interpret(p, ranks);

                      process_groups groups;
                      std::vector<rank_id> all;
                      for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
                      for (int k = 0; k < 2; ++k) groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
                      RC_ASSERT(race_in(g, *order, {&g, {input(0, 0), input(0, 1)}}, groups) == "");
                      host_world world(ranks, groups);
                      std::vector<std::string> wrong(ranks);
                      const auto failed = world.run([&](host_rank& rank) {
                          const std::size_t me = rank.rank();
                          kernels source{&g, {input(rank.rank(), 0), input(rank.rank(), 1)}};
                          auto bound = bind_order(g, *order, source, rank);
                          if (!bound) return wrong[me].assign(explain(bound.error())), void();
                          for (int replay = 0; replay < 2; ++replay) {
                              if (bound->replay()) return wrong[me].assign("failed"), void();
                              const auto& read = g.operands[g.size() - 1];
                              for (std::size_t k = 0; k < read.size(); ++k)
                                  if (std::memcmp(bound->address(read[k]), expected[me][k].data(), row_bytes) != 0)
                                      wrong[me] += " " + std::to_string(read[k]);
                          }
                          if (me == 0) {
                              collectives += bound->program().groups.size();
                              reused += bound->program().arena.size.count <
                                        static_cast<std::int64_t>(g.allocation.size() - 2) * 64;
                          }
                      });
                      RC_ASSERT(!failed);
                      for (const std::string& w : wrong) RC_ASSERT(w == "");
                  });
    if (support::runs_all_cases()) {
        CHECK(collectives > 50);
        CHECK(reused > 20);
    }
}

TEST_CASE("a timed run says when tasks were at work: once in every replay, after what they depend on") {
    stretto_check("timed runs", 60, [](const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks) {
        const toy_program p = random_step(bytes);
        const std::size_t ranks = 1 + picks.size() % 4;
        const task_graph g = support::graph_of(p);
        const auto order = check_order(g, support::random_order(g, picks));
        RC_ASSERT(order.has_value());
        process_groups groups;
        std::vector<rank_id> all;
        for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
        for (int k = 0; k < 2; ++k) groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
        RC_ASSERT(race_in(g, *order, {&g, {input(0, 0), input(0, 1)}}, groups) == "");
        for (const bool timed : {true, false}) {
            std::vector<std::vector<measured_span>> times(ranks);
            host_world world(ranks, groups, {.timed = timed});
            const auto failed = world.run([&](host_rank& rank) {
                kernels source{&g, {input(rank.rank(), 0), input(rank.rank(), 1)}};
                auto bound = bind_order(g, *order, source, rank);
                const collective_operation barrier;  // of no task, so that it is in no step
                for (int replay = 0; bound && replay < 3; ++replay)
                    if (rank.perform(0, barrier) || bound->replay()) return;
                times[rank.rank()] = rank.times();
            });
            RC_ASSERT(!failed);
            for (std::size_t r = 0; r < ranks; ++r) {
                if (timed) RC_ASSERT(support::wrong_times(g, static_cast<rank_id>(r), times[r], 3) == "");
                else RC_ASSERT(times[r].empty());
            }
        }
    });
}

TEST_CASE("a kernel that throws ends the run for all ranks, and is named") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{row_bytes}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{row_bytes}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_to_all,
                     .payload = {row_bytes},
                     .operands = {{1, 0}},
                     .results = {{{row_bytes}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}}});
    const task_graph g = support::graph_of(p);
    const checked_order order = *check_order(g, support::program_order(5));
    const std::vector<rank_id> ranks = {0, 1};
    process_groups groups;
    groups.add({.size = 2, .ranks = ranks});

    struct failing : kernels {
        rank_id rank;
        auto kernel(task_id, task_memory) const {
            return [rank = rank] {
                if (rank == 1) throw std::runtime_error("no such expert");
            };
        }
    };
    host_world world(2, groups);
    const auto failure = world.run([&](host_rank& rank) {
        failing source{{&g, {}}, rank.rank()};
        auto bound = bind_order(g, order, source, rank);
        if (bound) static_cast<void>(bound->replay());
    });
    REQUIRE(failure);
    CHECK((failure->why == run_failure::reason::kernel_threw));
    CHECK(failure->rank == 1);
    CHECK(failure->task == 1);
    CHECK(failure->detail == "no such expert");
}

TEST_CASE("ranks with different orders of one group are told, and nobody hangs") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{row_bytes}, {}}}});
    for (const collective_kind kind : {collective_kind::all_to_all, collective_kind::all_reduce})
        p.ops.push_back({.kind = op_kind::start,
                         .collective = kind,
                         .payload = {row_bytes},
                         .operands = {{0, 0}},
                         .results = {{{row_bytes}, {}}}});
    for (const std::uint32_t start : {1u, 2u})
        p.ops.push_back({.kind = op_kind::wait, .operands = {{start, 0}}, .results = {{{0}, {{start, 0}}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}, {4, 0}}});
    const task_graph g = support::graph_of(p);
    const checked_order orders[] = {*check_order(g, {0, 1, 2, 3, 4, 5}), *check_order(g, {0, 2, 1, 3, 4, 5})};
    const std::vector<rank_id> ranks = {0, 1};
    process_groups groups;
    groups.add({.size = 2, .ranks = ranks});
    host_world world(2, groups);
    const auto failure = world.run([&](host_rank& rank) {
        kernels source{&g, {}};
        auto bound = bind_order(g, orders[rank.rank()], source, rank);
        if (bound) static_cast<void>(bound->replay());
    });
    REQUIRE(failure);
    CHECK(failure->why == run_failure::reason::mismatch);
    CHECK(failure->sequence == 0);
}

TEST_CASE("a collective that its communicator cannot reduce breaks the precondition of perform") {
    process_groups groups;
    groups.add({.size = 1, .ranks = std::vector<rank_id>{0}});
    host_world world(1, groups);
    const auto failed = world.run([&](host_rank& rank) {
        collective_operation o;
        o.kind = transfer_kind::all_reduce;
        o.reduction = reduction_kind::sum;
        o.element = element_type::f16;
        static_cast<void>(rank.perform(0, o));
    });
    REQUIRE(failed);
    CHECK(failed->why == run_failure::reason::rank_threw);
}
