#include "stretto/schedule/measured_run.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/soa_ir.hpp"

using namespace stretto;

namespace {

task_graph tasks_of(const support::toy_program& p) {
    const support::soa_ir ir(p);
    return *make_task_graph(ir.view(), ir.model());
}

/// What a rank measures that keeps to the clock, if its clock shows `offset` when the step begins.
std::vector<measured_span> spans_of(const task_graph& g, const simulation& s, rank_id rank, std::uint32_t step,
                                    nanoseconds offset) {
    std::vector<measured_span> all;
    for (task_id t = 0; t < g.size(); ++t) {
        if (does_work(g.kind[t])) all.push_back({t, s.begin[t] + offset, s.end(g, t) + offset, rank, step});
        else if (s.stall[t].count > 0)
            all.push_back({t, s.begin[t] - s.stall[t] + offset, s.begin[t] + offset, rank, step});
    }
    return all;
}

/// The lower middle, by its definition: at most half of all are less, and less than half are more.
nanoseconds middle(std::vector<nanoseconds> all) {
    std::sort(all.begin(), all.end());
    return all[(all.size() - 1) / 2];
}

/// How many nanoseconds a lane is in none of its tasks, counted one by one between its first and last; 0 if it was in
/// no task in this step. Precondition: all times are below 1000.
nanoseconds idle_of_lane(const task_graph& g, const std::vector<measured_span>& all, std::uint32_t step, rank_id rank) {
    std::vector<bool> busy(1'000, false);
    std::int64_t first = 1'000, last = -1;
    for (const measured_span& s : all) {
        if (s.step != step || s.rank != rank || g.kind[s.task] == op_kind::start) continue;
        first = std::min(first, s.begin.count);
        last = std::max(last, s.end.count);
        for (std::int64_t t = s.begin.count; t < s.end.count; ++t) busy[static_cast<std::size_t>(t)] = true;
    }
    if (last < 0) return {};
    return nanoseconds{std::count(busy.begin() + first, busy.begin() + last, false)};
}

/// Compares totals with sums over each rank and step, one after the other.
void check_totals(const task_graph& g, const std::vector<measured_span>& all,
                  const std::map<std::pair<task_id, std::uint32_t>, nanoseconds>& transfer,
                  const measured_totals& totals) {
    std::map<std::pair<std::uint32_t, rank_id>, std::vector<measured_span>> parts;
    for (const measured_span& s : all) parts[{s.step, s.rank}].push_back(s);
    if (parts.empty()) return;
    std::vector<measured_totals> sums;
    for (const auto& [where, spans] : parts) {
        measured_totals& sum = sums.emplace_back();
        for (const measured_span& s : spans) {
            const nanoseconds time = s.end - s.begin;
            if (g.kind[s.task] == op_kind::start) {
                sum.transfers += transfer.at({s.task, s.step});
                sum.jitter += time - transfer.at({s.task, s.step});
            } else if (g.kind[s.task] == op_kind::wait) {
                const auto x = transfer.find({g.launch[s.task], s.step});
                sum.blocked += time;
                sum.exposed += x == transfer.end() ? nanoseconds{} : std::min(time, x->second);
            } else {
                sum.kernels += time;
            }
        }
        sum.between = idle_of_lane(g, all, where.first, where.second);
    }
    for (const auto total : {&measured_totals::kernels, &measured_totals::blocked, &measured_totals::exposed,
                             &measured_totals::between, &measured_totals::transfers, &measured_totals::jitter}) {
        std::vector<nanoseconds> each;
        for (const measured_totals& sum : sums) each.push_back(sum.*total);
        RC_ASSERT((totals.*total) == middle(each));
    }
}

/// A kernel, a collective of two members, and the wait for it.
support::toy_program exchange() {
    support::toy_program p;
    p.ops.resize(4);
    p.ops[0] = {.kind = op_kind::input, .results = {{{8}, {}}}};
    p.ops[1] = {.duration = {100}, .operands = {{0, 0}}, .results = {{{8}, {}}}};
    p.ops[2] = {.kind = op_kind::start,
                .collective = collective_kind::all_gather,
                .duration = {50},
                .payload = {8},
                .operands = {{1, 0}},
                .results = {{{8}, {}}}};
    p.ops[3] = {.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{0}, {{2, 0}}}}};
    return p;
}

}  // namespace

TEST_CASE("transfer is what the last member takes, jitter what the others wait for it, and blocked is told apart") {
    const task_graph g = tasks_of(exchange());
    // Rank 0 is ready 30 before rank 1; bytes move for 50. Its lane has waited since it launched.
    const std::vector<measured_span> spans = {
        {1, {1000}, {1100}, 0, 7}, {2, {1100}, {1180}, 0, 7}, {3, {1100}, {1180}, 0, 7},
        {1, {1000}, {1130}, 1, 7}, {2, {1130}, {1180}, 1, 7}, {3, {1130}, {1180}, 1, 7},
    };
    const measured_run run = summarize_run(g, spans);
    CHECK(run.ranks == 2);
    REQUIRE(run.steps.size() == 1);
    CHECK(run.middle.number == 7);
    CHECK(run.middle.makespan.count == 180);
    CHECK(run.tasks[1].duration.count == 100);  // the lower middle of 100 and 130
    CHECK(run.tasks[2].duration.count == 50);
    CHECK(run.tasks[2].jitter.count == 0);  // of 30 and 0
    CHECK(run.tasks[3].blocked.count == 50);
    CHECK(run.tasks[3].exposed.count == 50);
    CHECK(run.tasks[0].spans == 0);
    CHECK(run.totals.kernels.count == 100);
    CHECK(run.totals.blocked.count == 50);
    CHECK(run.totals.between.count == 0);
    CHECK(run.totals.transfers.count == 50);
    CHECK(run.totals.jitter.count == 0);

    const measured_run early = summarize_run(g, std::vector(spans.begin(), spans.begin() + 3));
    CHECK(early.tasks[2].duration.count == 80);  // one rank alone cannot tell

    std::vector<measured_span> late = spans;
    late[5].begin = {1170};  // rank 1 computes beside its transfer
    late.erase(late.begin() + 2);
    CHECK(summarize_run(g, late).tasks[3].blocked.count == 10);
}

TEST_CASE("a run without spans") {
    const task_graph g = tasks_of(exchange());
    const measured_run run = summarize_run(g, {});
    CHECK(run.steps.empty());
    CHECK(run.ranks == 0);
    CHECK(run.middle.makespan.count == 0);
    std::vector<task_id> order(g.size());
    std::iota(order.begin(), order.end(), 0u);
    CHECK(measured_times(g, order, {}).makespan.count == 0);
}

TEST_CASE("ranks that keep to the clock measure what it says") {
    stretto_check("a run by the clock", 2'000, [] {
        const task_graph g = tasks_of(*support::random_programs());
        const auto ordered = list_schedule(g, {});
        RC_ASSERT(ordered.has_value());
        const simulation s = simulate(g, ordered->order());
        const auto offset = nanoseconds{*rc::gen::inRange<std::int64_t>(0, 1'000'000)};
        std::vector<measured_span> all;
        for (rank_id rank = 0; rank < 2; ++rank)
            for (std::uint32_t step = 0; step < 3; ++step) {
                const auto more = spans_of(g, s, rank, step, offset + nanoseconds{1'000'000} * std::int64_t{step});
                all.insert(all.end(), more.begin(), more.end());
            }
        const measured_run run = summarize_run(g, all);
        if (!all.empty()) {
            RC_ASSERT(run.totals.kernels == s.compute);
            RC_ASSERT(run.totals.blocked == s.exposed);
            RC_ASSERT(run.totals.between.count == 0);
            RC_ASSERT(run.totals.jitter.count == 0);
        }
        for (task_id t = 0; t < g.size(); ++t) {
            if (!does_work(g.kind[t])) {
                RC_ASSERT(run.tasks[t].blocked == s.stall[t]);
                // A wait behind another collective of its channel is blocked for longer than its own transfer.
                const nanoseconds transfer = g.launch[t] == no_task ? nanoseconds{} : g.duration[g.launch[t]];
                RC_ASSERT(run.tasks[t].exposed == std::min(s.stall[t], transfer));
                continue;
            }
            RC_ASSERT(run.tasks[t].spans == 6u);
            RC_ASSERT(run.tasks[t].duration == g.duration[t]);
            RC_ASSERT(run.tasks[t].jitter.count == 0);
        }
        // The picture of one step is that of the clock, from its first span on.
        const std::vector<measured_span> one = spans_of(g, s, 0, 0, offset);
        if (one.empty()) return;
        nanoseconds first = one.front().begin;
        for (const measured_span& x : one) first = std::min(first, x.begin);
        const simulation seen = measured_times(g, ordered->order(), one);
        RC_ASSERT(seen.compute == s.compute);
        RC_ASSERT(seen.exposed == s.exposed);
        RC_ASSERT(seen.stall == s.stall);
        RC_ASSERT(seen.makespan + (first - offset) == s.makespan);
        for (const measured_span& x : one)
            RC_ASSERT(seen.end(g, x.task) + (first - offset) ==
                      (does_work(g.kind[x.task]) ? s.end(g, x.task) : s.begin[x.task]));
    });
}

TEST_CASE("random runs, put together by definition") {
    stretto_check("sums of runs", 2'000, [] {
        const task_graph g = tasks_of(*support::random_programs());
        std::vector<measured_span> all;
        for (task_id t = 0; t < g.size(); ++t)
            for (rank_id rank = 0; rank < 3; ++rank)
                for (std::uint32_t step = 0; step < 3; ++step) {
                    if (*rc::gen::inRange(0, 4) == 0) continue;  // not everything is measured
                    const nanoseconds begin{*rc::gen::inRange<std::int64_t>(0, 500)};
                    all.push_back(
                        {t, begin, begin + nanoseconds{*rc::gen::inRange<std::int64_t>(0, 90)}, rank, step * 2});
                }
        const measured_run run = summarize_run(g, all);
        std::set<rank_id> ranks;
        std::map<std::uint32_t, std::pair<nanoseconds, nanoseconds>> ends;
        std::map<std::pair<task_id, std::uint32_t>, nanoseconds> transfer;
        for (const measured_span& s : all) {
            ranks.insert(s.rank);
            const auto [at, is_new] = ends.try_emplace(s.step, s.begin, s.end);
            at->second = {std::min(at->second.first, s.begin), std::max(at->second.second, s.end)};
            const auto [x, first] = transfer.try_emplace({s.task, s.step}, s.end - s.begin);
            x->second = std::min(x->second, s.end - s.begin);
        }
        RC_ASSERT(run.ranks == ranks.size());
        RC_ASSERT(run.steps.size() == ends.size());
        std::vector<nanoseconds> makespans;
        for (const auto& [step, when] : ends) makespans.push_back(when.second - when.first);
        if (!makespans.empty()) RC_ASSERT(run.middle.makespan == middle(makespans));
        check_totals(g, all, transfer, run.totals);
        for (task_id t = 0; t < g.size(); ++t) {
            std::vector<nanoseconds> times, transfers, beside, exposed;
            for (const measured_span& s : all) {
                if (s.task != t) continue;
                times.push_back(s.end - s.begin);
                beside.push_back(times.back() - transfer.at({t, s.step}));
                const auto x = transfer.find({g.launch[t], s.step});
                exposed.push_back(x == transfer.end() ? nanoseconds{} : std::min(times.back(), x->second));
            }
            for (const auto& [of, time] : transfer)
                if (of.first == t) transfers.push_back(time);
            const measured_task& made = run.tasks[t];
            RC_ASSERT(made.spans == times.size());
            if (times.empty()) continue;
            if (g.kind[t] == op_kind::wait) {
                RC_ASSERT(made.blocked == middle(times));
                RC_ASSERT(made.exposed == middle(exposed));
            } else if (g.kind[t] == op_kind::start) {
                RC_ASSERT(made.duration == middle(transfers));
                RC_ASSERT(made.jitter == middle(beside));
            } else {
                RC_ASSERT(made.duration == middle(times));
            }
        }
    });
}
