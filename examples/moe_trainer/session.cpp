#include "session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "costs.hpp"
#include "files.hpp"
#include "products.hpp"
#include "real_time.hpp"
#include "report.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/schedule/fit_contention.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "training.hpp"
#include "transport.hpp"

namespace trainer {
namespace {

double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : all[all.size() / 2];
}
double mean(const std::vector<double>& all, std::size_t last) {
    const auto from = all.end() - static_cast<std::ptrdiff_t>(std::min(last, all.size()));
    return from == all.end() ? 0 : std::accumulate(from, all.end(), 0.0) / static_cast<double>(all.end() - from);
}

/// Returns the load of the busiest of the lane and the channels, in milliseconds.
double busiest_lane(const stretto::task_graph& g) {
    std::vector<stretto::nanoseconds> load(g.groups + 1);
    for (stretto::task_id t = 0; t < g.size(); ++t)
        if (does_work(g.kind[t])) load[g.kind[t] == stretto::op_kind::start ? g.group[t] + 1 : 0] += g.duration[t];
    return stretto::to_milliseconds(*std::max_element(load.begin(), load.end()));
}

/// Returns the share of the time of collectives that is hidden if the lane has waited for `waited` milliseconds.
double overlap(double collectives, double waited) {
    return collectives <= 0 ? 1 : std::clamp(1 - waited / collectives, 0.0, 1.0);
}
double time_of_collectives(const form& f) {
    double sum = 0;
    for (stretto::task_id t = 0; t < f.tasks->size(); ++t)
        if (f.tasks->kind[t] == stretto::op_kind::start) sum += stretto::to_milliseconds(f.tasks->duration[t]);
    return sum;
}

/// Shows progress: a bar on a terminal, or a line now and then elsewhere.
class progress_bar {
public:
    explicit progress_bar(std::int64_t steps) : steps_(steps), shows_(isatty(STDERR_FILENO) != 0) {}
    void operator()(std::int64_t step, double loss, double milliseconds) const {
        const std::int64_t done = step + 1, tenth = std::max<std::int64_t>(steps_ / 10, 1);
        if (shows_) {
            const auto full = static_cast<std::size_t>(30 * done / steps_);
            std::fprintf(stderr, "\r[%s%s] step %lld of %lld, loss %.3f, %.0f ms ", std::string(full, '#').c_str(),
                         std::string(30 - full, ' ').c_str(), static_cast<long long>(done),
                         static_cast<long long>(steps_), loss, milliseconds);
            if (done == steps_) std::fprintf(stderr, "\n");
        } else if (done % tenth == 0 || done == steps_) {
            std::fprintf(stderr, "step %lld of %lld: loss %.3f, %.0f ms\n", static_cast<long long>(done),
                         static_cast<long long>(steps_), loss, milliseconds);
        }
    }

private:
    std::int64_t steps_;
    bool shows_;
};

class session {
public:
    explicit session(const arguments& a) : a_(a) {}

    int run() {
        if (const auto wrong = fault_of(a_.shape, a_.ranks)) return fail(2, *wrong);
        if (a_.steps < 1) return fail(2, "there is nothing to do: use --steps 1, or more");
        if (a_.checkpoint_every > 0 && a_.checkpoint.empty())
            return fail(2, "--checkpoint-every: give a --checkpoint to write");
        if (a_.real_time && !real_time(true, urgency::kernels).is_on())
            return fail(2, "--priority: this process may not use real-time priorities; run it as root, or without");
        auto on = open_transport(a_.where, {static_cast<std::size_t>(a_.ranks.ranks), a_.link, a_.real_time});
        if (!on) return fail(2, on.error());
        on_ = *std::move(on);
        if (const int status = on_->worst_of(prepare()); status != 0) return status;
        if (const auto wrong = measure()) return fail(1, *wrong);
        auto planned = plan_step(step_, *whole_, link_, wish_, a_.memory_limit);
        if (!planned) return fail(2, planned.error());
        planned_ = *std::move(planned);
        if (const auto wrong = measure_plan()) return fail(1, *wrong);
        describe_plan();
        const auto differs = compare_bits();
        if (const int status = on_->worst_of(differs ? fail(1, *differs) : 0); status != 0) return status;

        run_result made;
        const std::int64_t first = state_.steps;
        if (const int status = train_to_the_end(made); status != 0) return status;
        describe_run(made);
        return on_->worst_of(on_->is_first() ? write_files(made, first) : 0);
    }

private:
    static constexpr std::int64_t timed_steps = 20;  // the last ones; enough for a median

    int fail(int status, const std::string& what) const {
        if (!what.empty() && (!on_ || on_->is_first())) std::fprintf(stderr, "moe_trainer: %s\n", what.c_str());
        return status;
    }
    /// Does everything that needs files, because they may exist for one process and not for another. Returns a status.
    int prepare() {
        if (const auto wrong = compute_products_with(a_.blas)) return fail(2, *wrong);
        if (on_->is_first())
            for (const std::string& path : {a_.trace, a_.step_file, a_.report, a_.checkpoint})
                if (!path.empty())
                    if (const auto wrong = fault_of_file(path)) return fail(2, *wrong);
        auto text = read_file(a_.text);
        if (!text) return fail(2, text.error());
        text_ = *std::move(text);
        if (text_.size() < 4 * static_cast<std::size_t>(a_.shape.sequence))
            return fail(2, a_.text + ": is too short: give a --text of some thousand characters");
        step_ = build_step(a_.shape, a_.ranks);
        state_ = first_state(step_, a_.seed);
        link_ = a_.link;
        wish_.chooses = a_.chooses_chunks;
        if (a_.chunks.size() > 1) wish_.settings = {{"", stretto::pass_direction::both, a_.chunks}};
        if (!a_.resume.empty())
            if (const auto wrong = resume()) return fail(2, a_.resume + ": " + *wrong);
        if (state_.steps >= a_.steps)
            return fail(2, a_.resume + ": has made " + std::to_string(state_.steps) + " steps: use more --steps");
        return 0;
    }

    std::optional<std::string> train_form(const form& f, const std::vector<stretto::task_id>& order,
                                          const run_options& o, training_state& state, run_result& made) const {
        return train(*on_, step_, *f.p, *f.tasks, order, text_, o, state, made);
    }

    /// Trains, and writes checkpoints between two runs, when no rank is in a step.
    int train_to_the_end(run_result& made) {
        const std::int64_t first_timed = std::max(state_.steps, a_.steps - timed_steps);
        while (state_.steps < a_.steps) {
            run_options o;
            o.timed = state_.steps >= first_timed;
            o.progress = progress_bar(a_.steps);
            std::int64_t until = o.timed ? a_.steps : first_timed;
            if (const std::int64_t n = a_.checkpoint_every; n > 0) until = std::min(until, (state_.steps / n + 1) * n);
            o.steps = until - state_.steps;
            if (const auto wrong = train_form(planned_->chosen, planned_->schedule.order(), o, state_, made))
                return fail(1, *wrong);
            if (a_.checkpoint_every == 0 || until % a_.checkpoint_every != 0) continue;
            const auto wrong = on_->is_first() ? write_file(a_.checkpoint, spelled_checkpoint()) : std::nullopt;
            if (const int status = on_->worst_of(wrong ? fail(2, *wrong) : 0); status != 0) return status;
        }
        return 0;
    }
    std::string spelled_checkpoint() const {
        return spelled({a_.shape, a_.ranks, hash_of(text_), planned_->chosen.chunks, state_});
    }

    /// Continues from a checkpoint. Returns why it does not fit this training, or nothing.
    std::optional<std::string> resume() {
        auto bytes = read_file(a_.resume);
        if (!bytes) return "cannot be read: give a file that --checkpoint has written";
        auto c = parsed_checkpoint(*bytes);
        if (!c) return c.error();
        if (c->mesh.ranks != a_.ranks.ranks || c->mesh.expert_ranks != a_.ranks.expert_ranks)
            return "is of a training on " + std::to_string(c->mesh.ranks) + " ranks: use --ranks " +
                   std::to_string(c->mesh.ranks) + " --expert-ranks " + std::to_string(c->mesh.expert_ranks);
        if (!(c->shape == a_.shape)) return "is of a network of another shape: use the options of that training";
        if (c->text != hash_of(text_)) return "is of a training on another text: use the --text of that training";
        bool fits = c->state.ranks.size() == state_.ranks.size();
        for (std::size_t r = 0; fits && r < state_.ranks.size(); ++r) {
            fits = c->state.ranks[r].size() == state_.ranks[r].size();
            for (const auto& [x, memory] : state_.ranks[r])
                fits = fits && c->state.ranks[r].count(x) == 1 && c->state.ranks[r][x].size() == memory.size();
        }
        if (!fits) return "does not have the weights of this network: begin anew";
        state_ = std::move(c->state);
        wish_ = {false, std::move(c->chunks)};
        return {};
    }

    /// Runs a form in the order in which it is written, from a copy of the state. Without overlap, each kernel takes
    /// the time that it takes alone.
    std::optional<std::string> measure(const form& f, stretto::measured_run& run, double& milliseconds) const {
        training_state copy = state_;
        run_options o;
        o.steps = 10;
        o.timed = true;
        run_result made;
        if (auto wrong = train_form(f, program_order(*f.tasks), o, copy, made)) return wrong;
        run = stretto::summarize_run(*f.tasks, made.times);
        milliseconds = median(made.milliseconds);
        return {};
    }
    std::optional<std::string> measure() {
        const auto whole = form_of(step_.p, link_);
        if (!whole) return whole.error();
        stretto::measured_run run;
        if (auto wrong = measure(*whole, run, figures_.whole_measured)) return wrong;
        if (!on_->has_emulated_link()) link_ = link_of(*whole->p, run, link_);
        auto with_durations = retimed(*whole, run, link_, false), as_measured = retimed(*whole, run, link_, true);
        if (!with_durations || !as_measured) return (with_durations ? as_measured : with_durations).error();
        whole_ = *std::move(with_durations);
        const auto times = stretto::simulate(*as_measured->tasks, program_order(*whole_->tasks));
        figures_.whole_predicted = stretto::to_milliseconds(times.makespan);
        if (on_->is_first())
            std::printf("as written: %zu operations, %.1f ms predicted, %.1f ms measured\n", whole_->p->order.size(),
                        figures_.whole_predicted, figures_.whole_measured);
        return {};
    }
    /// Measures the planned form and orders it again. The plan was made with shares of the durations of whole kernels;
    /// the parts themselves can be measured now.
    std::optional<std::string> measure_plan() {
        stretto::measured_run run;
        double unused = 0;
        if (auto wrong = measure(planned_->chosen, run, unused)) return wrong;
        auto with_durations = retimed(planned_->chosen, run, link_, true);
        if (!with_durations) return with_durations.error();
        auto better = reordered(*std::move(planned_), *std::move(with_durations));
        if (!better) return better.error();
        planned_ = *std::move(better);
        return {};
    }

    void describe_plan() {
        const stretto::schedule& s = planned_->schedule;
        std::size_t chunks = 1;
        for (const stretto::module_chunks& m : planned_->chosen.chunks) chunks = std::max(chunks, m.sizes.size());
        figures_.chunks = chunks;
        figures_.buckets = planned_->chosen.buckets;
        figures_.isolated = planned_->is_isolated;
        figures_.planned_predicted = stretto::to_milliseconds(s.makespan());
        figures_.bound = stretto::to_milliseconds(s.bound().value);
        figures_.collectives = time_of_collectives(planned_->chosen);
        figures_.busiest = busiest_lane(*planned_->chosen.tasks);
        figures_.overlap_predicted = overlap(figures_.collectives, stretto::to_milliseconds(s.times().exposed));
        if (!on_->is_first()) return;
        std::printf(
            "planned: %zu operations in up to %zu chunks and %zu buckets, exchanges %s, %.1f ms predicted; no "
            "order of these takes less than %.1f ms\n",
            planned_->chosen.p->order.size(), chunks, figures_.buckets,
            figures_.isolated ? "on a communicator of their own" : "where they were", figures_.planned_predicted,
            figures_.bound);
    }

    /// Checks that buckets, communicators and the order change no bit: the same chunks, unmerged and in the order in
    /// which they are written, must make the same state.
    std::optional<std::string> compare_bits() {
        training_state a = state_, b = state_;
        run_result unused;
        run_options o;
        o.steps = 3;
        const form& f = planned_->unmerged;
        if (auto wrong = train_form(f, program_order(*f.tasks), o, a, unused)) return wrong;
        if (auto wrong = train_form(planned_->chosen, planned_->schedule.order(), o, b, unused)) return wrong;
        if (!(a == b))
            return "after 3 steps the planned step has made other weights than its parts in the order written";
        if (on_->is_first())
            std::printf(
                "weights and all that Adam remembers are the same, bit for bit, unmerged and in the order written\n");
        return {};
    }

    void describe_run(const run_result& made) {
        figures_.planned_measured = median(made.milliseconds);
        figures_.first_loss = made.losses.front();
        figures_.last_loss = mean(made.losses, 20);
        figures_.entropy = unigram_entropy(text_);
        const double tokens = static_cast<double>(a_.shape.batch * a_.shape.sequence * a_.ranks.ranks);
        figures_.tokens_per_second = tokens * 1000 / figures_.planned_measured;
        const bool is_timed = !made.times.empty();
        if (is_timed) compare_with_prediction(made.times);
        if (!on_->is_first()) return;
        std::printf("step: %.1f ms measured, %.2f of the one as written (%.2f predicted)\n", figures_.planned_measured,
                    figures_.planned_measured / figures_.whole_measured,
                    figures_.planned_predicted / figures_.whole_predicted);
        if (is_timed) {
            std::printf("measured / predicted: %.2f; %.2f with kernels %.2f times slower beside transfers\n",
                        figures_.planned_measured / figures_.planned_predicted,
                        figures_.planned_measured / figures_.contended, figures_.contention);
            std::printf(
                "speed-up: %.2f, at least %.0f %% of that of the best order (%.0f %% with kernels so much slower); by "
                "the "
                "busiest lane at most %.2f\n",
                figures_.speed_up(), 100 * figures_.share_of(figures_.bound),
                100 * figures_.share_of(figures_.contended_bound), figures_.ceiling());
            std::printf("overlap: %.0f %% of %.1f ms of collectives hidden predicted, %.0f %% measured\n",
                        100 * figures_.overlap_predicted, figures_.collectives, 100 * figures_.overlap_measured);
            std::printf("between kernels and waits: %.2f ms of a step, %.1f %% of it\n", figures_.between,
                        100 * figures_.between / figures_.planned_measured);
        }
        std::printf("loss: %.3f -> %.3f nats a byte (unigram entropy of the text: %.3f); %.0f tokens/s\n",
                    figures_.first_loss, figures_.last_loss, figures_.entropy, figures_.tokens_per_second);
    }

    void compare_with_prediction(const std::vector<stretto::measured_span>& times) {
        const stretto::task_graph& g = *planned_->chosen.tasks;
        const stretto::measured_run run = stretto::summarize_run(g, times);
        figures_.between = stretto::to_milliseconds(run.totals.between);
        // Transfers and the makespan are not fitted, so what the clock says about them remains a prediction.
        const stretto::contention c = stretto::fit_contention(g, planned_->schedule.order(), run.totals.kernels);
        figures_.contention = static_cast<double>(c.numerator) / static_cast<double>(c.denominator);
        const auto slowed = stretto::certify(g, planned_->schedule.order(), planned_->schedule.memory_limit(), c);
        if (slowed) {
            figures_.contended = stretto::to_milliseconds(slowed->makespan());
            figures_.contended_bound = stretto::to_milliseconds(slowed->bound().value);
        }
        std::vector<stretto::measured_span> middle;  // spans of the step with the median makespan on the first rank
        for (const stretto::measured_span& s : times)
            if (s.rank == 0 && s.step == run.middle.number) middle.push_back(s);
        const auto seen = stretto::measured_times(g, planned_->schedule.order(), middle);
        figures_.overlap_measured = overlap(figures_.collectives, stretto::to_milliseconds(seen.exposed));
    }

    int write_files(const run_result& made, std::int64_t first) {
        const auto write = [](const std::string& path, const auto& content) -> std::optional<std::string> {
            return path.empty() ? std::nullopt : write_file(path, content());
        };
        if (const auto wrong = write(a_.checkpoint, [&] { return spelled_checkpoint(); })) return fail(2, *wrong);
        if (const auto wrong = write(a_.report, [&] { return html_report(figures_, made.losses, first); }))
            return fail(2, *wrong);
        if (const auto wrong = write(a_.trace, [&] { return trace_of(*whole_, *planned_, made.times); }))
            return fail(2, *wrong);
        if (!a_.step_file.empty())
            if (const auto wrong = write_step(*planned_, a_.step_file)) return fail(2, *wrong);
        return 0;
    }

    const arguments& a_;
    std::unique_ptr<transport> on_;
    std::string text_;
    training_step step_;
    training_state state_;
    chunk_wish wish_;
    stretto::host_link link_;  // from the options, or as it was measured
    std::optional<form> whole_;
    std::optional<planned_step> planned_;
    run_figures figures_;
};

}  // namespace

int run_session(const arguments& a) { return session(a).run(); }

}  // namespace trainer
