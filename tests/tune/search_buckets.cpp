#include "stretto/tune/search_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stretto/transform/plan_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "support/bucket_checks.hpp"
#include "support/priced_reductions.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::priced_reductions;
using support::program_bucket_plan;
using support::reduction_bucket_costs;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

using result = bucket_search_result<std::uint32_t, std::uint32_t>;

/// Everything that is no exchange may travel together.
struct together {
    const reduction_program* p;
    bucket_choice operator()(std::uint32_t v) const { return {.label = 0, .place = v, .cast = p->sends_cast(v)}; }
};

task_graph tasks_of(const reduction_program& p) {
    const auto made = make_task_graph(reduction_view{&p}, priced_reductions{{&p}});
    RC_ASSERT(made.has_value());
    return *made;
}
/// Copies cost less here than the casts that packs do on the way.
struct cheap_copies : reduction_bucket_costs {
    nanoseconds of_moving(bytes moved) const { return {5 + moved.count / 16}; }
};

template <class Costs = reduction_bucket_costs>
result searched(const reduction_program& p, const bucket_search_options& options, const Costs& costs = {}) {
    const auto found = search_buckets(reduction_view{&p}, priced_reductions{{&p}}, together{&p}, costs, options);
    RC_ASSERT(found.has_value());
    return *found;
}
std::optional<nanoseconds> makespan_of(const reduction_program& p, const bucket_search_options& o) {
    schedule_options how;
    how.memory_limit = o.step_peak ? memory_budget::of_variant(o.memory_limit, *o.step_peak) : o.memory_limit;
    how.under = o.under;
    const auto found = list_schedule(tasks_of(p), how);
    return found ? std::optional(found->makespan()) : std::nullopt;
}

/// The best makespan of all divisions of the starts into legal buckets.
class every_division {
public:
    every_division(const reduction_program& p, std::vector<std::uint32_t> starts, const bucket_search_options& o)
        : p_(p), starts_(std::move(starts)), options_(o) {
        add(0);
    }
    std::optional<nanoseconds> best;

private:
    void add(std::size_t k) {
        if (k == starts_.size()) return judge();
        for (std::size_t s = 0; s <= sets_.size(); ++s) {
            const bool fresh = s == sets_.size();
            if (fresh) sets_.push_back({starts_[k]});
            else sets_[s].push_back(starts_[k]);
            add(k + 1);
            if (fresh) sets_.pop_back();
            else sets_[s].pop_back();
        }
    }
    void judge() {
        const auto plan = plan_these_buckets(reduction_view{&p_}, priced_reductions{{&p_}}, std::span(sets_),
                                             together{&p_}, options_.limits, reduction_bucket_costs{});
        if (!plan) return;
        const auto makespan = makespan_of(bucketed(*plan, p_), options_);
        if (makespan && (!best || *makespan < *best)) best = makespan;
    }

    const reduction_program& p_;
    std::vector<std::uint32_t> starts_;
    const bucket_search_options& options_;
    std::vector<std::vector<std::uint32_t>> sets_;
};

std::vector<std::uint32_t> starts_of(const reduction_program& p) {
    std::vector<std::uint32_t> starts;
    for (std::uint32_t v : p.order)
        if (p.nodes[v].op == start && p.nodes[v].kind != collective_kind::all_to_all) starts.push_back(v);
    return starts;
}

}  // namespace

TEST_CASE("small gathers that keep the lane waiting travel together, the large one alone") {
    reduction_program p;
    const std::uint32_t x = p.input();
    std::uint32_t y = p.op(mix, {x});
    for (int k = 0; k < 6; ++k) {
        const std::uint32_t w = p.input(1);
        y = p.op(mix, {y, p.reduced(w, {.kind = collective_kind::all_gather})});
    }
    p.output({y});
    const result found = searched(p, {});
    REQUIRE(!found.front.empty());
    const auto& fastest = found.front.front();
    CHECK(fastest.makespan < *makespan_of(p, {}));
    CHECK(fastest.plan.saved() >= 3);
    CHECK(fastest.collectives + fastest.plan.saved() == 6);
    CHECK(found.trials > 0);
    CHECK(*makespan_of(bucketed(fastest.plan, p), {}) == fastest.makespan);
}

TEST_CASE("where kernels hide every collective, packs still save the casts that they do") {
    reduction_program p;
    std::uint32_t y = p.input(256);
    std::vector<std::uint32_t> gathered;
    for (int k = 0; k < 6; ++k) {
        const std::uint32_t w = p.op(cast, {p.input()});
        gathered.push_back(p.reduced(w, {.kind = collective_kind::all_gather}));
    }
    for (int k = 0; k < 4; ++k) y = p.op(mix, {y, y});
    for (std::uint32_t g : gathered) y = p.op(mix, {y, g});
    p.output({y});
    const task_graph tasks = tasks_of(p);
    nanoseconds kernels;
    for (task_id t = 0; t < tasks.size(); ++t)
        if (tasks.kind[t] == op_kind::compute) kernels += tasks.duration[t];
    REQUIRE(*makespan_of(p, {}) == kernels);
    const result found = searched(p, {}, cheap_copies{});
    REQUIRE(!found.front.empty());
    CHECK(found.front.front().makespan < kernels);
    CHECK(found.front.front().plan.saved() > 0);
}

TEST_CASE(
    "Inductor A14: a bucket that is estimated to take longer than its members is not made, and no time is negative") {
    struct short_collectives : priced_reductions {
        nanoseconds duration(std::uint32_t v) const {
            return kind(v) == op_kind::start ? nanoseconds{3} : priced_reductions::duration(v);
        }
    };
    struct long_latency {
        nanoseconds of_merged(std::uint32_t, bytes) const { return {10}; }
        nanoseconds of_moving(bytes) const { return {}; }
    };
    reduction_program p;
    const std::uint32_t x = p.input();
    const std::uint32_t a = p.reduced(x, {.kind = collective_kind::all_gather});
    const std::uint32_t b = p.reduced(x, {.kind = collective_kind::all_gather});
    p.output({p.op(mix, {a}), p.op(mix, {b})});
    const reduction_view view{&p};
    const short_collectives ops{{{&p}}};
    const auto plan = plan_buckets(view, ops, together{&p}, {}, long_latency{});
    REQUIRE(plan);
    CHECK(plan->buckets[0].alone == nanoseconds{6});
    CHECK(plan->buckets[0].merged == nanoseconds{10});
    const auto found = search_buckets(view, ops, together{&p}, long_latency{});
    REQUIRE(found);
    CHECK(found->front.front().plan.empty());
    CHECK(found->front.front().makespan == list_schedule(*make_task_graph(view, ops))->makespan());
}

TEST_CASE("Inductor P2 and P3: buckets around another collective of their group never make the step slower") {
    for (const auto kind : {collective_kind::all_gather, collective_kind::reduce_scatter}) {
        CAPTURE(static_cast<int>(kind));
        for (const std::int64_t longer : {4, 16, 64}) {
            reduction_program p;
            const std::uint32_t x = p.input(longer), w = p.input(16), u = p.input(16);
            // Two collectives, each with a kernel that hides it. Between them stands one for which the lane waits:
            // behind the start of the first, if gathers are launched early; before that of the second, if reductions
            // are late.
            const std::uint32_t s1 = p.start(w, {.kind = kind});
            const std::uint32_t exposed = p.reduced(x), k1 = p.op(mix, {exposed}), w1 = p.op(wait, {s1});
            const std::uint32_t s2 = p.start(u, {.kind = kind}), k2 = p.op(mix, {k1}), w2 = p.op(wait, {s2});
            p.output({p.op(mix, {w1, k1}), p.op(mix, {w2, k2})});
            const result found = searched(p, {});
            REQUIRE(!found.front.empty());
            const auto& fastest = found.front.front();
            CHECK(fastest.makespan <= *makespan_of(p, {}));
            CHECK(fastest.makespan == *makespan_of(bucketed(fastest.plan, p), {}));
        }
    }
}

TEST_CASE("as the documentation shows it") {
    reduction_program p;
    const std::uint32_t x = p.input();
    std::vector<std::uint32_t> results;
    for (int k = 0; k < 8; ++k) results.push_back(p.reduced(p.op(mix, {x, x})));
    p.output(results);
    const reduction_view view{&p};
    const priced_reductions ops{{&p}};
    const together choose{&p};
    const reduction_bucket_costs costs;
    const bytes peak = {2 * peak_of_input(tasks_of(p)).count};
    // [search-buckets]
    const auto found = search_buckets(view, ops, choose, costs, {.memory_limit = peak, .under = {3, 2}});
    REQUIRE(found);
    const auto& fastest = found->front.front();  // the plan of apply_buckets, and what the step takes with it
    // [/search-buckets]
    CHECK(fastest.plan.saved() > 0);
    CHECK(fastest.makespan < *makespan_of(p, {.memory_limit = peak, .under = {3, 2}}));
    CHECK(fastest.peak <= peak);
}

TEST_CASE("errors, limits of zero, and steps without anything to merge") {
    reduction_program p;
    const std::uint32_t x = p.input(), a = p.op(mix, {x}), b = p.op(mix, {a});
    p.output({b});
    const result none = searched(p, {});
    REQUIRE(none.front.size() == 1);
    CHECK(none.front[0].plan.empty());
    CHECK(none.trials == 0);

    reduction_program wrong = p;
    std::swap(wrong.order[1], wrong.order[2]);
    const auto refused =
        search_buckets(reduction_view{&wrong}, priced_reductions{{&wrong}}, together{&wrong}, reduction_bucket_costs{});
    REQUIRE(!refused);
    CHECK(refused.error().why == task_graph_error::reason::reads_later_task);

    reduction_program q;
    const std::uint32_t w = q.input();
    q.output({q.reduced(w), q.reduced(w)});
    const result as_it_is = searched(q, {.limits = {.most_bytes = {0}}});
    REQUIRE(as_it_is.front.size() == 1);
    CHECK(as_it_is.front[0].plan.empty());
    CHECK(searched(q, {.memory_limit = {1}}).front.empty());  // nothing fits
}

namespace {

struct vast_payloads : priced_reductions {
    std::int64_t each;
    bytes payload(std::uint32_t) const { return {each}; }
};

}  // namespace

TEST_CASE("payloads beyond what times and bytes may add up to are refused, and those up to it are searched") {
    reduction_program q;
    const std::uint32_t w = q.input();
    q.output({q.reduced(w), q.reduced(q.op(mix, {w}))});
    const auto refused =
        search_buckets(reduction_view{&q}, vast_payloads{{{&q}}, INT64_MAX}, together{&q}, reduction_bucket_costs{});
    REQUIRE(!refused);
    CHECK(refused.error().why == task_graph_error::reason::overflow);
    CHECK(search_buckets(reduction_view{&q}, vast_payloads{{{&q}}, std::int64_t{1} << 61}, together{&q},
                         no_bucket_costs{}));
}

TEST_CASE("never slower than without buckets, never above the limit, and no better than the best of all divisions") {
    std::size_t programs = 0, faster = 0, best = 0, contended = 0, tight = 0, given_up = 0;
    stretto_check("random programs", 6000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data, 40);
        const std::vector<std::uint32_t> starts = starts_of(p);
        if (starts.size() < 2 || starts.size() > 6) return;
        ++programs;
        bucket_search_options o;
        const bytes peak = peak_of_input(tasks_of(p));
        o.step_peak = peak;
        o.memory_limit = data.size() % 3 == 0 ? unlimited_bytes : peak;
        if (data.size() % 2 == 1) o.under = {3, 2};
        if (data.size() % 5 == 1) o.limits.mode = bucket_mode::coalesced;
        if (data.size() % 7 == 1) o.limits.most_members = 2;
        const result found = searched(p, o);
        const auto whole = makespan_of(p, o);
        RC_ASSERT(whole.has_value());
        RC_ASSERT(!found.front.empty());
        for (std::size_t k = 0; k < found.front.size(); ++k) {
            const auto& f = found.front[k];
            RC_ASSERT(f.peak <= o.memory_limit);
            if (k > 0) RC_ASSERT(found.front[k - 1].makespan <= f.makespan);
            RC_ASSERT(verify_buckets(f.plan, reduction_view{&p}, priced_reductions{{&p}}).has_value());
            const reduction_program after = f.plan.empty() ? p : bucketed(f.plan, p);
            RC_ASSERT(run(after) == run(p));
            RC_ASSERT(f.collectives + f.plan.saved() <= p.count(start));
            for (const auto& b : f.plan.buckets) RC_ASSERT(b.members.size() <= o.limits.most_members);
            const bool plain = std::ranges::all_of(p.nodes, [](const auto& n) { return n.after.empty(); });
            if (plain) RC_ASSERT(*makespan_of(after, o) == f.makespan);  // the rewriter of the tests knows no others
        }
        const nanoseconds fastest = found.front.front().makespan;
        RC_ASSERT(fastest <= *whole);
        faster += fastest < *whole;
        contended += !o.under.none() && fastest < *whole;
        tight += o.memory_limit == peak && fastest < *whole;
        if (starts.size() > 5 || p.nodes.size() > 40) return;
        if (!std::ranges::all_of(p.nodes, [](const auto& n) { return n.after.empty(); })) return;
        const every_division all(p, starts, o);
        best += all.best && fastest <= *all.best;
        RC_ASSERT(searched(p, o).front.front().plan == found.front.front().plan);
        // What buckets can beat is not a reason to give up; then nothing else changes.
        if (!all.best) return;
        o.to_beat = std::min(fastest, *all.best) + nanoseconds{1};
        const result rivals = searched(p, o);
        RC_ASSERT(rivals.front.size() == found.front.size());
        RC_ASSERT(rivals.front.front().plan == found.front.front().plan);
        o.to_beat = nanoseconds{fastest.count / 2};
        const result beaten = searched(p, o);
        given_up += beaten.front.empty() && beaten.trials == 0;
    });
    if (!support::runs_all_cases()) return;
    CHECK(programs > 2000);
    CHECK(faster > 150);
    CHECK(contended > 70);
    CHECK(tight > 25);
    CHECK(given_up > 200);
    CHECK(best > 1500);  // it promises no more than never slower
}

TEST_CASE("a larger limit never gives a longer makespan, among the limits below the peak and among those from it on") {
    std::size_t several = 0, faster = 0, below = 0, contended = 0;
    stretto_check("sixteen limits", 1500, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data, 40);
        const std::size_t starts = starts_of(p).size();
        if (starts < 2 || starts > 12) return;
        bucket_search_options o;
        const bytes peak = peak_of_input(tasks_of(p));
        if (data.size() % 2 == 1) o.step_peak = peak;
        if (data.size() % 3 == 1) o.under = {3, 2};
        if (data.size() % 7 == 1) o.effort = 2;
        std::optional<nanoseconds> before;
        std::size_t steps = 0;
        for (const int percent : {50, 70, 80, 90, 95, 99, 100, 101, 102, 104, 107, 110, 125, 150, 220, 0}) {
            o.memory_limit = percent == 0 ? unlimited_bytes : bytes{peak.count * percent / 100};
            if (percent == 100) before.reset();
            const result found = searched(p, o);
            RC_ASSERT((!found.front.empty() || !before));
            if (found.front.empty()) continue;
            const nanoseconds takes = found.front.front().makespan;
            for (const auto& f : found.front) RC_ASSERT(f.peak <= o.memory_limit);
            if (before) RC_ASSERT(takes <= *before);
            steps += before && takes < *before;
            below += before && takes < *before && percent < 100;
            contended += before && takes < *before && !o.under.none();
            before = takes;
        }
        several += steps > 1;
        faster += steps > 0;
    });
    if (!support::runs_all_cases()) return;
    CHECK(faster > 100);
    CHECK(several > 20);
    CHECK(below > 10);
    CHECK(contended > 20);
}
