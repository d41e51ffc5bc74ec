// The rules of check_form_writer. Only its writer knows what a form looks like, so only the tasks of programs are
// compared: what a verb may change about them, whether repeated calls give the same answer, and whether a schedule
// keeps what the search has promised.
#ifndef STRETTO_TESTING_DETAIL_FORM_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_FORM_CHECKER_HPP

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto::detail {

/// Whether two tables have the same rows, in the same order. O(rows and items).
template <class = void>
[[nodiscard]] bool same_lists(const index_lists& a, const index_lists& b) {
    if (a.rows() != b.rows()) return false;
    for (std::size_t k = 0; k < a.rows(); ++k)
        if (!std::equal(a[k].begin(), a[k].end(), b[k].begin(), b[k].end())) return false;
    return true;
}

/// Whether two graphs agree on the kinds, times, payloads, storages and dependences of all tasks. The groups of
/// collectives may differ.
template <class = void>
[[nodiscard]] bool same_but_groups(const task_graph& a, const task_graph& b) {
    return a.kind == b.kind && a.duration == b.duration && a.collective == b.collective && a.payload == b.payload &&
           a.launch == b.launch && a.allocation == b.allocation && same_lists(a.operands, b.operands) &&
           same_lists(a.writes, b.writes) && same_lists(a.storages, b.storages) &&
           same_lists(a.predecessors, b.predecessors);
}
/// Whether they also agree on the groups, so that no schedule can tell the two programs apart.
template <class = void>
[[nodiscard]] bool same_tasks(const task_graph& a, const task_graph& b) {
    return same_but_groups(a, b) && a.group == b.group;
}

/// How many collectives a program launches.
template <class = void>
[[nodiscard]] std::size_t starts_of(const task_graph& g) {
    return static_cast<std::size_t>(std::count(g.kind.begin(), g.kind.end(), op_kind::start));
}

/// The checks of one writer. `Summary` counts what was checked, so that a check that had nothing to compare can be told
/// from one that found nothing.
template <form_writer W, class Summary>
class form_checker {
public:
    using program = typename W::program;
    using error = typename W::error;

    /// Fixes the memory limit in bytes. A limit that is a multiple of the peak refers to the peak of the step, and all
    /// forms of the step share it, whatever their own peaks are.
    form_checker(W& writer, const program& step, schedule_options within) : writer_(writer), within_(within) {
        const bytes peak = peak_of_input(writer_.tasks(step));
        limit_ = within.memory_limit.limit(peak);
        within_.memory_limit = memory_budget::of_variant(limit_, within.memory_limit.unit(peak));
    }

    /// The first broken rule; its rule is empty if there is none.
    [[nodiscard]] finding check(const program& step) {
        finding f = known(step, "the step");
        if (!*f.rule) f = unisolated(step, "the step");
        std::optional<program> apart;
        if (!*f.rule) f = written("isolated", [&] { return writer_.isolated(step); }, apart);
        if (apart && !*f.rule) {
            ++summary_.isolated;
            if (!same_but_groups(writer_.tasks(step), writer_.tasks(*apart)) ||
                same_tasks(writer_.tasks(step), writer_.tasks(*apart)))
                return {.rule = "only groups",
                        .hint = "isolated() changes the groups of some collectives, and nothing else",
                        .detail = "isolated"};
            f = unisolated(*apart, "isolated");
        }
        return f;
    }
    [[nodiscard]] const Summary& summary() const noexcept { return summary_; }

private:
    /// A program as it was when it was written, for unchanged().
    struct snapshot {
        program of;
        task_graph tasks;
        std::string form;
    };

    W& writer_;
    schedule_options within_;
    bytes limit_;
    std::vector<snapshot> written_;
    Summary summary_;

    /// Checks a program by itself, and records it for unchanged().
    [[nodiscard]] finding known(const program& p, const char* form) {
        const task_graph& g = writer_.tasks(p);
        ++summary_.programs;
        std::vector<task_id> order(g.size());
        std::iota(order.begin(), order.end(), task_id{0});
        if (const auto legal = verify_order(g, order); !legal)
            return {.rule = "program order",
                    .hint = "the order in which tasks() lists them is no legal order of them",
                    .vertex = legal.error().task,
                    .detail = form};
        written_.push_back({p, g, form});
        return {};
    }

    /// Asks for a form twice, and checks it if there is one. `into` gets the form.
    template <class Ask>
    [[nodiscard]] finding written(const char* form, Ask ask, std::optional<program>& into) {
        expected<std::optional<program>, error> made = ask();
        const expected<std::optional<program>, error> again = ask();
        const bool same = bool(made) == bool(again) &&
                          (!made || (made->has_value() == again->has_value() &&
                                     (!*made || same_tasks(writer_.tasks(**made), writer_.tasks(**again)))));
        if (!same)
            return {.rule = "repeatable", .hint = "asked again for a form, the writer says another", .detail = form};
        if (!made) {
            ++summary_.refused;
            return {};
        }
        into = *std::move(made);
        return into ? known(*into, form) : finding();
    }

    /// Checks that `to` has fewer collectives than `from`. A verb that merges nothing must return nothing; otherwise a
    /// caller would pay for a copy of the program and take it for another form.
    [[nodiscard]] finding fewer(const program& from, const program& to, const char* form) const {
        if (starts_of(writer_.tasks(to)) < starts_of(writer_.tasks(from))) return {};
        return {.rule = "fewer collectives",
                .hint =
                    "a program that is reduced once or in buckets has fewer collectives than before; with none to "
                    "merge, the verb returns nothing",
                .detail = form};
    }

    /// Tries chunks on a program, and on the same program reduced once if it has that form.
    [[nodiscard]] finding unisolated(const program& p, const std::string& form) {
        finding f = in_chunks(p, form);
        std::optional<program> once;
        if (!*f.rule) f = written("reduced", [&] { return writer_.reduced(p); }, once);
        if (once && !*f.rule) {
            ++summary_.reduced;
            f = fewer(p, *once, "reduced");
            if (!*f.rule) f = in_chunks(*once, form + " reduced once");
        }
        return *f.rule ? f : unchanged();
    }

    /// Searches for chunks twice, has the result written once, and puts what was written into buckets. The search uses
    /// the costs of parts, whereas the schedule is one of the program that was written. If the two cost models
    /// disagree, the promise is broken, which a test of only one of them would not show.
    [[nodiscard]] finding in_chunks(const program& p, const std::string& form) {
        auto found = writer_.search(p, within_, {});
        const auto again = writer_.search(p, within_, {});
        if (bool(found) != bool(again) ||
            (found && !(std::optional<nanoseconds>(found->makespan) == std::optional<nanoseconds>(again->makespan) &&
                        std::optional<nanoseconds>(found->whole) == std::optional<nanoseconds>(again->whole))))
            return {.rule = "repeatable", .hint = "asked again, search() promises another makespan", .detail = form};
        if (!found) {
            ++summary_.refused;
            return {};
        }
        const std::optional<nanoseconds> promised = found->makespan, whole = found->whole;
        if (whole) {
            const auto scheduled = list_schedule(writer_.tasks(p), within_);
            if (!scheduled || scheduled->makespan() > *whole || !promised || *promised > *whole)
                return {.rule = "whole",
                        .hint =
                            "what search() says of the program whole is what list_schedule finds within the limit, and "
                            "the best that it promises takes no longer",
                        .detail = form};
        }
        summary_.searched += promised.has_value();
        auto made = writer_.in_chunks(*std::move(found), within_);
        if (bool(made) != promised.has_value())
            return {.rule = "promise",
                    .hint = "in_chunks() writes and schedules a program exactly if the search has found a makespan",
                    .detail = form};
        if (!made) return {};
        const task_graph& tasks = writer_.tasks(made->program);
        if (const auto legal = verify_order(tasks, made->schedule.order(), limit_); !legal)
            return {.rule = "schedule",
                    .hint = "the schedule is no order of the program's tasks within the memory limit",
                    .vertex = legal.error().task,
                    .detail = form + ", in chunks"};
        if (made->schedule.makespan() > *promised)
            return {.rule = "promise",
                    .hint =
                        "the schedule takes longer than the search has promised: do the costs of parts, by which it "
                        "searched, say of a clone what the op model says of the one that is written?",
                    .detail = form + ": " + std::to_string(promised->count) + " ns promised, " +
                              std::to_string(made->schedule.makespan().count) + " ns taken"};
        finding f = known(made->program, "in chunks");
        std::optional<program> merged;
        const auto in_buckets = [&](std::optional<nanoseconds> to_beat) {
            return writer_.in_buckets(made->program, within_, to_beat);
        };
        if (!*f.rule) f = written("in buckets", [&] { return in_buckets(std::nullopt); }, merged);
        if (!merged || *f.rule) return f;
        ++summary_.merged;
        f = fewer(made->program, *merged, "in buckets");
        const auto scheduled = list_schedule(writer_.tasks(*merged), within_);
        if (*f.rule || !scheduled) return f;
        const auto rivals = in_buckets(scheduled->makespan() + nanoseconds{1});
        if (rivals && *rivals && same_tasks(writer_.tasks(**rivals), writer_.tasks(*merged))) return f;
        return {.rule = "to beat",
                .hint =
                    "with a makespan to beat in_buckets() writes what it writes without one, and nothing only if that "
                    "would be no faster, however much memory there is",
                .detail = form + ", in buckets"};
    }

    /// Checks that no program has changed since it was written. Forms may be written from each other in any order, so
    /// all are compared at the end.
    [[nodiscard]] finding unchanged() const {
        for (const snapshot& s : written_)
            if (!same_tasks(s.tasks, writer_.tasks(s.of)))
                return {.rule = "untouched",
                        .hint = "a verb has changed a program that was written before",
                        .detail = s.form};
        return {};
    }
};

}  // namespace stretto::detail

#endif
