#include "stretto/tune/search_chunks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/step_modules.hpp"
#include "stretto/tune/chunk_source.hpp"
#include "stretto/tune/try_chunks.hpp"
#include "support/prop.hpp"
#include "support/row_layers.hpp"

using namespace stretto;
using namespace support;

namespace {

using regions_t = std::vector<chunk_region<row_op*>>;
using result = chunk_search_result<row_op*>;

/// Layers of some rows, on a machine whose kernels take so long to launch.
struct question {
    row_layers step;
    std::int64_t rows;
    std::int64_t launch;
    token_dimension<row_op*> token = step.token();
    chunk_units units = units_by_module(step.view(), priced_row_model{}, row_module_model{&step});

    question(std::size_t layers, std::size_t n, bool both, std::int64_t launch_time)
        : step(layers, n, both), rows(static_cast<std::int64_t>(n)), launch(launch_time) {}

    auto costs() {
        return share_costs(step.view(), priced_row_model{}, extent_sizes<row_view, row_chunk_model>{{}, 8},
                           {.launch = {launch}});
    }
    token_rows<row_op*> tokens() const { return {rows, std::span(&token, 1)}; }
    result search(chunk_search_options options = {}) {
        const auto found =
            search_chunks(step.view(), priced_row_model{}, row_chunk_model{}, costs(), units, tokens(), options);
        REQUIRE(found);
        return *found;
    }
    std::optional<task_graph> tasks_of(const regions_t& regions, bool slices) {
        const auto plan = plan_chunks(step.view(), priced_row_model{}, row_chunk_model{},
                                      std::span<const chunk_region<row_op*>>(regions), std::span(&token, 1),
                                      trial_chunk_options(slices));
        if (!plan) {
            REQUIRE(plan.error().why == chunk_reason::nothing_reached);  // of no region
            return std::nullopt;
        }
        const auto tried = try_chunks(*plan, step.view(), priced_row_model{}, costs());
        REQUIRE(tried);
        return tried->graph;
    }
    std::optional<schedule> scheduled(const regions_t& regions, bool slices, bytes limit = unlimited_bytes) {
        const auto tasks = tasks_of(regions, slices);
        if (!tasks) return std::nullopt;
        auto made = list_schedule(*tasks, {limit});
        if (!made) return std::nullopt;
        return *std::move(made);
    }
    /// The certificate of the order that the search has found.
    std::optional<schedule> as_found(const result& best, bytes limit) {
        const auto tasks = tasks_of(best.regions, best.slices);
        REQUIRE(tasks);
        auto made = certify(*tasks, best.order.tasks, limit, {}, best.order.starved);
        if (!made) return std::nullopt;
        return *std::move(made);
    }
    nanoseconds whole() {
        const auto graph = make_task_graph(step.view(), priced_row_model{});
        return list_schedule(*graph, {unlimited_bytes})->makespan();
    }
    bytes input_peak() {
        const auto graph = make_task_graph(step.view(), priced_row_model{});
        return list_schedule(*graph)->memory_limit();
    }
    regions_t regions_of(const std::vector<std::size_t>& chunks) {
        const step_modules<row_view> modules(step.view(), priced_row_model{}, row_module_model{&step});
        const std::vector<module_chunks> settings = settings_of(units, chunks, rows);
        const auto regions = regions_in_chunks(modules, settings);
        REQUIRE(regions);
        return *regions;
    }
};

bool same(const regions_t& a, const regions_t& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& r, const auto& s) {
        return r.candidates == s.candidates && r.sizes == s.sizes && r.kept == s.kept;
    });
}

}  // namespace

TEST_CASE("chunks that hide exchanges are found, and cost what is said") {
    question q(3, 240, false, 100);
    const result best = q.search();
    REQUIRE(best.pays());
    CHECK(best.makespan < q.whole());
    CHECK(best.trials >= 2);
    CHECK(best.chunks.size() == q.units.size());
    CHECK(same(best.regions, q.regions_of(best.chunks)));
    CHECK(q.scheduled(best.regions, best.slices)->makespan() == best.makespan);
}

TEST_CASE("the search gives what it has tried, and every choice of a tiny program says so") {
    stretto_check("all choices", 25, [] {
        const std::size_t n = *rc::gen::element<std::size_t>(6, 24, 60);
        question q(*rc::gen::inRange<std::size_t>(1, 3), n, *rc::gen::arbitrary<bool>() && n < 60,
                   *rc::gen::element<std::int64_t>(0, 50, 400, 3000));
        chunk_search_options options;
        options.most = 3;
        options.recombine = recombining::concat;
        if (*rc::gen::arbitrary<bool>()) options.memory_limit = q.input_peak();
        const result best = q.search(options);
        nanoseconds least = q.whole(), of_uniform = least;
        std::size_t choices = 1;
        for (std::size_t u = 0; u < q.units.size(); ++u) choices *= 3;
        const std::size_t step = choices > 300 ? choices / 300 : 1;  // some of them, if there are many
        for (std::size_t code = 0; code < choices; code += step) {
            std::vector<std::size_t> chunks;
            for (std::size_t rest = code, u = 0; u < q.units.size(); ++u, rest /= 3) chunks.push_back(rest % 3 + 1);
            const regions_t regions = q.regions_of(chunks);
            if (regions.empty()) continue;
            const auto made = q.scheduled(regions, false, options.memory_limit);
            if (made) least = std::min(least, made->makespan());
        }
        for (std::size_t k : {2u, 3u}) {
            const auto made =
                q.scheduled(q.regions_of(std::vector<std::size_t>(q.units.size(), k)), false, options.memory_limit);
            if (!made) continue;
            of_uniform = std::min(of_uniform, made->makespan());
            RC_ASSERT(best.makespan <= made->makespan());
        }
        if (step == 1) RC_ASSERT(best.makespan >= least);
        RC_ASSERT(best.makespan <= of_uniform);
        RC_ASSERT(best.pays() == (best.makespan < q.whole()));
        if (best.pays()) {
            const auto made = q.scheduled(best.regions, best.slices, options.memory_limit);
            RC_ASSERT(made.has_value());
            RC_ASSERT(made->makespan() == best.makespan);
            RC_ASSERT(made->memory().peak <= options.memory_limit);
            const auto found = q.as_found(best, options.memory_limit);
            RC_ASSERT(found.has_value());
            RC_ASSERT(found->makespan() == best.makespan);
        } else {
            RC_ASSERT((best.regions.empty() && best.settings.empty() && best.chunks.empty()));
            RC_ASSERT(best.order.tasks.empty());
        }
    });
}

TEST_CASE("the same question has the same answer") {
    question a(3, 120, true, 70), b(3, 120, true, 70);
    const result first = a.search(), again = a.search(), other = b.search();
    CHECK(first.chunks == again.chunks);
    CHECK(same(first.regions, again.regions));
    CHECK(first.makespan == again.makespan);
    CHECK(first.trials == again.trials);
    CHECK(first.chunks == other.chunks);
    CHECK(first.makespan == other.makespan);
}

TEST_CASE("a memory limit holds for what is found") {
    question q(3, 240, true, 100);
    for (const double share : {0.9, 1.0, 1.1, 1.5}) {
        const bytes limit = memory_budget::times_input_peak(share).limit(q.input_peak());
        const result best = q.search({.memory_limit = limit});
        if (!best.pays()) continue;
        const auto made = q.scheduled(best.regions, best.slices, limit);
        REQUIRE(made);
        CHECK(made->memory().peak <= limit);
        CHECK(made->makespan() == best.makespan);
        const auto found = q.as_found(best, limit);
        REQUIRE(found);
        CHECK(found->makespan() == best.makespan);
    }
    CHECK(q.search({.memory_limit = bytes{1}}).why == whole_reason::exceeds_memory);
}

TEST_CASE("a budget holds for refinement") {
    question q(6, 240, true, 100);
    const result none = q.search({.task_budget = 0}), some = q.search({.task_budget = 1}), most = q.search();
    REQUIRE(none.pays());
    CHECK(none.trials <= 7);                // 2 to 8 chunks of everything
    CHECK(some.trials == none.trials + 1);  // one that is begun is finished
    CHECK(some.trials <= most.trials);
    CHECK(most.makespan <= some.makespan);
    CHECK(some.makespan <= none.makespan);
}

TEST_CASE("a limit of chunks that no step reaches is none") {
    question q(2, 4, true, 100);
    const result four = q.search({.most = 4}), any = q.search({.most = SIZE_MAX});
    CHECK(any.trials == four.trials);
    CHECK(any.makespan == four.makespan);
}

TEST_CASE("a step that stays whole says why") {
    question q(2, 240, false, 100);
    CHECK(q.search({.most = 1}).why == whole_reason::too_few_rows);
    CHECK(question(2, 1, false, 100).search().why == whole_reason::too_few_rows);
    CHECK(q.search({.whole = nanoseconds{1}}).why == whole_reason::nothing_faster);
    CHECK(question(2, 4, false, 1'000'000).search().makespan <= question(2, 4, false, 1'000'000).whole());
    CHECK(explain(whole_reason::too_few_rows) == "there are too few rows for two chunks");
    const result no_tokens = *search_chunks(q.step.view(), priced_row_model{}, row_chunk_model{}, q.costs(), q.units,
                                            token_rows<row_op*>{q.rows, {}});
    CHECK(no_tokens.why == whole_reason::nothing_cut);
    CHECK(!no_tokens.refused);
    CHECK(!no_tokens.pays());
    // Seven rows do not divide what has 240.
    const result misfit = *search_chunks(q.step.view(), priced_row_model{}, row_chunk_model{}, q.costs(), q.units,
                                         token_rows<row_op*>{7, q.tokens().dimensions});
    CHECK(misfit.why == whole_reason::no_plan);
    REQUIRE(misfit.refused);
    CHECK(misfit.refused->why == chunk_reason::extent_indivisible);
    CHECK(misfit.makespan == q.whole());
    CHECK(no_tokens.makespan == q.whole());
}

namespace {

/// Takes less than no time, if it is told so.
struct time_is_gained : priced_row_model {
    nanoseconds duration(row_op* v) const {
        return {kind(v) == op_kind::compute ? -1 : priced_row_model::duration(v).count};
    }
};

/// Parts gain time, or take all that there is.
struct costs_no_task_has {
    decltype(std::declval<question&>().costs()) own;
    std::int64_t each;

    clone_cost of_clone(row_op* v, const chunk_part& part, std::span<bytes> allocated) const {
        clone_cost cost = own.of_clone(v, part, allocated);
        cost.duration.count = each;
        return cost;
    }
    join_cost of_concat(row_op* x) const { return own.of_concat(x); }
    join_cost of_sum(row_op* x) const { return own.of_sum(x); }
    bytes of_empty(row_op* x) const { return own.of_empty(x); }
    nanoseconds of_slice_write(row_op* x, std::size_t dim, std::span<const std::int64_t> sizes, std::size_t k) const {
        return own.of_slice_write(x, dim, sizes, k);
    }
};

}  // namespace

TEST_CASE("costs that no task has are the reason, and not that nothing can be cut") {
    question q(2, 240, false, 100);
    const auto refused =
        search_chunks(q.step.view(), time_is_gained{}, row_chunk_model{}, q.costs(), q.units, q.tokens());
    REQUIRE(!refused);
    CHECK(refused.error().why == task_graph_error::reason::negative_duration);
    for (const std::int64_t each : {std::int64_t{-5}, INT64_MAX}) {
        const result whole = *search_chunks(q.step.view(), priced_row_model{}, row_chunk_model{},
                                            costs_no_task_has{q.costs(), each}, q.units, q.tokens());
        CHECK(whole.why == whole_reason::costs_refused);
        CHECK(whole.makespan == q.whole());
    }
    CHECK(explain(whole_reason::costs_refused) == "the costs of its parts are negative, or add up to more than 2^62");
}

TEST_CASE("slices are chosen where they are faster, or where they are asked for") {
    question q(2, 240, false, 100);
    const result concat = q.search({.recombine = recombining::concat}),
                 slices = q.search({.recombine = recombining::slices}), either = q.search();
    CHECK(!concat.slices);
    CHECK(slices.slices);
    CHECK(either.makespan <= concat.makespan);
    const auto pay = [&](recombining how) {
        return slices_pay(q.step.view(), priced_row_model{}, row_chunk_model{}, q.costs(),
                          std::span<const chunk_region<row_op*>>(concat.regions), q.tokens(), {.recombine = how});
    };
    CHECK(pay(recombining::slices));
    CHECK(!pay(recombining::concat));
    CHECK(pay(recombining::either) ==
          (q.scheduled(concat.regions, true)->makespan() < q.scheduled(concat.regions, false)->makespan()));
}

TEST_CASE("a chunk model may be made anew for every trial") {
    question q(2, 120, false, 100);
    std::size_t made = 0;
    const auto source = [&made] {
        ++made;
        return row_chunk_model{};
    };
    static_assert(chunk_model_source<decltype(source), row_view>);
    static_assert(chunk_model_source<row_chunk_model, row_view>);
    static_assert(!chunk_model_source<priced_row_model, row_view>);
    const auto best = search_chunks(q.step.view(), priced_row_model{}, source, q.costs(), q.units, q.tokens());
    REQUIRE(best);
    CHECK(made >= best->trials);
    CHECK(best->chunks == q.search().chunks);
}

TEST_CASE("values need not be vertices") {
    question q(2, 120, false, 100);
    const twin_view view{&q.step.p};
    const token_dimension<row_value> token{{q.step.x}, 0};
    const share_costs costs(view, twin_model{}, extent_sizes<twin_view, twin_chunk_model>{{}, 8},
                            {.launch = nanoseconds{100}});
    const auto best = search_chunks(view, twin_model{}, twin_chunk_model{}, costs, q.units,
                                    token_rows<row_value>{120, std::span(&token, 1)});
    REQUIRE(best);
    CHECK(best->pays());
}

TEST_CASE("the example of the page") {
    row_layers layers(4, 4096);
    // [search-chunks]
    const row_view view = layers.view();  // a graph of pointers; the IR is not ours
    const priced_row_model ops;           // kinds, durations, bytes
    const row_chunk_model rules;          // how operations pass chunks on
    const step_modules modules(view, ops, row_module_model{&layers});
    const share_costs costs(view, ops, extent_sizes<row_view, row_chunk_model>{rules, 8},
                            part_cost_options{.launch = nanoseconds{5000}, .memory_bytes_per_second = 2e12});

    const token_dimension<row_op*> token = layers.token();
    const auto best = search_chunks(view, ops, rules, costs, units_by_module(view, ops, modules),
                                    token_rows<row_op*>{4096, std::span(&token, 1)}, {.most = 4});
    REQUIRE(best);
    if (best->pays()) {
        const auto plan = plan_chunks(view, ops, rules, std::span<const chunk_region<row_op*>>(best->regions),
                                      std::span(&token, 1), trial_chunk_options(best->slices));
        CHECK(plan.has_value());  // apply_chunks carries it out
    }
    // [/search-chunks]
    CHECK(best->pays());
    CHECK(best->makespan < list_schedule(*make_task_graph(view, ops), {unlimited_bytes})->makespan());
}
