// This is a lower bound on time under contention. Consider any stretch of L ns. Let B be the time for which one channel
// transfers in it, and K the kernels that run entirely in it. While the channel transfers, kernels do no more than 1/c
// of their work, so in L ns they do no more than (L - B) + B / c of it. So
//
//     L >= work(K) + (1 - 1/c) B
//
// for every stretch, whatever the order. The kernels and, for each transfer of the channel, the share (1 - 1/c) of its
// duration fit into a stretch one after the other, like jobs of one machine. Bounds for one machine therefore hold for
// this combined machine too, if a transfer counts only where all of it is in the stretch.
#ifndef STRETTO_SCHEDULE_DETAIL_CONTENTION_JOBS_HPP
#define STRETTO_SCHEDULE_DETAIL_CONTENTION_JOBS_HPP

#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/machine_jobs.hpp"
#include "stretto/schedule/detail/spine_bound.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The jobs of the machine that combines the lane with one channel.
struct contention_jobs {
    std::uint32_t channel;
    std::span<std::uint32_t> nodes;  ///< in program order; the arrays belong to a workspace
    std::span<std::int64_t> work;
    std::int64_t load = 0;

    /// Returns the jobs as the spine bound reads them. Kernels and transfers are completely done when their nodes end.
    [[nodiscard]] std::vector<further_job> for_spine() const {
        std::vector<further_job> jobs;
        jobs.reserve(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) jobs.push_back({nodes[i], work[i], 0});
        return jobs;
    }
};

/// Returns the jobs of the lane combined with those of `channel`. Shares of transfers are rounded down. O(V).
template <class = void>
[[nodiscard]] inline contention_jobs jobs_under(contention under, const compact_tasks& c, const machine_jobs& jobs,
                                                std::uint32_t channel, workspace& w) {
    const std::span<const std::uint32_t> kernels = jobs.of(0), transfers = jobs.of(channel);
    const std::size_t count = kernels.size() + transfers.size();
    contention_jobs both{channel, w.take<std::uint32_t>(count), w.take<std::int64_t>(count)};
    const std::int64_t p = under.numerator, added = p - under.denominator;
    for (std::size_t k = 0, t = 0, i = 0; i < count; ++i) {
        const bool is_kernel = t == transfers.size() || (k < kernels.size() && kernels[k] < transfers[t]);
        const std::uint32_t n = is_kernel ? kernels[k++] : transfers[t++];
        const std::int64_t d = c.duration[n];
        both.nodes[i] = n;
        both.work[i] = is_kernel ? d : d / p * added + d % p * added / p;
        both.load += both.work[i];
    }
    return both;
}

}  // namespace stretto::detail

#endif
