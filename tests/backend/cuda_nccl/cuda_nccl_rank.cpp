#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/cuda_nccl/imitated_cuda.hpp"
#include "backend/random_step.hpp"
#include "backend/timed_runs.hpp"
#include "stretto/backend/check_backend.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/core/process_groups.hpp"
#include "support/planted_faults.hpp"
#include "support/prop.hpp"
#include "support/reading_model.hpp"

using namespace stretto;
using support::imitated_cuda;
using support::imitated_fault;
using support::imitated_machine;
using support::imitated_rank;
using support::run_imitated;
using namespace support::steps;
static_assert(backend<imitated_rank>);

namespace {

/// All ranks twice, the second time perhaps in another order.
process_groups groups_of(std::size_t ranks, bool reverse = false) {
    std::vector<rank_id> all;
    for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
    process_groups groups;
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    if (reverse) std::reverse(all.begin(), all.end());
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    return groups;
}

}  // namespace

TEST_CASE("it keeps the promises of a backend, on any number of ranks, however long calls are in progress") {
    for (const std::size_t ranks : {1u, 2u, 3u, 4u})
        for (const std::uint32_t polls : {0u, 3u}) {
            imitated_machine machine({}, polls);
            std::vector<std::string> wrong(ranks);
            std::vector<backend_summary> seen(ranks);
            const auto outcome = run_imitated(ranks, groups_of(ranks, true), {}, [&](imitated_rank& rank) {
                for (const group_id group : {0u, 1u}) {
                    const auto found = check_backend(rank, group);
                    if (found) seen[rank.rank()] = *found;
                    else wrong[rank.rank()] = found.error().message();
                }
                return std::optional<run_failure>();
            });
            CHECK(!outcome.failed());
            for (const std::string& w : wrong) CHECK(w == "");
            for (const backend_summary& s : seen) CHECK(s == backend_summary{ranks, 9, 0});
            CHECK(machine.breaches.empty());
            CHECK(machine.is_clean());
        }
}

TEST_CASE("a group of some ranks has a communicator on these, in the order of the group") {
    process_groups groups;
    const std::vector<rank_id> some = {2, 0};
    groups.add({.size = 2, .ranks = some});
    imitated_machine machine({}, 1);
    std::vector<std::string> wrong(3);
    const auto outcome = run_imitated(3, groups, {}, [&](imitated_rank& rank) {
        const bool member = rank.rank() != 1;
        if ((rank.channel(0) != nullptr) != member) wrong[rank.rank()] = "member";
        if (member && rank.channel(0)->place() != (rank.rank() == 2 ? 0u : 1u)) wrong[rank.rank()] = "place";
        if (member)
            if (const auto found = check_backend(rank, 0); !found) wrong[rank.rank()] = found.error().message();
        return std::optional<run_failure>();
    });
    CHECK(!outcome.failed());
    for (const std::string& w : wrong) CHECK(w == "");
    CHECK(machine.breaches.empty());
    CHECK(machine.is_clean());
}

TEST_CASE("what ranks on devices compute in any legal order has the bits of ranks on the host, replayed and captured") {
    std::size_t collectives = 0, captured = 0, refused = 0;
    stretto_check("executed and interpreted", 60,
                  [&](const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks) {
                      const support::toy_program p = random_step(bytes);
                      const std::size_t ranks = 1 + picks.size() % 4;
                      const bool reads = picks.size() % 4 == 1;
                      const task_graph g =
                          support::graph_of(p, support::marks_of(p, reads ? bytes : std::vector<std::uint8_t>{}));
                      const auto order = check_order(g, support::random_order(g, picks));
                      RC_ASSERT(order.has_value());
                      const std::vector<std::vector<row>> expected = interpret(p, ranks);
                      imitated_machine machine({}, picks.empty() ? 0u : picks[0] % 3u);
                      std::vector<std::string> wrong(ranks);
                      const cuda_nccl_options options = {.memory = device_memory::registered,
                                                         .always_compares = picks.size() % 3 == 0};
                      const auto outcome = run_imitated(ranks, groups_of(ranks), options, [&](imitated_rank& rank) {
                          const std::size_t me = rank.rank();
                          kernels source{&g, {input(rank.rank(), 0), input(rank.rank(), 1)}};
                          auto bound = bind_order(g, *order, source, rank);
                          if (!bound) return std::optional(run_failure{run_failure::reason::rank_threw});
                          const auto check = [&](const char* when) {
                              const auto& read = g.operands[g.size() - 1];
                              for (std::size_t k = 0; k < read.size(); ++k)
                                  if (std::memcmp(bound->address(read[k]), expected[me][k].data(), row_bytes) != 0)
                                      wrong[me] += when;
                              // So that what is left of this replay is not taken for what the next one makes.
                              for (const value_id x : read)
                                  if (g.kind[g.storage_owner[g.storages[x][0]]] != op_kind::input)
                                      std::memset(bound->address(x), 0, row_bytes);
                          };
                          if (auto f = rank.compare(*bound)) return f;
                          for (int replay = 0; replay < 2; ++replay) {
                              if (auto f = bound->replay()) return f;
                              check(" replayed");
                          }
                          auto graph = rank.capture(*bound);
                          if (!g.synchronises.empty()) {
                              const bool told =
                                  !graph && graph.error().detail == "a number that the host reads cannot be captured";
                              if (!told) wrong[me] += " captured what the host reads";
                              if (me == 0) ++refused;
                          } else if (!graph) {
                              return std::optional(graph.error());
                          }
                          for (int replay = 0; graph && replay < 2; ++replay) {
                              if (auto f = graph->replay()) return f;
                              check(" captured");
                          }
                          if (auto f = bound->replay()) return f;
                          check(" replayed after the capture");
                          if (me == 0) collectives += bound->program().groups.size();
                          if (me == 0) ++captured;
                          return std::optional<run_failure>();
                      });
                      for (const auto& f : outcome.failures) RC_ASSERT(!f);
                      for (const std::string& w : wrong) RC_ASSERT(w == "");
                      RC_ASSERT(machine.breaches.empty());
                      RC_ASSERT(machine.is_clean());
                  });
    CHECK(captured > 0);
    if (support::runs_all_cases()) CHECK(collectives > 20);
    if (support::runs_all_cases()) CHECK(refused > 3);
}

TEST_CASE("a timed run says when the device had tasks at work, in every replay that is not captured") {
    stretto_check("timed runs", 40, [](const std::vector<std::uint8_t>& bytes, const std::vector<std::uint8_t>& picks) {
        const support::toy_program p = random_step(bytes);
        const std::size_t ranks = 1 + picks.size() % 4;
        const task_graph g = support::graph_of(p);
        const auto order = check_order(g, support::random_order(g, picks));
        RC_ASSERT(order.has_value());
        for (const bool timed : {true, false}) {
            imitated_machine machine({}, picks.empty() ? 0u : picks[0] % 3u);
            std::vector<std::string> wrong(ranks);
            const auto begin = std::chrono::steady_clock::now();
            const auto outcome = run_imitated(ranks, groups_of(ranks), {.timed = timed}, [&](imitated_rank& rank) {
                kernels source{&g, {input(rank.rank(), 0), input(rank.rank(), 1)}};
                auto bound = bind_order(g, *order, source, rank);
                if (!bound) return std::optional(run_failure{run_failure::reason::rank_threw});
                if (auto f = rank.compare(*bound)) return f;
                const collective_operation barrier;  // of no task, so that it is in no step
                for (int replay = 0; replay < 2; ++replay) {
                    if (auto f = rank.perform(0, barrier)) return f;
                    if (auto f = bound->replay()) return f;
                }
                auto graph = rank.capture(*bound);
                if (!graph) return std::optional(graph.error());
                if (auto f = graph->replay()) return f;
                if (auto f = bound->replay()) return f;
                if (timed) wrong[rank.rank()] = support::wrong_times(g, rank.rank(), rank.times(), 3);
                else if (!rank.times().empty()) wrong[rank.rank()] = "times of a run that is not timed";
                const auto since = [](auto time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); };
                for (const measured_span& s : rank.times())
                    if (s.begin.count < since(begin) || s.end.count > since(std::chrono::steady_clock::now()))
                        wrong[rank.rank()] = "it is not the clock of the host";
                return std::optional<run_failure>();
            });
            for (const auto& f : outcome.failures) RC_ASSERT(!f);
            for (const std::string& w : wrong) RC_ASSERT(w == "");
            RC_ASSERT(machine.breaches.empty());
            RC_ASSERT(machine.is_clean());
        }
    });
}

namespace {

std::string words(const run_failure& f) {
    return explain(f, [](task_id t) { return "task " + std::to_string(t); });
}

/// A step that makes every call: kernels of the host and for streams, all kinds of collectives, equal, unequal and
/// measured shares, two groups; compared, replayed, captured and replayed.
std::optional<run_failure> whole_step(imitated_rank& rank) {
    const std::size_t ranks = rank.channel(0)->size();
    support::toy_program p;
    p.groups = 2;
    p.ops.push_back({.kind = op_kind::input, .results = {{{row_bytes}, {}}}});
    p.ops.push_back({.operands = {{0, 0}, {0, 0}}, .results = {{{row_bytes}, {}}}});
    std::uint32_t last = 1;
    for (const collective_kind kind : {collective_kind::all_reduce, collective_kind::all_to_all,
                                       collective_kind::all_gather, collective_kind::reduce_scatter}) {
        const auto size = static_cast<std::int64_t>(kind == collective_kind::all_gather ? ranks : 1) * row_bytes;
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.kind = op_kind::start,
                         .collective = kind,
                         .group = kind == collective_kind::all_to_all,
                         .payload = {row_bytes},
                         .operands = {{last, 0}},
                         .results = {{{size}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at, 0}}, .results = {{{0}, {{at, 0}}}}});
        p.ops.push_back({.operands = {{at + 1, 0}, {last, 0}}, .results = {{{row_bytes}, {}}}});
        last = at + 2;
    }
    p.ops.push_back({.kind = op_kind::output, .operands = {{last, 0}}});
    const task_graph g = support::graph_of(p);
    const auto order = check_order(g, support::program_order(static_cast<std::uint32_t>(g.size())));
    struct on_host : kernels {
        collective_call call(task_id t) const {
            collective_call made = kernels::call(t);
            if (made.kind == collective_kind::reduce_scatter) made.reduction = reduction_kind::sum;
            made.logical_id = t;
            return made;
        }
    };
    struct on_stream : on_host {
        struct putter {
            row_kernel k;
            void operator()(imitated_cuda::stream_type s) {
                static_cast<void>(imitated_cuda::call(s, [](void* x) { (*static_cast<row_kernel*>(x))(); }, &k));
            }
        };
        putter kernel(task_id t, task_memory m) const { return {on_host::kernel(t, m)}; }
    };
    on_host functions{{&g, {input(rank.rank(), 0), {}}}};
    on_stream putters{functions};
    auto first = bind_order(g, *order, putters, rank);
    auto second = bind_order(g, *order, functions, rank);
    const auto unbound = [&](const bind_error& e) {
        return run_failure{run_failure::reason::rank_threw, rank.rank(), no_group, 0, no_task, explain(e)};
    };
    if (!first) return unbound(first.error());
    if (!second) return unbound(second.error());
    if (auto f = rank.compare(*first)) return f;
    if (auto f = first->replay()) return f;
    auto graph = rank.capture(*second);
    if (!graph) return graph.error();
    if (auto f = graph->replay()) return f;
    // And what is not in orders: a broadcast, a barrier, measured shares.
    std::vector<std::int64_t> counts(ranks, 1);
    row here = input(rank.rank(), 1), there{};
    for (const transfer_kind kind : {transfer_kind::broadcast, transfer_kind::barrier, transfer_kind::all_to_all}) {
        collective_operation o;
        o.kind = kind;
        o.send = reinterpret_cast<const std::byte*>(here.data());
        o.receive = reinterpret_cast<std::byte*>(there.data());
        o.send_bytes = o.receive_bytes = sizeof(row);
        o.send_sizes.assign(ranks, 0);
        o.receive_sizes.assign(ranks, 0);
        for (const std::int64_t& n : counts) {
            if (kind != transfer_kind::all_to_all) break;
            o.send_rows.push_back(&n);
            o.receive_rows.push_back(&n);
        }
        o.row_bytes = 4;
        o.task = 100;
        if (auto f = rank.perform(0, o)) return f;
    }
    return {};
}

}  // namespace

TEST_CASE("whichever call fails, wherever, every rank ends, and the first to fail names what it was at") {
    constexpr std::size_t ranks = 2;
    const cuda_nccl_options options = {
        .deadline = std::chrono::seconds(5), .memory = device_memory::registered, .timed = true};
    std::vector<std::array<std::size_t, support::imitated_calls>> calls;
    {
        imitated_machine machine({}, 1);
        const auto outcome = run_imitated(ranks, groups_of(ranks), options, whole_step);
        for (const auto& f : outcome.failures) CHECK((f ? words(*f) : "") == "");
        REQUIRE(!outcome.failed());
        calls = machine.calls;
        CHECK(machine.is_clean());
        CHECK(machine.breaches.empty());
    }
    std::size_t runs = 0, named = 0;
    using call = support::imitated_call;
    for (std::size_t what = 0; what < support::imitated_calls; ++what) {
        const auto kind = static_cast<call>(what);
        CAPTURE(what);
        for (const int rank : {0, 1}) {
            const std::size_t count = calls[static_cast<std::size_t>(rank)][what];
            if (kind != call::abort) REQUIRE(count > 0);
            for (const std::size_t at : std::set<std::size_t>{0, 1, count / 3, count / 2, 2 * count / 3, count - 1}) {
                if (at >= count) continue;
                CAPTURE(at);
                imitated_machine machine({kind, rank, at}, 1);
                const auto outcome = run_imitated(ranks, groups_of(ranks), options, whole_step);
                ++runs;
                // How often it polls depends on the threads.
                if (kind != call::query && kind != call::state) CHECK(machine.struck);
                CHECK(machine.is_clean());
                CHECK(machine.breaches.empty());
                const auto& f = outcome.failures[static_cast<std::size_t>(rank)];
                if (!f) {  // what gives something back has nobody to tell, and is done all the same
                    const std::set<call> silent = {
                        call::end_stream,  call::end_event, call::release, call::end_graph, call::leave, call::finish,
                        call::begin_group, call::end_group, call::end,     call::query,     call::state};
                    CHECK(silent.contains(kind));
                    continue;
                }
                if (f->why == run_failure::reason::call_failed && f->group != no_group) {
                    CHECK(f->detail.find("planted") != std::string::npos);
                    // Of a state it is told what had been called, and of a kernel that it was one.
                    const bool own_name = kind != call::state && kind != call::may_put;
                    if (own_name) CHECK(f->detail.starts_with(support::imitated_names[what] + std::string(": ")));
                    CHECK(f->detail.find("among ranks") != std::string::npos);
                    ++named;
                }
            }
        }
    }
    CHECK(runs > 200);
    CHECK(named > 80);
}

TEST_CASE("what never ends is given up after the deadline, on every rank, with the collective and its members") {
    constexpr std::size_t ranks = 2;
    const cuda_nccl_options options = {.deadline = std::chrono::milliseconds(60), .memory = device_memory::registered};
    std::size_t named = 0;
    using call = support::imitated_call;
    for (const call what : {call::query, call::state})
        for (const std::size_t at : {0u, 1u, 2u, 3u, 5u, 8u, 13u, 21u}) {
            CAPTURE(static_cast<int>(what));
            CAPTURE(at);
            imitated_machine machine({what, 0, at, true}, 1, true);
            const auto outcome = run_imitated(ranks, groups_of(ranks), options, whole_step);
            CHECK(machine.struck);
            CHECK(machine.is_clean());
            CHECK(outcome.failed());
            for (const auto& f : outcome.failures)
                named +=
                    f && f->why == run_failure::reason::timeout && f->detail.find("among ranks 0 1") != f->detail.npos;
        }
    CHECK(named > 0);
}

namespace {

/// What rank 1 of three does that the others do not.
enum class stray {
    nothing,
    absent,
    leaves_one_out,
    repeats_one,
    swaps_two,
    other_kind,
    other_size,
    other_chunk,
    other_share
};

/// Five collectives on 32-bit numbers, in which rank 1 goes astray at number `where`.
std::optional<run_failure> five(imitated_rank& rank, stray what, std::size_t where) {
    const std::size_t ranks = rank.channel(0)->size();
    std::vector<std::int32_t> sent(2 * ranks, 1), received(2 * ranks * ranks + 9);
    std::vector<collective_operation> all(5);
    for (std::uint32_t k = 0; k < all.size(); ++k) {
        collective_operation& o = all[k];
        o.kind = k % 2 == 0 ? transfer_kind::all_gather : transfer_kind::all_to_all;
        o.send = reinterpret_cast<const std::byte*>(sent.data());
        o.receive = reinterpret_cast<std::byte*>(received.data());
        o.send_bytes = sent.size() * 4;
        o.receive_bytes = o.send_bytes * (k % 2 == 0 ? ranks : 1);
        o.send_sizes.assign(ranks, 8);
        o.receive_sizes.assign(ranks, 8);
        o.logical_id = k + 1;
        o.task = 10 + k;
    }
    if (rank.rank() == 1) {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(where);
        if (what == stray::absent) all.erase(at, all.end());
        if (what == stray::leaves_one_out) all.erase(at);
        if (what == stray::repeats_one) all.insert(at, collective_operation(*at));
        if (what == stray::swaps_two) std::swap(*at, all[(where + 1) % all.size()]);
        if (what == stray::other_kind) at->kind = transfer_kind::broadcast;
        if (what == stray::other_size) at->send_bytes -= 4;
        if (what == stray::other_chunk) at->chunk = 1;
        if (what == stray::other_share) at->receive_sizes[0] = 12;
    }
    for (const collective_operation& o : all)
        if (auto f = rank.perform(0, o)) return f;
    return {};
}

}  // namespace

TEST_CASE("ranks that go astray are named when they compare, and run into the deadline when they do not") {
    constexpr std::size_t ranks = 3;
    std::size_t runs = 0, named = 0;
    for (const bool compares : {true, false})
        for (const stray what : {stray::absent, stray::leaves_one_out, stray::repeats_one, stray::swaps_two,
                                 stray::other_kind, stray::other_size, stray::other_chunk, stray::other_share})
            for (const std::size_t where : {0u, 1u, 3u, 4u}) {
                CAPTURE(compares);
                CAPTURE(static_cast<int>(what));
                CAPTURE(where);
                const bool gathers = where % 2 == 0, last = where == 4;
                if (what == stray::other_share && gathers) continue;
                if (what == stray::other_size && !gathers && !compares) continue;  // what is sent are the shares
                if (what == stray::other_chunk && !compares) continue;             // NCCL does not know of chunks
                const bool missing =
                    what == stray::absent || (last && (what == stray::leaves_one_out || what == stray::repeats_one));
                if (what == stray::swaps_two && last) continue;  // the first and the last are alike
                const bool differs = !(what == stray::other_size && !gathers);
                if (!differs) continue;
                imitated_machine machine({}, 0, !compares || missing);
                const cuda_nccl_options options = {
                    .deadline = std::chrono::milliseconds(compares && !missing ? 20'000 : 40),
                    .always_compares = compares};
                const auto outcome = run_imitated(ranks, groups_of(ranks), options,
                                                  [&](imitated_rank& rank) { return five(rank, what, where); });
                ++runs;
                CHECK(machine.is_clean());
                CHECK(machine.breaches.empty());
                REQUIRE(outcome.failed());
                for (const auto& f : outcome.failures) {
                    if (!f) continue;
                    if (f->task == no_task) continue;  // it was told before it began
                    CHECK(f->group == 0);
                    CHECK(f->task >= 10);
                    if (f->why == run_failure::reason::timeout) {
                        CHECK(f->detail.find("among ranks 0 1 2") != std::string::npos);
                        continue;
                    }
                    CHECK(compares);
                    if (f->why == run_failure::reason::call_failed) continue;  // somebody else has noticed before
                    CHECK(f->why == run_failure::reason::mismatch);
                    ++named;
                    CHECK(f->sequence <= where + 1);
                    CHECK(f->detail.find("on rank") != std::string::npos);
                }
            }
    CHECK(runs > 35);
    CHECK(named > 15);
}

namespace {

/// A rank that keeps what it was told last.
struct told_rank {
    imitated_rank& on;
    std::optional<run_failure> told = {};
    [[nodiscard]] rank_id rank() const { return on.rank(); }
    std::optional<run_failure> perform(group_id g, const collective_operation& o) { return told = on.perform(g, o); }
};

}  // namespace

TEST_CASE("whatever goes wrong, wherever, the run ends and names communicator, collective and members") {
    constexpr rank_id ranks = 2;
    using kind = support::planted_fault::kind;
    for (const support::planted_fault& fault : support::planted_faults(ranks)) {
        CAPTURE(static_cast<int>(fault.what));
        CAPTURE(fault.who);
        CAPTURE(fault.where);
        const bool last = fault.where + 1 == support::planted_fault::length;
        const bool repeats = fault.what == kind::repeat;
        const bool missing = fault.what == kind::late || fault.what == kind::leave || fault.what == kind::fail ||
                             (last && (fault.what == kind::drop || repeats));
        imitated_machine machine;
        const cuda_nccl_options options = {.deadline = std::chrono::milliseconds(missing ? 250 : 20'000),
                                           .always_compares = true};
        const auto begin = std::chrono::steady_clock::now();
        const auto outcome = run_imitated(ranks, groups_of(ranks), options, [&](imitated_rank& rank) {
            told_rank mine{rank};
            const auto thrown = detail::failure_of([&] { support::perform_with_fault(mine, ranks, fault); });
            return thrown ? std::nullopt : mine.told;
        });
        if (missing) CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
        CHECK(machine.is_clean());
        CHECK(machine.breaches.empty());
        std::size_t first = 0;  // of those who have noticed by themselves
        for (const auto& f : outcome.failures) {
            if (!f || f->why == run_failure::reason::call_failed) continue;  // or have noticed that another one gave up
            ++first;
            CHECK(f->why == (missing ? run_failure::reason::timeout : run_failure::reason::mismatch));
            CHECK(f->group == 0);
            CHECK(f->sequence == fault.where + repeats);
            if (missing) CHECK(f->detail.find(" among ranks 0 1") != f->detail.npos);
            else CHECK(f->detail.find(" on rank ") != f->detail.npos);
        }
        CHECK(first >= 1);
    }
}

TEST_CASE("measured amounts that do not fit, or that ranks do not agree about, end the run; a capture refuses them") {
    const auto with = [](std::int64_t sent, std::int64_t received, auto use) {
        imitated_machine machine;
        const auto outcome = run_imitated(2, groups_of(2), {}, [&](imitated_rank& rank) {
            const std::int64_t to[] = {rank.rank() == 0 ? sent : 1, 1}, from[] = {1, received};
            std::vector<std::int32_t> numbers(4, 1), room(4);
            collective_operation o;
            o.kind = transfer_kind::all_to_all;
            o.send = reinterpret_cast<const std::byte*>(numbers.data());
            o.receive = reinterpret_cast<std::byte*>(room.data());
            o.send_bytes = o.receive_bytes = 16;
            o.send_sizes = o.receive_sizes = {0, 0};
            o.row_bytes = 4;
            o.send_rows = {&to[0], &to[1]};
            o.receive_rows = {&from[0], &from[1]};
            return use(rank, o);
        });
        CHECK(machine.is_clean());
        return outcome;
    };
    const auto perform = [](imitated_rank& rank, const collective_operation& o) { return rank.perform(0, o); };
    const auto overflow = with(9, 1, perform);
    REQUIRE(overflow.failures[0]);
    CHECK(overflow.failures[0]->why == run_failure::reason::overflow);
    CHECK(overflow.failures[0]->detail == "sends 9 rows of 4 bytes to rank 0, where 16 of 16 bytes are left");
    const auto mismatch = with(1, 2, perform);
    CHECK(mismatch.failed());
    for (const auto& f : mismatch.failures)
        if (f && f->why == run_failure::reason::mismatch)
            CHECK(f->detail == "all_to_all of 8 bytes here, all_to_all of 4 bytes on rank 1");
    struct one {  // as an executor has it
        imitated_rank& rank;
        const collective_operation& o;
        std::optional<run_failure> replay() { return rank.perform(0, o); }
    };
    const auto captured = with(1, 1, [](imitated_rank& rank, const collective_operation& o) {
        one bound{rank, o};
        auto graph = rank.capture(bound);
        if (graph) return std::optional(run_failure{run_failure::reason::rank_left});
        const bool told = graph.error().detail == "amounts that the step measures cannot be captured";
        return told ? bound.replay() : graph.error();  // and the rank goes on
    });
    CHECK(!captured.failed());
}

TEST_CASE("a kernel that throws in a stream ends the run, and is named") {
    for (const bool puts : {false, true}) {
        imitated_machine machine;
        const auto outcome = run_imitated(2, groups_of(2), {}, [&](imitated_rank& rank) {
            auto fails = [&] {
                if (rank.rank() == 1) throw std::runtime_error("no such expert");
            };
            auto on_stream = [&](imitated_cuda::stream_type) { fails(); };
            rank.begin();
            if (puts) rank.compute().launch(7, on_stream);
            else rank.compute().launch(7, fails);
            return rank.finish();
        });
        REQUIRE(outcome.failures[1]);
        CHECK(outcome.failures[1]->why == run_failure::reason::kernel_threw);
        CHECK(outcome.failures[1]->task == 7);
        CHECK(outcome.failures[1]->detail == "no such expert");
        CHECK(machine.is_clean());
    }
}

TEST_CASE("no function of the host is called after one that threw, which may not have made what it reads") {
    // One rank, because another one may notice the failure before it calls its own functions.
    for (const bool throws : {false, true}) {
        imitated_machine machine;
        int read = 0;
        const auto outcome = run_imitated(1, groups_of(1), {}, [&](imitated_rank& rank) {
            auto makes = [&] {
                if (throws) throw std::runtime_error("no such expert");
            };
            auto reads = [&] { ++read; };
            rank.begin();
            rank.compute().launch(7, makes);
            rank.compute().launch(8, reads);
            return rank.finish();
        });
        REQUIRE(outcome.failures[0].has_value() == throws);
        if (throws) CHECK(outcome.failures[0]->task == 7);
        CHECK(read == (throws ? 0 : 1));
        CHECK(machine.is_clean());
    }
}

TEST_CASE("a difference that a comparison finds has the number that the collective has in a replay") {
    imitated_machine machine;
    const auto outcome = run_imitated(2, groups_of(2), {}, [&](imitated_rank& rank) {
        struct three {  // as an executor has them
            imitated_rank& rank;
            bool differs;
            std::vector<collective_operation> all = std::vector<collective_operation>(3);
            std::optional<run_failure> replay() {
                rank.begin();
                for (std::uint32_t k = 0; k < 3; ++k) {
                    all[k].task = 10 + k;
                    all[k].logical_id = differs && k == 2 && rank.rank() == 1 ? 1 : 2;
                    if (!rank.channel(0)->launch(all[k])) break;
                }
                return rank.finish();
            }
        };
        three same{rank, false}, other{rank, true};
        // A comparison launches nothing, so it changes no number.
        for (int k = 0; k < 2; ++k)
            if (auto f = rank.compare(same)) return f;
        if (auto f = same.replay()) return f;
        return rank.compare(other);
    });
    std::size_t named = 0;
    for (const auto& f : outcome.failures) {
        REQUIRE(f);
        if (f->why != run_failure::reason::mismatch) continue;  // the other has noticed before
        ++named;
        CHECK(f->sequence == 5);
        CHECK(f->task == 12);
    }
    CHECK(named > 0);
    CHECK(machine.is_clean());
}

TEST_CASE("an order can be bound after a failure, and its replay returns the failure") {
    imitated_machine machine;
    const cuda_nccl_options options = {.memory = device_memory::registered};
    const auto outcome = run_imitated(1, groups_of(1), options, [&](imitated_rank& rank) {
        auto fails = [] { throw std::runtime_error("no such expert"); };
        rank.begin();
        rank.compute().launch(7, fails);
        CHECK(rank.finish());
        return whole_step(rank);
    });
    REQUIRE(outcome.failures[0]);
    CHECK(outcome.failures[0]->why == run_failure::reason::kernel_threw);
    CHECK(outcome.failures[0]->task == 7);
    CHECK(machine.is_clean());
    CHECK(machine.breaches.empty());
}
