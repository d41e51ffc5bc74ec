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

/// Whether a run has gone well; if not, says why.
[[nodiscard]] inline bool went_well(const std::optional<stretto::run_failure>& failure) {
    if (!failure) return true;
    std::fprintf(stderr, "%s\n", explain(*failure, [](stretto::task_id t) { return std::to_string(t); }).c_str());
    return false;
}

}  // namespace bench

#endif
