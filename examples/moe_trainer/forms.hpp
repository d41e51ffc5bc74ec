// Chooses the form in which a step runs: its exchanges on a communicator of their own, in chunks, its gathers and sums
// in buckets, and the order. The library decides; form_writer writes the forms that it asks for.
#ifndef MOE_TRAINER_FORMS_HPP
#define MOE_TRAINER_FORMS_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir.hpp"
#include "model.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/tune/form_writer.hpp"
#include "stretto/tune/step_form.hpp"

namespace trainer {

/// A program with its tasks. Copies share both.
struct form {
    std::shared_ptr<const program> p;
    std::shared_ptr<const stretto::task_graph> tasks;
    std::vector<stretto::module_chunks> chunks = {};  ///< sequences of each chunk, by module; empty if it is whole
    std::size_t buckets = 0;                          ///< how many the program contains
};
/// Returns the form of a program. The caller sets its chunks and buckets. The error names the operation at fault.
[[nodiscard]] stretto::expected<form, std::string> form_of(program p, const stretto::host_link& link);

/// The chunks in which to run: chosen by the library, or set by module and direction; whole if there are no settings.
struct chunk_wish {
    bool chooses = false;
    std::vector<stretto::module_chunks> settings = {};
};

/// Writes a step in its forms, for best_form. stretto/tune/form_writer.hpp documents the members.
class form_writer {
public:
    using program = form;
    using error = std::string;
    struct chunk_search {
        std::optional<stretto::nanoseconds> makespan, whole;
        std::vector<stretto::limit_figures> figures;
        form of;
        stretto::step_form<op_id> found;
    };

    form_writer(const training_step& s, stretto::host_link link, chunk_wish wish)
        : step_(&s), link_(link), wish_(std::move(wish)) {}

    [[nodiscard]] const stretto::task_graph& tasks(const form& f) const { return *f.tasks; }
    [[nodiscard]] stretto::expected<std::optional<form>, error> isolated(const form& f) const;
    [[nodiscard]] stretto::expected<std::optional<form>, error> reduced(const form&) const {
        return std::optional<form>();  // gradients are already summed over chunks before they are reduced
    }
    [[nodiscard]] stretto::expected<chunk_search, error> search(const form& f, const stretto::schedule_options& within,
                                                                std::vector<stretto::limit_figures> rival) const;
    [[nodiscard]] stretto::expected<stretto::scheduled_program<form>, error> in_chunks(
        chunk_search found, const stretto::schedule_options& within) const;
    [[nodiscard]] stretto::expected<std::optional<form>, error> in_buckets(
        const form& f, const stretto::schedule_options& within, std::optional<stretto::nanoseconds> to_beat) const;
    [[nodiscard]] error unschedulable(const form& f, const stretto::limit_too_low& why) const;

private:
    const training_step* step_;
    stretto::host_link link_;
    chunk_wish wish_;
};

/// The form to run, and its order with a certificate. `unmerged` is the same form without buckets, or `chosen` if it
/// has none.
struct planned_step {
    form chosen, unmerged;
    stretto::schedule schedule;
    bool is_isolated = false;
};

/// Returns the fastest form of a step within a memory limit. The error is a sentence with a hint.
[[nodiscard]] stretto::expected<planned_step, std::string> plan_step(const training_step& s, const form& whole,
                                                                     const stretto::host_link& link,
                                                                     const chunk_wish& wish,
                                                                     stretto::memory_budget limit);

/// Returns the form with measured durations: kernels take what a run of it has measured. So do collectives if `of_all`;
/// otherwise they take what the link says, as do collectives that are added later.
[[nodiscard]] stretto::expected<form, std::string> retimed(const form& f, const stretto::measured_run& run,
                                                           const stretto::host_link& link, bool of_all);
/// Returns a plan for the chosen form with other durations, within the same memory: in its old order, or in a new one
/// if that is faster.
[[nodiscard]] stretto::expected<planned_step, std::string> reordered(planned_step before, form with_durations);

}  // namespace trainer

#endif
