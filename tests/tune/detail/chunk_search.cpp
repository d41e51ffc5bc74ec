#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/tune/detail/chunk_search.hpp"
#include "stretto/tune/detail/limit_levels.hpp"
#include "support/prop.hpp"
#include "support/toy_program.hpp"
#include "support/twelve_limits.hpp"

using namespace stretto;

namespace {

using region = chunk_region<std::uint32_t>;

/// Any steps, one of which each choice of chunks leads to: the search must keep its promises whatever chunks do.
struct any_steps {
    std::vector<task_graph> graphs;
    std::size_t units;

    std::optional<chunked_tasks> operator()(std::span<const region> regions, bool slices) const {
        std::size_t code = slices ? 1 : 0;
        for (const region& r : regions) {
            code = code * 31 + r.sizes.size();
            for (std::uint32_t v : r.candidates) code = code * 31 + v;
        }
        if (code % 11 == 0) return std::nullopt;
        chunked_tasks made;
        made.graph = graphs[code % graphs.size()];
        for (task_id t = 0; t < made.graph.size(); ++t) {
            made.original.push_back(t % static_cast<task_id>(units));
            made.role.push_back(slices ? task_role::write : task_role::clone);
        }
        return made;
    }
};

struct found {
    nanoseconds makespan;
    std::vector<std::size_t> chunks;
    bool slices;
    std::size_t trials;
    std::vector<limit_figures> figures;
    friend bool operator==(const found&, const found&) = default;
};

/// A program of units that each have one vertex, two to a part; forward and backward in turn.
struct question {
    std::vector<support::scheduling_case> steps;
    any_steps tries{{}, *rc::gen::inRange<std::size_t>(1, 5)};
    task_graph whole;
    chunk_units units;
    std::size_t budget = *rc::gen::element<std::size_t>(0, 100, 1000);
    bool either = *rc::gen::arbitrary<bool>();

    explicit question(std::size_t most_genes = 30)
        : steps(*rc::gen::nonEmpty(rc::gen::container<std::vector<support::scheduling_case>>(
              *rc::gen::inRange<std::size_t>(1, 8), support::scheduling_cases(most_genes)))) {
        for (const support::scheduling_case& s : steps) tries.graphs.push_back(support::graph_of(s.program()));
        whole = tries.graphs.front();
        for (std::uint32_t u = 0; u < tries.units; ++u) {
            units.unit_of.push_back(u);
            units.units.push_back({"layers." + std::to_string(u / 2),
                                   u % 2 ? pass_direction::backward : pass_direction::forward, u % 3, u / 2});
            units.parts = u / 2 + 1;
        }
    }
    found search(bytes limit, const std::vector<limit_figures>& rival = {}) {
        const bytes peak = peak_of_input(whole);
        const detail::limit_levels levels = detail::limit_levels::up_to(limit, peak);
        schedule_options options;
        options.memory_limit = memory_budget::of_variant(limit, peak);
        const auto takes = list_schedule_by_limits(whole, options, levels.limits).figures;
        detail::chunk_search search(units, 64, {levels, takes, rival, peak, 4, budget, false, either, {}}, tries);
        search.run();
        return {search.best(), search.chosen(), search.slices(), search.trials(), search.figures()};
    }
    /// What list_schedule says of a result.
    std::optional<nanoseconds> scheduled(const found& f, bytes limit) {
        schedule_options options;
        options.memory_limit = memory_budget::of_variant(limit, peak_of_input(whole));
        if (f.chunks.empty()) {
            const auto made = list_schedule(whole, options);
            return made ? std::optional(made->makespan()) : std::nullopt;
        }
        const detail::limit_levels levels = detail::limit_levels::up_to(limit, peak_of_input(whole));
        detail::chunk_search any(
            units, 64, {levels, std::vector<limit_figures>(levels.limits.size()), {}, {}, 4, 0, false, false, {}},
            tries);
        const auto made = list_schedule(tries(any.regions_of(f.chunks), f.slices)->graph, options);
        return made ? std::optional(made->makespan()) : std::nullopt;
    }
};

/// Parts of one unit each, of one kernel that takes a time of its own whole and another in two chunks; some exchange
/// behind it, which only pays in chunks. Kernels run one after the other, so what a choice takes is a sum.
struct parts_of_known_times {
    struct part {
        std::int64_t whole, in_two;  ///< nanoseconds
        bool exchanges;
    };
    std::vector<part> parts;
    chunk_units units;

    explicit parts_of_known_times(std::size_t most_parts) {
        const std::size_t n = *rc::gen::inRange<std::size_t>(2, most_parts + 1);
        for (std::uint32_t u = 0; u < n; ++u) {
            // The first part and, as a rule, some others exchange.
            const bool exchanges = u == 0 || *rc::gen::inRange(0, 3) == 0;
            const std::int64_t in_two = 1000 + *rc::gen::inRange(0, 40);
            parts.push_back({exchanges ? 5000 : 1000 + *rc::gen::inRange(0, 40), in_two, exchanges});
            units.unit_of.push_back(u);
            units.units.push_back(
                {"layers." + std::to_string(u), u % 2 ? pass_direction::backward : pass_direction::forward, 0, u});
        }
        units.parts = static_cast<std::uint32_t>(n);
    }
    std::optional<chunked_tasks> operator()(std::span<const region> regions, bool) const {
        std::vector<bool> in_two(parts.size(), false);
        for (const region& r : regions)
            for (std::uint32_t v : r.candidates) in_two[v] = true;
        support::toy_program program;
        chunked_tasks made;
        const auto add = [&](std::uint32_t u, std::uint32_t chunk, support::toy_op o) {
            program.ops.push_back(std::move(o));
            made.original.push_back(u);
            made.chunk.push_back(chunk);
            made.role.push_back(in_two[u] ? task_role::clone : task_role::original);
        };
        for (std::uint32_t u = 0; u < parts.size(); ++u)
            for (std::uint32_t k = 0; k < (in_two[u] ? 2u : 1u); ++k) {
                const std::int64_t takes = !in_two[u] ? parts[u].whole : (parts[u].in_two + k) / 2;
                const auto kernel = static_cast<std::uint32_t>(program.ops.size());
                add(u, k, {.duration = {takes}, .results = {{}}});
                if (!parts[u].exchanges) continue;
                add(u, k, {.kind = op_kind::start, .operands = {{kernel, 0}}, .results = {{}}});
                add(u, k, {.kind = op_kind::wait, .operands = {{kernel + 1, 0}}, .results = {{}}});
            }
        made.graph = support::graph_of(program);
        return made;
    }
    [[nodiscard]] std::int64_t takes(const std::vector<bool>& in_two) const {
        std::int64_t sum = 0;
        for (std::size_t u = 0; u < parts.size(); ++u) sum += in_two[u] ? parts[u].in_two : parts[u].whole;
        return sum;
    }
    [[nodiscard]] nanoseconds found(std::size_t budget, const std::vector<limit_figures>& rival = {}) const {
        constexpr bytes limit{1};
        detail::chunk_search search(
            units, 64,
            {detail::limit_levels::up_to(limit, limit), {limit_figures{}}, rival, limit, 2, budget, false, false, {}},
            *this);
        search.run();
        if (search.chosen().empty()) return nanoseconds{INT64_MAX};
        std::vector<bool> in_two;
        for (std::size_t k : search.chosen()) in_two.push_back(k == 2);
        RC_ASSERT(in_two.size() == parts.size());
        RC_ASSERT(search.best() == nanoseconds{takes(in_two)});
        return search.best();
    }
};

}  // namespace

TEST_CASE("parts that exchange nothing are whole or in chunks as is best for each, if one does not change another") {
    int mixed = 0;
    stretto_check("every choice of up to eight parts", 1500, [&] {
        const parts_of_known_times q(8);
        std::int64_t best = INT64_MAX, alike = INT64_MAX;
        for (unsigned choice = 1; choice < 1u << q.parts.size(); ++choice) {
            std::vector<bool> in_two;
            for (std::size_t u = 0; u < q.parts.size(); ++u) in_two.push_back(choice >> u & 1);
            best = std::min(best, q.takes(in_two));
        }
        for (bool cut : {false, true}) {
            std::vector<bool> in_two;
            for (const auto& part : q.parts) in_two.push_back(part.exchanges || cut);
            alike = std::min(alike, q.takes(in_two));
        }
        RC_ASSERT(q.found(1'000'000).count == best);
        if (best < alike) ++mixed;
    });
    if (support::runs_all_cases()) CHECK(mixed > 200);
}

TEST_CASE("parts by themselves are not tried in a form that is far slower than the other one, nor without a budget") {
    int left = 0;
    stretto_check("the other form half a hundredth faster", 1500, [&] {
        const parts_of_known_times q(8);
        const nanoseconds best = q.found(1'000'000);
        const nanoseconds ahead{best.count - best.count / 200};
        const nanoseconds behind = q.found(1'000'000, {{ahead, ahead}});
        RC_ASSERT(behind >= best);
        if (behind == best || behind.count == INT64_MAX) return;
        ++left;
        const nanoseconds near{behind.count - behind.count / 200 + 1};
        RC_ASSERT(near > ahead);
        RC_ASSERT(q.found(1'000'000, {{near, near}}) == best);
        RC_ASSERT(q.found(0) >= behind);
    });
    if (support::runs_all_cases()) CHECK(left > 100);
}

TEST_CASE("whatever chunks do, a larger limit never gives a longer makespan, and chunks are never worse than whole") {
    int chunked = 0, later = 0;
    stretto_check("twelve limits", 1500, [&](bool below) {
        question q;
        std::optional<found> before;
        for (const bytes limit : support::twelve_limits(peak_of_input(q.whole), below)) {
            const found f = q.search(limit);
            if (before) RC_ASSERT(f.makespan <= before->makespan);
            if (before) RC_ASSERT(f.trials >= before->trials);
            const auto exact = q.scheduled(f, limit);
            RC_ASSERT(exact.value_or(nanoseconds{INT64_MAX}) == f.makespan);
            const auto whole = q.scheduled({}, limit);
            if (whole) RC_ASSERT(f.makespan <= *whole);
            if (whole && !f.chunks.empty()) RC_ASSERT(f.makespan < *whole);
            if (!f.chunks.empty()) ++chunked;
            if (before && !f.chunks.empty() && f.chunks != before->chunks) ++later;
            before = f;
        }
    });
    if (support::runs_all_cases()) CHECK(chunked > 1000);
    if (support::runs_all_cases()) CHECK(later > 100);
}

TEST_CASE("two forms, the second of which gives up what is slower than the first: more memory is never slower") {
    int second = 0;
    stretto_check("twelve limits of two forms", 1000, [&](bool below) {
        question q, other;
        const std::int64_t peak = peak_of_input(q.whole).count;
        other.whole = q.whole;  // so that both have the same levels
        other.tries.graphs.front() = q.whole;
        std::optional<nanoseconds> before;
        std::vector<limit_figures> figures;
        for (const bytes limit : support::twelve_limits({peak}, below)) {
            const found first = other.search(limit), f = q.search(limit, first.figures);
            RC_ASSERT(first.figures.size() >= figures.size());
            for (std::size_t k = 0; k < figures.size() && limit.count >= peak / 16; ++k)
                RC_ASSERT(first.figures[k] == figures[k]);
            figures = first.figures;
            const nanoseconds best = std::min(first.makespan, f.makespan);
            if (before) RC_ASSERT(best <= *before);
            before = best;
            if (f.makespan < first.makespan) ++second;
        }
    });
    if (support::runs_all_cases()) CHECK(second > 20);
}

TEST_CASE("what is the best at a level stays, however fast the other form is with more memory") {
    int held = 0;
    stretto_check("the other form wins from the second level on", 1200, [&] {
        question q(60);  // small steps rarely need the rungs above the first level
        const std::int64_t peak = peak_of_input(q.whole).count;
        std::vector<limit_figures> rival(8, {{1}, {1}});
        rival[0] = {};
        std::optional<nanoseconds> before;
        for (int p : {100, 107, 110, 125, 180, 350, 0}) {
            const bytes limit = p == 0 ? unlimited_bytes : bytes{peak * p / 100};
            const found f = q.search(limit, rival);
            if (before) RC_ASSERT(f.makespan <= *before);
            RC_ASSERT(q.scheduled(f, limit).value_or(nanoseconds{INT64_MAX}) == f.makespan);
            if (p > 107 && !f.chunks.empty()) ++held;
            before = f.makespan;
        }
    });
    if (support::runs_all_cases()) CHECK(held > 500);
}

TEST_CASE("a form that is slower than the other one by more than a fiftieth is not refined") {
    int refined = 0, left = 0;
    stretto_check("a form 3 % faster", 1500, [&] {
        question q;
        const bytes limit{peak_of_input(q.whole).count * *rc::gen::element(100, 110, 130, 250) / 100};
        const std::size_t budget = std::exchange(q.budget, 0);
        const found tried = q.search(limit);
        std::vector<limit_figures> rival;
        for (const limit_figures& f : tried.figures)
            rival.push_back({{f.makespan.count == INT64_MAX ? INT64_MAX : f.makespan.count / 103 * 100}, {INT64_MAX}});
        const found unrefined = q.search(limit, rival);
        q.budget = budget;
        bool behind = true;
        for (std::size_t k = 0; k < rival.size(); ++k)
            behind = behind && unrefined.figures[k].makespan.count >= rival[k].makespan.count / 50 * 51 + 51;
        if (!behind) return;
        RC_ASSERT(q.search(limit, rival) == unrefined);
        ++left;
        if (q.search(limit).trials > tried.trials) ++refined;
    });
    if (support::runs_all_cases()) CHECK(left > 100);
    if (support::runs_all_cases()) CHECK(refined > 20);
}

TEST_CASE("the same question has the same answer") {
    stretto_check("deterministic", 200, [] {
        question q;
        const bytes limit{peak_of_input(q.whole).count * *rc::gen::element(60, 100, 130, 250) / 100};
        RC_ASSERT(q.search(limit) == q.search(limit));
    });
}

TEST_CASE("levels do not depend on the limit that is asked for") {
    for (const std::int64_t peak : {1, 7, 1000, 1'000'003})
        for (const std::int64_t asked : {0, 1, 5, 7, 300, 950, 1000, 1001, 1100, 2000, 4'000'000})
            for (const std::int64_t more : {asked + 1, 2 * asked + 10, INT64_MAX}) {
                const auto few = detail::limit_levels::up_to({asked}, {peak});
                const auto many = detail::limit_levels::up_to({more}, {peak});
                CHECK(few.limits.back() == bytes{asked});
                CHECK(few.decided >= 1);
                CHECK(few.decided <= few.limits.size());
                CHECK(few.limits.size() <= few.decided + 1);
                for (std::size_t k = 1; k < few.limits.size(); ++k) CHECK(few.limits[k - 1] < few.limits[k]);
                if ((asked < peak) != (more < peak) || asked < peak / 16) continue;
                REQUIRE(many.decided >= few.decided);
                for (std::size_t k = 0; k < few.decided; ++k) CHECK(many.limits[k] == few.limits[k]);
            }
}

TEST_CASE("a limit a little below the peak has a level a little below it") {
    constexpr std::int64_t peak = 10'000'000;
    for (std::int64_t asked = peak * 9 / 10 + 1; asked < peak; asked += 997) {
        const auto levels = detail::limit_levels::up_to({asked}, {peak});
        const std::int64_t gap = asked - levels.limits[levels.decided - 1].count;
        CHECK(gap <= std::max(9 * (peak - asked) + 2, peak / 10'000));
    }
}
