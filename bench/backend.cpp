// Measures replays of an executor on ranks that are threads: what an instruction costs when its kernel does nothing,
// and what collectives cost beside their floor, which is a copy of the bytes that a rank receives, made by a thread for
// each rank at the same time. Times are of the wall, since threads wait for each other: the least of several runs.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/views/from_values.hpp"
#include "support/arguments.hpp"
#include "support/collective_runs.hpp"
#include "support/operation_list.hpp"
#include "support/ranks.hpp"

namespace {

using namespace stretto;

/// A chain of kernels, among which there is a sum over ranks and its wait every so often.
struct chain : bench::operation_list {
    chain(std::uint32_t size, std::uint32_t every) {
        add({op_kind::input, {}});
        std::uint32_t last = 0;
        while (operations.size() + 1 < size) {
            last = add({op_kind::compute, {last}});
            if (every == 0 || operations.size() % every != 0) continue;
            const std::uint32_t start = add({op_kind::start, {last}});
            const std::uint32_t beside = add({op_kind::compute, {last}});
            const std::uint32_t wait = add({op_kind::wait, {start}});
            last = add({op_kind::compute, {beside, wait}});
        }
        add({op_kind::output, {last}});
    }
};

struct chain_model {
    const chain* c;

    op_kind kind(std::uint32_t v) const { return c->operations[v].kind; }
    bytes bytes_of(std::uint32_t x) const { return {aliases(x).empty() ? 64 : 0}; }
    bytes payload(std::uint32_t) const { return {64}; }
    collective_kind collective(std::uint32_t) const { return collective_kind::all_to_all; }
    std::vector<std::uint32_t> aliases(std::uint32_t x) const {
        if (kind(x) == op_kind::wait) return c->operations[x].reads;
        return {};
    }
};

struct empty_kernels {
    std::vector<std::byte> memory = std::vector<std::byte>(64);

    auto kernel(task_id, task_memory m) const {
        return [to = m.results[0]] { asm volatile("" : : "r"(to) : "memory"); };
    }
    collective_call call(task_id) const {
        collective_call made;
        made.kind = collective_kind::all_to_all;
        return made;
    }
    std::byte* address(value_id) { return memory.data(); }
};

/// Ends the program if a run fails.
void expect(const std::optional<run_failure>& failure) {
    if (!bench::went_well(failure)) std::exit(1);
}

/// Threads meet here without sleeping, so that all begin at the same time.
class meeting {
public:
    explicit meeting(std::size_t members) : members_(members) {}
    void meet() {
        const std::size_t goal = (came_.fetch_add(1) / members_ + 1) * members_;
        while (came_.load() < goal) std::this_thread::yield();
    }

private:
    std::size_t members_;
    std::atomic<std::size_t> came_ = 0;
};

void measure_replay(std::uint32_t size, std::uint32_t every, std::size_t ranks, int runs) {
    const chain c(size, every);
    const auto g = make_task_graph(views::from_values(bench::operation_values{&c}), chain_model{&c});
    std::vector<task_id> order(g->size());
    for (task_id t = 0; t < order.size(); ++t) order[t] = t;
    const auto checked = check_order(*g, order);
    host_world world(ranks, bench::group_of(ranks));
    std::int64_t least = INT64_MAX;
    std::size_t instructions = 0, waits = 0;
    expect(world.run([&](host_rank& rank) {
        empty_kernels source;
        auto bound = bind_order(*g, *checked, source, rank);
        for (int run = 0; run < runs; ++run) {
            const std::int64_t begin = detail::host_now();
            if (bound->replay()) return;
            if (rank.rank() == 0) least = std::min(least, detail::host_now() - begin);
        }
        if (rank.rank() != 0) return;
        instructions = bound->program().instructions.size();
        waits = bound->program().waits.size();
    }));
    std::printf("| %zu | %zu | %zu | %.1f |\n", ranks, instructions, waits,
                static_cast<double>(least) / static_cast<double>(instructions));
}

void measure_collective(transfer_kind kind, std::size_t ranks, std::size_t received, int runs) {
    host_world world(ranks, bench::group_of(ranks));
    std::int64_t least = INT64_MAX, floor = INT64_MAX;
    meeting all(ranks);
    std::vector<const std::byte*> sent(ranks);
    expect(world.run([&](host_rank& rank) {
        const std::size_t share = received / ranks;
        bench::collective_buffers b(kind, ranks, received);
        sent[rank.rank()] = b.from.data();
        for (int run = 0; run < runs; ++run) {
            all.meet();
            std::int64_t begin = detail::host_now();
            if (rank.perform(0, b.operation)) return;
            if (rank.rank() == 0) least = std::min(least, detail::host_now() - begin);
            all.meet();
            begin = detail::host_now();
            for (std::size_t k = 0; k < ranks; ++k)
                std::memcpy(b.to.data() + k * share,
                            sent[k] + (kind == transfer_kind::all_gather ? 0 : rank.rank() * share), share);
            asm volatile("" : : "r"(b.to.data()) : "memory");
            all.meet();
            if (rank.rank() == 0) floor = std::min(floor, detail::host_now() - begin);
        }
    }));
    std::printf("| %s | %zu | %zu | %.1f | %.1f | %.2f |\n", bench::name_of(kind), ranks, received,
                static_cast<double>(least) / 1e3, static_cast<double>(floor) / 1e3,
                static_cast<double>(least) / static_cast<double>(floor));
}

}  // namespace

int main(int argc, char** argv) {
    const bool smoke = bench::read_arguments(argc, argv).smoke;
    const int runs = smoke ? 3 : 200;
    std::printf("| ranks | instructions | waits | ns per instruction |\n|---|---|---|---|\n");
    const std::uint32_t size = smoke ? 200 : 4'000;
    measure_replay(size, 0, 1, runs);
    measure_replay(size, 40, 1, runs);
    measure_replay(size, 40, 2, runs);
    std::printf("\n| collective | ranks | bytes received | us | us, copied | ratio |\n|---|---|---|---|---|---|\n");
    for (const transfer_kind kind : bench::measured_collectives)
        for (const std::size_t received : bench::measured_sizes)
            measure_collective(kind, 2, smoke ? 4'096 : received, smoke ? 3 : 100);
    return 0;
}
