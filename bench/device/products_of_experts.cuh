// Whether rows of a product keep their bits whatever rows are beside them, and how fast products of several experts
// are.
#ifndef STRETTO_BENCH_DEVICE_PRODUCTS_OF_EXPERTS_CUH
#define STRETTO_BENCH_DEVICE_PRODUCTS_OF_EXPERTS_CUH

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "device/expert_step.cuh"
#include "support/measure.hpp"

namespace bench {

/// Whether the first rows of a product have the bits of the same rows in a product of more rows.
inline void row_bits(shape s, rank_data& data, products& multiply) {
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
inline void experts(shape s, products& multiply) {
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

}  // namespace bench

#endif
