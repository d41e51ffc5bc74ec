// The step of an expert, forward and backward, in chunks: its operations, their model, its kernels, and the step bound
// to a rank.
#ifndef STRETTO_BENCH_DEVICE_EXPERT_STEP_CUH
#define STRETTO_BENCH_DEVICE_EXPERT_STEP_CUH

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "device/matrix_products.cuh"
#include "device/memory.cuh"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"
#include "stretto/backend/executor.hpp"
#include "support/operation_list.hpp"
#include "support/planned_step.hpp"

namespace bench {

using namespace stretto;

struct shape {
    std::size_t rows, width, hidden;
    [[nodiscard]] std::size_t row_bytes() const { return rows * width * sizeof(bf16); }
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

using planned = planned_step<program, program_model>;

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

}  // namespace bench

#endif
