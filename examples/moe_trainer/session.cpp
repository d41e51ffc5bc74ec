#include "session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "files.hpp"
#include "report.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "training.hpp"

namespace trainer {
namespace {

int fail(int status, const std::string& what) {
    std::fprintf(stderr, "moe_trainer: %s\n", what.c_str());
    return status;
}

std::vector<stretto::task_id> as_written(const form& f) {
    std::vector<stretto::task_id> order(f.tasks->size());
    std::iota(order.begin(), order.end(), stretto::task_id{0});
    return order;
}

double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : all[all.size() / 2];
}
double mean(const std::vector<double>& all, std::size_t last) {
    const auto from = all.end() - static_cast<std::ptrdiff_t>(std::min(last, all.size()));
    return from == all.end() ? 0 : std::accumulate(from, all.end(), 0.0) / static_cast<double>(all.end() - from);
}

/// How much of the time of collectives is hidden, if the lane has waited for so long, in milliseconds.
double overlap(double collectives, double waited) {
    return collectives <= 0 ? 1 : std::clamp(1 - waited / collectives, 0.0, 1.0);
}
double time_of_collectives(const form& f) {
    double sum = 0;
    for (stretto::task_id t = 0; t < f.tasks->size(); ++t)
        if (f.tasks->kind[t] == stretto::op_kind::start) sum += stretto::to_milliseconds(f.tasks->duration[t]);
    return sum;
}

/// A bar on a terminal; elsewhere a line now and then.
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
        for (const std::string& path : {a_.trace, a_.step_file, a_.report, a_.checkpoint})
            if (!path.empty())
                if (const auto wrong = fault_of_path(path)) return fail(2, *wrong);
        if (a_.real_time && !may_use_real_time())
            return fail(2, "--priority: this process may not use real-time priorities; run it as root, or without");
        auto text = read_file(a_.text);
        if (!text) return fail(2, text.error());
        text_ = *std::move(text);
        if (text_.size() < 4 * static_cast<std::size_t>(a_.shape.sequence))
            return fail(2, a_.text + ": is too short: give a --text of some thousand characters");
        step_ = build_step(a_.shape, a_.ranks);
        state_ = first_state(step_, a_.seed);
        wish_.chooses = a_.chooses_chunks;
        if (a_.chunks.size() > 1) wish_.settings = {{"", stretto::pass_direction::both, a_.chunks}};
        if (!a_.resume.empty())
            if (const auto wrong = resume()) return fail(2, a_.resume + ": " + *wrong);
        if (state_.steps >= a_.steps)
            return fail(2, a_.resume + ": has made " + std::to_string(state_.steps) + " steps: use more --steps");

        if (const auto wrong = measure()) return fail(1, *wrong);
        auto planned = plan_step(step_, *whole_, a_.link, wish_, a_.memory_limit);
        if (!planned) return fail(2, planned.error());
        planned_ = *std::move(planned);
        describe_plan();
        if (const auto wrong = compare_bits()) return fail(1, *wrong);

        run_result made;
        run_options options = options_for(a_.steps - state_.steps);
        options.progress = progress_bar(a_.steps);
        options.timed = !a_.trace.empty();
        const std::int64_t first = state_.steps;
        if (const auto wrong = train_planned(options, state_, made)) return fail(1, *wrong);
        describe_run(made);
        return write_files(made, first);
    }

private:
    run_options options_for(std::int64_t steps) const {
        run_options o;
        o.link = a_.link;
        o.steps = steps;
        o.real_time = a_.real_time;
        return o;
    }
    std::optional<std::string> train_planned(const run_options& o, training_state& state, run_result& made) const {
        return train(step_, *planned_->chosen.p, *planned_->chosen.tasks, planned_->schedule.order(), text_, o, state,
                     made);
    }

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

    /// Runs the step as it is written, from a copy of the state: it gives the durations of kernels.
    std::optional<std::string> measure() {
        auto whole = form_of(step_.p, a_.link);
        if (!whole) return whole.error();
        std::vector<std::int64_t> takes(step_.p.ops.size(), INT64_MAX);
        training_state copy = state_;
        run_options o = options_for(10);
        o.takes = &takes;
        run_result made;
        if (auto wrong = train(step_, *whole->p, *whole->tasks, as_written(*whole), text_, o, copy, made)) return wrong;
        for (op_id k = 0; k < takes.size(); ++k)
            if (takes[k] < INT64_MAX) step_.p.ops[k].takes = std::max<std::int64_t>(takes[k], 1);
        whole = form_of(step_.p, a_.link);
        if (!whole) return whole.error();
        whole_ = *std::move(whole);
        const auto times = stretto::simulate(*whole_->tasks, as_written(*whole_));
        figures_.whole_predicted = stretto::to_milliseconds(times.makespan);
        figures_.whole_measured = median(made.milliseconds);
        std::printf("as written: %zu operations, %.1f ms predicted, %.1f ms measured\n", whole_->p->order.size(),
                    figures_.whole_predicted, figures_.whole_measured);
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
        figures_.overlap_predicted = overlap(figures_.collectives, stretto::to_milliseconds(s.times().exposed));
        std::printf(
            "planned: %zu operations in up to %zu chunks and %zu buckets, exchanges %s, %.1f ms predicted; no "
            "order of these takes less than %.1f ms\n",
            planned_->chosen.p->order.size(), chunks, figures_.buckets,
            figures_.isolated ? "on a communicator of their own" : "where they were", figures_.planned_predicted,
            figures_.bound);
    }

    /// Buckets, communicators and the order change no bit: the same chunks, unmerged and in the order in which they
    /// are written, make the same state.
    std::optional<std::string> compare_bits() {
        training_state a = state_, b = state_;
        run_result unused;
        const run_options o = options_for(3);
        const form& f = planned_->unmerged;
        if (auto wrong = train(step_, *f.p, *f.tasks, as_written(f), text_, o, a, unused)) return wrong;
        if (auto wrong = train_planned(o, b, unused)) return wrong;
        if (!(a == b))
            return "after 3 steps the planned step has made other weights than its parts in the order written";
        std::printf(
            "weights and all that Adam remembers are the same, bit for bit, unmerged and in the order written\n");
        return {};
    }

    void describe_run(const run_result& made) {
        std::vector<double> waited;
        for (std::size_t k = 0; k < made.milliseconds.size(); ++k)
            waited.push_back(made.milliseconds[k] - made.busy[k]);
        figures_.planned_measured = median(made.milliseconds);
        figures_.overlap_measured = overlap(figures_.collectives, median(waited));
        figures_.first_loss = made.losses.front();
        figures_.last_loss = mean(made.losses, 20);
        figures_.entropy = unigram_entropy(text_);
        const double tokens = static_cast<double>(a_.shape.batch * a_.shape.sequence * a_.ranks.ranks);
        figures_.tokens_per_second = tokens * 1000 / figures_.planned_measured;
        std::printf("step: %.1f ms measured, %.2f of the one as written (%.2f predicted)\n", figures_.planned_measured,
                    figures_.planned_measured / figures_.whole_measured,
                    figures_.planned_predicted / figures_.whole_predicted);
        std::printf("overlap: %.0f %% of %.1f ms of collectives hidden predicted, %.0f %% measured\n",
                    100 * figures_.overlap_predicted, figures_.collectives, 100 * figures_.overlap_measured);
        std::printf("loss: %.3f -> %.3f nats a byte (unigram entropy of the text: %.3f); %.0f tokens/s\n",
                    figures_.first_loss, figures_.last_loss, figures_.entropy, figures_.tokens_per_second);
    }

    int write_files(const run_result& made, std::int64_t first) {
        const auto write = [](const std::string& path, const auto& content) -> std::optional<std::string> {
            return path.empty() ? std::nullopt : write_file(path, content());
        };
        const auto save = [&] {
            return spelled({a_.shape, a_.ranks, hash_of(text_), planned_->chosen.chunks, state_});
        };
        if (const auto wrong = write(a_.checkpoint, save)) return fail(2, *wrong);
        if (const auto wrong = write(a_.report, [&] { return html_report(figures_, made.losses, first); }))
            return fail(2, *wrong);
        if (const auto wrong = write(a_.trace, [&] { return trace_of(*whole_, *planned_, made.times); }))
            return fail(2, *wrong);
        if (!a_.step_file.empty())
            if (const auto wrong = write_step(*planned_, a_.step_file)) return fail(2, *wrong);
        return 0;
    }

    const arguments& a_;
    std::string text_;
    training_step step_;
    training_state state_;
    chunk_wish wish_;
    std::optional<form> whole_;
    std::optional<planned_step> planned_;
    run_figures figures_;
};

}  // namespace

int run_session(const arguments& a) { return session(a).run(); }

}  // namespace trainer
