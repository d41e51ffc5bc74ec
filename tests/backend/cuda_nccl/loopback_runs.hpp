// What virtual ranks on one device are asked to do, wherever that device is: keep the promises of a backend, and run a
// layer of experts, whole and in chunks, with the bits of a loop over tokens.
#ifndef STRETTO_TESTS_BACKEND_CUDA_NCCL_LOOPBACK_RUNS_HPP
#define STRETTO_TESTS_BACKEND_CUDA_NCCL_LOOPBACK_RUNS_HPP

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backend/expert_data.hpp"
#include "backend/timed_runs.hpp"
#include "stretto/backend/check_backend.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/schedule/plan_overlap.hpp"

namespace support {

inline std::string words(const stretto::run_failure& f) {
    return explain(f, [](stretto::task_id t) { return "task " + std::to_string(t); });
}

/// Joins as one rank and calls `program(rank)`, which returns a complaint or nothing. Returns that, or why it cannot
/// join.
template <class A, class Program>
std::string on_rank(std::size_t rank, std::size_t ranks, const typename A::id_type& id, Program program,
                    stretto::cuda_nccl_options options = {}) {
    options.memory = stretto::device_memory::managed;
    const auto made = stretto::cuda_nccl_rank<A>::make(static_cast<stretto::rank_id>(rank), ranks, id,
                                                       experts::two_groups(static_cast<std::int64_t>(ranks)), options);
    return made ? program(**made) : words(made.error());
}

/// Where ranks are threads of this process: calls `program(rank)` on a thread for each rank, with a deadline of 30 s.
/// Returns all complaints.
template <class A>
struct ranks_as_threads {
    std::size_t ranks;

    template <class Program>
    std::string operator()(Program program, stretto::cuda_nccl_options options = {}) const {
        options.deadline = std::chrono::seconds(30);
        typename A::id_type id = {};
        if (!A::make_id(id).done()) return "no id";
        std::vector<std::string> said(ranks);
        std::vector<std::thread> threads;
        for (std::size_t r = 0; r < ranks; ++r)
            threads.emplace_back([&, r] { said[r] = on_rank<A>(r, ranks, id, program, options); });
        for (std::thread& t : threads) t.join();
        std::string all;
        for (const std::string& s : said) all += s;
        return all;
    }
};

/// `on_ranks` calls a program on ranks, as ranks_as_threads does.
template <class A, class Ranks>
std::string keeps_promises(const Ranks& on_ranks) {
    return on_ranks([](stretto::cuda_nccl_rank<A>& rank) {
        const auto seen = stretto::check_backend(rank, 0);
        return seen ? std::string() : seen.error().message();
    });
}

/// The order in which a library adds what ranks have: theirs, which gives the bits of the reference, or one of its own.
enum class sums_of {
    ranks_in_order,
    ranks_in_any_order
};

/// `source(layer, data)` knows the kernels. In no chunks, the layer stays whole. The runs are timed.
template <class A, class Ranks, class Source>
std::string runs_experts(const Ranks& on_ranks, std::int64_t chunks, Source source,
                         sums_of order_of_sums = sums_of::ranks_in_order) {
    using namespace stretto;
    const auto ranks = static_cast<std::int64_t>(on_ranks.ranks);
    const std::vector<experts::rank_data> data = experts::data_of(ranks);
    const std::vector<experts::outcome> expected = experts::reference(data);
    experts::layer l(ranks, experts::tokens, experts::width, experts::hidden);
    if (chunks > 1 && experts::chunk(l, equal_chunks(experts::tokens, static_cast<std::size_t>(chunks))) == 0)
        return "no chunks";
    const auto plan = plan_overlap(views::from_values(experts::values_view{&l.p}), experts::model{});
    if (!plan) return "no plan";
    const auto order = check_order(plan->tasks, plan->certificate.order());
    if (!order) return "no order";
    const auto replays = [&](cuda_nccl_rank<A>& rank) -> std::string {
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
            experts::numbers made(due.sums.size());
            std::memcpy(made.data(), bound->address(sums), made.size() * 4);
            for (std::size_t k = 0; k < made.size(); ++k) {
                const float apart = std::abs(made[k] - due.sums[k]);
                const bool exact = order_of_sums == sums_of::ranks_in_order;
                if (!(apart <= (exact ? 0 : 1e-5f * std::abs(due.sums[k]) + 1e-5f))) return "other sums";
            }
        }
        return wrong_times(plan->tasks, rank.rank(), rank.times(), 3);
    };
    return on_ranks(replays, {.timed = true});
}

}  // namespace support

#endif
