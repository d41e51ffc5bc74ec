#include "stretto/transform/keep_overlap.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/views/in_order.hpp"
#include "support/bucket_checks.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::program_bucket;
using support::program_bucket_plan;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

using order_type = std::vector<std::uint32_t>;
using kept_type = kept_overlap<reduction_view>;

constexpr collective_kind gather = collective_kind::all_gather, scatter = collective_kind::reduce_scatter;

/// Kernels and collectives take the time that is listed for them, or else 10.
struct timed : reduction_model {
    std::vector<std::int64_t> takes = {};

    [[nodiscard]] nanoseconds duration(std::uint32_t v) const {
        if (!does_work(kind(v))) return {};
        return {v < takes.size() ? takes[v] : 10};
    }
};

struct no_casts {
    const reduction_program* p;
    bool operator()(std::uint32_t v) const { return p->nodes[v].op != cast; }
};

struct anything {
    const reduction_program* p;
    bucket_choice operator()(std::uint32_t v) const { return {.label = 0, .place = v, .cast = p->sends_cast(v)}; }
};

kept_type kept_in(const reduction_program& p, const timed& model, const order_type& order) {
    return keep_overlap(reduction_view{&p}, model, std::span<const std::uint32_t>(order), no_casts{&p});
}
program_bucket_plan plan_in(const reduction_program& p, const timed& model, const order_type& order,
                            const kept_type& kept) {
    const reduction_view view{&p};
    const auto plan =
        plan_buckets(views::with_dependences(views::in_order(view, order), kept.dependences), model, anything{&p});
    REQUIRE(plan);
    REQUIRE(verify_buckets(*plan, views::in_order(view, order), model));
    return *plan;
}
/// The starts that are left if the program runs as it is written and keeps its overlap.
std::size_t left_of(const reduction_program& p, std::vector<std::int64_t> takes = {}) {
    timed model{{&p}};
    model.takes = std::move(takes);
    const program_bucket_plan plan = plan_in(p, model, p.order, kept_in(p, model, p.order));
    CHECK(run(support::bucketed(plan, p)) == run(p));
    return p.count(start) - plan.saved();
}

/// An order in which the program may run, drawn from bytes. Most waits come late, so that much is hidden.
order_type drawn_order(const reduction_program& p, const std::vector<std::uint8_t>& bytes) {
    std::vector<std::size_t> missing(p.nodes.size());
    const auto dependences = support::all_dependences(p);
    for (const auto& [a, b] : dependences) ++missing[b];
    order_type ready, order;
    for (std::uint32_t v : p.order)
        if (missing[v] == 0) ready.push_back(v);
    for (std::size_t k = 0; !ready.empty(); ++k) {
        const std::size_t drawn = bytes.empty() ? 0 : bytes[k % bytes.size()];
        auto at = ready.begin() + static_cast<std::ptrdiff_t>(drawn % ready.size());
        if (p.nodes[*at].op == wait && drawn % 8 != 0)
            if (const auto other = std::ranges::find_if(ready, [&](auto v) { return p.nodes[v].op != wait; });
                other != ready.end())
                at = other;
        const std::uint32_t v = *at;
        ready.erase(at);
        order.push_back(v);
        for (const auto& [a, b] : dependences)
            if (a == v && --missing[b] == 0) ready.push_back(b);
    }
    return order;
}

}  // namespace

TEST_CASE("what hides a collective: kernels, one collective of a channel after the other, and the rest is exposed") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t a = p.start(x, {.kind = gather}), b = p.start(x, {.kind = gather});
    const std::uint32_t k = p.op(mix, {x}), m = p.op(mix, {x}), wa = p.op(wait, {a}), wb = p.op(wait, {b});
    p.output({wa, wb, k, m});
    timed model{{&p}};
    model.takes.assign(p.nodes.size(), 10);
    model.takes[a] = 12;  // all of k, and 2 of m
    model.takes[b] = 11;  // the other 8 of m
    const kept_type kept = kept_in(p, model, p.order);
    REQUIRE(kept.collectives.size() == 2);
    CHECK(kept.collectives[0].start == a);
    CHECK(kept.collectives[0].waits == std::vector{wa});
    CHECK(kept.collectives[0].behind == std::vector{k, m});
    CHECK(kept.collectives[0].exposed == nanoseconds{0});
    CHECK(kept.collectives[1].behind == std::vector{m});
    CHECK(kept.collectives[1].exposed == nanoseconds{3});
    CHECK(kept.dependences.size() == 7);  // two for each kernel that hides one, and that m follows k
    CHECK(kept.hiding.empty());
}

TEST_CASE("a wait hides collectives of other groups; it stays apart, if that is asked for (Inductor B1)") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t a = p.start(x, {.kind = gather}), b = p.start(x, {.kind = gather, .group = 1});
    const std::uint32_t wa = p.op(wait, {a}), wb = p.op(wait, {b}), c = p.reduced(x, {.kind = gather});
    p.output({wa, wb, c});
    const timed model{{&p}};
    const kept_type kept = kept_in(p, model, p.order);
    CHECK(kept.collectives[0].exposed == nanoseconds{10});
    CHECK(kept.collectives[1].behind == std::vector{wa});
    CHECK(kept.collectives[1].exposed == nanoseconds{0});
    CHECK(kept.hiding.contains(a));
    CHECK(!kept.hiding.contains(b));
    const auto view = views::with_dependences(reduction_view{&p}, kept.dependences);
    CHECK(plan_buckets(view, model, anything{&p})->saved() == 1);
    CHECK(plan_buckets(view, model, buckets_beside_hiding{&kept, anything{&p}})->saved() == 0);
}

TEST_CASE("Inductor A1, A4 and A11: what several kernels hide becomes one around all of them") {
    for (const collective_kind kind : {gather, collective_kind::all_reduce}) {
        reduction_program p;
        const std::uint32_t x = p.input(), s1 = p.start(x, {.kind = kind}), s2 = p.start(x, {.kind = kind});
        const std::uint32_t m1 = p.op(mix, {x}), m2 = p.op(mix, {x, x}), m3 = p.op(mix, {x});
        const std::uint32_t w1 = p.op(wait, {s1}), w2 = p.op(wait, {s2});
        p.output({w1, w2, m1, m2, m3});
        timed model{{&p}};
        model.takes.assign(p.nodes.size(), 10);
        model.takes[s1] = model.takes[s2] = 15;  // m2 hides the end of one and the beginning of the other
        const kept_type kept = kept_in(p, model, p.order);
        CHECK(kept.collectives[0].behind == std::vector{m1, m2});
        CHECK(kept.collectives[1].behind == std::vector{m2, m3});
        const program_bucket_plan plan = plan_in(p, model, p.order, kept);
        REQUIRE(plan.saved() == 1);
        const auto place = [&](std::uint32_t v) { return std::ranges::find(plan.order, v) - plan.order.begin(); };
        for (std::uint32_t m : {m1, m2, m3}) CHECK((place(s2) < place(m) && place(m) < place(w1)));
    }
}

TEST_CASE("Inductor A2: a collective hidden by what needs the other one stays apart") {
    reduction_program p;
    const std::uint32_t x = p.input(), s2 = p.start(x, {.kind = gather}), s1 = p.start(x, {.kind = gather});
    const std::uint32_t m2 = p.op(mix, {x}), w2 = p.op(wait, {s2}), m1 = p.op(mix, {w2}), w1 = p.op(wait, {s1});
    p.output({w1, m1});
    CHECK(left_of(p) == 2);
    const timed model{{&p}};
    CHECK(plan_buckets(reduction_view{&p}, model, anything{&p})->saved() == 1);  // if nothing had to stay hidden
    CHECK(kept_in(p, model, p.order).collectives[1].behind == std::vector{m1});
    CHECK(m2 < m1);
}

TEST_CASE("Inductor A12: a cast that hides a gather is not absorbed, if casts count; then the gather ends before it") {
    reduction_program p;
    const std::uint32_t x = p.input(), y = p.input(), s1 = p.start(x, {.kind = gather}), c = p.op(cast, {y});
    const std::uint32_t w1 = p.op(wait, {s1}), w2 = p.reduced(c, {.kind = gather}), w3 = p.reduced(x, {.kind = gather});
    p.output({w1, w2, w3});
    const timed model{{&p}};
    const kept_type kept = keep_overlap(reduction_view{&p}, model, std::span<const std::uint32_t>(p.order));
    CHECK(kept.collectives[0].behind == std::vector{c});
    const auto plan = plan_buckets(views::with_dependences(reduction_view{&p}, kept.dependences), model, anything{&p});
    REQUIRE(plan->buckets.size() == 1);
    CHECK(plan->buckets[0].waits == std::vector{w1, w3});  // program order decides who takes w3
    CHECK(plan->buckets[0].casts.empty());
    CHECK(plan_in(p, model, p.order, kept_in(p, model, p.order)).saved() == 2);  // the cast hides nothing
}

TEST_CASE("Inductor K10 and K11: what hides one gather needs the other, or makes what the other sends") {
    for (const bool sends : {false, true}) {
        reduction_program p;
        const std::uint32_t x = p.input(), s1 = p.start(x, {.kind = gather}), m1 = p.op(mix, {x});
        const std::uint32_t w1 = p.op(wait, {s1}), s2 = p.start(sends ? m1 : x, {.kind = gather});
        const std::uint32_t m2 = sends ? p.op(mix, {x}) : p.op(mix, {w1}), w2 = p.op(wait, {s2});
        p.output({w1, w2, m1, m2});
        CHECK(left_of(p) == 2);
    }
}

TEST_CASE("Inductor K13: four gathers hidden two by two become two, around one kernel each") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.start(x, {.kind = gather}), b = p.start(x, {.kind = gather});
    const std::uint32_t m1 = p.op(mix, {x}), wa = p.op(wait, {a}), wb = p.op(wait, {b});
    const std::uint32_t y = p.op(mix, {m1}), c = p.start(y, {.kind = gather}), d = p.start(y, {.kind = gather});
    const std::uint32_t m2 = p.op(mix, {wa, wb}), wc = p.op(wait, {c}), wd = p.op(wait, {d});
    p.output({wc, wd, m2});
    timed model{{&p}};
    model.takes.assign(p.nodes.size(), 5);
    model.takes[m1] = model.takes[m2] = 10;
    const program_bucket_plan plan = plan_in(p, model, p.order, kept_in(p, model, p.order));
    REQUIRE(plan.buckets.size() == 2);
    CHECK(plan.buckets[0].waits == std::vector{wa, wb});
    CHECK(plan.buckets[1].waits == std::vector{wc, wd});
}

TEST_CASE("Inductor K14: exposed gathers join the one that a kernel hides, around that kernel") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.start(x, {.kind = gather}), m = p.op(mix, {x});
    const std::uint32_t wa = p.op(wait, {a}), wb = p.reduced(x, {.kind = gather}), wc = p.reduced(x, {.kind = gather});
    p.output({m, wa, wb, wc});
    const timed model{{&p}};
    const program_bucket_plan plan = plan_in(p, model, p.order, kept_in(p, model, p.order));
    REQUIRE(plan.saved() == 2);
    const auto place = [&](std::uint32_t v) { return std::ranges::find(plan.order, v) - plan.order.begin(); };
    for (std::uint32_t s : plan.buckets[0].members) CHECK(place(s) < place(m));
    for (std::uint32_t w : plan.buckets[0].waits) CHECK(place(m) < place(w));
}

TEST_CASE("a second wait stays behind what hides the collective, too") {
    reduction_program p;
    const std::uint32_t x = p.input(), s = p.start(x, {.kind = scatter}), m = p.op(mix, {x});
    const std::uint32_t w = p.op(wait, {s}), again = p.op(wait, {s});
    p.output({w, again, m});
    const kept_type kept = kept_in(p, timed{{&p}}, p.order);
    CHECK(kept.collectives[0].waits == std::vector{w, again});
    CHECK(kept.dependences.size() == 3);
}

TEST_CASE("as the documentation shows it, in the order of a schedule") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.reduced(x, {.kind = gather}), b = p.reduced(x, {.kind = gather});
    const std::uint32_t m = p.op(mix, {x}), used = p.op(mix, {a, b});
    p.output({m, used});
    const reduction_view view{&p};
    const timed ops{{&p}};
    const auto tasks = make_task_graph(view, ops);
    REQUIRE(tasks);
    const auto scheduled = list_schedule(*tasks);
    REQUIRE(scheduled);
    std::vector<std::uint32_t> order;  // tasks are numbered in program order
    for (task_id t : scheduled->order()) order.push_back(p.order[t]);
    const anything choose{&p};
    // [keep-overlap]
    const auto kept = keep_overlap(view, ops, std::span<const std::uint32_t>(order));
    const auto tied = views::with_dependences(views::in_order(view, order), kept.dependences);
    const auto plan = plan_buckets(tied, ops, buckets_beside_hiding{&kept, choose});
    // [/keep-overlap]
    REQUIRE(plan);
    CHECK(kept.collectives[0].behind == std::vector{m});
    CHECK(plan->saved() == 1);
    CHECK(run(support::bucketed(*plan, p)) == run(p));
}

TEST_CASE("on any program in any order: what hides is what the clock says, and stays between start and wait") {
    std::size_t hidden = 0, by_waits = 0, prevented = 0, merged = 0;
    stretto_check("random programs", 5000, [&](const std::vector<std::uint8_t>& data) {
        reduction_program p = support::random_traffic(data, 60);
        for (std::size_t k = 0; k < data.size() % 12; ++k) p.op(mix, {p.order[0]});  // kernels that only hide
        timed model{{&p}};
        for (std::size_t v = 0; v < p.nodes.size(); ++v)
            model.takes.push_back(p.nodes[v].op == cast ? 0 : data.empty() ? 1 : data[(3 * v) % data.size()] % 40);
        const order_type order = drawn_order(p, data);
        RC_ASSERT(order.size() == p.order.size());
        const kept_type kept = kept_in(p, model, order);

        // The clock of the schedule, on the tasks of the program as it is written.
        const auto tasks = make_task_graph(reduction_view{&p}, model);
        RC_ASSERT(tasks.has_value());
        std::vector<task_id> task(p.nodes.size()), as_tasks;
        for (task_id t = 0; t < p.order.size(); ++t) task[p.order[t]] = t;
        for (std::uint32_t v : order) as_tasks.push_back(task[v]);
        const simulation clock = simulate(*tasks, as_tasks);
        nanoseconds waited;
        for (const auto& c : kept.collectives) {
            const std::int64_t from = clock.begin[task[c.start]].count, to = from + model.duration(c.start).count;
            std::int64_t covered = 0;
            order_type behind;
            for (std::uint32_t v : order) {
                std::int64_t begin = clock.begin[task[v]].count, end = begin;
                if (p.nodes[v].op == wait) {
                    if (p.nodes[p.nodes[v].operands[0]].group == p.nodes[c.start].group) continue;
                    begin -= clock.stall[task[v]].count;
                } else if (model.kind(v) == op_kind::compute) {
                    end += model.duration(v).count;
                } else {
                    continue;
                }
                const std::int64_t both = std::min(end, to) - std::max(begin, from);
                if (both <= 0) continue;
                covered += both;
                behind.push_back(v);
                by_waits += p.nodes[v].op == wait;
            }
            RC_ASSERT(c.behind == behind);
            RC_ASSERT(c.exposed.count == to - from - covered);
            hidden += !behind.empty();
            if (!c.waits.empty()) waited += c.exposed;
        }
        RC_ASSERT(waited == clock.exposed);

        // The plan over the view is that of the program in which the same dependences are written down.
        reduction_program as_run = p, tied = p;
        as_run.order = tied.order = order;
        std::uint32_t before = UINT32_MAX;
        for (std::uint32_t v : order)
            if (model.kind(v) == op_kind::compute && p.nodes[v].op != cast) {
                if (before != UINT32_MAX) tied.nodes[v].after.push_back(before);
                before = v;
            }
        for (const auto& c : kept.collectives)
            for (std::uint32_t by : c.behind) {
                tied.nodes[by].after.push_back(c.start);
                for (std::uint32_t w : c.waits) tied.nodes[w].after.push_back(by);
            }
        const reduction_view view{&p};
        const auto plan =
            plan_buckets(views::with_dependences(views::in_order(view, order), kept.dependences), model, anything{&p});
        RC_ASSERT(plan.has_value());
        timed tied_model{{&tied}};
        tied_model.takes = model.takes;
        const auto same = plan_buckets(reduction_view{&tied}, tied_model, anything{&tied});
        RC_ASSERT(same.has_value());
        RC_ASSERT(plan->buckets == same->buckets);
        RC_ASSERT(plan->order == same->order);
        const auto free = plan_buckets(views::in_order(view, order), model, anything{&p});
        prevented += free->saved() > plan->saved();
        if (plan->empty()) return;
        ++merged;
        RC_ASSERT(verify_buckets(*plan, views::in_order(view, order), model).has_value());
        RC_ASSERT(support::contracts(p, support::all_dependences(tied), support::sets_of(*plan)));
        RC_ASSERT(run(support::bucketed(*plan, as_run)) == run(p));

        std::vector<std::size_t> place(p.nodes.size());
        for (std::size_t k = 0; k < plan->order.size(); ++k) place[plan->order[k]] = k;
        std::vector<std::uint32_t> kernels;
        for (std::uint32_t v : plan->order)
            if (model.kind(v) == op_kind::compute && p.nodes[v].op != cast) kernels.push_back(v);
        std::size_t k = 0;
        for (std::uint32_t v : order)
            if (k < kernels.size() && kernels[k] == v) ++k;
        RC_ASSERT(k == kernels.size());  // the kernels that count keep their order
        for (const program_bucket& b : plan->buckets)
            for (const auto& c : kept.collectives) {
                if (std::ranges::find(b.members, c.start) == b.members.end()) continue;
                for (std::uint32_t by : c.behind) {
                    for (std::uint32_t s : b.members) RC_ASSERT(place[s] < place[by]);
                    for (std::uint32_t w : b.waits) RC_ASSERT(place[by] < place[w]);
                }
            }
    });
    MESSAGE(hidden << " collectives are hidden, " << by_waits << " times by waits; " << merged
                   << " programs have buckets, and " << prevented << " would have more that hide less");
    if (!support::runs_all_cases()) return;
    CHECK(hidden > 1000);
    CHECK(by_waits > 100);
    CHECK(prevented > 200);
    CHECK(merged > 500);
}
