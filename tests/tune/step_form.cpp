#include "stretto/tune/step_form.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/tune/try_chunks.hpp"
#include "support/dies.hpp"
#include "support/prop.hpp"
#include "support/row_layers.hpp"
#include "support/twelve_limits.hpp"

using namespace stretto;
using namespace support;

namespace {

using form = step_form<row_op*>;

/// Layers of some rows, on a machine whose kernels take so long to launch.
struct question {
    row_layers step;
    std::int64_t rows;
    std::int64_t launch;
    token_dimension<row_op*> token = step.token();
    step_modules<row_view> modules{step.view(), priced_row_model{}, row_module_model{&step}};
    task_graph tasks = *make_task_graph(step.view(), priced_row_model{});

    question(std::size_t layers, std::int64_t n, bool both, std::int64_t launch_time)
        : step(layers, static_cast<std::size_t>(n), both), rows(n), launch(launch_time) {}

    auto costs() {
        return share_costs(step.view(), priced_row_model{}, extent_sizes<row_view, row_chunk_model>{{}, 8},
                           {.launch = {launch}});
    }
    token_rows<row_op*> tokens() const { return {rows, std::span(&token, 1)}; }

    fastest_step_form<row_op*> fastest(chunk_search_options options = {}, bool has_tokens = true) {
        return fastest_form(tasks, step.view(), priced_row_model{}, row_chunk_model{}, costs(), modules,
                            has_tokens ? std::optional(tokens()) : std::nullopt, options);
    }
    expected<form, std::size_t> named(std::vector<module_chunks> settings, chunk_search_options options = {}) {
        return form_in_chunks(step.view(), priced_row_model{}, row_chunk_model{}, costs(), modules, std::move(settings),
                              tokens(), options);
    }
    /// Of the step in that form; nothing if it does not fit.
    std::optional<nanoseconds> makespan(const form& f, bytes limit = unlimited_bytes,
                                        std::optional<bytes> step_peak = {}) {
        schedule_options options;
        options.memory_limit = step_peak ? memory_budget::of_variant(limit, *step_peak) : memory_budget(limit);
        if (f.is_whole()) {
            const auto made = list_schedule(tasks, options);
            return made ? std::optional(made->makespan()) : std::nullopt;
        }
        const auto plan = plan_chunks(step.view(), priced_row_model{}, row_chunk_model{},
                                      std::span<const chunk_region<row_op*>>(f.regions), std::span(&token, 1),
                                      trial_chunk_options(f.slices));
        REQUIRE(plan);
        const auto made = list_schedule(try_chunks(*plan, step.view(), priced_row_model{}, costs())->graph, options);
        return made ? std::optional(made->makespan()) : std::nullopt;
    }
    form uniform(std::size_t k, bool slices) {
        const auto made = named({{"", pass_direction::both, equal_chunks(rows, k)}},
                                {.recombine = slices ? recombining::slices : recombining::concat});
        REQUIRE(made);
        return *made;
    }
};

}  // namespace

TEST_CASE("a step that chunks make faster runs in chunks") {
    question q(3, 240, false, 100);
    const auto best = q.fastest();
    REQUIRE(!best.form.is_whole());
    CHECK(best.why == whole_reason::chunks_pay);
    CHECK(*q.makespan(best.form) < best.whole->makespan());
    const auto again = q.named(best.form.settings);  // what is written for people means the same
    REQUIRE(again);
    CHECK(*q.makespan(*again) == *q.makespan(best.form));
}

TEST_CASE("a step that stays whole has its schedule, and says why") {
    question q(2, 4, false, 1'000'000);
    const auto slow = q.fastest(), uncut = q.fastest({}, false);
    for (const auto* best : {&slow, &uncut}) {
        CHECK(best->form.is_whole());
        CHECK(best->form.settings.empty());
        REQUIRE(best->whole);
        CHECK(best->whole->makespan() == *q.makespan({}));
    }
    CHECK(slow.why == whole_reason::nothing_faster);
    CHECK(uncut.why == whole_reason::no_tokens);
    CHECK(explain(uncut.why) == "there are no tokens to cut along");
}

TEST_CASE("nothing fits into no memory") {
    question q(2, 240, false, 100);
    const auto best = q.fastest({.memory_limit = bytes{1}});
    CHECK(best.form.is_whole());
    CHECK(best.why == whole_reason::exceeds_memory);
    CHECK(!best.whole);
}

TEST_CASE("a larger limit never gives a longer step, and chunks are never worse than whole") {
    int chunked = 0;
    stretto_check("twelve limits", 40, [&](bool below) {
        question q(*rc::gen::inRange<std::size_t>(1, 4), *rc::gen::element<std::int64_t>(6, 24, 120, 400),
                   *rc::gen::arbitrary<bool>(), *rc::gen::element<std::int64_t>(0, 50, 400, 3000));
        const bytes peak = peak_of_input(q.tasks);
        std::optional<nanoseconds> before;
        for (const bytes limit : support::twelve_limits(peak, below)) {
            const auto best = q.fastest({.memory_limit = limit, .most = 4});
            const auto own = q.makespan(best.form, limit, peak);
            if (!best.form.is_whole()) ++chunked;
            if (before) RC_ASSERT(own.has_value());
            if (before) RC_ASSERT(*own <= *before);
            if (best.whole) RC_ASSERT(*own <= best.whole->makespan());
            if (own) before = own;
        }
    });
    if (support::runs_all_cases()) CHECK(chunked > 50);
}

TEST_CASE("the fastest form is no slower than the step whole or in any uniform number of chunks") {
    int whole = 0, chunked = 0;
    stretto_check("uniform numbers", 60, [&] {
        question q(*rc::gen::inRange<std::size_t>(1, 4), *rc::gen::element<std::int64_t>(6, 24, 120),
                   *rc::gen::arbitrary<bool>(), *rc::gen::element<std::int64_t>(0, 50, 400, 3000));
        chunk_search_options options;
        options.most = 4;
        if (*rc::gen::arbitrary<bool>()) options.memory_limit = list_schedule(q.tasks)->memory_limit();
        const auto best = q.fastest(options);
        const std::optional<nanoseconds> own = q.makespan(best.form, options.memory_limit);
        const std::optional<nanoseconds> uncut = q.makespan({}, options.memory_limit);
        RC_ASSERT(best.whole.has_value() == uncut.has_value());
        if (uncut) RC_ASSERT(best.whole->makespan() == *uncut);
        RC_ASSERT((best.form.is_whole() || own.has_value()));
        if (uncut) RC_ASSERT((best.form.is_whole() ? *own == *uncut : *own < *uncut));
        for (std::size_t k = 2; k <= 4; ++k)
            if (const auto other = q.makespan(q.uniform(k, false), options.memory_limit))
                RC_ASSERT((own.has_value() && *own <= *other));
        ++(best.form.is_whole() ? whole : chunked);
    });
    if (!support::runs_all_cases()) return;
    CHECK(whole > 5);
    CHECK(chunked > 5);
}

TEST_CASE("chunks run where they are asked for") {
    question q(3, 240, true, 100);
    SUBCASE("the last setting that names an operation counts") {
        const auto f = q.named({{"", pass_direction::both, {240}},
                                {"layers.*.moe", pass_direction::forward, {120, 120}},
                                {"layers.1", pass_direction::both, {240}}});
        REQUIRE(f);
        REQUIRE(f->regions.size() == 1);
        CHECK(f->regions[0].candidates.size() == 10);  // five operations of layers 0 and 2 each
        CHECK(f->settings.size() == 3);
    }
    SUBCASE("nowhere, if everything has one") {
        const auto f = q.named({{"", pass_direction::both, {240}}});
        REQUIRE(f);
        CHECK(f->is_whole());
        CHECK(!f->slices);
    }
    SUBCASE("or nowhere, if a setting names nothing") {
        const auto f = q.named({{"", pass_direction::both, {120, 120}}, {"encoder", pass_direction::both, {240}}});
        REQUIRE(!f);
        CHECK(f.error() == 1);
    }
    SUBCASE("and are put together as is asked for, or as is faster") {
        CHECK(q.uniform(2, true).slices);
        CHECK(!q.uniform(2, false).slices);
        const auto either = q.named({{"", pass_direction::both, {120, 120}}});
        REQUIRE(either);
        CHECK(either->slices == (*q.makespan(q.uniform(2, true)) < *q.makespan(q.uniform(2, false))));
    }
}

TEST_CASE("what is to be kept must be an operation of the step") {
    question q(1, 4, false, 100);
    const chunk_search_options beyond{.kept = {static_cast<std::uint32_t>(q.tasks.size())}};
    const auto says = [](const std::string& words) { return words.find("beyond the last") != std::string::npos; };
    CHECK(says(last_words([&] { (void)q.fastest(beyond); })));
    CHECK(says(last_words([&] { (void)q.named({{"", pass_direction::both, {2, 2}}}, beyond); })));
}

TEST_CASE("what is kept is in no chunk, whether chunks are asked for or searched") {
    question q(3, 240, false, 100);
    std::uint32_t number = 0;
    std::vector<std::uint32_t> kept;  // every third operation
    std::vector<row_op*> kept_vertices;
    for (row_op* v : q.step.view().vertices())
        if (number++ % 3 == 0) {
            kept.push_back(number - 1);
            kept_vertices.push_back(v);
        }
    const auto cuts_kept = [&](const form& f) {
        return std::ranges::any_of(f.regions, [&](const chunk_region<row_op*>& r) {
            return std::ranges::any_of(kept_vertices,
                                       [&](row_op* v) { return std::ranges::count(r.candidates, v) > 0; });
        });
    };
    const form everything = q.uniform(2, false);
    CHECK(cuts_kept(everything));
    const auto named = q.named({{"", pass_direction::both, {120, 120}}}, {.kept = kept});
    REQUIRE(named);
    REQUIRE(!named->is_whole());
    CHECK(!cuts_kept(*named));
    CHECK(named->regions[0].candidates.size() < everything.regions[0].candidates.size());
    CHECK(!cuts_kept(q.fastest({.kept = kept}).form));
    CHECK(cuts_kept(q.fastest().form));
}
