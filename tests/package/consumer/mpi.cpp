// What a consumer of the mpi component does: processes that gather what each has. Without mpiexec there is one.
#include <cstdio>
#include <vector>

#include "stretto/backend/mpi/mpi_world.hpp"

namespace {

int gather() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<stretto::rank_id> ranks;
    for (int r = 0; r < size; ++r) ranks.push_back(static_cast<stretto::rank_id>(r));
    stretto::process_groups groups;
    const stretto::group_id all = groups.add({.size = size, .ranks = ranks});
    // [world]
    const auto world = stretto::mpi_world::make(MPI_COMM_WORLD, groups);
    if (!world) return std::puts(explain(world.error()).c_str()), 1;
    std::vector<int> seen(ranks.size());
    const auto failure = (*world)->run([&](stretto::mpi_rank& rank) {
        const int mine = static_cast<int>(rank.rank()) + 1;
        stretto::collective_operation gather;
        gather.kind = stretto::transfer_kind::all_gather;
        gather.send = reinterpret_cast<const std::byte*>(&mine);
        gather.receive = reinterpret_cast<std::byte*>(seen.data());
        gather.send_bytes = sizeof(mine);
        gather.receive_bytes = sizeof(mine) * seen.size();
        static_cast<void>(rank.perform(all, gather));
    });
    // [/world]
    std::printf("%d of %d\n", seen.back(), size);
    return !failure && seen.front() == 1 && seen.back() == size ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    int threads = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
    const int status = gather();
    MPI_Finalize();
    return status;
}
