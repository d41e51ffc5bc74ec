// The archetype of form_writer: it has the members of the concept, and no more. Its programs, errors and findings can
// do only what the concept requires.
#ifndef STRETTO_TESTING_FORM_WRITER_ARCHETYPE_HPP
#define STRETTO_TESTING_FORM_WRITER_ARCHETYPE_HPP

#include <optional>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/schedule_options.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/tune/form_writer.hpp"

namespace stretto::archetypes {

/// Knows one program, which has no other form.
class form_writer {
public:
    class program {
    public:
        explicit program(const task_graph& tasks) : tasks_(&tasks) {}

    private:
        friend class form_writer;
        const task_graph* tasks_;
    };
    class error {
    public:
        explicit error(bytes limit) : limit_(limit) {}
        [[nodiscard]] bytes limit() const { return limit_; }

    private:
        bytes limit_;
    };
    /// The schedule of the uncut program, which is the only result of a search.
    class chunk_search {
    public:
        chunk_search(chunk_search&&) = default;
        chunk_search& operator=(chunk_search&&) = default;
        nanoseconds makespan, whole;
        std::vector<limit_figures> figures;

    private:
        friend class form_writer;
        chunk_search(schedule found, const program& p)
            : makespan(found.makespan()), whole(makespan), found_{p, std::move(found)} {}
        scheduled_program<program> found_;
    };

    form_writer() = default;
    form_writer(const form_writer&) = delete;
    form_writer& operator=(const form_writer&) = delete;

    const task_graph& tasks(const program& p) { return *p.tasks_; }
    expected<std::optional<program>, error> isolated(const program&) { return std::optional<program>(); }
    expected<std::optional<program>, error> reduced(const program&) { return std::optional<program>(); }
    expected<chunk_search, error> search(const program& p, const schedule_options& within, std::vector<limit_figures>) {
        auto found = list_schedule(tasks(p), within);
        if (!found) return unexpected(unschedulable(p, found.error()));
        return chunk_search(*std::move(found), p);
    }
    expected<scheduled_program<program>, error> in_chunks(chunk_search&& found, const schedule_options&) {
        return std::move(found.found_);
    }
    expected<std::optional<program>, error> in_buckets(const program&, const schedule_options&,
                                                       std::optional<nanoseconds>) {
        return std::optional<program>();
    }
    error unschedulable(const program&, const limit_too_low& why) { return error(why.limit); }
};

}  // namespace stretto::archetypes

#endif
