// Kernels and transfers beside each other, and how long a transfer waits behind kernels.
#ifndef STRETTO_BENCH_DEVICE_BESIDE_TRANSFERS_CUH
#define STRETTO_BENCH_DEVICE_BESIDE_TRANSFERS_CUH

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/expert_step.cuh"
#include "device/phantom_peers.cuh"
#include "support/measure.hpp"

namespace bench {

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
inline void start_delay(shape s, rank_data& data, products& multiply, bench::device_link link, int sms) {
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

}  // namespace bench

#endif
