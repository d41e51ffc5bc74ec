// Ranks on which a benchmark runs.
#ifndef STRETTO_BENCH_SUPPORT_RANKS_HPP
#define STRETTO_BENCH_SUPPORT_RANKS_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "stretto/backend/run_failure.hpp"
#include "stretto/core/process_groups.hpp"

namespace bench {

/// One group of all ranks, in their order.
[[nodiscard]] inline stretto::process_groups group_of(std::size_t ranks) {
    std::vector<stretto::rank_id> all(ranks);
    std::iota(all.begin(), all.end(), stretto::rank_id{0});
    stretto::process_groups groups;
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    return groups;
}

/// Says why a run has failed, if it has, and calls `give_up`, which does not return.
template <class GiveUp>
void expect(const std::optional<stretto::run_failure>& failure, GiveUp give_up) {
    if (!failure) return;
    std::fprintf(stderr, "%s\n", explain(*failure, [](stretto::task_id t) { return std::to_string(t); }).c_str());
    give_up();
}

}  // namespace bench

#endif
