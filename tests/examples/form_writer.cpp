// A complete writer of forms, over the IR of examples/02_chunk_your_ir.cpp: the step with exchanges on a communicator
// of their own, and in chunks. docs/algorithms/best-form.md shows it.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/explain_errors.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/testing/check_form_writer.hpp"
#include "stretto/tune/best_form.hpp"
#include "stretto/tune/form_writer.hpp"
#include "support/example_ir.hpp"

namespace {

// [my-form]
/// The op model of the IR, with all collectives on one communicator, or exchanges on another.
struct communicators : mine::op_model {
    bool apart = false;
    stretto::group_id group(mine::op* o) const {
        return apart && collective(o) == stretto::collective_kind::all_to_all ? 1 : 0;
    }
};

/// A step in one form. It has an IR of its own: chunks are written into it, and other forms must stay as they are.
struct form {
    mine::step ir = mine::builder(8192, 2048, 5632, 2).take();
    communicators ops;
    stretto::task_graph tasks = {};

    mine::view view() { return stretto::views::from_values(mine::values_view{&ir}); }
};
// [/my-form]

// [my-form-writer]
class forms {
public:
    using program = std::shared_ptr<const form>;
    using error = std::string;
    /// The program is written already, so that no more is promised than it takes.
    struct chunk_search {
        std::optional<stretto::nanoseconds> makespan = {}, whole = {};
        std::vector<stretto::limit_figures> figures = {};  // not known
        std::optional<stretto::scheduled_program<program>> written = {};
    };
    template <class T>
    using maybe = stretto::expected<T, error>;

    /// The step as it is given.
    maybe<program> given() const { return finished(std::make_shared<form>()); }

    const stretto::task_graph& tasks(const program& p) const { return p->tasks; }
    maybe<std::optional<program>> isolated(const program& p) const {
        if (p->ops.apart) return std::optional<program>();
        auto made = std::make_shared<form>();
        made->ops.apart = true;
        auto done = finished(made);
        if (!done) return stretto::unexpected(done.error());
        return std::optional(*std::move(done));
    }
    maybe<std::optional<program>> reduced(const program&) const { return std::optional<program>(); }
    maybe<std::optional<program>> in_buckets(const program&, const stretto::schedule_options&,
                                             std::optional<stretto::nanoseconds>) const {
        return std::optional<program>();
    }
    maybe<chunk_search> search(const program& p, const stretto::schedule_options& within,
                               std::vector<stretto::limit_figures> rival) const {
        chunk_search found;
        const auto take = [&](const program& made) {
            auto plan = stretto::list_schedule(made->tasks, within);
            if (!plan || (found.makespan && *found.makespan <= plan->makespan())) return;
            found.makespan = plan->makespan();
            found.written = {made, *std::move(plan)};
        };
        take(p);
        found.whole = found.makespan;
        auto made = std::make_shared<form>();
        made->ops = p->ops;
        if (!cut(*made, within, std::move(rival))) return found;
        const auto chunked = finished(made);
        if (!chunked) return stretto::unexpected(chunked.error());
        take(*chunked);
        return found;
    }
    maybe<stretto::scheduled_program<program>> in_chunks(chunk_search found, const stretto::schedule_options&) const {
        if (!found.written) return stretto::unexpected(error("the search has found nothing that fits"));
        return *std::move(found.written);
    }
    error unschedulable(const program&, const stretto::limit_too_low& why) const { return stretto::explain(why); }

private:
    static maybe<program> finished(std::shared_ptr<form> made) {
        auto tasks = stretto::make_task_graph(made->view(), made->ops);
        if (!tasks) return stretto::unexpected(error("the view and the op model contradict each other"));
        made->tasks = *std::move(tasks);
        return program(std::move(made));
    }
    /// Writes the chunks into `made` that are fastest within the limits; false if none pay.
    static bool cut(form& made, const stretto::schedule_options& within, std::vector<stretto::limit_figures> rival) {
        const mine::view v = made.view();
        const auto order = stretto::topological_sort(v);
        if (!order) return false;
        std::int64_t rows = 0;
        std::vector<stretto::token_dimension<mine::value*>> tokens;
        for (const auto& e : stretto::token_exchanges(v, *order, made.ops, mine::tensors{})) {
            rows = e.rows;
            tokens.push_back(e.tokens);
        }
        stretto::row_orders orders;
        const stretto::rule_chunk_model chunks(v, mine::dialect{}, orders);
        const stretto::step_modules modules(v, made.ops, mine::modules{});
        const stretto::share_costs costs(v, made.ops, stretto::tensor_sizes<mine::view, mine::tensors>{},
                                         {.launch = {3'000}});
        const auto found = stretto::search_chunks(v, made.ops, chunks, costs,
                                                  stretto::units_by_module(v, made.ops, modules), {rows, tokens},
                                                  {.memory_limit = within.memory_limit.limit({}),
                                                   .step_peak = within.memory_limit.unit({}),
                                                   .most = 4,
                                                   .task_budget = 20'000,
                                                   .recombine = stretto::recombining::concat,
                                                   .rival = std::move(rival),
                                                   .under = within.under});
        if (!found || !found->pays()) return false;
        const auto plan = stretto::plan_chunks(v, made.ops, chunks, std::span(found->regions),
                                               std::span(std::as_const(tokens)), stretto::trial_chunk_options(false));
        if (!plan) return false;
        mine::rewriter rewriter{&made.ir};
        stretto::apply_chunks(*plan, v, rewriter);
        return true;
    }
};
// [/my-form-writer]

}  // namespace

// [check-my-forms]
TEST_CASE("my writer of forms keeps its promises, and the best form is chosen") {
    forms writer;
    const auto step = writer.given();
    REQUIRE(step);

    const auto checked = stretto::check_form_writer(writer, *step);
    if (!checked) FAIL(checked.error().message());
    CHECK(checked->isolated == 1);
    CHECK(checked->searched == 2);

    const auto best = stretto::best_form(writer, *step);
    REQUIRE(best);
    CHECK(best->chosen.program->ir.ops.size() > (*step)->ir.ops.size());  // in chunks
    CHECK(best->chosen.schedule.makespan() < stretto::list_schedule((*step)->tasks)->makespan());
}
// [/check-my-forms]

TEST_CASE("the forms of the writer are what it says they are") {
    const forms writer;
    const auto step = writer.given();
    REQUIRE(step);
    const auto apart = writer.isolated(*step);
    REQUIRE(apart);
    REQUIRE(*apart);
    CHECK_FALSE(*writer.isolated(**apart));
    std::size_t moved = 0;
    for (std::size_t t = 0; t < (*step)->tasks.size(); ++t)
        moved += (*step)->tasks.group[t] != (**apart)->tasks.group[t];
    CHECK(moved == 10);  // two layers: tallies and rows there and back, and the rows of the gradients twice

    // Within a limit that nothing keeps, nothing is promised, and the choice says why.
    stretto::form_options none;
    none.within.memory_limit = stretto::bytes{1};
    forms again;
    const auto refused = stretto::best_form(again, *step, none);
    REQUIRE(!refused);
    CHECK_FALSE(refused.error().empty());
}
