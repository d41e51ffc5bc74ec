#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::await;
using support::gene;
using support::kernel;
using support::launch;
using support::toy_op;
using support::toy_program;
using support::toy_value;

namespace {

/// Each bound of its own, on a fresh set of path lengths: none may exceed the best order there is.
void check_each_bound(const task_graph& g, std::int64_t optimum) {
    detail::workspace w;
    const detail::compact_tasks c = detail::make_compact_tasks(g, w);
    const detail::path_lengths lengths = detail::longest_paths(c, w);
    std::vector<std::vector<std::uint32_t>> jobs(c.machines);
    std::vector<std::int64_t> load(c.machines, 0);
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (c.machine[n] < c.machines && c.duration[n] > 0) {
            jobs[c.machine[n]].push_back(n);
            load[c.machine[n]] += c.duration[n];
        }
    RC_ASSERT(*std::max_element(load.begin(), load.end()) <= optimum);
    RC_ASSERT(lengths.critical <= optimum);
    for (std::vector<std::uint32_t>& j : jobs) RC_ASSERT(detail::jackson_bound(c, lengths, j, w) <= optimum);
    std::vector<std::uint32_t> machines(c.machines);
    std::iota(machines.begin(), machines.end(), 0u);
    for (std::uint32_t window : {1u, 2u, 3u, 32u}) {
        detail::path_lengths raised = detail::longest_paths(c, w);
        const std::int64_t spine = detail::spine_bound(c, raised, machines, window, w).run();
        RC_ASSERT(spine <= optimum);
        RC_ASSERT(spine >= lengths.critical);
        // Heads that the spine has raised are heads: Jackson's bound from them is still one.
        for (std::vector<std::uint32_t>& j : jobs) RC_ASSERT(detail::jackson_bound(c, raised, j, w) <= optimum);
        detail::pass_heads_on(c, raised);
        for (std::vector<std::uint32_t>& j : jobs) RC_ASSERT(detail::jackson_bound(c, raised, j, w) <= optimum);
        RC_ASSERT(detail::bound_below(c, w, {}, window).value.count <= optimum);
    }
}

/// The makespan of the best order under contention: all orders that keep the dependences are tried.
class best_under {
public:
    best_under(const task_graph& g, contention c) : g_(g), c_(c), unmet_(g.size()) {
        for (task_id t = 0; t < g.size(); ++t) unmet_[t] = g.predecessors[t].size();
        extend();
    }
    [[nodiscard]] std::int64_t makespan() const { return best_; }

private:
    void extend() {
        if (order_.size() == g_.size()) {
            best_ = std::min(best_, simulate(g_, order_, c_).makespan.count);
            return;
        }
        for (task_id t = 0; t < g_.size(); ++t) {
            if (unmet_[t] != 0) continue;
            order_.push_back(t);
            unmet_[t] = taken;
            for (task_id s : g_.successors[t]) --unmet_[s];
            extend();
            for (task_id s : g_.successors[t]) ++unmet_[s];
            unmet_[t] = 0;
            order_.pop_back();
        }
    }

    static constexpr std::size_t taken = SIZE_MAX / 2;
    const task_graph& g_;
    contention c_;
    std::vector<std::size_t> unmet_;
    std::vector<task_id> order_;
    std::int64_t best_ = INT64_MAX;
};

lower_bound bound_of(const toy_program& p) { return bound_below(support::graph_of(p)); }

}  // namespace

TEST_CASE("load: a busy machine") {
    toy_program p;
    for (int k = 0; k < 5; ++k) p.ops.push_back(kernel(10));
    CHECK(bound_of(p).value.count == 50);
    CHECK(bound_of(p).kind == bound_kind::load);
    CHECK(bound_of(p).machine == 0);
    toy_program q;
    q.groups = 2;
    for (int k = 0; k < 5; ++k) q.ops.push_back(launch(1, 7));
    q.ops.push_back(kernel(20));
    CHECK(bound_of(q).value.count == 35);
    CHECK(bound_of(q).kind == bound_kind::load);
    CHECK(bound_of(q).machine == 2);
    CHECK(bound_of({}).value.count == 0);
}

TEST_CASE("critical path: a collective lies on it only for those who wait") {
    toy_program p;
    p.ops = {kernel(10), launch(0, 50, {{0, 0}}), await(1), kernel(10, {{2, 0}})};
    CHECK(bound_of(p).value.count == 70);
    CHECK(bound_of(p).kind == bound_kind::critical_path);
    // A kernel that reads the shape of the result needs it begun: 10 + 10, and beside it 10 + 50.
    p.ops[2] = {.kind = op_kind::view, .operands = {{1, 0}}, .results = {{{0}, {}}}};
    CHECK(bound_of(p).value.count == 60);
}

TEST_CASE("jackson: heads and tails around one machine") {
    // Three kernels, each behind a gather of 10 on a channel of its own and in front of a scatter of 10: 10 + 30 + 10.
    toy_program p;
    p.groups = 6;
    for (group_id k = 0; k < 3; ++k) {
        const std::uint32_t at = 4 * k;
        p.ops.push_back(launch(k, 10));
        p.ops.push_back(await(at));
        p.ops.push_back(kernel(10, {{at + 1, 0}}));
        p.ops.push_back(launch(3 + k, 10, {{at + 2, 0}}));
    }
    CHECK(bound_of(p).value.count == 50);
    CHECK(support::optimal_makespan(support::graph_of(p)) == 50);
    detail::workspace w;
    const detail::compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    std::vector<std::uint32_t> kernels;
    for (std::uint32_t n = 0; n < c.size(); ++n)
        if (c.machine[n] == 0) kernels.push_back(n);
    CHECK(detail::jackson_bound(c, detail::longest_paths(c, w), kernels, w) == 50);
}

TEST_CASE("spine: work enclosed between points of the critical path adds up along it") {
    // Six times: a collective of 30, and beside it 40 of kernels that come between its ends. No chain is longer than
    // 6 * 40, the lane's load is 6 * (40 + 10); each gap holds 40, so the collectives' 30 cannot all count.
    toy_program p;
    toy_value last{0, 0};
    p.ops.push_back(kernel(10));
    for (int k = 0; k < 6; ++k) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back(launch(0, 30, {last}));
        for (int j = 0; j < 4; ++j) p.ops.push_back(kernel(k % 2 == 0 ? 1 : 15, {last}));
        p.ops.push_back(await(at));
        p.ops.push_back(kernel(10, {{at + 5, 0}, {at + 1, 0}, {at + 2, 0}, {at + 3, 0}, {at + 4, 0}}));
        last = {at + 6, 0};
    }
    // Gaps take 30 (the collective) or 60 (the kernels) in turn.
    const lower_bound b = bound_of(p);
    CHECK(b.value.count == 10 + 3 * (30 + 10) + 3 * (60 + 10));
    CHECK(b.kind == bound_kind::spine);
    detail::workspace w;
    const detail::compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    CHECK(detail::longest_paths(c, w).critical == 10 + 6 * 40);
}

TEST_CASE("jackson: what comes after a point that is late is late as well, whether on the critical path or not") {
    // Four collectives of 10 on one channel, each with a wait; then a kernel, and five of 10 behind it, four of which
    // make what is scattered for 20. On the critical path lie a collective, the kernel, one of the four and its
    // scatter; the spine bound finds that the collectives take 40 before it. None of the five begins before that.
    toy_program p;
    p.groups = 5;
    toy_op joins = kernel(1);
    for (std::uint32_t k = 0; k < 4; ++k) {
        p.ops.push_back(launch(0, 10));
        p.ops.push_back(await(2 * k));
        joins.operands.push_back({2 * k + 1, 0});
    }
    p.ops.push_back(joins);
    for (int k = 0; k < 5; ++k) p.ops.push_back(kernel(10, {{8, 0}}));
    for (std::uint32_t k = 0; k < 4; ++k) p.ops.push_back(launch(1 + k, 20, {{9 + k, 0}}));
    CHECK(bound_of(p).value.count == 40 + 1 + 4 * 10 + 20);
    CHECK(bound_of(p).kind == bound_kind::jackson);
    // Trying all orders takes half a minute with sanitizers.
    if (support::runs_all_cases()) CHECK(support::optimal_makespan(support::graph_of(p)) == 40 + 1 + 4 * 10 + 20);
}

TEST_CASE("every bound is valid on random steps") {
    stretto_check("against the best order", 15000, [] {
        const support::scheduling_case problem = *support::scheduling_cases(10);
        toy_program p = problem.program();
        if (p.ops.size() > 12) p.ops.resize(12);
        const task_graph g = support::graph_of(p);
        check_each_bound(g, support::optimal_makespan(g));
    });
}

TEST_CASE("every bound is valid on steps with a long spine and side branches") {
    stretto_check("nine tasks with weight", 20000, [] {
        const std::vector<gene> genes = (*support::scheduling_cases(16)).genes;
        const toy_program p = support::spine_program(genes, 9);
        RC_PRE(p.ops.size() <= 32u);
        const task_graph g = support::graph_of(p);
        check_each_bound(g, support::optimal_makespan(g));
    });
    stretto_check("twelve tasks with weight", 1000, [] {
        const std::vector<gene> genes = (*support::scheduling_cases(20)).genes;
        const toy_program p = support::spine_program(genes, 12);
        RC_PRE(p.ops.size() <= 32u);
        const task_graph g = support::graph_of(p);
        check_each_bound(g, support::optimal_makespan(g));
    });
}

TEST_CASE("contention: kernels and what a channel adds to them") {
    // Two kernels of 60 and two transfers of 30: a third of the 60 ns of transfers is added to the 120 of kernels.
    toy_program p;
    p.ops = {launch(0, 30), launch(0, 30), kernel(60), kernel(60)};
    const task_graph g = support::graph_of(p);
    const lower_bound b = bound_below(g, unlimited_bytes, {3, 2});
    CHECK(b.value.count == 140);
    CHECK(b.kind == bound_kind::contention);
    CHECK(b.machine == 1);
    CHECK(best_under(g, {3, 2}).makespan() == 140);
    CHECK(bound_below(g, unlimited_bytes).value.count == 120);
    // With something that must come before all of it and after it.
    toy_program q;
    q.groups = 2;
    q.ops = {launch(1, 7),
             await(0),
             launch(0, 30, {{1, 0}}),
             await(2),
             kernel(40, {{1, 0}}),
             kernel(50, {{1, 0}}),
             launch(1, 5, {{3, 0}, {4, 0}, {5, 0}})};
    const task_graph h = support::graph_of(q);
    CHECK(bound_below(h, unlimited_bytes).value.count == 7 + 90 + 5);
    CHECK(bound_below(h, unlimited_bytes, {3, 2}).value.count == 7 + 90 + 10 + 5);
    CHECK(best_under(h, {3, 2}).makespan() == 7 + 90 + 10 + 5);
}

TEST_CASE("bounds under contention are valid on random steps, and no worse than without") {
    int better = 0, tight = 0;
    stretto_check("against every order", 15000, [&] {
        const support::scheduling_case problem = *support::scheduling_cases(8);
        toy_program p = problem.program();
        if (p.ops.size() > 8) p.ops.resize(8);
        const task_graph g = support::graph_of(p);
        const contention factors[] = {{5, 4}, {3, 2}, {2, 1}, {7, 1}};
        const contention c = factors[*rc::gen::inRange<std::size_t>(0, 4)];
        const std::int64_t optimum = best_under(g, c).makespan();
        const lower_bound plain = bound_below(g), contended = bound_below(g, unlimited_bytes, c);
        RC_ASSERT(contended.value.count <= optimum);
        RC_ASSERT(contended.value >= plain.value);
        if (contended.value > plain.value) {
            RC_ASSERT(contended.kind == bound_kind::contention);
            ++better;
            if (contended.value.count == optimum) ++tight;
        }
        detail::workspace w;
        const detail::compact_tasks tasks = detail::make_compact_tasks(g, w);
        for (std::uint32_t window : {1u, 2u, 32u})
            RC_ASSERT(detail::bound_below(tasks, w, c, window).value.count <= optimum);
    });
    stretto_check("on steps with a long spine", 3000, [&] {
        const std::vector<gene> genes = (*support::scheduling_cases(12)).genes;
        const toy_program p = support::spine_program(genes, 7);
        RC_PRE(p.ops.size() <= 10u);
        const task_graph g = support::graph_of(p);
        const contention c{3, 2};
        const std::int64_t optimum = best_under(g, c).makespan();
        RC_ASSERT(bound_below(g, unlimited_bytes, c).value.count <= optimum);
    });
    if (support::runs_all_cases()) {
        CHECK(better > 1000);
        CHECK(tight > 100);
    }
}

TEST_CASE("the exhaustive search finds what trying every permutation finds") {
    stretto_check("six tasks", 1500, [] {
        const support::scheduling_case problem = *support::scheduling_cases(6);
        toy_program p = problem.program();
        if (p.ops.size() > 6) p.ops.resize(6);
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        const std::int64_t limit =
            problem.limit({support::figures_of(p, facts, support::program_order(p.ops.size())).peak}).count;
        std::int64_t best = INT64_MAX, best_within = INT64_MAX;
        support::task_order order = support::program_order(p.ops.size()), place(order.size());
        do {
            for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
            bool legal = true;
            for (task_id t = 0; t < g.size(); ++t)
                for (task_id before : g.predecessors[t]) legal = legal && place[before] < place[t];
            if (!legal) continue;
            const support::naive_figures f = support::figures_of(p, facts, order);
            best = std::min(best, f.makespan);
            if (f.peak <= limit) best_within = std::min(best_within, f.makespan);
        } while (std::next_permutation(order.begin(), order.end()));
        RC_ASSERT(support::optimal_makespan(g) == best);
        RC_ASSERT(support::optimal_makespan(g, limit) == best_within);
    });
}
