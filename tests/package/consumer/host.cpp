// What a consumer of the host component does: ranks that gather what each has.
#include <cstdio>

#include "stretto/backend/host/host_world.hpp"

int main() {
    const stretto::rank_id ranks[] = {0, 1, 2};
    stretto::process_groups groups;
    const stretto::group_id all = groups.add({.size = 3, .ranks = ranks});
    stretto::host_world world(3, groups);
    int seen[3][3] = {};
    const auto failure = world.run([&](stretto::host_rank& rank) {
        const int mine = static_cast<int>(rank.rank()) + 1;
        stretto::collective_operation gather;
        gather.kind = stretto::transfer_kind::all_gather;
        gather.send = reinterpret_cast<const std::byte*>(&mine);
        gather.receive = reinterpret_cast<std::byte*>(seen[rank.rank()]);
        gather.send_bytes = sizeof(mine);
        gather.receive_bytes = sizeof(seen[0]);
        static_cast<void>(rank.perform(all, gather));
    });
    std::printf("%d %d %d\n", seen[2][0], seen[2][1], seen[2][2]);
    return !failure && seen[0][2] == 3 && seen[2][0] == 1 ? 0 : 1;
}
