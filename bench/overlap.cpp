// Measures how much of its transfers a step of experts hides on ranks that are threads, beside what is predicted for
// the durations of its parts, and beside the optimum. Two ranks exchange rows (balanced: each sends half of its rows to
// the other), two matrices multiply them, and they go back; whole, and in 2 and 4 chunks, ordered by plan_overlap.
//
// Durations are measured in the same rounds as the steps: the chunks' kernels without any transfer, and their transfers
// without any kernel. The prediction is the exact clock with them; `with c` divides by that of the clock under
// contention, whose c is fitted to the step in two chunks. The optimum of n chunks with dispatch d, expert e
// and combine c on one network is max{n(d + c), d + ne + c, nd + e + c, d + e + nc}; no order is faster.
//
// Times are of the wall, since threads wait for each other: medians over rounds, in which all forms take turns. Where
// that is permitted, threads run before those of other processes for the seconds that it takes.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/schedule/contention.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"
#include "support/operation_list.hpp"
#include "support/planned_step.hpp"
#include "support/ranks.hpp"

namespace {

using namespace stretto;
using bench::median;

constexpr std::size_t ranks = 2;
constexpr std::size_t chunk_counts[] = {1, 2, 4};

struct shape {
    std::size_t rows, width, hidden;
    [[nodiscard]] std::size_t bytes() const { return rows * width * sizeof(float); }
};

/// Each chunk is a view of the rows: a part of them, without a copy.
struct program : bench::operation_list {
    shape s;
    std::size_t chunks;
    nanoseconds transfer, expert;          // of one chunk
    std::vector<std::uint32_t> back = {};  // by chunk: the rows that have come back

    program(shape given, std::size_t n, bool transfers, bool experts, nanoseconds d, nanoseconds e)
        : s(given), chunks(n), transfer(d), expert(e) {
        const std::uint32_t x = add({op_kind::input, {}});
        for (std::size_t k = 0; k < n; ++k) {
            std::uint32_t rows = add({op_kind::view, {x}, k});
            if (transfers) rows = exchange(rows, k);
            if (experts) rows = add({op_kind::compute, {rows}, k});
            if (transfers) rows = exchange(rows, k);
            back.push_back(rows);
        }
        add({op_kind::output, back});
    }
    [[nodiscard]] std::int64_t chunk_bytes() const { return static_cast<std::int64_t>(s.bytes() / chunks); }

private:
    std::uint32_t exchange(std::uint32_t rows, std::size_t k) {
        return add({op_kind::wait, {add({op_kind::start, {rows}, k})}, k});
    }
};

struct program_model {
    const program* p;

    op_kind kind(std::uint32_t v) const { return p->operations[v].kind; }
    nanoseconds duration(std::uint32_t v) const {
        if (kind(v) == op_kind::start) return p->transfer;
        return kind(v) == op_kind::compute ? p->expert : nanoseconds{};
    }
    bytes bytes_of(std::uint32_t x) const {
        if (kind(x) == op_kind::input) return {static_cast<std::int64_t>(p->s.bytes())};
        return {aliases(x).empty() ? p->chunk_bytes() : 0};
    }
    bytes payload(std::uint32_t) const { return {p->chunk_bytes()}; }
    collective_kind collective(std::uint32_t) const { return collective_kind::all_to_all; }
    std::vector<std::uint32_t> aliases(std::uint32_t x) const {
        if (kind(x) == op_kind::wait || kind(x) == op_kind::view) return p->operations[x].reads;
        return {};
    }
};

/// The memory of one rank: its rows and its two matrices, the same on all ranks, so that it does not matter who works
/// on a row: in chunks, other ones go to each rank.
struct rank_data {
    std::vector<float> rows, first, second;
    std::int64_t computing = 0;  // time in kernels, of the replay at hand

    rank_data(shape s, std::size_t rank)
        : rows(s.rows * s.width), first(s.width * s.hidden), second(s.hidden * s.width) {
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<float>((k * 7 + rank * 3) % 29) / 8 - 1;
        for (std::size_t k = 0; k < first.size(); ++k) first[k] = static_cast<float>(k * 5 % 23) / 64 - 0.125f;
        for (std::size_t k = 0; k < second.size(); ++k) second[k] = static_cast<float>(k * 3 % 19) / 64;
    }
};

/// max(x A, 0) B, row by row.
struct expert_kernel {
    rank_data* data;
    shape s;
    std::size_t rows;
    const float* from;
    float* to;

    void operator()() const {
        const std::int64_t begin = detail::host_now();
        std::vector<float>& hidden = scratch(s.hidden);
        for (std::size_t r = 0; r < rows; ++r) {
            const float* const x = from + r * s.width;
            float* const y = to + r * s.width;
            std::fill(hidden.begin(), hidden.end(), 0.0f);
            for (std::size_t k = 0; k < s.width; ++k)
                for (std::size_t j = 0; j < s.hidden; ++j) hidden[j] += x[k] * data->first[k * s.hidden + j];
            std::fill(y, y + s.width, 0.0f);
            for (std::size_t j = 0; j < s.hidden; ++j) {
                const float a = std::max(hidden[j], 0.0f);
                for (std::size_t k = 0; k < s.width; ++k) y[k] += a * data->second[j * s.width + k];
            }
        }
        data->computing += detail::host_now() - begin;
    }
    static std::vector<float>& scratch(std::size_t size) {
        thread_local std::vector<float> memory;
        memory.resize(size);
        return memory;
    }
};

struct source {
    const program* p;
    rank_data* data;

    expert_kernel kernel(task_id, task_memory m) const {
        return {data, p->s, p->s.rows / p->chunks, reinterpret_cast<const float*>(m.operands[0]),
                reinterpret_cast<float*>(m.results[0])};
    }
    collective_call call(task_id) const {
        collective_call made;
        made.kind = collective_kind::all_to_all;
        return made;
    }
    std::byte* address(value_id) const { return reinterpret_cast<std::byte*>(data->rows.data()); }
    bytes offset(value_id x) const {
        const program::operation& o = p->operations[x];
        return {o.kind == op_kind::view ? static_cast<std::int64_t>(o.chunk) * p->chunk_bytes() : 0};
    }
};

using planned = bench::planned_step<program, program_model>;

/// Makes this thread one that others do not interrupt, of a rank among such threads. A network does not wait for a
/// core, so channels come before kernels. Returns whether the machine permits it.
bool take_priority(int rank) {
    sched_param p{};
    p.sched_priority = rank;
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}
constexpr int priority_of_kernels = 10, priority_of_channels = 20;

/// What rounds of several programs, one after the other, have taken: by program, then by round. `computing` is the time
/// in kernels of the rank that has spent most there.
struct timings {
    std::vector<std::vector<double>> step, computing;
    bool same = true;  // whether all whole steps have made the same
};

timings run(const std::vector<const planned*>& all, const std::vector<bool>& is_step, shape s, host_link link,
            int rounds) {
    timings made;
    made.step.resize(all.size());
    made.computing.resize(all.size());
    std::vector<std::vector<std::array<std::int64_t, 2>>> begins(all.size()), ends(all.size()), computing(all.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
        begins[k].resize(static_cast<std::size_t>(rounds));
        ends[k].resize(static_cast<std::size_t>(rounds));
        computing[k].resize(static_cast<std::size_t>(rounds));
    }
    host_world world(ranks, bench::group_of(ranks), {.link = link});
    const auto failure = world.run([&](host_rank& rank) {
        const std::size_t me = rank.rank();
        static_cast<void>(take_priority(priority_of_kernels));
        rank_data data(s, me);
        using bound_program = executor<host_rank, expert_kernel>;
        std::vector<bound_program> bound;
        for (const planned* p : all) {
            source from{&p->p, &data};
            auto b = bind_order(p->g, p->order, from, rank);
            if (!b) std::exit(1);
            bound.push_back(*std::move(b));
        }
        collective_operation barrier;
        std::vector<float> expected;
        for (int round = -1; round < rounds; ++round)  // the first one touches memory
            for (std::size_t k = 0; k < all.size(); ++k) {
                data.computing = 0;
                if (rank.perform(0, barrier)) return;
                const std::int64_t begin = detail::host_now();
                if (bound[k].replay()) return;
                const std::int64_t end = detail::host_now();
                if (round >= 0) {
                    begins[k][static_cast<std::size_t>(round)][me] = begin;
                    ends[k][static_cast<std::size_t>(round)][me] = end;
                    computing[k][static_cast<std::size_t>(round)][me] = data.computing;
                    continue;
                }
                if (me != 0 || !is_step[k]) continue;
                std::vector<float> back;
                for (const std::uint32_t x : all[k]->p.back) {
                    const auto* const from = reinterpret_cast<const float*>(bound[k].address(x));
                    back.insert(back.end(), from, from + all[k]->p.chunk_bytes() / 4);
                }
                if (expected.empty()) expected = back;
                made.same = made.same && back == expected;
            }
    });
    if (failure) {
        std::fprintf(stderr, "%s\n", explain(*failure, [](task_id t) { return std::to_string(t); }).c_str());
        std::exit(1);
    }
    for (std::size_t k = 0; k < all.size(); ++k)
        for (std::size_t r = 0; r < static_cast<std::size_t>(rounds); ++r) {
            made.step[k].push_back(static_cast<double>(std::max(ends[k][r][0], ends[k][r][1]) -
                                                       std::max(begins[k][r][0], begins[k][r][1])));
            made.computing[k].push_back(static_cast<double>(std::max(computing[k][r][0], computing[k][r][1])));
        }
    return made;
}

/// Exact, for identical chunks on one network and one processor.
double optimum(double n, double d, double e, double c) {
    return std::max({n * (d + c), d + n * e + c, n * d + e + c, d + e + n * c});
}

nanoseconds rounded(double x) { return {std::llround(x)}; }

void measure(const char* what, shape s, host_link link, int rounds) {
    // Durations do not change the programs of kernels or transfers alone, so these are measured with any; the order of
    // a step is that for the durations of a first run.
    std::vector<double> transfer(3, 1'000'000), expert(3, 1'000'000);
    timings seen;
    for (const bool first : {true, false}) {
        std::vector<planned> parts;
        parts.reserve(9);
        std::vector<bool> is_step;
        for (std::size_t k = 0; k < 3; ++k)
            for (const auto& [transfers, experts] : {std::pair{true, true}, {true, false}, {false, true}}) {
                parts.emplace_back(
                    program(s, chunk_counts[k], transfers, experts, rounded(transfer[k]), rounded(expert[k])));
                is_step.push_back(transfers && experts);
            }
        std::vector<const planned*> all;
        for (const planned& p : parts) all.push_back(&p);
        seen = run(all, is_step, s, link, first ? std::max(3, rounds / 4) : rounds);
        if (!seen.same) {
            std::fprintf(stderr, "chunks do not make what the whole makes\n");
            std::exit(1);
        }
        for (std::size_t k = 0; k < 3; ++k) {
            const auto n = static_cast<double>(chunk_counts[k]);
            transfer[k] = median(seen.step[3 * k + 1]) / (2 * n);
            expert[k] = median(seen.computing[3 * k + 2]) / n;
        }
    }
    const double whole = median(seen.step[0]);
    std::printf("\n%s: %zu rows of %zu numbers, hidden %zu, medians of %d steps\n\n", what, s.rows, s.width, s.hidden,
                rounds);
    std::printf(
        "| chunks | transfer us | expert us | predicted us | measured us | measured / predicted | speed-up | "
        "optimum | share of it | ceiling | with c |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    std::vector<planned> steps;
    for (std::size_t k = 0; k < 3; ++k)
        steps.emplace_back(program(s, chunk_counts[k], true, true, rounded(transfer[k]), rounded(expert[k])));
    const contention c = fitted(steps[1], median(seen.step[3]));
    for (std::size_t k = 0; k < 3; ++k) {
        const auto n = static_cast<double>(chunk_counts[k]);
        const double d = transfer[k], e = expert[k], measured = median(seen.step[3 * k]);
        const double alone = predicted(steps[k], {}), slowed = predicted(steps[k], c);
        const double sum = 2 * transfer[0] + expert[0], best = sum / optimum(n, d, e, d);
        const double ceiling = sum / optimum(n, transfer[0] / n, expert[0] / n, transfer[0] / n);
        std::printf("| %zu | %.0f | %.0f | %.0f | %.0f | %.3f | %.3f | %.3f | %.0f %% | %.3f | %.3f |\n",
                    chunk_counts[k], d / 1e3, e / 1e3, alone / 1e3, measured / 1e3, measured / alone, whole / measured,
                    best, 100 * (whole / measured) / best, ceiling, measured / slowed);
    }
    std::printf("\nc = %.2f, fitted to the step in 2 chunks. Kernels of a step take",
                static_cast<double>(c.numerator) / static_cast<double>(c.denominator));
    for (std::size_t k = 0; k < 3; ++k)
        std::printf(" %.2f", median(seen.computing[3 * k]) / median(seen.computing[3 * k + 2]));
    std::printf(" times as long as without transfers, in 1, 2 and 4 chunks.\n");
}

}  // namespace

int main(int argc, char** argv) {
    const bool smoke = bench::read_arguments(argc, argv).smoke;
    const int rounds = smoke ? 3 : 60;
    // Threads of channels inherit this from the one that makes them.
    if (!smoke)
        std::printf(take_priority(priority_of_channels)
                        ? "Threads with priority: other processes are not in these figures.\n"
                        : "Without permission for priorities: what other processes do is in these figures.\n");
    const shape small{smoke ? std::size_t{64} : std::size_t{1'024}, 64, 256};
    // A link on which the transfers of a step take as long as its kernels: half of the rows cross it, there and back.
    rank_data data(small, 0);
    std::vector<float> to(small.rows * small.width);
    std::vector<double> alone;
    for (int k = 0; k < 9; ++k) {
        data.computing = 0;
        expert_kernel{&data, small, small.rows, data.rows.data(), to.data()}();
        alone.push_back(static_cast<double>(data.computing));
    }
    const host_link link{{20'000}, static_cast<std::int64_t>(static_cast<double>(small.bytes()) / median(alone) * 1e9)};
    measure("Emulated link, transfers as long as kernels", small, link, rounds);
    // Copies by the channels' threads: four lanes on the cores that there are.
    const shape large{smoke ? std::size_t{256} : std::size_t{65'536}, 64, 4};
    measure("Copies, no link", large, {}, smoke ? 3 : 30);
    return 0;
}
