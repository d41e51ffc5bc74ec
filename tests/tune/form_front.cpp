#include "support/schedule_oracles.hpp"

// The oracles replace assertions, so they come first.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstddef>
#include <optional>
#include <vector>

#include "stretto/schedule/verify.hpp"
#include "stretto/tune/best_form.hpp"
#include "stretto/tune/form_front.hpp"
#include "support/prop.hpp"
#include "support/table_writer.hpp"

using namespace stretto;
using namespace support;

namespace {

using points = std::vector<scheduled_program<table_writer::program>>;

/// Returns the last schedule of a front within a limit.
std::optional<nanoseconds> fastest_within(const points& front, bytes limit) {
    std::optional<nanoseconds> fastest;
    for (const auto& p : front)
        if (p.schedule.memory().peak <= limit) fastest = p.schedule.makespan();
    return fastest;
}

}  // namespace

TEST_CASE("a front is no slower than the best form at any of its levels, and nothing in it is beaten") {
    unsigned forms_met = 0;
    int several = 0;
    stretto_check("front and best forms", 1500, [&] {
        const question q = some_question();
        form_table t = q.table();
        const table_writer w{&t};
        const auto some = [] {
            return *rc::gen::element(form_choice::never, form_choice::if_faster, form_choice::if_faster);
        };
        form_options wanted{q.within(t), some(), some(), some()};
        wanted.within.effort = *rc::gen::element(1u, 1u, 2u);
        wanted.within.under = *rc::gen::element(contention{}, contention{}, contention{3, 2});
        const auto best = best_form(w, {given}, wanted);
        if (!best) return;
        const points front = form_front(w, {given}, wanted, *best);
        RC_ASSERT(!front.empty());
        unsigned met = 0;
        for (std::size_t k = 0; k < front.size(); ++k) {
            const auto& [program, s] = front[k];
            const auto figures = verify_order(t.tasks[program.form], s.order(), s.memory().peak);
            RC_ASSERT(figures.has_value());
            RC_ASSERT(simulate(t.tasks[program.form], s.order(), wanted.within.under).makespan == s.makespan());
            RC_ASSERT(s.bound().value <= s.makespan());
            if (k > 0) RC_ASSERT(front[k - 1].schedule.memory().peak < s.memory().peak);
            if (k > 0) RC_ASSERT(front[k - 1].schedule.makespan() > s.makespan());
            if (wanted.isolate == form_choice::never) RC_ASSERT((program.form & apart) == 0);
            if (wanted.reduce_once == form_choice::never) RC_ASSERT((program.form & once) == 0);
            if (wanted.buckets == form_choice::never) RC_ASSERT((program.form & merged) == 0);
            met |= 1u << program.form;
        }
        const bytes peak = peak_of_input(t.tasks[given]), limit = wanted.within.memory_limit.limit(peak);
        RC_ASSERT(*fastest_within(front, limit) <= best->chosen.schedule.makespan());
        for (const double times : {1.0, 1.1, 1.25, 0.0}) {
            const bytes level = times == 0 ? unlimited_bytes : memory_budget::times_input_peak(times).limit(peak);
            form_options there = wanted;
            there.within.memory_limit = memory_budget::of_variant(level, peak);
            const auto within = best_form(w, {given}, there);
            if (!within) continue;
            const std::optional<nanoseconds> fastest = fastest_within(front, level);
            RC_ASSERT(fastest.has_value());
            RC_ASSERT(*fastest <= within->chosen.schedule.makespan());
        }
        // Nor does any form of the front have a faster order that needs as little, even if that is less than the peak.
        for (const double times : {0.75, 0.95, 1.0, 1.02, 1.3}) {
            const bytes level =
                memory_budget::times_input_peak(times).limit(peak) - bytes{times <= 1.0 && peak > bytes{}};
            schedule_options there = wanted.within;
            there.memory_limit = memory_budget::of_variant(level, peak);
            for (const auto& p : front) {
                const auto alone = list_schedule(t.tasks[p.program.form], there);
                if (!alone) continue;
                const std::optional<nanoseconds> fastest = fastest_within(front, level);
                RC_ASSERT(fastest.has_value());
                RC_ASSERT(*fastest <= alone->makespan());
            }
        }
        several += (met & (met - 1)) != 0;
        forms_met |= met;
    });
    if (support::runs_all_cases()) {
        CHECK(several > 100);
        CHECK(std::popcount(forms_met) >= 14);
    }
}

TEST_CASE("forms that are wanted always stand in the front beside those from which they are made") {
    int both = 0;
    stretto_check("always in buckets", 300, [&] {
        const question q = some_question();
        form_table t = q.table();
        t.exists |= 1u << merged;
        const table_writer w{&t};
        form_options wanted{q.within(t), form_choice::never, form_choice::never, form_choice::always};
        const auto best = best_form(w, {given}, wanted);
        if (!best) return;
        bool plain = false, in_buckets = false;
        for (const auto& p : form_front(w, {given}, wanted, *best))
            (p.program.form & merged) != 0 ? in_buckets = true : plain = true;
        both += plain && in_buckets;
    });
    CHECK((!support::runs_all_cases() || both > 10));
}
