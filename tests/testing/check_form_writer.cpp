#include "support/table_writer.hpp"

// The oracles replace assertions, so they come first.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/testing/check_form_writer.hpp"
#include "support/prop.hpp"

using namespace stretto;
using namespace support;

namespace {

/// A step of two collectives of one group between kernels, in forms that are what they should be.
form_table right_forms() {
    const auto step = [](std::size_t collectives, group_id group, std::int64_t kernel_time) {
        toy_program p;
        p.ops.push_back(kernel(kernel_time));
        for (std::size_t k = 0; k < collectives; ++k) p.ops.push_back(launch(group, 30, {{0, 0}}));
        for (std::uint32_t k = 1; k <= collectives; ++k) p.ops.push_back(await(k));
        p.ops.push_back(kernel(kernel_time, {{static_cast<std::uint32_t>(collectives) + 1, 0}}));
        return graph_of(p);
    };
    form_table t;
    for (unsigned f = 0; f < all_forms; ++f)
        t.tasks[f] = step(std::size_t{4} - ((f & once) != 0) - ((f & merged) != 0), (f & apart) != 0,
                          (f & chunked) != 0 ? 40 : 50);
    t.exists = 0xffff;
    return t;
}

/// Right forms, with one fault.
struct faulty_writer : table_writer {
    enum class fault {
        none,
        isolation_changes_times,
        isolation_moves_nothing,
        reduces_nothing,
        merges_nothing,
        forgets,
        changes_tasks,
        searches_by_luck,
        promises_too_much,
        promises_nothing,
        promises_what_cannot_be,
        exceeds_the_limit,
        lists_out_of_order,
        promises_too_much_whole,
        promises_less_than_whole,
        gives_up_too_early,
        merges_otherwise,
        writes_by_luck
    };
    using enum fault;
    fault what = none;
    std::size_t* asked = nullptr;

    [[nodiscard]] bool by_luck() const { return ++*asked % 2 == 0; }

    expected<std::optional<program>, error> isolated(program p) const {
        if (what == isolation_changes_times) return std::optional(program{p.form | chunked});
        if (what == isolation_moves_nothing) return std::optional(p);
        return table_writer::isolated(p);
    }
    expected<std::optional<program>, error> reduced(program p) const {
        if (what == reduces_nothing) return std::optional(p);
        if (what == forgets && by_luck()) return std::optional<program>();
        if (what == changes_tasks) ++table->tasks[p.form].duration[0].count;
        if (what == lists_out_of_order) {  // the first wait gets a start behind it
            task_graph& late = table->tasks[p.form | once];
            late.launch[late.size() - 2] = static_cast<task_id>(late.size() - 1);
        }
        if (what == writes_by_luck && by_luck()) return unexpected(error("today not"));
        return table_writer::reduced(p);
    }
    expected<chunk_search, error> search(program p, const schedule_options& within,
                                         std::vector<limit_figures> rival) const {
        auto found = table_writer::search(p, within, std::move(rival));
        if (!found || !found->makespan) return found;
        if (what == searches_by_luck && by_luck()) ++found->makespan->count;
        if (what == promises_too_much) --found->makespan->count;
        if (what == promises_nothing) found->makespan.reset(), found->whole.reset();
        if (what == promises_too_much_whole) found->whole = *found->whole - nanoseconds{1};
        if (what == promises_less_than_whole) found->whole = *found->makespan - nanoseconds{1};
        return found;
    }
    expected<scheduled_program<program>, error> in_chunks(chunk_search found, const schedule_options& within) const {
        if (what == promises_what_cannot_be) return unexpected(error("too much promised"));
        if (what != exceeds_the_limit) return table_writer::in_chunks(std::move(found), within);
        schedule_options any = within;
        any.memory_limit = unlimited_bytes;
        return table_writer::in_chunks(std::move(found), any);
    }
    expected<std::optional<program>, error> in_buckets(program p, const schedule_options& within,
                                                       std::optional<nanoseconds> to_beat) const {
        if (what == merges_nothing) return std::optional(p);
        if (what == gives_up_too_early && to_beat) return std::optional<program>();
        if (what == merges_otherwise && to_beat) return std::optional(program{p.form | merged | once});
        return table_writer::in_buckets(p, within, to_beat);
    }
};

/// The rule that a fault breaks, and where; empty if nothing is found.
std::string found(faulty_writer::fault what) {
    form_table t = right_forms();
    std::size_t asked = 0;
    faulty_writer w{{&t}, what, &asked};
    schedule_options within;
    within.memory_limit = unlimited_bytes;
    const auto made = check_form_writer(w, {given}, within);
    return made ? "" : std::string(made.error().rule) + ": " + made.error().detail;
}

}  // namespace

TEST_CASE("a writer that keeps its promises passes, and what was asked is counted") {
    form_table t = right_forms();
    const table_writer w{&t};
    schedule_options within;
    within.memory_limit = unlimited_bytes;
    const auto made = check_form_writer(w, {given}, within);
    REQUIRE_MESSAGE(made, made.error().message());
    // Shared and apart, each as it is and reduced once, and each of these in chunks and in buckets.
    CHECK(*made == form_writer_summary{12, 1, 2, 4, 4, 0});
    t.faulty = apart | once;
    CHECK(check_form_writer(w, {given}, within)->refused == 1);
    t.exists = 0;
    t.faulty.reset();
    CHECK(*check_form_writer(w, {given}, within) == form_writer_summary{2, 0, 0, 1, 0, 0});
}

TEST_CASE("every planted fault is found, and named") {
    using enum faulty_writer::fault;
    CHECK(found(none) == "");
    CHECK(found(isolation_changes_times) == "only groups: isolated");
    CHECK(found(isolation_moves_nothing) == "only groups: isolated");
    CHECK(found(reduces_nothing) == "fewer collectives: reduced");
    CHECK(found(merges_nothing) == "fewer collectives: in buckets");
    CHECK(found(forgets) == "repeatable: reduced");
    CHECK(found(writes_by_luck) == "repeatable: reduced");
    CHECK(found(changes_tasks) == "untouched: the step");
    CHECK(found(searches_by_luck) == "repeatable: the step");
    CHECK(found(promises_too_much).starts_with("promise: the step: "));
    CHECK(found(promises_too_much).ends_with(" ns taken"));
    CHECK(found(promises_nothing) == "promise: the step");
    CHECK(found(promises_what_cannot_be) == "promise: the step");
    CHECK(found(lists_out_of_order) == "program order: reduced");
    CHECK(found(promises_too_much_whole) == "whole: the step");
    CHECK(found(promises_less_than_whole) == "whole: the step");
    CHECK(found(gives_up_too_early) == "to beat: the step, in buckets");
    CHECK(found(merges_otherwise) == "to beat: the step, in buckets");
}

TEST_CASE("a schedule that does not fit the limit it was asked for is found") {
    bool any = false;
    stretto_check("schedules beyond the limit", 200, [&] {
        const question q = some_question();
        form_table t = q.table();
        t.exists = 0;
        std::size_t asked = 0;
        faulty_writer w{{&t}, faulty_writer::exceeds_the_limit, &asked};
        const auto made = check_form_writer(w, {given});
        const auto right = check_form_writer(static_cast<table_writer&>(w), {given});
        RC_ASSERT(right.has_value());
        if (made) return;
        RC_ASSERT(std::string(made.error().rule) == "schedule");
        any = true;
    });
    CHECK((!support::runs_all_cases() || any));
}
