#include "stretto/backend/cuda_nccl.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backend/imitated_cuda.hpp"
#include "stretto/backend/check_backend.hpp"
#include "stretto/core/process_groups.hpp"

using namespace stretto;
using support::imitated_cuda;
using support::imitated_fault;
using support::imitated_machine;
using support::imitated_rank;
using support::run_imitated;
static_assert(backend<imitated_rank>);

namespace {

process_groups groups_of(std::size_t ranks) {
    std::vector<rank_id> all, reversed;
    for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
    for (rank_id r = 0; r < ranks; ++r) reversed.push_back(static_cast<rank_id>(ranks) - 1 - r);
    process_groups groups;
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = reversed});
    return groups;
}

}  // namespace

TEST_CASE("it keeps the promises of a backend, on any number of ranks, however long calls are in progress") {
    for (const std::size_t ranks : {1u, 2u, 3u, 4u})
        for (const std::uint32_t polls : {0u, 3u}) {
            imitated_machine machine({}, polls);
            std::vector<std::string> wrong(ranks);
            std::vector<backend_summary> seen(ranks);
            const auto outcome = run_imitated(ranks, groups_of(ranks), {}, [&](imitated_rank& rank) {
                for (const group_id group : {0u, 1u}) {
                    const auto found = check_backend(rank, group);
                    if (found) seen[rank.rank()] = *found;
                    else wrong[rank.rank()] = found.error().message();
                }
                return std::optional<run_failure>();
            });
            CHECK(!outcome.failed());
            for (const std::string& w : wrong) CHECK(w == "");
            for (const backend_summary& s : seen) CHECK(s == backend_summary{ranks, 9, 0});
            CHECK(machine.breaches.empty());
            CHECK(machine.is_clean());
        }
}
