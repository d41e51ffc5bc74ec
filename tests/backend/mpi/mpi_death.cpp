// A process of a world dies, at a collective that its arguments name: `mpi_death WHO WHERE HOW`. Every other process
// must come back from its run in time, with a failure that names who has not come, and then says so in one line, which
// tests/backend/mpi/mpi_deaths counts. A process with which something is wrong says that instead.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stretto/backend/mpi/mpi_world.hpp"
#include "stretto/core/process_groups.hpp"

using namespace stretto;

namespace {

constexpr std::uint32_t collectives = 6;
constexpr mpi_options options{.deadline = std::chrono::milliseconds(1'000), .grace = std::chrono::milliseconds(1'000)};

struct death {
    rank_id who = 0;
    std::uint32_t where = 0;  // of collectives: a process dies before this one
    std::string_view how;     // killed | exits | killed-inside, as soon as it has begun it
};

void die(const death& d) {
    if (d.how == "exits") std::_Exit(3);
    static_cast<void>(std::raise(SIGKILL));
}

/// Collectives of some length, so that a process can die inside one.
std::optional<run_failure> run(mpi_world& world, const death& d) {
    std::vector<std::byte> sent(std::size_t{1} << 22), received(sent.size() * world.size());
    return world.run([&](mpi_rank& rank) {
        for (std::uint32_t k = 0; k < collectives; ++k) {
            collective_operation o;
            o.kind = transfer_kind::all_gather;
            o.send = sent.data();
            o.receive = received.data();
            o.send_bytes = sent.size();
            o.receive_bytes = received.size();
            o.task = 10 + k;
            const bool dies = rank.rank() == d.who && k == d.where;
            if (dies && d.how != "killed-inside") die(d);
            if (dies) {
                rank.channel(0)->launch(o);
                std::this_thread::sleep_for(std::chrono::milliseconds(1));  // it has told the others
                die(d);
            }
            if (rank.perform(0, o)) return;
        }
    });
}

/// What is wrong with what a process was told, or nothing.
std::string complaint(const std::optional<run_failure>& found, const death& d,
                      std::chrono::steady_clock::duration took) {
    using why = run_failure::reason;
    if (!found) return "was told of no failure";
    const std::string text = explain(*found, [](task_id t) { return "task " + std::to_string(t); });
    if (found->why != why::timeout && found->why != why::rank_left && found->why != why::call_failed) return text;
    // After the deadline, who still lives has its time to agree.
    if (took > options.deadline + 3 * options.grace) return "came back late: " + text;
    // In a transfer that all had begun nobody is missing, and who has received everything goes on to the next one.
    const bool inside = d.how == "killed-inside";
    const bool is_next = inside && found->sequence == d.where + 1;
    if (found->group != 0 || (found->sequence != d.where && !is_next)) return "names another collective: " + text;
    const std::string who = "rank " + std::to_string(d.who);
    const bool missed = std::any_of(found->waiting.begin(), found->waiting.end(), [&](const waiting_lane& w) {
        return w.group == 0 && w.sequence == d.where && std::count(w.for_ranks.begin(), w.for_ranks.end(), d.who) == 1;
    });
    // A library of MPI may notice before the deadline is over.
    const bool named = found->why == why::call_failed ? inside || found->detail.starts_with(who + " cannot be reached")
                                                      : found->detail == who + " does not answer" && (inside || missed);
    if (!named) return "does not name " + who + ": " + text;
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return std::fputs("usage: mpi_death WHO WHERE killed|exits|killed-inside\n", stderr), 2;
    const death d{static_cast<rank_id>(std::atoi(argv[1])), static_cast<std::uint32_t>(std::atoi(argv[2])), argv[3]};
    int threads = 0, size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<rank_id> all;
    for (int r = 0; r < size; ++r) all.push_back(static_cast<rank_id>(r));
    process_groups groups;
    groups.add({.size = size, .ranks = all});
    auto world = mpi_world::make(MPI_COMM_WORLD, groups, options);
    if (!world) return std::puts(explain(world.error()).c_str()), 1;

    const auto begin = std::chrono::steady_clock::now();
    const auto found = run(**world, d);
    const std::string wrong = complaint(found, d, std::chrono::steady_clock::now() - begin);
    const rank_id me = (*world)->rank();
    world->reset();  // it must not wait for the dead either
    if (wrong.empty())
        std::printf("rank %u has survived: %s\n", me,
                    explain(*found, [](task_id t) { return "task " + std::to_string(t); }).c_str());
    else std::printf("rank %u: %s\n", me, wrong.c_str());
    std::fflush(stdout);
    std::_Exit(0);  // MPI_Finalize would wait for the dead
}
