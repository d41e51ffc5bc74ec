// What virtual ranks on one device are asked to do, wherever that device is: keep the promises of a backend, and run a
// layer of experts, whole and in chunks, with the bits of a loop over tokens.
#ifndef STRETTO_TESTS_BACKEND_CUDA_NCCL_LOOPBACK_RUNS_HPP
#define STRETTO_TESTS_BACKEND_CUDA_NCCL_LOOPBACK_RUNS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backend/expert_data.hpp"
#include "stretto/backend/check_backend.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/schedule/plan_overlap.hpp"

namespace support {

inline std::string words(const stretto::run_failure& f) {
    return explain(f, [](stretto::task_id t) { return "task " + std::to_string(t); });
}

/// Calls `program(rank)`, which returns a complaint or nothing, on a thread for each rank. Returns all complaints.
template <class A, class Program>
std::string on_ranks(std::size_t ranks, Program program) {
    typename A::id_type id = {};
    if (!A::make_id(id).done()) return "no id";
    const stretto::process_groups groups = experts::two_groups(static_cast<std::int64_t>(ranks));
    std::vector<std::string> said(ranks);
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks; ++r)
        threads.emplace_back([&, r] {
            const auto made = stretto::cuda_nccl_rank<A>::make(
                static_cast<stretto::rank_id>(r), ranks, id, groups,
                {.deadline = std::chrono::seconds(30), .memory = stretto::device_memory::managed});
            said[r] = made ? program(**made) : words(made.error());
        });
    for (std::thread& t : threads) t.join();
    std::string all;
    for (const std::string& s : said) all += s;
    return all;
}

template <class A>
std::string keeps_promises(std::size_t ranks) {
    return on_ranks<A>(ranks, [](stretto::cuda_nccl_rank<A>& rank) {
        const auto seen = stretto::check_backend(rank, 0);
        return seen ? std::string() : seen.error().message();
    });
}

/// `source(layer, data)` knows the kernels. In no chunks, the layer stays whole.
template <class A, class Source>
std::string runs_experts(std::int64_t ranks, std::int64_t chunks, Source source) {
    using namespace stretto;
    const std::vector<experts::rank_data> data = experts::data_of(ranks);
    const std::vector<experts::outcome> expected = experts::reference(data);
    experts::layer l(ranks, experts::tokens, experts::width, experts::hidden);
    if (chunks > 1 && experts::chunk(l, equal_chunks(experts::tokens, static_cast<std::size_t>(chunks))) == 0)
        return "no chunks";
    const auto plan = plan_overlap(views::from_values(experts::values_view{&l.p}), experts::model{});
    if (!plan) return "no plan";
    const auto order = check_order(plan->tasks, plan->certificate.order());
    if (!order) return "no order";
    return on_ranks<A>(data.size(), [&](cuda_nccl_rank<A>& rank) -> std::string {
        const experts::outcome& due = expected[rank.rank()];
        auto own = source(l, data[rank.rank()]);
        auto bound = bind_order(plan->tasks, *order, own, rank);
        if (!bound) return explain(bound.error());
        if (const auto f = rank.compare(*bound)) return words(*f);
        value_id y = 0, sums = 0;
        for (value_id x = 0; x < own.values.size(); ++x) {
            if (own.values[x] == l.y) y = x;
            if (own.values[x] == l.sums) sums = x;
        }
        for (int replay = 0; replay < 3; ++replay) {
            if (const auto f = bound->replay()) return words(*f);
            if (std::memcmp(bound->address(y), due.y.data(), due.y.size() * 4) != 0) return "other results";
            if (std::memcmp(bound->address(sums), due.sums.data(), due.sums.size() * 4) != 0) return "other sums";
        }
        return {};
    });
}

}  // namespace support

#endif
