// The scheduler. It finds an order of the step that hides communication, never exceeds a memory limit, and is never
// slower than the input; a certificate proves how far from optimal it can be at most.
#ifndef STRETTO_SCHEDULE_LIST_SCHEDULE_HPP
#define STRETTO_SCHEDULE_LIST_SCHEDULE_HPP

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"

namespace stretto {

struct schedule_options {
    /// The limit of peak live bytes; by default, what the input order needs.
    memory_budget memory_limit = memory_budget::times_input_peak(1.0);
    /// The search stops when the gap to the lower bound is below this share.
    double good_enough = 0.001;
};

/// Why there is no schedule: the input order itself needs more memory than the limit. The input order is the witness
/// that keeps each schedule within its limit; it cannot be one for a limit below its own peak.
struct limit_too_low {
    bytes limit;
    bytes input_peak;
    task_id at;  ///< where the input order reaches its peak
};

/// Schedules a step. It runs certified list scheduling with at most five preferences, and four more where memory binds
/// (two in all if there are more than 200,000 kernels and collectives): program order, and urgencies from backward
/// passes. It then computes the exact times, the exact memory profile, the lower bound, and the reason for each
/// collective that stays exposed.
/// Deterministic: times and bytes are integers, ties are broken by program order, and doubles (in blended preferences
/// and `good_enough`) are the same on every machine with IEEE 754 arithmetic.
///
/// Guarantees: each dependence of `g` holds; peak memory <= limit; makespan <= makespan of the input order; makespan >=
/// bound. O((V + E) log V + passes * memory range operations) time, about 400 bytes per task.
///
/// Source: K. Y. Li and R. J. Willis, An iterative scheduling technique for resource-constrained project scheduling,
/// European Journal of Operational Research 56, 1992 (forward and backward passes).
template <class = void>
[[nodiscard]] expected<schedule, limit_too_low> list_schedule(const task_graph& g,
                                                              const schedule_options& options = {});

namespace detail {

/// The bytes per task that bounds and search need at one time, in steps that have views.
inline constexpr std::size_t room_of_search = 32;

/// Tries preferences one after the other and keeps the best pass. A preference only says which ready kernel and which
/// ready collective goes first. At most five are tried: program order, which keeps memory low; the order of a backward
/// pass ("as late as possible"), which shows what is urgent; a second such order, from the result of the first, in
/// which launches are drawn forward, which helps steps in chunks; and, if that gains nothing, the second order for the
/// channels, with program order for the lane or with a blend of both, which helps most steps. Where memory binds, four
/// more follow that spend it on what is needed soon. For many nodes, only two are tried.
template <class = void>
class schedule_search {
public:
    /// `input_makespan` and `input_peak` are those of the nodes in their given order; `input_peak` is at most `limit`.
    /// The memory of the search is in the workspace.
    schedule_search(const compact_tasks& c, bytes limit, nanoseconds input_makespan, bytes input_peak, workspace& w)
        : c_(c), limit_(limit.count), no_slack_(limit == input_peak), w_(w), input_(w.take<std::uint32_t>(c.size())) {
        for (std::uint32_t n = 0; n < c.size(); ++n) input_[n] = n;
        best_.makespan = input_makespan.count;
    }

    /// The first order found that is no longer than `enough`, or the best one when nothing is left to try. It has no
    /// nodes if the given order is as good.
    [[nodiscard]] pass_result run(std::int64_t enough, std::uint32_t many_nodes = 200'000) {
        if (c_.size() > many_nodes) {
            search_briefly(enough);
        } else {
            search(enough);
            if (memory_binds_ && best_.makespan > enough) search_within_memory(enough);
        }
        return std::move(best_);
    }

private:
    /// For many nodes, blends cost more time than they have ever gained. What is urgent can be learnt from a pass that
    /// ignores memory; but if there is no more memory than the input needs, the input order tells it better, since such
    /// a pass has little to do with what memory will allow.
    void search_briefly(std::int64_t enough) {
        const std::int64_t input_makespan = best_.makespan;
        if (no_slack_) {
            bind_memory();
            attempt(urgency_after(input_));
        } else {
            const std::span<const std::uint32_t> first = attempt(program_order(), false);
            if (best_.makespan <= enough) return;
            attempt(urgency_after(first));
        }
        if (best_.makespan == input_makespan) attempt(program_order());
    }

    void search(std::int64_t enough) {
        const machine_orders in_program_order = program_order();
        const std::span<const std::uint32_t> first = attempt(in_program_order);
        if (best_.makespan <= enough) return;
        const std::span<const std::uint32_t> urgent_first = attempt(urgency_after(first));
        if (best_.makespan <= enough) return;
        // A second round, from what the first one led to: which nodes are urgent now?
        const machine_orders urgency = urgency_after(urgent_first);
        const std::int64_t without = best_.makespan;
        attempt(launches_drawn_forward(c_, urgency, w_));
        if (best_.makespan <= enough || best_.makespan < without) return;  // program order would undo it
        for (double toward_urgency : {0.0, 0.75}) {
            attempt(blend(in_program_order, urgency, toward_urgency, w_));
            if (best_.makespan <= enough) return;
        }
    }

    /// Where memory binds, two things are worth more than urgency. Gradients leave the memory once they are reduced, so
    /// what leads to their collectives is drawn forward, far. And what a kernel allocates long before it is needed is
    /// missing in between, so kernels that add to the memory in use wait until the lane is close to their place: within
    /// a share of all its work, because how far ahead pays is a question of the step's own scale.
    void search_within_memory(std::int64_t enough) {
        const workspace::scope scratch(w_);
        constexpr std::int64_t far = 16;
        const machine_orders in_program_order = program_order();
        attempt(launches_drawn_forward(c_, in_program_order, w_, far));
        if (best_.makespan <= enough) return;
        const pass_result late = backward_pass(c_, input_, w_);
        const machine_orders urgency = machine_orders_of(c_, late.nodes, w_, true);
        attempt(launches_drawn_forward(c_, urgency, w_, far));
        if (best_.makespan <= enough) return;
        const kernel_places places = places_in(c_, late.nodes, w_);
        std::int64_t work = 0;
        for (std::uint32_t n : places.lane) work += c_.duration[n];
        attempt(blend(in_program_order, urgency, 0.5, w_), places, work / 32);
        if (best_.makespan <= enough) return;
        attempt(urgency, places, work / 16);
    }

    [[nodiscard]] machine_orders program_order() const { return machine_orders_of(c_, input_, w_); }

    [[nodiscard]] machine_orders urgency_after(std::span<const std::uint32_t> nodes) const {
        const pass_result late = backward_pass(c_, nodes, w_);
        return machine_orders_of(c_, late.nodes, w_, true);
    }

    /// Runs one pass; it becomes the best if it is faster than that and keeps the limit. A pass that exceeds the limit
    /// is repeated with the witness if `insist` is set; otherwise the search goes on with its order. Returns its nodes
    /// in order, which are valid until the next attempt.
    std::span<const std::uint32_t> attempt(const machine_orders& preference, bool insist = true) {
        if (!memory_binds_) {
            last_ = pass(preference, nullptr);
            if (limit_ != unlimited_bytes.count && peak_of(c_, last_.nodes, w_) > limit_) {
                bind_memory();
                if (!insist) return last_.nodes;
            }
        }
        if (memory_binds_) last_ = pass(preference, &baseline_);
        if (last_.makespan >= best_.makespan) return last_.nodes;
        best_ = std::move(last_);
        return best_.nodes;
    }

    /// One pass within memory in which kernels are held back, a candidate for the best.
    void attempt(const machine_orders& preference, const kernel_places& places, std::int64_t window) {
        const workspace::scope scratch(w_);
        baseline_witness memory(c_, baseline_, limit_, w_);
        kernel_window held(places, window, w_);
        pass_result found = forward_pass(c_, preference, &memory, w_, &held).run();
        if (found.makespan < best_.makespan) best_ = std::move(found);
    }

    void bind_memory() {
        memory_binds_ = true;
        baseline_ = make_baseline(c_, w_);
    }

    [[nodiscard]] pass_result pass(const machine_orders& preference, const baseline* feasible) {
        const workspace::scope scratch(w_);
        if (!feasible) return forward_pass(c_, preference, nullptr, w_).run();
        baseline_witness memory(c_, *feasible, limit_, w_);
        return forward_pass(c_, preference, &memory, w_).run();
    }

    const compact_tasks& c_;
    std::int64_t limit_;
    bool no_slack_;  // the limit is the peak of the input order
    workspace& w_;
    std::span<std::uint32_t> input_;  // all nodes
    bool memory_binds_ = false;       // passes need the witness, since one without it has exceeded the limit, or would
    baseline baseline_;               // of the input order; set when memory binds
    pass_result best_;                // no nodes if the input order is the best
    pass_result last_;
};

}  // namespace detail

template <class>
expected<schedule, limit_too_low> list_schedule(const task_graph& g, const schedule_options& options) {
    std::vector<task_id> order(g.size());
    for (task_id t = 0; t < g.size(); ++t) order[t] = t;
    detail::workspace w(g.size() * detail::room_of_search);
    const nanoseconds input_makespan = detail::makespan_of(g, order, w);
    const memory_profile input_memory = detail::find_peak(g, order, w, [](bytes) {});
    const bytes limit = options.memory_limit.limit(input_memory.peak);
    if (input_memory.peak > limit) return unexpected(limit_too_low{limit, input_memory.peak, input_memory.peak_at});

    lower_bound bound;
    std::vector<task_id> starved;
    {  // the memory of the search is released before the certificate is written
        const detail::compact_tasks c = detail::make_compact_tasks(g, w);
        bound = detail::bound_below(c, w);
        const double enough = static_cast<double>(bound.value.count) * (1 + options.good_enough);
        detail::schedule_search search(c, limit, input_makespan, input_memory.peak, w);
        const detail::pass_result best = search.run(static_cast<std::int64_t>(enough));
        if (best.makespan < input_makespan.count) order = detail::expand(c, best.nodes);
        for (std::uint32_t n : best.starved) starved.push_back(c.task[n]);
    }
    std::sort(starved.begin(), starved.end());
    order_figures figures{simulate(g, order), profile_memory(g, order)};
    return detail::schedule_maker::make(g, std::move(order), std::move(figures), limit, bound, starved);
}

}  // namespace stretto

#endif
