// A writer of forms whose programs are rows of a table: tasks that have nothing to do with each other, which no choice
// may rely on.
#ifndef STRETTO_TESTS_SUPPORT_TABLE_WRITER_HPP
#define STRETTO_TESTS_SUPPORT_TABLE_WRITER_HPP

#include "support/schedule_oracles.hpp"

// The oracles replace assertions, so they come first.
#include <rapidcheck.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/tune/form_writer.hpp"

namespace support {

enum form_bits : unsigned {
    given = 0,
    apart = 1,
    once = 2,
    chunked = 4,
    merged = 8,
    all_forms = 16
};

/// The tasks of a step in each of its forms. They have nothing to do with each other, which no choice may rely on.
struct form_table {
    std::array<stretto::task_graph, all_forms> tasks = {};
    unsigned exists = 0;                  ///< bit f: the form f can be made, of the form without its highest bit
    std::optional<unsigned> faulty = {};  ///< the form that cannot be written
    std::size_t searches = 0;
    bool gives_up = false;  ///< buckets that cannot be faster than what is to beat are not written

    [[nodiscard]] bool has(unsigned form) const { return (exists >> form & 1) != 0; }
};

struct table_writer {
    struct program {
        unsigned form;
    };
    using error = std::string;
    struct chunk_search {
        std::optional<stretto::nanoseconds> makespan = {}, whole = {};
        std::vector<stretto::limit_figures> figures = {};
        program best{};
    };

    form_table* table;

    const stretto::task_graph& tasks(program p) const { return table->tasks[p.form]; }
    stretto::expected<std::optional<program>, error> form(program p, unsigned bit) const {
        const unsigned made = p.form | bit;
        if (table->faulty == made) return stretto::unexpected("no form " + std::to_string(made));
        return table->has(made) ? std::optional(program{made}) : std::nullopt;
    }
    stretto::expected<std::optional<program>, error> isolated(program p) const { return form(p, apart); }
    stretto::expected<std::optional<program>, error> reduced(program p) const { return form(p, once); }
    stretto::expected<std::optional<program>, error> in_buckets(program p, const stretto::schedule_options&,
                                                                std::optional<stretto::nanoseconds> to_beat) const {
        auto made = form(p, merged);
        if (table->gives_up && to_beat && made && *made && stretto::bound_below(tasks(**made)).value >= *to_beat)
            made->reset();
        return made;
    }
    stretto::expected<chunk_search, error> search(program p, const stretto::schedule_options& within,
                                                  std::vector<stretto::limit_figures>) const {
        ++table->searches;
        const auto in_chunks = form(p, chunked);
        if (!in_chunks) return stretto::unexpected(in_chunks.error());
        const auto whole = makespan_of(p, within);
        chunk_search found{whole, whole, {}, p};
        if (!*in_chunks) return found;
        const auto other = makespan_of(**in_chunks, within);
        if (other && (!whole || *other < *whole)) found = {other, whole, {}, **in_chunks};
        return found;
    }
    stretto::expected<stretto::scheduled_program<program>, error> in_chunks(
        chunk_search found, const stretto::schedule_options& within) const {
        auto plan = stretto::list_schedule(tasks(found.best), within);
        if (!plan) return stretto::unexpected(unschedulable(found.best, plan.error()));
        return stretto::scheduled_program<program>{found.best, *std::move(plan)};
    }
    error unschedulable(program p, const stretto::limit_too_low&) const {
        return "too little for " + std::to_string(p.form);
    }

    std::optional<stretto::nanoseconds> makespan_of(program p, const stretto::schedule_options& within) const {
        const auto plan = stretto::list_schedule(tasks(p), within);
        return plan ? std::optional(plan->makespan()) : std::nullopt;
    }
};
struct question {
    std::vector<scheduling_case> cases;
    std::uint16_t exists;
    unsigned slack;

    form_table table() const {
        form_table t;
        for (unsigned f = 0; f < all_forms; ++f) t.tasks[f] = graph_of(cases[f].program());
        t.exists = exists;
        t.gives_up = cases[0].genes.size() % 2 == 0;
        return t;
    }
    stretto::schedule_options within(const form_table& t) const {
        stretto::schedule_options o;
        const stretto::bytes peak = stretto::peak_of_input(t.tasks[given]);
        o.memory_limit = slack == 3 ? stretto::memory_budget::of_variant(stretto::unlimited_bytes, peak)
                                    : stretto::memory_budget::of_variant({peak.count + peak.count * slack / 2}, peak);
        return o;
    }
};

inline question some_question(std::size_t genes = 7) {
    question q;
    q.cases = *rc::gen::container<std::vector<scheduling_case>>(all_forms, scheduling_cases(genes));
    q.exists = *rc::gen::arbitrary<std::uint16_t>() | *rc::gen::arbitrary<std::uint16_t>();
    q.slack = *rc::gen::inRange(0u, 4u);
    return q;
}

}  // namespace support

#endif
