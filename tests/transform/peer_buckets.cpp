// The greedy algorithms of autoparallel's pull requests 412 and 481, written down a second time as they are described,
// and compared with plan_buckets, member by member.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/plan_buckets.hpp"
#include "support/bucket_checks.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

using vertices = std::vector<std::uint32_t>;
using dependence_list = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr std::int64_t endless = INT64_MAX / 2;

/// What the two pull requests limit, and in what order they go.
struct greedy_limits {
    std::vector<std::int64_t> caps;  // by the number of the bucket; the last one is for all further buckets
    std::int64_t span = endless;
    bool by_waits = false;
};

struct greedy {
    const reduction_program& p;
    dependence_list dependences;
    vertices candidates = {};  // starts in the order of the program
    bool merging = false;      // buckets that are finished count as one operation
    vertices one = {};         // by vertex: the one as which it counts, with all that it is merged with

    std::int64_t rank(std::uint32_t v) const { return std::ranges::find(p.order, v) - p.order.begin(); }
    std::uint32_t wait_of(std::uint32_t s) const {
        return *std::ranges::find_if(
            p.order, [&](std::uint32_t v) { return p.nodes[v].op == wait && p.nodes[v].operands[0] == s; });
    }
    std::set<std::uint32_t> descendants(std::uint32_t v) const {
        std::set<std::uint32_t> all;
        vertices open = {v};
        while (!open.empty()) {
            const std::uint32_t from = open.back();
            open.pop_back();
            for (const auto& [a, b] : dependences)
                if (one[a] == one[from] && all.insert(one[b]).second) open.push_back(b);
        }
        all.erase(one[v]);
        return all;
    }
    void finish(const vertices& bucket, std::vector<vertices>& made) {
        if (bucket.size() < 2) return;
        made.push_back(bucket);
        if (!merging) return;
        for (std::uint32_t s : bucket) {
            one[s] = bucket[0];
            one[wait_of(s)] = wait_of(bucket[0]);
        }
    }
    /// Each list of collectives that may be merged: those that agree in process group, kind, reduction and type, in the
    /// order in which the algorithm goes through it.
    std::vector<vertices> lists(bool by_waits) const {
        vertices all = candidates;
        if (by_waits) std::ranges::sort(all, {}, [&](std::uint32_t s) { return rank(wait_of(s)); });
        std::map<std::vector<int>, vertices> of;
        for (std::uint32_t s : all) {
            const collective_call c = reduction_model{&p}.call(s);
            const bool gathers = c.kind == collective_kind::all_gather;
            of[{static_cast<int>(p.nodes[s].group), static_cast<int>(c.kind), static_cast<int>(c.reduction),
                gathers ? 0 : static_cast<int>(c.element)}]
                .push_back(s);
        }
        std::vector<vertices> found;
        for (auto& [key, list] : of) found.push_back(list);
        return found;
    }
    /// The buckets, each with at least two members.
    std::vector<vertices> buckets(const greedy_limits& limits) {
        const reduction_model model{&p};
        std::vector<vertices> made;
        one.resize(p.nodes.size());
        std::iota(one.begin(), one.end(), 0u);
        for (const vertices& list : lists(limits.by_waits)) {
            vertices bucket;
            std::set<std::uint32_t> below;
            std::int64_t held = 0;
            std::size_t number = 0;
            for (std::uint32_t s : list) {
                if (below.contains(one[s])) continue;  // it is not considered again
                const std::int64_t size = std::max(model.payload(s), model.bytes_of(s)).count;
                const std::int64_t cap = limits.caps[std::min(number, limits.caps.size() - 1)];
                if (!bucket.empty() && (held + size > cap || rank(s) - rank(bucket[0]) > limits.span)) {
                    finish(bucket, made);
                    bucket.clear();
                    below.clear();
                    held = 0;
                    ++number;
                }
                bucket.push_back(s);
                below.merge(descendants(s));
                held += size;
            }
            finish(bucket, made);
        }
        return made;
    }
};

/// Members of each bucket in ascending order, buckets in that of their first members.
std::vector<vertices> normal(std::vector<vertices> buckets) {
    for (vertices& b : buckets) std::ranges::sort(b);
    std::ranges::sort(buckets);
    return buckets;
}

struct comparison {
    std::size_t programs = 0, cyclic = 0, buckets = 0;

    /// Both make the same buckets of the collectives that are wanted. What the greedy algorithm merges may be a cycle;
    /// then plan_buckets leaves something out. `merging`: buckets count as one operation as soon as they are finished,
    /// which makes a difference for collectives of another kind, and for those that depend on a start but not on its
    /// wait.
    void add(const reduction_program& p, const greedy_limits& limits, bool merging,
             const std::function<bool(std::uint32_t)>& wanted) {
        bucket_options o{.most_open = 1, .order = payload_order::execution};
        o.most_bytes = {limits.caps.back()};
        for (std::size_t k = 0; k + 1 < limits.caps.size(); ++k) o.first_most_bytes.push_back({limits.caps[k]});
        if (limits.span < endless) o.most_span = static_cast<std::size_t>(limits.span);
        if (limits.by_waits) o.by = sweep_order::waits;
        const auto choose = [&](std::uint32_t s) { return wanted(s) ? bucket_choice{.label = 0} : bucket_choice{}; };
        const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, choose, o);
        RC_ASSERT(plan.has_value());
        greedy g{p, support::all_dependences(p)};
        g.merging = merging;
        std::vector<vertices> made;
        std::set<std::uint32_t> may;
        for (const auto& b : plan->buckets) {
            made.push_back(b.members);
            may.insert(b.members.begin(), b.members.end());
        }
        for (const auto& r : plan->refused)
            if (r.why == bucket_obstacle::dependent || r.why == bucket_obstacle::limits ||
                r.why == bucket_obstacle::crowded || r.why == bucket_obstacle::nobody_fits)
                may.insert(r.vertex);
        for (std::uint32_t v : p.order)
            if (may.contains(v)) g.candidates.push_back(v);
        const std::vector<vertices> due = g.buckets(limits);
        std::vector<vertices> sets = due;
        for (const vertices& b : due) {
            sets.emplace_back();
            for (std::uint32_t s : b) sets.back().push_back(g.wait_of(s));
        }
        ++programs;
        if (!support::contracts(p, g.dependences, sets)) {
            ++cyclic;
            RC_ASSERT(normal(made) != normal(due));
            return;
        }
        buckets += due.size();
        RC_ASSERT(normal(made) == normal(due));
    }
    void check() const {
        MESSAGE(programs << " programs, " << buckets << " buckets; " << cyclic
                         << " times they would wait for each other");
        if (!support::runs_all_cases()) return;
        CHECK(buckets > programs / 8);
        CHECK(cyclic < programs / 10);
    }
};

/// All starts of the kind of one of them, on its group.
std::function<bool(std::uint32_t)> of_one_kind(const reduction_program& p, std::size_t drawn) {
    vertices starts;
    for (std::uint32_t v : p.order)
        if (p.nodes[v].op == start) starts.push_back(v);
    const std::uint32_t like = starts.empty() ? 0 : starts[drawn % starts.size()];
    return [&p, like](std::uint32_t s) {
        return p.nodes[s].kind == p.nodes[like].kind && p.nodes[s].group == p.nodes[like].group;
    };
}
bool anything(std::uint32_t) { return true; }

using drawn_bytes = std::vector<std::uint8_t>;
drawn_bytes together(drawn_bytes data, const drawn_bytes& more) {
    data.insert(data.end(), more.begin(), more.end());
    return data;
}
/// A cap, as the first pull request has it.
greedy_limits capped(std::size_t drawn) {
    return {{drawn % 4 == 0 ? endless : 40 + 24 * static_cast<std::int64_t>(drawn % 9)}};
}
/// Several caps and a span, by waits, as the second one has them.
greedy_limits spanned(std::size_t drawn) {
    greedy_limits limits{{}, endless, true};
    for (std::size_t k = 0; k < 1 + drawn % 3; ++k)
        limits.caps.push_back(32 + 16 * static_cast<std::int64_t>((drawn / 3 + 5 * k) % 11));
    if (drawn % 5 == 0) limits.caps.back() = endless;
    if (drawn % 7 != 0) limits.span = static_cast<std::int64_t>(4 + drawn % 13);
    return limits;
}

}  // namespace

TEST_CASE("autoparallel 412: the greedy algorithm on collectives of one kind and group, member by member") {
    comparison all;
    stretto_check("random programs", 10000, [&](const drawn_bytes& data, const drawn_bytes& more) {
        const reduction_program p = support::random_traffic(together(data, more));
        all.add(p, capped(data.size()), false, of_one_kind(p, more.size()));
    });
    all.check();
}

TEST_CASE("autoparallel 412: on all collectives, one kind and group after the other, member by member") {
    comparison all;
    stretto_check("random programs", 10000, [&](const drawn_bytes& data, const drawn_bytes& more) {
        all.add(support::random_traffic(together(data, more)), capped(data.size()), true, anything);
    });
    all.check();
}

TEST_CASE("autoparallel 481: by waits, within a span, a cap for each bucket, on one kind and group, member by member") {
    comparison all;
    stretto_check("random programs", 10000, [&](const drawn_bytes& data, const drawn_bytes& more) {
        const reduction_program p = support::random_traffic(together(data, more));
        all.add(p, spanned(data.size()), true, of_one_kind(p, more.size()));
    });
    all.check();
}

TEST_CASE("autoparallel 481: on all collectives, one kind and group after the other, member by member") {
    comparison all;
    stretto_check("random programs", 10000, [&](const drawn_bytes& data, const drawn_bytes& more) {
        all.add(support::random_traffic(together(data, more)), spanned(data.size()), true, anything);
    });
    all.check();
}

TEST_CASE(
    "autoparallel 481: waits in another order than starts, and a span that is counted from the first waited for") {
    reduction_program p;
    const std::uint32_t x = p.input();
    const auto begin = [&] { return p.start(x, {.kind = collective_kind::all_gather}); };
    const std::uint32_t a = begin(), b = begin(), c = begin(), d = begin();
    p.output({p.op(wait, {c}), p.op(wait, {a}), p.op(wait, {d}), p.op(wait, {b})});
    const auto buckets = [&](const bucket_options& o) {
        const auto all = [](std::uint32_t) { return bucket_choice{.label = 0}; };
        const auto plan = plan_buckets(reduction_view{&p}, reduction_model{&p}, all, o);
        REQUIRE(plan);
        CHECK(run(support::bucketed(*plan, p)) == run(p));
        std::vector<vertices> made;
        for (const auto& one : plan->buckets) made.push_back(one.members);
        return normal(made);
    };
    const bytes two{2 * 2 * 4 * 8};
    CHECK(buckets({.most_bytes = two, .most_open = 1}) == std::vector<vertices>{{a, b}, {c, d}});
    CHECK(buckets({.most_bytes = two, .most_open = 1, .by = sweep_order::waits}) ==
          std::vector<vertices>{{a, c}, {b, d}});
    // a is two before c, which is no span, and d is one behind it.
    CHECK(buckets({.most_span = 1, .most_open = 1, .by = sweep_order::waits}) == std::vector<vertices>{{a, b, c, d}});
    CHECK(buckets({.most_span = 0, .most_open = 1, .by = sweep_order::waits}) == std::vector<vertices>{{a, c}, {b, d}});
    const bytes one{2 * 4 * 8};
    CHECK(buckets({.first_most_bytes = {one}, .most_open = 1, .by = sweep_order::waits}) ==
          std::vector<vertices>{{a, b, d}});
    CHECK(buckets({.most_bytes = two, .first_most_bytes = {one, two}, .most_open = 1}) ==
          std::vector<vertices>{{b, c}});
}

TEST_CASE("the primary group: most gathers of parameters, the first seen in a tie; the first gather of all") {
    struct parameters {
        const reduction_program* p;
        input_role role(std::uint32_t x) const { return x % 3 == 0 ? input_role::activation : input_role::parameter; }
        std::uint32_t place(std::uint32_t x) const { return x; }
    };
    std::size_t ties = 0, several = 0;
    stretto_check("random programs", 3000, [&](const std::vector<std::uint8_t>& data) {
        const reduction_program p = support::random_traffic(data);
        const reduction_view view{&p};
        const reduction_model ops{&p};
        const auto tags = classify_collectives(view, ops, parameters{&p});
        vertices gathers;
        for (std::uint32_t v : p.order)
            if (p.nodes[v].op == start && p.nodes[v].kind == collective_kind::all_gather &&
                tags[v].what == traffic_kind::parameter)
                gathers.push_back(v);
        const auto found = primary_group_of(view, ops, tags);
        RC_ASSERT(found.has_value() == !gathers.empty());
        if (!found) return;
        const auto count = [&](std::uint32_t group) {
            return static_cast<std::size_t>(
                std::ranges::count_if(gathers, [&](std::uint32_t v) { return p.nodes[v].group == group; }));
        };
        std::uint32_t best = p.nodes[gathers[0]].group;
        bool tie = false, others = false;
        for (std::uint32_t v : gathers) {
            const std::uint32_t group = p.nodes[v].group;
            tie = tie || (group != best && count(group) == count(best));
            others = others || group != best;
            if (count(group) > count(best)) best = group;
        }
        ties += tie;
        several += others;
        RC_ASSERT(found->group == best);
        RC_ASSERT(found->gathers == count(best));
        RC_ASSERT(found->first == gathers[0]);
        const auto all = [](std::uint32_t) { return bucket_choice{.label = 0}; };
        const buckets_on_group only{all, &ops, found->group};
        const auto plan = plan_buckets(view, ops, only);
        RC_ASSERT(plan.has_value());
        for (const auto& b : plan->buckets)
            for (std::uint32_t s : b.members) RC_ASSERT(p.nodes[s].group == best);
    });
    if (support::runs_all_cases()) CHECK((ties > 50 && several > 200));
}
