#include "support/schedule_oracles.hpp"

// The oracles replace assertions, so they come first.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/verify.hpp"
#include "stretto/tune/best_form.hpp"
#include "support/prop.hpp"
#include "support/table_writer.hpp"

using namespace stretto;
using namespace support;

namespace {

/// The fastest form by its definition: every form that can be reached, each scheduled by itself.
struct brute_force {
    const table_writer& writer;
    const form_options& wanted;

    struct found {
        std::optional<nanoseconds> makespan = {};
        unsigned form = 0;
    };
    static bool takes(form_choice c, const found& plain, const found& other) {
        return c == form_choice::always || (other.makespan && (!plain.makespan || *other.makespan < *plain.makespan));
    }
    found of(unsigned f) const { return {writer.makespan_of({f}, wanted.within), f}; }

    found whole_or_chunked(unsigned f) const {
        found best = of(f);
        if (writer.table->has(f | chunked) && takes(form_choice::if_faster, best, of(f | chunked)))
            best = of(f | chunked);
        return best;
    }
    found unmerged(unsigned f) const {
        found best = whole_or_chunked(f);
        if (wanted.reduce_once != form_choice::never && writer.table->has(f | once) &&
            takes(wanted.reduce_once, best, whole_or_chunked(f | once)))
            best = whole_or_chunked(f | once);
        return best;
    }
    /// The forms without chunks of which buckets are made: each that is the fastest at some level up to the limit. The
    /// one that is fastest at the last level comes first.
    std::vector<unsigned> unchunked(unsigned f) const {
        std::vector<unsigned> all;
        if (wanted.reduce_once != form_choice::always || !writer.table->has(f | once)) all.push_back(f);
        if (wanted.reduce_once != form_choice::never && writer.table->has(f | once)) all.push_back(f | once);
        if (all.size() < 2) {
            std::erase_if(all, [&](unsigned form) { return !of(form).makespan; });
            return all;
        }
        const bytes limit = wanted.within.memory_limit.limit({}), peak = wanted.within.memory_limit.unit({});
        const std::vector<int> multiples =  // of the peak, in ten thousandths
            limit < peak ? std::vector{625, 1250, 2500, 5000, 7500, 9000, 9500, 9800, 9900, 9950, 9990, 9999}
                         : std::vector{10000, 10200, 10500, 11000, 12500, 15000, 20000, 30000};
        std::vector<bytes> levels;
        for (const int m : multiples) {
            const bytes level{static_cast<std::int64_t>(m / 10000.0 * static_cast<double>(peak.count))};
            if (level <= limit) levels.push_back(level);
        }
        if (limit == unlimited_bytes || levels.empty()) levels.push_back(limit);
        std::vector<unsigned> fastest;
        for (const bytes level : levels) {
            schedule_options there = wanted.within;
            there.memory_limit = memory_budget::of_variant(level, peak);
            const auto a = writer.makespan_of({all[0]}, there), b = writer.makespan_of({all[1]}, there);
            if (!a && !b) continue;
            const unsigned form = all[b && (!a || *b < *a)];
            std::erase(fastest, form);
            fastest.insert(fastest.begin(), form);
        }
        return fastest;
    }
    found in_buckets(unsigned f, bool of_chunks = true) const {
        found best = unmerged(f);
        if (!best.makespan || wanted.buckets == form_choice::never) return best;
        const bool in_chunks = (best.form & chunked) != 0, always = wanted.buckets == form_choice::always;
        if (always || (in_chunks && of_chunks))
            if (writer.table->has(best.form | merged) && takes(wanted.buckets, best, of(best.form | merged)))
                best = of(best.form | merged);
        // An error of a form that is wanted always is the end; otherwise a form without chunks may be faster in them.
        if (!best.makespan || (always && !in_chunks)) return best;
        for (const unsigned whole : unchunked(f))
            if (writer.table->has(whole | merged) && takes(form_choice::if_faster, best, of(whole | merged)))
                best = of(whole | merged);
        return best;
    }
    /// The same within any limit: the best there, or what is best at some level, if that is faster.
    found in_levels(unsigned f) const {
        if (wanted.buckets != form_choice::if_faster || wanted.within.effort < 2) return in_buckets(f);
        const std::int64_t peak = wanted.within.memory_limit.unit({}).count;
        const bytes limit = wanted.within.memory_limit.limit({});
        std::vector<bytes> levels;
        if (peak > 0) levels.push_back({peak - 1});
        for (const int percent : {100, 110, 125}) {
            const auto level = static_cast<std::int64_t>(percent / 100.0 * static_cast<double>(peak));
            if (level <= limit.count) levels.push_back({level});
        }
        if (limit == unlimited_bytes) levels.push_back(limit);
        // Buckets of chunks are made at levels only.
        found best = in_buckets(f, std::count(levels.begin(), levels.end(), limit) != 0);
        for (const bytes level : levels) {
            if (level == limit) continue;
            form_options there = wanted;
            there.within.memory_limit = memory_budget::of_variant(level, {peak});
            const found chosen = brute_force{writer, there}.in_buckets(f);
            if (chosen.makespan) best = faster(best, chosen.form, there.within, limit);
        }
        return best;
    }
    /// The best so far, or this form, if that is faster within the limit, or as it is scheduled there and keeps it.
    found faster(found best, unsigned form, const schedule_options& there, bytes limit) const {
        std::vector<found> others{of(form)};
        const auto own = list_schedule(writer.tasks({form}), there);
        if (own && own->memory().peak <= limit) others.push_back({own->makespan(), form});
        for (const found& other : others)
            if (takes(form_choice::if_faster, best, other)) best = other;
        return best;
    }
    found best() const {
        found best = in_levels(given);
        if (wanted.isolate != form_choice::never && writer.table->has(apart) &&
            takes(wanted.isolate, best, in_levels(apart)))
            best = in_levels(apart);
        return best;
    }
};

form_choice some_choice() {
    return *rc::gen::element(form_choice::if_faster, form_choice::if_faster, form_choice::never, form_choice::always);
}

}  // namespace

TEST_CASE("the best form is what trying all of them finds, and its schedule keeps the limit") {
    std::array<int, all_forms> chosen{};
    int none = 0, whole_instead = 0;
    stretto_check("best_form is brute force", 3000, [&] {
        const question q = some_question();
        form_table t = q.table();
        const table_writer w{&t};
        form_options wanted{q.within(t), some_choice(), some_choice(), some_choice()};
        wanted.within.effort = *rc::gen::element(1u, 2u);
        form_options in_bytes = wanted;
        const bytes step_peak = peak_of_input(t.tasks[given]);
        in_bytes.within.memory_limit =
            memory_budget::of_variant(wanted.within.memory_limit.limit(step_peak), step_peak);
        const auto right = brute_force{w, in_bytes}.best();
        const auto best = best_form(w, {given}, wanted);
        RC_ASSERT(bool(best) == right.makespan.has_value());
        if (!best) return void(++none);
        RC_ASSERT(best->chosen.schedule.makespan() == *right.makespan);
        const unsigned form = best->chosen.program.form;
        RC_ASSERT(form == right.form);
        RC_ASSERT(best->is_isolated == ((form & apart) != 0));
        RC_ASSERT(best->is_reduced == ((form & once) != 0));
        RC_ASSERT(best->unmerged.has_value() == ((form & merged) != 0));
        if (best->unmerged) RC_ASSERT(best->unmerged->form == (form & ~unsigned{merged}));
        RC_ASSERT(best->reduced.has_value() ==
                  (wanted.reduce_once != form_choice::never && t.has((form & apart) | once)));
        const auto& order = best->chosen.schedule.order();
        const bytes limit = wanted.within.memory_limit.limit(peak_of_input(t.tasks[given]));
        RC_ASSERT(verify_order(t.tasks[form], order, limit).has_value());
        ++chosen[form];
        form_options apart_from_buckets = wanted;
        apart_from_buckets.buckets = form_choice::never;
        const auto unmerged = best_form(w, {given}, apart_from_buckets);
        whole_instead +=
            (form & merged) != 0 && (form & chunked) == 0 && (unmerged->chosen.program.form & chunked) != 0;
    });
    if (support::runs_all_cases()) {
        CHECK(none > 10);
        CHECK(whole_instead > 10);
        for (unsigned f = 0; f < all_forms; ++f) CHECK_MESSAGE(chosen[f] > 0, "form ", f);
    }
}

TEST_CASE("a step that may run in chunks is never slower than one that may not, in buckets as well") {
    int faster = 0, in_buckets = 0;
    stretto_check("chunks allowed", 1000, [&] {
        const question q = some_question();
        form_table any = q.table(), whole = q.table();
        for (unsigned f = 0; f < all_forms; ++f)
            if ((f & chunked) != 0) whole.exists &= ~(1u << f);
        const table_writer allowed{&any}, not_allowed{&whole};
        form_options wanted{q.within(any), some_choice(), some_choice(), form_choice::if_faster};
        const auto a = best_form(allowed, {given}, wanted), b = best_form(not_allowed, {given}, wanted);
        RC_ASSERT((a.has_value() || !b.has_value()));
        if (!b) return;
        RC_ASSERT(a->chosen.schedule.makespan() <= b->chosen.schedule.makespan());
        faster += a->chosen.schedule.makespan() < b->chosen.schedule.makespan();
        in_buckets += (a->chosen.program.form & (chunked | merged)) == merged;
    });
    CHECK((!support::runs_all_cases() || (faster > 20 && in_buckets > 20)));
}

TEST_CASE("whatever forms do, a larger limit never gives a longer makespan, in buckets as well") {
    int in_buckets = 0, in_buckets_at_once = 0, sums = 0, other_form = 0, across = 0;
    stretto_check("fifteen limits", 3000, [&] {
        const question q = some_question();
        form_table t = q.table();
        t.exists |= 1u << merged | 1u << (chunked | merged);
        const table_writer w{&t};
        const std::int64_t peak = peak_of_input(t.tasks[given]).count;
        form_options wanted{{}, some_choice(), some_choice(), form_choice::if_faster};
        wanted.within.under = *rc::gen::element(contention{}, contention{}, contention{3, 2});
        // Without chunks, this takes no more effort, but holds on each side of the peak only.
        const bool across_the_peak = *rc::gen::arbitrary<bool>();
        wanted.within.effort = across_the_peak ? 2 : 1;
        if (!across_the_peak)
            for (unsigned f = 0; f < all_forms; ++f)
                if ((f & chunked) != 0) t.exists &= ~(1u << f);
        struct found {
            nanoseconds makespan;
            unsigned form;
        };
        std::optional<found> before;
        for (const int p : {40, 60, 80, 90, 97, -1, 100, 102, 105, 110, 125, 130, 160, 200, 0}) {
            const bytes limit = p == 0  ? unlimited_bytes
                                : p < 0 ? bytes{std::max<std::int64_t>(peak, 1) - 1}
                                        : bytes{peak * p / 100};
            wanted.within.memory_limit = memory_budget::of_variant(limit, {peak});
            if (!across_the_peak && p == 100) before.reset();
            const auto best = best_form(w, {given}, wanted);
            RC_ASSERT((best.has_value() || !before));
            if (!best) continue;
            const unsigned form = best->chosen.program.form;
            RC_ASSERT(verify_order(t.tasks[form], best->chosen.schedule.order(), limit).has_value());
            const nanoseconds makespan = best->chosen.schedule.makespan();
            if (before) RC_ASSERT(makespan <= before->makespan);
            in_buckets += (form & merged) != 0 && across_the_peak;
            in_buckets_at_once += (form & merged) != 0 && !across_the_peak;
            sums += before && !across_the_peak && ((before->form ^ form) & once) != 0;
            other_form += before && before->form != form;
            across += before && p == 100 && before->form == form && (form & merged) != 0;
            before = found{makespan, form};
        }
    });
    if (support::runs_all_cases()) {
        CHECK(in_buckets > 1000);
        CHECK(in_buckets_at_once > 1000);
        CHECK(sums > 50);
        CHECK(other_form > 100);
        CHECK(across > 10);
    }
}

TEST_CASE("a multiple of the peak is one of the step as it is given, whatever other forms need") {
    stretto_check("limits in bytes", 300, [&] {
        const question q = some_question();
        form_table t = q.table();
        const table_writer w{&t};
        form_options multiple, amount;
        multiple.within.memory_limit = memory_budget::times_input_peak(1.5);
        const bytes peak = peak_of_input(t.tasks[given]);
        amount.within.memory_limit = memory_budget::of_variant(multiple.within.memory_limit.limit(peak), peak);
        const auto a = best_form(w, {given}, multiple), b = best_form(w, {given}, amount);
        RC_ASSERT(bool(a) == bool(b));
        if (a) RC_ASSERT(a->chosen.program.form == b->chosen.program.form);
        if (a) RC_ASSERT(a->chosen.schedule.order() == b->chosen.schedule.order());
    });
}

TEST_CASE("a form that cannot be written is passed over, and said; if it is wanted always, it is the error") {
    int errors = 0, plans = 0, said = 0;
    stretto_check("faults of a writer", 1000, [&] {
        const question q = some_question();
        form_table t = q.table();
        t.exists = *rc::gen::element(0u, 0xffffu);
        t.faulty = *rc::gen::inRange(1u, 16u);
        const table_writer w{&t};
        form_options wanted;
        wanted.within.memory_limit = unlimited_bytes;
        const auto best = best_form(w, {given}, wanted);
        const unsigned f = *t.faulty;
        if (t.exists == 0 && f == chunked) {  // the search of the only form there is
            RC_ASSERT(!best);
            RC_ASSERT(best.error() == "no form " + std::to_string(f));
            ++errors;
        } else {
            RC_ASSERT(best.has_value());
            RC_ASSERT(best->chosen.program.form != f);
            for (const std::string& why : best->passed_over) RC_ASSERT(why == "no form " + std::to_string(f));
            if (f == apart || (t.exists == 0 && (f == once || f == merged))) RC_ASSERT(best->passed_over.size() == 1u);
            said += !best->passed_over.empty();
            ++plans;
        }
        for (form_choice* c : {&wanted.isolate, &wanted.reduce_once, &wanted.buckets}) *c = form_choice::always;
        const bool on_the_way = t.exists == 0 ? f == apart || f == once || f == merged || f == chunked
                                              : f == apart || f == (apart | once) || f == (apart | once | chunked);
        const auto all = best_form(w, {given}, wanted);
        if (on_the_way) RC_ASSERT(!all);
        if (!all) RC_ASSERT(all.error() == "no form " + std::to_string(f));
    });
    CHECK((!support::runs_all_cases() || (errors > 20 && plans > 20 && said > 20)));
}

TEST_CASE("if the form that was chosen cannot be written, the other one is") {
    struct breaking_writer : table_writer {
        unsigned broken = 0;  ///< bits: these programs are promised, and cannot be written

        expected<scheduled_program<program>, error> in_chunks(chunk_search found,
                                                              const schedule_options& within) const {
            if ((broken >> found.best.form & 1) != 0) return unexpected(error("broken"));
            return table_writer::in_chunks(std::move(found), within);
        }
    };
    int other = 0;
    stretto_check("promises that cannot be kept", 500, [&] {
        const question q = some_question();
        form_table t = q.table();
        t.exists = 1u << once;
        const breaking_writer w{{&t}, *rc::gen::element(0u, 1u << given, 1u << once, 1u << given | 1u << once)};
        form_options wanted;
        wanted.within.memory_limit = unlimited_bytes;
        const auto best = best_form(w, {given}, wanted);
        RC_ASSERT(bool(best) == (w.broken != (1u << given | 1u << once)));
        if (!best) {
            RC_ASSERT(best.error() == "broken");
        } else {
            const unsigned form = best->chosen.program.form;
            RC_ASSERT((w.broken >> form & 1) == 0u);
            RC_ASSERT(best->is_reduced == (form == once));
            RC_ASSERT(best->reduced.has_value());
            other += w.broken != 0;
        }
    });
    CHECK((!support::runs_all_cases() || other > 20));
}

TEST_CASE("what a step does not want is not searched for") {
    form_table t;
    scheduling_case one;
    one.genes.resize(4);
    for (task_graph& g : t.tasks) g = graph_of(one.program());
    for (task_graph& g : t.tasks) g.allocation[0] = {1000};
    t.exists = 0xffff;
    const table_writer w{&t};
    form_options wanted;
    const auto searches = [&] {
        t.searches = 0;
        CHECK(best_form(w, {given}, wanted).has_value());
        return t.searches;
    };
    const bytes peak = peak_of_input(t.tasks[given]);
    REQUIRE(peak > bytes{});
    wanted.within.memory_limit = memory_budget::of_variant(peak, peak);
    const auto searches_with = [&](unsigned effort) {
        wanted.within.effort = effort;
        return searches();
    };
    CHECK(searches_with(1) == 4);
    CHECK(searches_with(2) == 8);  // at the peak of the step, and at the level below
    wanted.isolate = form_choice::never;
    CHECK(searches_with(1) == 2);
    CHECK(searches_with(2) == 4);
    wanted.reduce_once = form_choice::always;
    CHECK(searches_with(1) == 1);
    CHECK(searches_with(2) == 2);
    wanted.reduce_once = form_choice::never;
    CHECK(searches_with(1) == 1);
    CHECK(searches_with(2) == 2);
    wanted.within.memory_limit = memory_budget::of_variant(unlimited_bytes, peak);
    CHECK(searches() == 5);
    wanted.within.memory_limit = memory_budget::of_variant({peak.count * 3 / 2}, peak);
    CHECK(searches() == 5);
    wanted.buckets = form_choice::never;
    CHECK(searches() == 1);  // what is not in buckets is the writer's to say, within any limit
    wanted.buckets = form_choice::if_faster;
    const auto best = best_form(w, {given}, wanted);
    CHECK(best->chosen.program.form == given);  // of equally fast forms, the one that changes least
    CHECK(best->points.empty());
}

TEST_CASE("for a range of contention the steadiest of the best forms is chosen, and said what it takes") {
    int between = 0;
    stretto_check("steadiest form", 1000, [&] {
        const question q = some_question(16);
        form_table t = q.table();
        const table_writer w{&t};
        form_options wanted;
        wanted.within = q.within(t);
        wanted.isolate = form_choice::never;
        wanted.up_to = contention{2, 1};
        const auto steady = best_form(w, {given}, wanted);

        // Every plan that is best for one end or for the middle, judged at five points by its orders alone.
        std::vector<std::vector<nanoseconds>> makespans;
        for (const contention c : {contention{1, 1}, contention{3, 2}, contention{2, 1}}) {
            form_options at = wanted;
            at.up_to.reset();
            at.within.under = c;
            const auto best = best_form(w, {given}, at);
            RC_ASSERT(bool(best) == bool(steady));
            if (!best) return;
            makespans.emplace_back();
            for (std::int64_t k = 4; k <= 8; ++k)
                makespans.back().push_back(
                    simulate(w.tasks(best->chosen.program), best->chosen.schedule.order(), {k, 4}).makespan);
        }
        double least = 1e9;
        for (const auto& plan : makespans) {
            double worst = 1;
            for (std::size_t k = 0; k < 5; ++k) {
                nanoseconds best = plan[k];
                for (const auto& other : makespans) best = std::min(best, other[k]);
                worst = std::max(worst, best.count == 0 ? 1.0 : double(plan[k].count) / double(best.count));
            }
            least = std::min(least, worst);
        }
        RC_ASSERT(steady->points.size() == 5u);
        double worst = 1;
        for (std::size_t k = 0; k < 5; ++k) {
            const range_point& p = steady->points[k];
            RC_ASSERT(p.at.numerator * 4 == p.at.denominator * static_cast<std::int64_t>(4 + k));
            RC_ASSERT(p.makespan ==
                      simulate(w.tasks(steady->chosen.program), steady->chosen.schedule.order(), p.at).makespan);
            RC_ASSERT(p.best <= p.makespan);
            worst = std::max(worst, p.ratio());
        }
        RC_ASSERT(worst == least);
        RC_ASSERT(steady->chosen.schedule.under().none());
        RC_ASSERT(steady->chosen.schedule.makespan() == steady->points[0].makespan);
        between += worst > 1;
    });
    CHECK((!support::runs_all_cases() || between > 0));
}

TEST_CASE("buckets whose times do not fit under contention are left out") {
    form_table t;
    scheduling_case one;
    one.genes.resize(4);
    for (task_graph& g : t.tasks) g = graph_of(one.program());
    t.exists = 1u << merged;
    t.tasks[merged].duration[0] = {(std::int64_t{1} << 62) - 1};
    const table_writer w{&t};
    form_options wanted;
    wanted.within.memory_limit = unlimited_bytes;
    wanted.within.under = {2, 1};
    wanted.buckets = form_choice::always;
    const auto best = best_form(w, {given}, wanted);
    REQUIRE(best);
    CHECK(best->chosen.program.form == given);
    CHECK(!best->unmerged);
}
