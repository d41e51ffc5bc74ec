// The scheduler: an order of the step that hides communication, never exceeds a memory limit, is never worse than the
// input, and comes with a proof of how far from optimal it can be.
#ifndef STRETTO_SCHEDULE_LIST_SCHEDULE_HPP
#define STRETTO_SCHEDULE_LIST_SCHEDULE_HPP

#include <numeric>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/detail/list_pass.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"

namespace stretto {

struct schedule_options {
    /// Peak live bytes. As much as the input order needs, if nothing else is said.
    memory_budget memory_limit = memory_budget::times_input_peak(1.0);
    /// Stop improving once the gap to the lower bound is below this share.
    double good_enough = 0.001;
};

/// Why there is no schedule: the input order itself needs more memory than the limit. (The witness that keeps every
/// schedule within its limit is the input order; a limit below its peak has none.)
struct limit_too_low {
    bytes limit;
    bytes input_peak;
    task_id at;  ///< where the input order reaches its peak
};

class schedule;

/// Schedules a step. Certified list scheduling in program order and along urgencies from backward passes, at most five
/// preferences in all (two beyond 200,000 kernels and collectives); then the exact clock, the exact memory profile,
/// the lower bound and the reason for whatever stays exposed. Deterministic: integers only, ties by program order.
///
/// Guarantees: every dependence of `g` holds; peak memory <= limit; step <= step of the input order; step >= bound.
/// O((V + E) log V + passes * memory range operations) time, about 400 bytes per task.
/// Sources: baseline-certified list scheduling and forward/backward improvement (Li & Willis 1992).
template <class = void>
[[nodiscard]] expected<schedule, limit_too_low> list_schedule(const task_graph& g,
                                                              const schedule_options& options = {});

/// A legal order with its certificate. Only `list_schedule` makes one.
class schedule {
public:
    [[nodiscard]] const std::vector<task_id>& order() const noexcept { return order_; }
    [[nodiscard]] nanoseconds step() const noexcept { return times_.step; }
    [[nodiscard]] const simulation& times() const noexcept { return times_; }
    [[nodiscard]] const memory_profile& memory() const noexcept { return memory_; }
    [[nodiscard]] bytes memory_limit() const noexcept { return limit_; }

    /// No order of this step is faster, whatever memory it may use.
    [[nodiscard]] const lower_bound& bound() const noexcept { return bound_; }
    /// step / bound - 1: how much faster an optimal order could be at most. 0 proves this one optimal.
    [[nodiscard]] double gap() const noexcept {
        if (bound_.value.count == 0) return 0;
        return static_cast<double>((times_.step - bound_.value).count) / static_cast<double>(bound_.value.count);
    }
    /// Every collective with its exposed time and the reason for it, in issue order.
    [[nodiscard]] const std::vector<collective_exposure>& exposures() const noexcept { return exposures_; }

private:
    schedule() = default;
    template <class>
    friend expected<schedule, limit_too_low> list_schedule(const task_graph&, const schedule_options&);

    std::vector<task_id> order_;
    simulation times_;
    memory_profile memory_;
    bytes limit_;
    lower_bound bound_;
    std::vector<collective_exposure> exposures_;
};

namespace detail {

/// Tries preferences one after the other and keeps the best pass. All that varies is which ready kernel and which ready
/// collective goes first: program order keeps memory low; the backward pass ("as late as possible") knows what is
/// urgent; most steps want urgency on the channels and a blend of both on the lane, and steps in chunks want their
/// collectives launched early.
template <class = void>
class schedule_search {
public:
    /// `input_step`: of the order of the nodes, which fits `limit`.
    schedule_search(const compact_tasks& c, bytes limit, nanoseconds input_step) : c_(c), limit_(limit.count) {
        std::vector<std::uint32_t> input(c.size());
        std::iota(input.begin(), input.end(), 0u);
        program_order_ = machine_orders_of(c, input);
        best_.step = input_step.count;
        best_.nodes = input;
        input_ = std::move(input);
    }

    /// The best order found, once it is no longer than `enough` or nothing is left to try.
    [[nodiscard]] pass_result run(std::int64_t enough) {
        const bool many = c_.size() > many_nodes;
        const std::int64_t input_step = best_.step;
        const pass_result first = attempt(program_order_, !many);
        if (best_.step <= enough) return std::move(best_);
        const pass_result urgent_first = attempt(urgency_after(first));
        if (many && best_.step == input_step) attempt(program_order_);
        if (best_.step <= enough || many) return std::move(best_);
        // A second round from where the first has led: what is urgent now?
        const machine_orders urgency = urgency_after(urgent_first);
        const std::int64_t without = best_.step;
        attempt(launches_drawn_forward(c_, urgency));
        if (best_.step <= enough || best_.step < without) return std::move(best_);  // program order would undo it
        for (double toward_urgency : {0.0, 0.75}) {
            attempt(blend(program_order_, urgency, toward_urgency));
            if (best_.step <= enough) break;
        }
        return std::move(best_);
    }

private:
    /// Beyond this, blends cost more time than they have ever gained, and where memory binds, so does a pass in
    /// program order: what it would make urgent, a pass without memory tells as well.
    static constexpr std::uint32_t many_nodes = 200'000;

    [[nodiscard]] machine_orders urgency_after(const pass_result& r) const {
        const pass_result late = backward_pass(c_, machine_orders_of(c_, r.nodes, true));
        return machine_orders_of(c_, late.nodes, true);
    }

    /// One pass, a candidate for the best if it keeps the limit. One that does not is repeated with the witness, unless
    /// `insist` says that any order will do.
    pass_result attempt(const machine_orders& preference, bool insist = true) {
        pass_result r;
        if (!memory_binds_) {
            r = forward_pass(c_, preference, nullptr).run();
            memory_binds_ = limit_ != unlimited_bytes.count && peak_of(c_, r.nodes) > limit_;
            if (memory_binds_) {
                baseline_ = make_baseline(c_, std::move(input_));
                if (!insist) return r;
            }
        }
        if (memory_binds_) {
            baseline_witness memory(c_, baseline_, limit_);
            r = forward_pass(c_, preference, &memory).run();
        }
        if (r.step < best_.step) best_ = r;
        return r;
    }

    const compact_tasks& c_;
    std::int64_t limit_;
    bool memory_binds_ = false;  // some pass without the witness has exceeded the limit
    pass_result best_;
    std::vector<std::uint32_t> input_;
    baseline baseline_;
    machine_orders program_order_;
};

}  // namespace detail

template <class>
inline expected<schedule, limit_too_low> list_schedule(const task_graph& g, const schedule_options& options) {
    schedule s;
    std::vector<task_id> input(g.size());
    std::iota(input.begin(), input.end(), 0u);
    // What the passes need room for is not held meanwhile.
    const nanoseconds input_step = simulate(g, input).step;
    {
        const memory_profile input_memory = profile_memory(g, input);
        s.limit_ = options.memory_limit.limit(input_memory.peak);
        if (input_memory.peak > s.limit_)
            return unexpected(limit_too_low{s.limit_, input_memory.peak, input_memory.peak_at});
    }

    const detail::compact_tasks c = detail::make_compact_tasks(g);
    s.bound_ = detail::bound_below(c);
    const double enough = static_cast<double>(s.bound_.value.count) * (1 + options.good_enough);
    detail::schedule_search search(c, s.limit_, input_step);
    const detail::pass_result best = search.run(static_cast<std::int64_t>(enough));

    s.order_ = best.step < input_step.count ? detail::expand(c, best.nodes) : std::move(input);
    s.times_ = simulate(g, s.order_);
    s.memory_ = profile_memory(g, s.order_);
    std::vector<task_id> starved;
    for (std::uint32_t n : best.starved) starved.push_back(c.task[n]);
    std::sort(starved.begin(), starved.end());
    s.exposures_ = explain_exposure(g, s.order_, s.times_, starved);
    return s;
}

}  // namespace stretto

#endif
