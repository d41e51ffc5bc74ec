// How long the step takes in all chunk counts, beside what is predicted for the durations of its parts; and whether it
// makes what it should.
#ifndef STRETTO_BENCH_DEVICE_MEASURED_STEPS_CUH
#define STRETTO_BENCH_DEVICE_MEASURED_STEPS_CUH

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/expert_step.cuh"
#include "support/measure.hpp"
#include "support/ranks.hpp"

namespace bench {

/// Performs the tasks one after the other on one stream, with an event between each. Returns how long each has taken.
template <class A, class Exchange>
std::vector<double> one_by_one(bound_program<A>& b, cudaStream_t s, std::vector<cudaEvent_t>& events,
                               Exchange exchange) {
    const program& p = b.plan.p;
    while (events.size() <= p.operations.size()) must(cudaEventCreate(&events.emplace_back()), "cudaEventCreate");
    std::size_t used = 0;
    std::vector<std::uint32_t> tasks;
    must(cudaEventRecord(events[used++], s), "cudaEventRecord");
    for (const task_id t : b.plan.order.order()) {
        if (p.operations[t].kind == op_kind::start)
            exchange(b.bound.address(t), b.bound.address(p.operations[t].reads[0]),
                     p.chunk_rows() * p.s.width * sizeof(bf16), s);
        else if (p.operations[t].kind == op_kind::compute)
            std::find_if(b.from.made.begin(), b.from.made.end(), [&](const auto& k) {
                return k.first == t;
            })->second(s);
        else continue;
        tasks.push_back(t);
        must(cudaEventRecord(events[used++], s), "cudaEventRecord");
    }
    must(cudaStreamSynchronize(s), "a step, task by task");
    std::vector<double> taken(p.operations.size(), 0.0);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
        float ms = 0;
        must(cudaEventElapsedTime(&ms, events[k], events[k + 1]), "cudaEventElapsedTime");
        taken[tasks[k]] = static_cast<double>(ms) * 1e6;
    }
    return taken;
}

template <class F>
double wall(F f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

constexpr std::size_t chunk_counts[] = {1, 2, 4, 8};

/// What a step in one chunk count has taken, in nanoseconds, and made.
struct measured_step {
    double compute = 0, transfers = 0, eager = 0, captured = 0;
    std::size_t other_gradients = 0, changing = 0;  // words that differ from the whole's, and between replays
};

/// Measures the step in all chunk counts, taking turns. `exchange` performs a transfer of the emulated link. Returns
/// the programs, with the durations of their operations alone.
template <class A, class Exchange>
std::vector<program> measure(const char* what, cuda_nccl_rank<A>& rank, rank_data& data, products& multiply, int rounds,
                             Exchange exchange) {
    constexpr std::size_t counts = std::size(chunk_counts);
    std::vector<program> programs;
    for (const std::size_t n : chunk_counts) programs.emplace_back(data.s, n);
    std::vector<cudaEvent_t> events;
    std::vector<measured_step> seen(counts);
    std::vector<planned> plans;
    // The first time, the order is that for durations that are made up; the second time, for those measured then.
    for (const bool last : {false, true}) {
        std::vector<std::unique_ptr<bound_program<A>>> steps;
        for (const program& p : programs)
            steps.push_back(std::make_unique<bound_program<A>>(planned(p), data, multiply, rank));
        std::vector<std::optional<cuda_nccl_capture<A>>> captures(counts);
        for (std::size_t k = 0; last && k < counts; ++k) {
            auto made = rank.capture(steps[k]->bound);
            if (made) captures[k].emplace(*std::move(made));
            else if (bench::went_well(made.error())) std::exit(1);
        }
        buffer<bf16> gradients(data.s.rows * data.s.width), at_hand(gradients.size);
        std::vector<std::vector<double>> eager(counts), captured(counts);
        std::vector<std::vector<std::vector<double>>> parts(counts);
        const auto gather = [&](const bound_program<A>& b, bf16* to) {
            const program& p = b.plan.p;
            const std::size_t chunk = p.chunk_rows() * p.s.width;
            for (std::size_t k = 0; k < p.back.size(); ++k)
                must(cudaMemcpy(to + k * chunk, b.bound.address(p.back[k]), chunk * sizeof(bf16), cudaMemcpyDefault),
                     "gather");
        };
        std::vector<std::unique_ptr<buffer<bf16>>> own;
        const int all = last ? rounds : std::max(3, rounds / 4);
        for (int round = -1; round < all; ++round)
            for (std::size_t k = 0; k < counts; ++k) {
                bound_program<A>& b = *steps[k];
                const std::vector<double> taken = one_by_one(b, rank.stream(), events, exchange);
                std::optional<run_failure> failure;
                const double e = wall([&] { failure = b.bound.replay(); });
                if (!bench::went_well(failure)) std::exit(1);
                if (last && round < 0) {
                    // The gradient of the loss is read while nothing has overwritten it: it lives to the end of its
                    // use.
                    if (k == 0) gather(b, gradients.data);
                    gather(b, at_hand.data);
                    seen[k].other_gradients = differences(gradients.data, at_hand.data, data.s.row_bytes());
                    own.push_back(std::make_unique<buffer<bf16>>(gradients.size));
                    must(cudaMemcpy(own[k]->data, at_hand.data, data.s.row_bytes(), cudaMemcpyDefault), "own");
                } else if (last) {
                    gather(b, at_hand.data);
                    seen[k].changing += differences(own[k]->data, at_hand.data, data.s.row_bytes());
                }
                double g = 0;
                if (captures[k]) {
                    g = wall([&] { failure = captures[k]->replay(); });
                    if (!bench::went_well(failure)) std::exit(1);
                    if (round >= 0) {
                        gather(b, at_hand.data);
                        seen[k].changing += differences(own[k]->data, at_hand.data, data.s.row_bytes());
                    }
                }
                if (round < 0) continue;
                eager[k].push_back(e);
                captured[k].push_back(g);
                parts[k].push_back(taken);
            }
        for (std::size_t k = 0; k < counts; ++k) {
            program& p = programs[k];
            seen[k].eager = median(eager[k]);
            seen[k].captured = median(captured[k]);
            seen[k].compute = seen[k].transfers = 0;
            for (std::size_t v = 0; v < p.operations.size(); ++v) {
                std::vector<double> of;
                for (const auto& taken : parts[k]) of.push_back(taken[v]);
                const double m = median(of);
                p.takes[v] = {std::llround(m)};
                (p.operations[v].kind == op_kind::start ? seen[k].transfers : seen[k].compute) += m;
            }
        }
    }
    for (const program& p : programs) plans.emplace_back(p);
    const contention c = fitted(plans[1], seen[1].eager);
    std::printf("\n%s: transfers take %.2f of the kernels of the whole; medians of %d steps\n\n", what,
                seen[0].transfers / seen[0].compute, rounds);
    std::printf(
        "| chunks | kernels us | transfers us | predicted us | measured us | measured / predicted | with c | captured "
        "/ "
        "measured | speed-up | predicted | hidden transfers | gradients with other bits than the whole's |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (std::size_t k = 0; k < counts; ++k) {
        const measured_step& m = seen[k];
        const double plain = predicted(plans[k], {});
        std::printf("| %zu | %.0f | %.0f | %.0f | %.0f | %.3f | %.3f | %.3f | %.3f | %.3f | %.0f %% | %.1f %% |\n",
                    chunk_counts[k], m.compute / 1e3, m.transfers / 1e3, plain / 1e3, m.eager / 1e3, m.eager / plain,
                    m.eager / predicted(plans[k], c), m.captured > 0 ? m.captured / m.eager : 0.0,
                    seen[0].eager / m.eager, predicted(plans[0], {}) / plain,
                    100 * (seen[0].compute + seen[0].transfers - m.eager) / seen[0].transfers,
                    100.0 * static_cast<double>(m.other_gradients) / static_cast<double>(data.s.row_bytes() / 4));
    }
    std::size_t changing = 0;
    for (const measured_step& m : seen) changing += m.changing;
    std::printf("\nc = %.3f, fitted to 2 chunks. Words that differ between replays: %zu.\n",
                static_cast<double>(c.numerator) / static_cast<double>(c.denominator), changing);
    std::fflush(stdout);
    for (const cudaEvent_t e : events) static_cast<void>(cudaEventDestroy(e));
    return programs;
}

/// Compares a step with products in plain loops. Returns the greatest distance of a result, relative to its norm.
template <class A>
double distance(cuda_nccl_rank<A>& rank, shape s, std::size_t chunks, products& multiply) {
    rank_data d(s);
    bound_program<A> b(planned(program(s, chunks)), d, multiply, rank);
    if (!bench::went_well(b.bound.replay())) std::exit(1);
    const std::size_t r = s.rows, w = s.width, h = s.hidden;
    buffer<bf16> hidden(r * h), y(r * w), gh(r * h), gx(r * w);
    buffer<float> g1(w * h), g2(h * w);
    const auto blocks = [](std::size_t n) { return static_cast<unsigned>((n + 255) / 256); };
    plain_product<<<blocks(r * h), 256>>>(d.rows.data, w, 1, d.first.data, h, 1, hidden.data, r, h, w);
    rectify<<<1024, 256>>>(hidden.data, nullptr, r * h);
    plain_product<<<blocks(r * w), 256>>>(hidden.data, h, 1, d.second.data, w, 1, y.data, r, w, h);
    plain_product<<<blocks(r * h), 256>>>(y.data, w, 1, d.second.data, 1, w, gh.data, r, h, w);
    rectify<<<1024, 256>>>(gh.data, hidden.data, r * h);
    plain_product<<<blocks(r * w), 256>>>(gh.data, h, 1, d.first.data, 1, h, gx.data, r, w, h);
    plain_product<<<blocks(w * h), 256>>>(d.rows.data, 1, w, gh.data, h, 1, g1.data, w, h, r);
    plain_product<<<blocks(h * w), 256>>>(hidden.data, 1, h, y.data, w, 1, g2.data, h, w, r);
    must(cudaDeviceSynchronize(), "plain products");
    double greatest = 0;
    const auto compare = [&](const auto* mine, const auto* due, std::size_t n) {
        std::vector<std::remove_cvref_t<decltype(*mine)>> a(n), c(n);
        must(cudaMemcpy(a.data(), mine, n * sizeof *mine, cudaMemcpyDefault), "compare");
        must(cudaMemcpy(c.data(), due, n * sizeof *due, cudaMemcpyDefault), "compare");
        double apart = 0, norm = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const double x = static_cast<float>(a[k]), z = static_cast<float>(c[k]);
            apart += (x - z) * (x - z);
            norm += z * z;
        }
        const double found = std::sqrt(apart / norm);
        greatest = found >= greatest ? found : std::isnan(found) ? 1e30 : greatest;
    };
    for (std::size_t k = 0; k < chunks; ++k) {
        const std::size_t n = b.plan.p.chunk_rows() * w;
        compare(reinterpret_cast<const bf16*>(b.bound.address(b.plan.p.back[k])),
                static_cast<const bf16*>(gx.data) + k * n, n);
    }
    compare(static_cast<const float*>(d.grown_first.data), static_cast<const float*>(g1.data), g1.size);
    compare(static_cast<const float*>(d.grown_second.data), static_cast<const float*>(g2.data), g2.size);
    return greatest;
}

}  // namespace bench

#endif
