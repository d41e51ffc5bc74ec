#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/contended_order.hpp"
#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/lane_clock.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/detail/timed_order.hpp"
#include "support/arranged_windows.hpp"
#include "support/node_orders.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::contended_clock;
using detail::plain_clock;
using detail::timed_order;
using detail::workspace;
using support::arranged_window;
using support::node_order;
using support::toy_program;

namespace {

/// Picks a number below another one, as these numbers say; `used` counts how many have been.
auto picks_from(const std::vector<std::uint8_t>& numbers, std::size_t& used) {
    return [&](std::size_t end) {
        return numbers.empty() ? 0 : ((++used, numbers[used % numbers.size()] * std::size_t{7} + used)) % end;
    };
}

/// The live bytes while the nodes of a window run, by going through the whole order.
std::int64_t most_in_window(const compact_tasks& c, const node_order& order, std::uint32_t first, std::size_t count) {
    std::vector<std::uint32_t> left(c.storage_uses.begin(), c.storage_uses.end());
    std::int64_t now = 0, most = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        now += c.allocation[order[k]];
        if (k >= first && k < first + count) most = std::max(most, now);
        for (const std::uint32_t s : c.touched[order[k]])
            if (--left[s] == 0) now -= c.storage_bytes[s];
    }
    return most;
}

/// Compares everything that is known of an order with what the plain clock says.
void check_times(const compact_tasks& c, const timed_order<plain_clock>& t, workspace& w) {
    const workspace::scope scratch(w);
    const detail::order_times exact = detail::times_of(c, t.nodes(), w);
    RC_ASSERT(t.makespan() == exact.makespan);
    std::vector<std::int64_t> free(c.machines, 0);
    std::uint32_t next_event = t.size();
    for (std::uint32_t k = t.size(); k-- > 0;) {
        const bool is_event =
            c.kind[t.node(k)] == compact_tasks::role::start || (c.kind[t.node(k)] == compact_tasks::role::wait);
        if (is_event) next_event = k;
        RC_ASSERT(t.event_from(k) == next_event);
    }
    for (std::uint32_t k = 0; k < t.size(); ++k) {
        const std::uint32_t n = t.node(k);
        RC_ASSERT(t.position(n) == k);
        RC_ASSERT(t.lane(k) == exact.lane[k]);
        const bool is_wait = c.kind[n] == compact_tasks::role::wait;
        RC_ASSERT(t.stall(k) == (is_wait ? exact.lane[k + 1] - exact.lane[k] : 0));
        if (c.kind[n] != compact_tasks::role::start) continue;
        RC_ASSERT(t.end(n) == exact.begin[n] + c.duration[n]);
        RC_ASSERT(t.queues(n) == (free[c.machine[n]] > exact.lane[k]));
        free[c.machine[n]] = t.end(n);
    }
    RC_ASSERT(t.lane(t.size()) == exact.lane[t.size()]);
    RC_ASSERT(t.event_from(t.size()) == t.size());
}

/// Compares what is known of an order under contention with what a new object knows of it, and the makespan with that
/// of the exact clock.
void check_times_under(const detail::order_judge& judge, const compact_tasks& c, const timed_order<contended_clock>& t,
                       workspace& w) {
    const workspace::scope scratch(w);
    const timed_order<contended_clock> fresh(c, contended_clock(judge.duration, judge.under), t.nodes(), w);
    RC_ASSERT(t.makespan() == fresh.makespan());
    for (std::uint32_t k = 0; k < t.size(); ++k) {
        const std::uint32_t n = t.node(k);
        RC_ASSERT(t.position(n) == k);
        RC_ASSERT(t.lane(k) == fresh.lane(k));
        RC_ASSERT(t.stall(k) == fresh.stall(k));
        RC_ASSERT(t.event_from(k) == fresh.event_from(k));
        if (c.kind[n] != compact_tasks::role::start) continue;
        RC_ASSERT(t.end(n) == fresh.end(n));
        RC_ASSERT(t.queues(n) == fresh.queues(n));
    }
    RC_ASSERT(t.lane(t.size()) == fresh.lane(t.size()));
    RC_ASSERT(std::abs(t.makespan() - detail::makespan_of(c, t.nodes(), judge, w)) <= 12 * std::int64_t{t.size()});
}

}  // namespace

TEST_CASE("a collective behind a kernel that does not need it is hidden, and what follows is earlier") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::start, .duration = {5}, .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{0, 0}}, .results = {{{0}, {{0, 0}}}}});
    p.ops.push_back({.duration = {3}, .results = {{{4}, {}}}});
    p.ops.push_back({.duration = {2}, .operands = {{1, 0}, {2, 0}}, .results = {{{1}, {}}}});
    workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    REQUIRE(c.size() == 4);
    timed_order<plain_clock> t(c, plain_clock(c), support::program_order(4), w);
    CHECK(t.makespan() == 10);
    CHECK(t.stall(1) == 5);
    CHECK(t.end(0) == 5);

    const node_order kernel_first{2, 1};
    CHECK(t.fits(1, kernel_first, 12));
    CHECK(!t.fits(1, kernel_first, 11));
    CHECK(t.makespan_with(1, kernel_first, 9) == 7);
    CHECK(t.makespan() == 10);  // nothing has changed yet
    t.arrange(1, kernel_first);
    CHECK(t.nodes() == node_order{0, 2, 1, 3});
    CHECK(t.makespan() == 7);
    CHECK(t.stall(2) == 2);
    CHECK(t.makespan_with(1, node_order{1, 2}, 10) == 10);
    CHECK(t.makespan_with(1, node_order{1, 2}, 9) == INT64_MAX);  // longer
    CHECK(t.makespan_with(1, node_order{2, 1}, 0) == 7);          // nothing differs

    t.assign(node_order{2, 0, 1, 3});
    CHECK(t.makespan() == 10);
    CHECK(t.end(0) == 8);
    CHECK(t.makespan_with(0, node_order{0, 2}, 9) == 7);
}

TEST_CASE("what a rearrangement would lead to, and what is known after it, is what the clock says") {
    std::size_t windows = 0, faster = 0, same = 0, slower = 0, too_slow = 0, too_large = 0;
    stretto_check("windows", 20'000, [&](const std::vector<std::uint8_t>& numbers) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        if (c.size() == 0) return;
        std::size_t used = 0;
        const auto pick = picks_from(numbers, used);
        timed_order<plain_clock> t(c, plain_clock(c), support::program_order(c.size()), w);
        check_times(c, t, w);
        for (int round = 0; round < 6; ++round) {
            const auto first = static_cast<std::uint32_t>(pick(c.size()));
            const auto count = static_cast<std::uint32_t>(1 + pick(c.size() - first));
            const arranged_window window = support::arrange(c, t.nodes(), first, count, pick);
            const node_order whole = window.in(t.nodes());
            RC_ASSERT(support::legal(c, whole));
            ++windows;

            const std::int64_t most = most_in_window(c, whole, first, window.nodes.size());
            RC_ASSERT(t.fits(first, window.nodes, most));
            RC_ASSERT(!t.fits(first, window.nodes, most - 1));
            too_large += most > detail::peak_of(c, t.nodes(), w);

            const std::int64_t now = t.makespan(), exact = detail::makespan_of(c, whole, w);
            for (const std::int64_t at_most : {now, exact, exact - 1, INT64_MAX}) {
                const std::int64_t told = t.makespan_with(first, window.nodes, at_most);
                if (exact <= at_most) RC_ASSERT(told == exact);
                else RC_ASSERT((told == exact || told == INT64_MAX));
                too_slow += told == INT64_MAX;
            }
            RC_ASSERT(t.makespan() == now);
            faster += exact < now;
            same += exact == now;
            slower += exact > now;
            const std::size_t choice = pick(8);
            if (choice < 2) continue;  // an arrangement that is not kept leaves no trace
            if (choice == 2) t.assign(whole);
            else t.arrange(first, window.nodes);
            RC_ASSERT(t.nodes() == whole);
            check_times(c, t, w);
        }
    });
    MESSAGE(windows << " windows: " << faster << " faster, " << same << " same, " << slower << " slower, " << too_slow
                    << " times not looked at to the end, " << too_large << " need more memory");
    if (support::runs_all_cases()) CHECK(std::min({faster, same, slower, too_slow, too_large}) > windows / 50);
}

TEST_CASE("under contention, a rearrangement leads to what a new object says about the new order") {
    std::size_t windows = 0, faster = 0, slower = 0, too_slow = 0;
    stretto_check("windows under contention", 10'000, [&](const std::vector<std::uint8_t>& numbers) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        const contention under{*rc::gen::inRange<std::int64_t>(4, 12), 4};
        workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        if (c.size() == 0) return;
        std::size_t used = 0;
        const auto pick = picks_from(numbers, used);
        const detail::order_judge judge{c.duration, under};
        const contended_clock clock(judge.duration, judge.under);
        timed_order<contended_clock> t(c, clock, support::program_order(c.size()), w);
        for (int round = 0; round < 6; ++round) {
            const auto first = static_cast<std::uint32_t>(pick(c.size()));
            const auto count = static_cast<std::uint32_t>(1 + pick(c.size() - first));
            const arranged_window window = support::arrange(c, t.nodes(), first, count, pick);
            const node_order whole = window.in(t.nodes());
            ++windows;
            const std::int64_t now = t.makespan(), then = timed_order(c, clock, whole, w).makespan();
            for (const std::int64_t at_most : {now, then, then - 1, INT64_MAX}) {
                const std::int64_t told = t.makespan_with(first, window.nodes, at_most);
                if (then <= at_most) RC_ASSERT(told == then);
                else RC_ASSERT((told == then || told == INT64_MAX));
                too_slow += told == INT64_MAX;
            }
            faster += then < now;
            slower += then > now;
            if (pick(4) == 0) continue;  // an arrangement that is not kept leaves no trace
            t.arrange(first, window.nodes);
            RC_ASSERT(t.nodes() == whole);
            check_times_under(judge, c, t, w);
        }
    });
    MESSAGE(windows << " windows: " << faster << " faster, " << slower << " slower, " << too_slow
                    << " times not looked at to the end");
    if (support::runs_all_cases()) CHECK(std::min({faster, slower, too_slow}) > windows / 50);
}
