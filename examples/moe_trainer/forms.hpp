// In which form a step is run: its exchanges on a communicator of their own, in chunks, its gathers and sums in
// buckets, and in which order. The library decides; here is what it asks of the trainer's IR.
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

/// A program with its tasks, which a copy shares.
struct form {
    std::shared_ptr<const program> p;
    std::shared_ptr<const stretto::task_graph> tasks;
    std::vector<stretto::module_chunks> chunks = {};  ///< sequences of each chunk, by module; empty: whole
    std::size_t buckets = 0;
};
[[nodiscard]] stretto::expected<form, std::string> form_of(program p, const stretto::host_link& link);

/// In which chunks: chosen by the library, or as said, by module and direction.
struct chunk_wish {
    bool chooses = false;
    std::vector<stretto::module_chunks> settings = {};
};

/// Writes a step in its forms, for best_form (stretto/tune/best_form.hpp).
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
        return std::optional<form>();  // gradients of all chunks are summed before they are reduced, as it is
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

/// The form to run, with its order; the same without buckets, if it has some; and why it is as fast as it is.
struct planned_step {
    form chosen, unmerged;
    stretto::schedule schedule;
    bool is_isolated = false;
};

/// The fastest form of a step within a memory limit. An error is a sentence with a hint.
[[nodiscard]] stretto::expected<planned_step, std::string> plan_step(const training_step& s, const form& whole,
                                                                     const stretto::host_link& link,
                                                                     const chunk_wish& wish,
                                                                     stretto::memory_budget limit);

/// A form whose kernels take what a run of it has measured; and its collectives, if that is `of_all`, else they take
/// what the link says, as do those that are not there yet.
[[nodiscard]] stretto::expected<form, std::string> retimed(const form& f, const stretto::measured_run& run,
                                                           const stretto::host_link& link, bool of_all);
/// A plan for the chosen form with other durations, within the same memory: in the order that it has, or in a faster
/// one.
[[nodiscard]] stretto::expected<planned_step, std::string> reordered(planned_step before, form with_durations);

}  // namespace trainer

#endif
