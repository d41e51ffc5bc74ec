// A small program whose collectives may be merged, with the trials of buckets over it.
#ifndef STRETTO_TESTS_SUPPORT_MERGEABLE_TRAFFIC_HPP
#define STRETTO_TESTS_SUPPORT_MERGEABLE_TRAFFIC_HPP

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/schedule/memory.hpp"
#include "stretto/tune/detail/bucket_trials.hpp"
#include "support/priced_reductions.hpp"

namespace support {

/// A program, its step in numbers, and the trials of its buckets.
struct mergeable_traffic {
    using runs = std::vector<std::uint32_t>;  // by item: its run

    reduction_program p;
    priced_reductions ops{{&p}};
    reduction_bucket_costs costs = {};
    stretto::numbered_step<reduction_view> step =
        *stretto::numbered_step<reduction_view>::read(reduction_view{&p}, ops);
    std::optional<stretto::detail::bucket_trials<reduction_view, priced_reductions, reduction_bucket_costs>> trials =
        {};
    std::vector<stretto::detail::bucketable> items = {};
    std::vector<std::uint32_t> given = {};  ///< the vertices in program order
    stretto::bytes peak = {};               ///< that of the step in program order

    explicit mergeable_traffic(reduction_program program, const stretto::bucket_options& limits = {})
        : p(std::move(program)), given(step.table().size()) {
        const auto choose = [this](std::uint32_t v) {
            return stretto::bucket_choice{.label = 0, .place = v, .cast = p.sends_cast(v)};
        };
        trials.emplace(step, ops, choose, costs, limits);
        items = trials->items();
        std::iota(given.begin(), given.end(), 0u);
        peak = stretto::peak_of_input(whole());
    }
    mergeable_traffic(const mergeable_traffic&) = delete;
    mergeable_traffic& operator=(const mergeable_traffic&) = delete;

    const stretto::task_graph& whole() const { return **trials->whole(); }

    /// A division into up to four runs.
    runs random_runs(std::uint32_t& random) const {
        runs r;
        for (std::size_t k = 0; k < items.size(); ++k) r.push_back((random = random * 1664525u + 1013904223u) >> 30);
        return r;
    }
};

}  // namespace support

#endif
