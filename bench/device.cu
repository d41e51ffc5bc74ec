// Measures on a device what hiding transfers under kernels is worth, and what it costs: a layer of an expert, forward
// and backward, in the order of plan_overlap and run by the executor on streams, whole and in chunks, beside what the
// exact clock predicts from the durations of its parts; kernels and transfers beside each other; how long a transfer
// waits behind kernels; whether rows of matrix products keep their bits; and products of several experts.
//
// One rank is real. Its peers are phantoms (support/phantom_peers.cuh): the bytes of an all-to-all move inside the
// memory of the device, at the rate of an emulated link, by as many thread blocks as NCCL would use. Durations of parts
// are measured by events around each of them, in the order of the step, on one stream.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/views/from_values.hpp"
#include "support/arguments.hpp"
#include "support/operation_list.hpp"
#include "support/phantom_peers.cuh"
#include "support/ranks.hpp"

namespace {

using namespace stretto;
using bf16 = __nv_bfloat16;

void must(cudaError_t e, const char* what) {
    if (e == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(e));
    std::exit(1);
}
void must(cublasStatus_t e, const char* what) {
    if (e == CUBLAS_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", what, cublasGetStatusString(e));
    std::exit(1);
}

double median(std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

/// Memory of the device.
template <class T>
struct buffer {
    T* data = nullptr;
    std::size_t size = 0;

    explicit buffer(std::size_t n) : size(n) { must(cudaMalloc(&data, n * sizeof(T)), "cudaMalloc"); }
    buffer(const buffer&) = delete;
    ~buffer() { static_cast<void>(cudaFree(data)); }
    [[nodiscard]] std::byte* bytes() const { return reinterpret_cast<std::byte*>(data); }
};

// --- kernels ---------------------------------------------------------------------------------------------------------

__global__ void fill(bf16* to, std::size_t n, std::uint32_t seed, float scale) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n; k += stride) {
        std::uint32_t h = static_cast<std::uint32_t>(k) * 2654435761u + seed * 0x9e3779b9u;
        h = (h ^ (h >> 16)) * 0x85ebca6bu;
        h = (h ^ (h >> 13)) * 0xc2b2ae35u;
        h ^= h >> 16;
        to[k] = __float2bfloat16((static_cast<float>(h >> 8) / 8388608.0f - 1.0f) * scale);
    }
}
void fill(buffer<bf16>& b, std::uint32_t seed, float scale) {
    fill<<<1024, 256>>>(b.data, b.size, seed, scale);
    must(cudaGetLastError(), "fill");
}

/// h = max(h, 0); with `mask`, h = 0 where mask is not positive.
__global__ void rectify(bf16* h, const bf16* mask, std::size_t n) {
    const auto* const from = reinterpret_cast<const __nv_bfloat162*>(mask == nullptr ? h : mask);
    auto* const to = reinterpret_cast<__nv_bfloat162*>(h);
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n / 2; k += stride) {
        const __nv_bfloat162 m = from[k];
        __nv_bfloat162 x = to[k];
        if (!(__bfloat162float(m.x) > 0)) x.x = __float2bfloat16(0);
        if (!(__bfloat162float(m.y) > 0)) x.y = __float2bfloat16(0);
        to[k] = x;
    }
}

__global__ void count_differences(const std::uint32_t* a, const std::uint32_t* b, std::size_t n,
                                  unsigned long long* count) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    unsigned long long mine = 0;
    for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n; k += stride) mine += a[k] != b[k];
    if (mine != 0) atomicAdd(count, mine);
}
std::size_t differences(const void* a, const void* b, std::size_t bytes) {
    buffer<unsigned long long> count(1);
    unsigned long long seen = 0;
    must(cudaMemset(count.data, 0, sizeof seen), "cudaMemset");
    count_differences<<<1024, 256>>>(static_cast<const std::uint32_t*>(a), static_cast<const std::uint32_t*>(b),
                                     bytes / 4, count.data);
    must(cudaMemcpy(&seen, count.data, sizeof seen, cudaMemcpyDefault), "count_differences");
    return seen;
}

/// A product in plain loops, in double: to[m x n], with strides of rows and columns. What results are checked against.
template <class A, class B, class C>
__global__ void plain_product(const A* a, std::size_t ar, std::size_t ac, const B* b, std::size_t br, std::size_t bc,
                              C* to, std::size_t m, std::size_t n, std::size_t depth) {
    const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (at >= m * n) return;
    const std::size_t r = at / n, c = at % n;
    double sum = 0;
    for (std::size_t k = 0; k < depth; ++k)
        sum += static_cast<double>(static_cast<float>(a[r * ar + k * ac])) *
               static_cast<double>(static_cast<float>(b[k * br + c * bc]));
    to[at] = static_cast<C>(static_cast<float>(sum));
}

/// Products of matrices in rows, by cuBLAS: bf16, sums in f32. It has a workspace of its own, so that its bits do not
/// depend on what other streams do.
class products {
public:
    products() : workspace_(32 << 20) {
        must(cublasCreate(&handle_), "cublasCreate");
        must(cublasSetWorkspace(handle_, workspace_.data, workspace_.size), "cublasSetWorkspace");
    }
    products(const products&) = delete;
    ~products() { static_cast<void>(cublasDestroy(handle_)); }

    /// Leaves multiprocessors to others; 0 takes all.
    void use_multiprocessors(int n) { must(cublasSetSmCountTarget(handle_, n), "cublasSetSmCountTarget"); }
    [[nodiscard]] cublasHandle_t on(cudaStream_t s) {
        must(cublasSetStream(handle_, s), "cublasSetStream");
        must(cublasSetWorkspace(handle_, workspace_.data, workspace_.size), "cublasSetWorkspace");
        return handle_;
    }

    /// to[m x n] = a b, where `a` or `b` may be given transposed; `to` is bf16, or f32, to which `adds` adds.
    template <class C>
    void operator()(const bf16* a, bool at, const bf16* b, bool bt, C* to, std::size_t m, std::size_t n,
                    std::size_t depth, bool adds, cudaStream_t s) {
        const float one = 1, beta = adds ? 1.0f : 0.0f;
        const auto i = [](std::size_t x) { return static_cast<int>(x); };
        // cuBLAS has columns where we have rows: it computes the transposed product.
        must(cublasGemmEx(on(s), bt ? CUBLAS_OP_T : CUBLAS_OP_N, at ? CUBLAS_OP_T : CUBLAS_OP_N, i(n), i(m), i(depth),
                          &one, b, CUDA_R_16BF, i(bt ? depth : n), a, CUDA_R_16BF, i(at ? m : depth), &beta, to,
                          sizeof(C) == 2 ? CUDA_R_16BF : CUDA_R_32F, i(n), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
             "cublasGemmEx");
    }

private:
    buffer<std::byte> workspace_;
    cublasHandle_t handle_ = nullptr;
};

// --- the step --------------------------------------------------------------------------------------------------------

struct shape {
    std::size_t rows, width, hidden;
    [[nodiscard]] std::size_t row_bytes() const { return rows * width * sizeof(bf16); }
};

enum class code {
    argument,
    rows,       // of a chunk, without a copy
    exchange,   // and its wait
    up,         // max(x W1, 0)
    down,       // h W2
    loss,       // rows of all chunks put together: the gradient of half of their squares
    back_down,  // the gradient of h: g W2^T where h is positive
    grow_down,  // W2's gradient += h^T g
    back_up,    // the gradient of x: g W1^T
    grow_up,    // W1's gradient += x^T g
    result
};

/// Rows go to the expert and come back, in chunks; then their gradients do. Weights' gradients grow chunk by chunk.
struct program : bench::operation_list {
    shape s;
    std::size_t chunks;
    std::vector<code> what = {};
    std::vector<nanoseconds> takes = {};   // by operation
    std::vector<std::uint32_t> back = {};  // by chunk: the gradient of the rows
    std::uint32_t x = 0, grown_up = 0, grown_down = 0, gradient = 0;

    program(shape given, std::size_t n) : s(given), chunks(n) {
        x = put(code::argument, op_kind::input, {});
        grown_up = put(code::argument, op_kind::input, {});
        grown_down = put(code::argument, op_kind::input, {});
        std::vector<std::uint32_t> came(n), hidden(n), results;
        for (std::size_t k = 0; k < n; ++k) {
            came[k] = exchange(put(code::rows, op_kind::view, {x}, k), k);
            hidden[k] = put(code::up, op_kind::compute, {came[k]}, k);
            results.push_back(exchange(put(code::down, op_kind::compute, {hidden[k]}, k), k));
        }
        gradient = put(code::loss, op_kind::compute, results);
        std::vector<std::uint32_t> last;
        for (std::size_t k = 0; k < n; ++k) {
            const std::uint32_t g = exchange(put(code::rows, op_kind::view, {gradient}, k), k);
            const std::uint32_t gh = put(code::back_down, op_kind::compute, {g, hidden[k]}, k);
            back.push_back(exchange(put(code::back_up, op_kind::compute, {gh}, k), k));
            last.push_back(put(code::grow_down, op_kind::compute, {hidden[k], g, grown_down}, k));
            last.push_back(put(code::grow_up, op_kind::compute, {came[k], gh, grown_up}, k));
        }
        last.insert(last.end(), back.begin(), back.end());
        put(code::result, op_kind::output, last);
        takes.assign(operations.size(), nanoseconds{100'000});
    }
    [[nodiscard]] std::size_t chunk_rows() const { return s.rows / chunks; }

private:
    std::uint32_t put(code c, op_kind kind, std::vector<std::uint32_t> reads, std::size_t chunk = 0) {
        what.push_back(c);
        return add({kind, std::move(reads), chunk});
    }
    std::uint32_t exchange(std::uint32_t rows, std::size_t k) {
        return put(code::exchange, op_kind::wait, {put(code::exchange, op_kind::start, {rows}, k)}, k);
    }
};

struct program_model {
    const program* p;

    op_kind kind(std::uint32_t v) const { return p->operations[v].kind; }
    nanoseconds duration(std::uint32_t v) const {
        return kind(v) == op_kind::start || kind(v) == op_kind::compute ? p->takes[v] : nanoseconds{};
    }
    bytes bytes_of(std::uint32_t x) const {
        const auto chunk = [&](std::size_t columns) {
            return bytes{static_cast<std::int64_t>(p->chunk_rows() * columns * sizeof(bf16))};
        };
        switch (p->what[x]) {
            case code::argument:
                return {
                    static_cast<std::int64_t>(x == p->x ? p->s.row_bytes() : p->s.width * p->s.hidden * sizeof(float))};
            case code::loss:
                return {static_cast<std::int64_t>(p->s.row_bytes())};
            case code::up:
            case code::back_down:
                return chunk(p->s.hidden);
            case code::down:
            case code::back_up:
                return chunk(p->s.width);
            case code::exchange:
                return kind(x) == op_kind::start ? chunk(p->s.width) : bytes{};
            default:
                return {};
        }
    }
    bytes payload(std::uint32_t) const {
        return {static_cast<std::int64_t>(p->chunk_rows() * p->s.width * sizeof(bf16))};
    }
    collective_kind collective(std::uint32_t) const { return collective_kind::all_to_all; }
    std::vector<std::uint32_t> aliases(std::uint32_t x) const {
        if (kind(x) == op_kind::wait || kind(x) == op_kind::view) return p->operations[x].reads;
        return {};
    }
    std::vector<std::uint32_t> effects(std::uint32_t v) const {
        if (p->what[v] == code::grow_up) return {p->grown_up};
        if (p->what[v] == code::grow_down) return {p->grown_down};
        return {};
    }
};

/// The memory of the rank: rows, the two matrices, and the gradients of these.
struct rank_data {
    shape s;
    buffer<bf16> rows, first, second;
    buffer<float> grown_first, grown_second;

    explicit rank_data(shape given)
        : s(given),
          rows(s.rows * s.width),
          first(s.width * s.hidden),
          second(s.hidden * s.width),
          grown_first(s.width * s.hidden),
          grown_second(s.hidden * s.width) {
        fill(rows, 1, 1.0f);
        fill(first, 2, 1.7f / std::sqrt(static_cast<float>(s.width)));
        fill(second, 3, 1.7f / std::sqrt(static_cast<float>(s.hidden)));
    }
};

struct kernel {
    const program* p;
    rank_data* data;
    products* multiply;
    std::uint32_t v;
    std::vector<const bf16*> reads;
    bf16* to;

    void operator()(cudaStream_t s) const {
        const std::size_t rows = p->chunk_rows(), w = p->s.width, h = p->s.hidden;
        const bool first_chunk = p->operations[v].chunk == 0;
        switch (p->what[v]) {
            case code::up:
                (*multiply)(reads[0], false, data->first.data, false, to, rows, h, w, false, s);
                rectify<<<1024, 256, 0, s>>>(to, nullptr, rows * h);
                break;
            case code::down:
                (*multiply)(reads[0], false, data->second.data, false, to, rows, w, h, false, s);
                break;
            case code::loss:
                for (std::size_t k = 0; k < reads.size(); ++k)
                    must(cudaMemcpyAsync(to + k * rows * w, reads[k], rows * w * sizeof(bf16), cudaMemcpyDefault, s),
                         "cudaMemcpyAsync");
                break;
            case code::back_down:
                (*multiply)(reads[0], false, data->second.data, true, to, rows, h, w, false, s);
                rectify<<<1024, 256, 0, s>>>(to, reads[1], rows * h);
                break;
            case code::grow_down:
                (*multiply)(reads[0], true, reads[1], false, data->grown_second.data, h, w, rows, !first_chunk, s);
                break;
            case code::back_up:
                (*multiply)(reads[0], false, data->first.data, true, to, rows, w, h, false, s);
                break;
            case code::grow_up:
                (*multiply)(reads[0], true, reads[1], false, data->grown_first.data, w, h, rows, !first_chunk, s);
                break;
            default:
                break;
        }
    }
};

struct source {
    const program* p;
    rank_data* data;
    products* multiply;
    std::vector<std::pair<task_id, kernel>> made = {};

    kernel kernel(task_id t, task_memory m) {
        struct kernel k{p, data, multiply, t, {}, nullptr};
        for (const std::byte* x : m.operands) k.reads.push_back(reinterpret_cast<const bf16*>(x));
        if (!m.results.empty()) k.to = reinterpret_cast<bf16*>(m.results[0]);
        made.emplace_back(t, k);
        return k;
    }
    collective_call call(task_id) const {
        collective_call made;
        made.kind = collective_kind::all_to_all;
        return made;
    }
    std::byte* address(value_id x) const {
        if (x == p->grown_up) return data->grown_first.bytes();
        if (x == p->grown_down) return data->grown_second.bytes();
        return data->rows.bytes();
    }
    bytes offset(value_id x) const {
        if (p->what[x] != code::rows) return {};
        return {static_cast<std::int64_t>(p->operations[x].chunk * p->chunk_rows() * p->s.width * sizeof(bf16))};
    }
};

/// A program in the order of the scheduler.
struct planned {
    program p;
    task_graph g;
    checked_order order;

    explicit planned(const program& given) : planned(given, plan_of(given)) {}

private:
    planned(program given, overlap_plan<std::uint32_t> plan)
        : p(std::move(given)), g(std::move(plan.tasks)), order(*check_order(g, plan.certificate.order())) {}
    static overlap_plan<std::uint32_t> plan_of(const program& p) {
        auto plan = plan_overlap(views::from_values(bench::operation_values{&p}), program_model{&p},
                                 {.memory_limit = unlimited_bytes});
        if (!plan) std::exit(1);
        return *std::move(plan);
    }
};

double predicted(const planned& p, contention c) {
    return static_cast<double>(simulate(p.g, p.order.order(), c).makespan.count);
}
/// The factor by which kernels must run slower while channels transfer, so that the step takes `measured`.
contention fitted(const planned& p, double measured) {
    contention least{4'096, 4'096}, most{16 * 4'096, 4'096};
    while (most.numerator - least.numerator > 1) {
        const contention middle{(least.numerator + most.numerator) / 2, 4'096};
        (predicted(p, middle) < measured ? least : most) = middle;
    }
    return least;
}

/// A step that is bound to a rank.
template <class A>
struct bound_program {
    planned plan;
    source from;
    executor<cuda_nccl_rank<A>, kernel> bound;

    bound_program(planned given, rank_data& data, products& multiply, cuda_nccl_rank<A>& rank)
        : plan(std::move(given)), from{&plan.p, &data, &multiply}, bound(bind(rank)) {}
    bound_program(const bound_program&) = delete;

private:
    executor<cuda_nccl_rank<A>, kernel> bind(cuda_nccl_rank<A>& rank) {
        auto made = bind_order(plan.g, plan.order, from, rank);
        if (!made) {
            std::fprintf(stderr, "%s\n", explain(made.error()).c_str());
            std::exit(1);
        }
        return *std::move(made);
    }
};

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

/// Measures the step in all chunk counts, taking turns. `exchange` performs a transfer of the emulated link.
template <class A, class Exchange>
void measure(const char* what, cuda_nccl_rank<A>& rank, rank_data& data, products& multiply, int rounds,
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

// --- kernels and transfers beside each other -------------------------------------------------------------------------

struct stream {
    cudaStream_t s = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;

    explicit stream(bool first) {
        if (!cuda_library::make_stream(s, first).done()) std::exit(1);
        must(cudaEventCreate(&begin), "cudaEventCreate");
        must(cudaEventCreate(&end), "cudaEventCreate");
    }
    stream(const stream&) = delete;
    ~stream() {
        static_cast<void>(cudaEventDestroy(begin));
        static_cast<void>(cudaEventDestroy(end));
        static_cast<void>(cudaStreamDestroy(s));
    }
    [[nodiscard]] double taken() const {
        float ms = 0;
        must(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
        return static_cast<double>(ms) * 1e3;
    }
};

/// How many times as long products take while bytes move all the time, and transfers while products run all the time.
/// `transfer(s)` puts one; both are repeated so that the one that is measured is shorter than the other.
template <class Transfer>
void beside(const char* what, shape s, rank_data& data, products& multiply, int sms, Transfer transfer) {
    stream kernels(false), link(true);
    buffer<bf16> hidden(s.rows * s.hidden);
    multiply.use_multiprocessors(sms);
    const auto put_kernels = [&](int n) {
        for (int k = 0; k < n; ++k)
            multiply(data.rows.data, false, data.first.data, false, hidden.data, s.rows, s.hidden, s.width, false,
                     kernels.s);
    };
    const auto timed = [&](stream& on, auto put) {
        must(cudaEventRecord(on.begin, on.s), "cudaEventRecord");
        put();
        must(cudaEventRecord(on.end, on.s), "cudaEventRecord");
    };
    const auto put_transfers = [&](int n) {
        for (int k = 0; k < n; ++k) transfer(link.s);
    };
    const auto settle = [] { must(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); };
    constexpr int few = 8;
    std::vector<double> kernel_alone, link_alone, kernel_beside, link_beside;
    for (int round = -1; round < 7; ++round) {
        timed(kernels, [&] { put_kernels(few); });
        settle();
        const double k0 = kernels.taken() / few;
        timed(link, [&] { put_transfers(few); });
        settle();
        const double t0 = link.taken() / few;
        // Enough transfers to cover the kernels, which begin when the link is busy; then the other way round.
        put_transfers(static_cast<int>(2.5 * few * k0 / t0) + 4);
        timed(kernels, [&] { put_kernels(few); });
        settle();
        const double k1 = kernels.taken() / few;
        put_kernels(static_cast<int>(2.5 * few * t0 / k0) + 4);
        timed(link, [&] { put_transfers(few); });
        settle();
        const double t1 = link.taken() / few;
        if (round < 0) continue;
        kernel_alone.push_back(k0);
        link_alone.push_back(t0);
        kernel_beside.push_back(k1);
        link_beside.push_back(t1);
    }
    const double k0 = median(kernel_alone), t0 = median(link_alone);
    std::printf("| %s | %s | %.0f | %.0f | %.0f | %.2f | %.2f |\n", what,
                sms == 0 ? "all" : std::to_string(sms).c_str(), k0, t0, static_cast<double>(s.row_bytes()) / t0 / 1e3,
                median(kernel_beside) / k0, median(link_beside) / t0);
    std::fflush(stdout);
    multiply.use_multiprocessors(0);
}

/// How long a transfer waits to begin that is put behind or before kernels, in microseconds.
void start_delay(shape s, rank_data& data, products& multiply, bench::device_link link, int sms) {
    stream kernels(false), first(true);
    buffer<bf16> hidden(s.rows * s.hidden);
    buffer<std::byte> to(64 * 1024);
    multiply.use_multiprocessors(sms);
    const std::vector<bench::moved_part> parts = {{to.data, data.rows.bytes(), to.size}};
    std::vector<double> alone, behind, before;
    for (int round = -1; round < 15; ++round) {
        const auto put_kernels = [&] {
            for (int k = 0; k < 6; ++k)
                multiply(data.rows.data, false, data.first.data, false, hidden.data, s.rows, s.hidden, s.width, false,
                         kernels.s);
        };
        const auto put_transfer = [&] {
            must(cudaEventRecord(first.begin, first.s), "cudaEventRecord");
            if (!bench::move(parts, link, first.s).done()) std::exit(1);
            must(cudaEventRecord(first.end, first.s), "cudaEventRecord");
        };
        const auto settle = [] { must(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); };
        settle();
        put_transfer();
        settle();
        const double a = first.taken();
        put_kernels();
        // The transfer is put while kernels run, not while the first of them is launched.
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
        while (std::chrono::steady_clock::now() < until) {
        }
        put_transfer();
        settle();
        const double b = first.taken();
        put_transfer();
        put_kernels();
        settle();
        const double c = first.taken();
        if (round < 0) continue;
        alone.push_back(a);
        behind.push_back(b);
        before.push_back(c);
    }
    std::printf("| %d | %s | %.0f | %.0f | %.0f |\n", link.ctas, sms == 0 ? "all" : std::to_string(sms).c_str(),
                median(alone), median(behind), median(before));
    std::fflush(stdout);
    multiply.use_multiprocessors(0);
}

// --- bits and groups -------------------------------------------------------------------------------------------------

/// Whether the first rows of a product have the bits of the same rows in a product of more rows.
void row_bits(shape s, rank_data& data, products& multiply) {
    std::printf(
        "\nRows of a product of %zu rows that have other bits in a product of M rows (width %zu, hidden %zu)\n\n",
        s.rows, s.width, s.hidden);
    std::printf("| M | x W1 | h W2 | other bits when repeated 100 times beside transfers |\n|---|---|---|---|\n");
    buffer<bf16> h(s.rows * s.hidden), y(s.rows * s.width), part_h(h.size), part_y(y.size);
    stream kernels(false), link(true);
    multiply(data.rows.data, false, data.first.data, false, h.data, s.rows, s.hidden, s.width, false, kernels.s);
    multiply(h.data, false, data.second.data, false, y.data, s.rows, s.width, s.hidden, false, kernels.s);
    for (std::size_t m = s.rows / 32; m <= s.rows; m *= 2) {
        multiply(data.rows.data, false, data.first.data, false, part_h.data, m, s.hidden, s.width, false, kernels.s);
        multiply(h.data, false, data.second.data, false, part_y.data, m, s.width, s.hidden, false, kernels.s);
        must(cudaDeviceSynchronize(), "products");
        const std::size_t a = differences(h.data, part_h.data, m * s.hidden * 2);
        const std::size_t b = differences(y.data, part_y.data, m * s.width * 2);
        std::size_t again = 0;
        buffer<bf16> repeated(m * s.width), copy(m * s.width);
        for (int k = 0; k < 100; ++k) {
            must(cudaMemcpyAsync(copy.data, data.rows.data, copy.size * 2, cudaMemcpyDefault, link.s), "copy");
            multiply(h.data, false, data.second.data, false, repeated.data, m, s.width, s.hidden, false, kernels.s);
            must(cudaStreamSynchronize(kernels.s), "products");
            again += differences(part_y.data, repeated.data, m * s.width * 2);
        }
        must(cudaDeviceSynchronize(), "products");
        std::printf("| %zu | %s | %s | %zu words |\n", m, a == 0 ? "none" : "some", b == 0 ? "none" : "some", again);
    }
    std::fflush(stdout);
}

/// Products of several experts with uneven rows: one after the other, grouped, and one batch that is padded.
void experts(shape s, products& multiply) {
    std::printf("\nProducts of E experts, %zu rows of width %zu in all, hidden %zu; TFLOP/s of the rows there are\n\n",
                s.rows, s.width, s.hidden);
    std::printf("| E | rows | one by one | grouped | padded batch |\n|---|---|---|---|---|\n");
    buffer<bf16> x(2 * s.rows * s.width);
    fill(x, 5, 1.0f);
    stream on(false);
    for (const std::size_t e : {4, 8, 16, 32})
        for (const bool even : {true, false}) {
            buffer<bf16> weights(e * s.width * s.hidden), to(2 * s.rows * s.hidden);
            fill(weights, 7, 0.02f);
            std::vector<std::size_t> rows(e, s.rows / e);
            // Uneven: from half to one and a half times as many as there would be.
            for (std::size_t k = 0; !even && k < e; ++k) rows[k] = (s.rows / e / 2 + s.rows / e * k / (e - 1)) / 8 * 8;
            const std::size_t most = *std::max_element(rows.begin(), rows.end());
            double flops = 0;
            for (const std::size_t r : rows) flops += 2.0 * static_cast<double>(r * s.width * s.hidden);
            std::vector<const void*> a, b;
            std::vector<void*> c;
            std::size_t at = 0;
            for (std::size_t k = 0; k < e; ++k, at += rows[k - 1]) {
                a.push_back(weights.data + k * s.width * s.hidden);
                b.push_back(x.data + at * s.width);
                c.push_back(to.data + at * s.hidden);
            }
            buffer<const void*> a_there(e), b_there(e);
            buffer<void*> c_there(e);
            must(cudaMemcpy(a_there.data, a.data(), e * sizeof(void*), cudaMemcpyDefault), "pointers");
            must(cudaMemcpy(b_there.data, b.data(), e * sizeof(void*), cudaMemcpyDefault), "pointers");
            must(cudaMemcpy(c_there.data, c.data(), e * sizeof(void*), cudaMemcpyDefault), "pointers");
            const int n = static_cast<int>(s.hidden), depth = static_cast<int>(s.width);
            const std::vector<int> ns(e, n), depths(e, depth), sizes(e, 1);
            std::vector<int> ms;
            for (const std::size_t r : rows) ms.push_back(static_cast<int>(r));
            const std::vector<cublasOperation_t> plain(e, CUBLAS_OP_N);
            const float one = 1, zero = 0;
            const std::vector<float> ones(e, 1.0f), zeros(e, 0.0f);
            const auto measure = [&](auto put) {
                std::vector<double> all;
                for (int k = -3; k < 15; ++k) {
                    must(cudaEventRecord(on.begin, on.s), "cudaEventRecord");
                    put();
                    must(cudaEventRecord(on.end, on.s), "cudaEventRecord");
                    must(cudaStreamSynchronize(on.s), "products");
                    if (k >= 0) all.push_back(on.taken());
                }
                return flops / median(all) / 1e6;
            };
            const double loop = measure([&] {
                for (std::size_t k = 0; k < e; ++k)
                    multiply(static_cast<const bf16*>(b[k]), false, static_cast<const bf16*>(a[k]), false,
                             static_cast<bf16*>(c[k]), rows[k], s.hidden, s.width, false, on.s);
            });
            const double grouped = measure([&] {
                must(cublasGemmGroupedBatchedEx(multiply.on(on.s), plain.data(), plain.data(), ns.data(), ms.data(),
                                                depths.data(), ones.data(), a_there.data, CUDA_R_16BF, ns.data(),
                                                b_there.data, CUDA_R_16BF, depths.data(), zeros.data(), c_there.data,
                                                CUDA_R_16BF, ns.data(), static_cast<int>(e), sizes.data(),
                                                CUBLAS_COMPUTE_32F),
                     "cublasGemmGroupedBatchedEx");
            });
            double padded = 0;
            if (most * e <= 2 * s.rows)
                padded = measure([&] {
                    must(cublasGemmStridedBatchedEx(multiply.on(on.s), CUBLAS_OP_N, CUBLAS_OP_N, n,
                                                    static_cast<int>(most), depth, &one, weights.data, CUDA_R_16BF, n,
                                                    static_cast<long long>(s.width * s.hidden), x.data, CUDA_R_16BF,
                                                    depth, static_cast<long long>(most * s.width), &zero, to.data,
                                                    CUDA_R_16BF, n, static_cast<long long>(most * s.hidden),
                                                    static_cast<int>(e), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                         "cublasGemmStridedBatchedEx");
                });
            std::printf("| %zu | %s | %.0f | %.0f | %.0f |\n", e, even ? "even" : "uneven", loop, grouped, padded);
            std::fflush(stdout);
        }
}

void name_machine() {
    cudaDeviceProp device = {};
    int driver = 0, runtime = 0, nccl = 0, least = 0, greatest = 0;
    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    must(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    must(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    static_cast<void>(ncclGetVersion(&nccl));
    std::printf("%s, %d multiprocessors, %d copy engines, priorities %d to %d, CUDA %d (driver %d), NCCL %d\n",
                device.name, device.multiProcessorCount, device.asyncEngineCount, least, greatest, runtime, driver,
                nccl);
    std::fflush(stdout);
}

template <class A>
std::unique_ptr<cuda_nccl_rank<A>> join(std::size_t ranks) {
    typename A::id_type id = {};
    if (!A::make_id(id).done()) std::exit(1);
    auto rank = cuda_nccl_rank<A>::make(0, ranks, id, bench::group_of(ranks));
    if (!rank) {
        static_cast<void>(bench::went_well(rank.error()));
        std::exit(1);
    }
    return *std::move(rank);
}

}  // namespace

int main(int argc, char** argv) {
    const bool smoke = bench::read_arguments(argc, argv).smoke;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("no device: nothing is measured\n");
        return 77;
    }
    name_machine();
    const shape s = smoke ? shape{4'096, 512, 1'024} : shape{16'384, 2'048, 8'192};
    const int rounds = smoke ? 3 : 20;
    cudaDeviceProp device = {};
    must(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    constexpr std::size_t peers = 8;
    products multiply;
    const auto rank = join<bench::phantom_peers>(peers);

    bench::phantom_peers::link = {16, 0, 0};
    for (const std::size_t n : chunk_counts) {
        const double apart = distance(*rank, {2'048, 256, 512}, n, multiply);
        std::printf("%zu chunks: results are %.1e from products in plain loops, relative to their norms\n", n, apart);
        if (!(apart < 1e-2)) {
            std::fprintf(stderr, "the step makes something else than it should\n");
            return 1;
        }
    }

    rank_data data(s);
    std::printf("\nOne exchange of %.0f MB and one product (%zu x %zu x %zu), each alone and beside the other\n\n",
                static_cast<double>(s.row_bytes()) / 1e6, s.rows, s.hidden, s.width);
    std::printf(
        "| transfer | multiprocessors of the product | product us | transfer us | GB/s | product beside / alone | "
        "transfer beside / alone |\n|---|---|---|---|---|---|---|\n");
    buffer<std::byte> there(s.row_bytes());
    const std::vector<bench::moved_part> whole = {{there.data, data.rows.bytes(), there.size}};
    const auto moves = [&](bench::device_link link) {
        return [&whole, link](cudaStream_t on) {
            if (!bench::move(whole, link, on).done()) std::exit(1);
        };
    };
    beside("copy engine", s, data, multiply, 0, moves({}));
    for (const int ctas : {4, 8, 16, 32})
        for (const int sms : {0, device.multiProcessorCount - ctas})
            beside(("blocks: " + std::to_string(ctas)).c_str(), s, data, multiply, sms, moves({ctas, 0, 0}));
    for (const double rate : {50.0, 200.0})
        for (const int sms : {0, device.multiProcessorCount - 16})
            beside(("16 blocks, link of " + std::to_string(static_cast<int>(rate)) + " GB/s").c_str(), s, data,
                   multiply, sms, moves({16, rate, 0}));

    std::printf(
        "\nA transfer of 64 KiB at the highest priority and products at the lowest, us until it is complete\n\n"
        "| blocks | multiprocessors of the products | alone | put 300 us after the products | put before them |\n"
        "|---|---|---|---|---|\n");
    for (const int ctas : {8, 16})
        for (const int sms : {0, device.multiProcessorCount - ctas}) start_delay(s, data, multiply, {ctas, 0, 0}, sms);

    // A link is as fast as transfers must be to take their share of the time of kernels: four exchanges a step.
    double compute = 0;
    {
        bound_program<bench::phantom_peers> b(planned(program(s, 1)), data, multiply, *rank);
        std::vector<cudaEvent_t> events;
        for (int k = 0; k < 3; ++k) {
            compute = 0;
            const auto taken = one_by_one(b, rank->stream(), events, [](auto...) {});
            for (const double t : taken) compute += t;
        }
        for (const cudaEvent_t e : events) static_cast<void>(cudaEventDestroy(e));
    }
    const auto emulated = [&](bench::device_link link, int sms, const char* what) {
        bench::phantom_peers::link = link;
        multiply.use_multiprocessors(sms);
        measure(what, *rank, data, multiply, rounds,
                [&](std::byte* to, std::byte* from, std::size_t n, cudaStream_t on) {
                    std::vector<bench::moved_part> parts;
                    for (std::size_t k = 0; k < peers; ++k)
                        parts.push_back({to + k * (n / peers), from + k * (n / peers), n / peers});
                    if (!bench::move(parts, link, on).done()) std::exit(1);
                });
        multiply.use_multiprocessors(0);
    };
    for (const double share : {0.25, 0.5, 1.0, 2.0}) {
        const double rate = 4 * static_cast<double>(s.row_bytes()) / (share * compute);
        char what[96];
        std::snprintf(what, sizeof what, "Link of %.0f GB/s, 16 blocks, products on all multiprocessors", rate);
        emulated({16, rate, 10'000}, 0, what);
        std::snprintf(what, sizeof what, "Link of %.0f GB/s, 16 blocks, products on the others", rate);
        emulated({16, rate, 10'000}, device.multiProcessorCount - 16, what);
    }
    emulated({}, 0, "Copy engines, as fast as they can");
    {
        // Transfers are measured alone with a communicator like that of the rank.
        using library = cuda_nccl_library;
        const auto alone = join<library>(1);
        library::id_type id = {};
        library::comm_type comm = nullptr;
        const auto done = [&](call_result r) {
            while (!r.failed() && !r.done()) r = library::state(comm);
            if (r.done()) return;
            std::fprintf(stderr, "%s: %s\n", r.call, r.text);
            std::exit(1);
        };
        done(library::make_id(id));
        done(library::join(comm, 1, id, 0, 0));
        done(library::state(comm));
        measure("NCCL with itself, as fast as it can", *alone, data, multiply, rounds,
                [&](std::byte* to, std::byte* from, std::size_t n, cudaStream_t on) {
                    done(library::begin_group());
                    static_cast<void>(library::send(from, n, 0, comm, on));
                    static_cast<void>(library::receive(to, n, 0, comm, on));
                    done(library::end_group());
                });
        done(library::finish(comm));
        done(library::end(comm));
    }

    row_bits(s, data, multiply);
    experts(smoke ? shape{2'048, 256, 512} : shape{32'768, 2'048, 1'408}, multiply);
    return 0;
}
