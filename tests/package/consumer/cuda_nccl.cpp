// What a consumer of the cuda_nccl component does: joins alone, where there is a device. Where there is none, it is
// told so by a value.
#include <cstdio>

#include "stretto/backend/cuda_nccl/cuda_nccl_library.hpp"
#include "stretto/backend/cuda_nccl/cuda_nccl_rank.hpp"

int main() {
    // [join]
    using library = stretto::cuda_nccl_library;
    const stretto::rank_id ranks[] = {0};
    stretto::process_groups groups;
    groups.add({.size = 1, .ranks = ranks});
    library::id_type id = {};
    if (!library::make_id(id).done()) return 1;
    const auto rank = stretto::cuda_nccl_rank<library>::make(0, 1, id, groups);
    // [/join]
    if (rank) std::printf("%zu\n", (*rank)->channel(0)->size());
    else std::printf("%s\n", rank.error().detail.c_str());
    return rank || rank.error().why == stretto::run_failure::reason::call_failed ? 0 : 1;
}
