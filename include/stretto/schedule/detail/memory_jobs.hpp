// This is a lower bound on time that follows from a memory limit. Consider nodes at which memory is scarce: some bytes
// are alive there in every order, and whatever else is alive must fit into the rest of the limit. Suppose that from one
// of these nodes, v, on a storage is alive that does not fit into the rest at any of the others; then another such
// storage; and so on until a node w has run. Then none of the others can run in between: v and its successors up to w
// occupy the memory as a job occupies a machine. Such jobs exclude each other, and a bound for one machine holds for
// them.
//
// In a training step these are the parts of the loss: each creates a gradient of the output layer, which must have been
// reduced before there is room for the next one. (Tasks that need more than half of a resource are disjunctive; see P.
// Baptiste, C. Le Pape and W. Nuijten, Constraint-Based Scheduling, 2001.)
#ifndef STRETTO_SCHEDULE_DETAIL_MEMORY_JOBS_HPP
#define STRETTO_SCHEDULE_DETAIL_MEMORY_JOBS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/memory_flow.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// A job on the memory: it begins when `node`, a kernel, begins, and takes at least `work` nanoseconds.
struct memory_job {
    std::uint32_t node;
    std::int64_t work;
};

/// The bytes that must be alive, in every order, at the kernels at which the given order needs most. The arrays are
/// taken from the open scope of the workspace.
template <class = void>
class forced_memory {
public:
    /// Computes the bytes for all these kernels. O(V + E + uses) for each of them.
    forced_memory(const compact_tasks& c, workspace& w)
        : c_(c),
          w_(w),
          readers_(c.touched.inverse(c.storage_bytes.size())),
          kept_(w.take<std::int64_t>(c.size())),
          before_(w.take(c.size(), 0u)),
          after_(w.take(c.size(), 0u)) {
        for (std::uint32_t n = 0; n < c.size(); ++n) kept_[n] = c.allocation[n];
        for (std::uint32_t s = 0; s < c.storage_bytes.size(); ++s) kept_[readers_[s].front()] -= c.storage_bytes[s];
        choose_kernels();
        for (std::size_t k = 0; k < kernels_.size(); ++k) before_[kernels_[k]] = after_[kernels_[k]] = bit(k);
        for (std::uint32_t n = 0; n < c.size(); ++n)
            for (std::uint32_t p : c.predecessors[n]) after_[n] |= after_[p];
        for (std::uint32_t n = c.size(); n-- > 0;)
            for (std::uint32_t s : c.successors[n]) before_[n] |= before_[s];
        memory_flow flow(c, readers_, w);
        const std::span<kernel_side> side = w.take<kernel_side>(c.size());
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            flows_.push_back(w.take(c.storage_bytes.size(), std::int64_t{0}));
            decide_sides(k, side);
            forced_.push_back(flow.at(kernels_[k], side, kept_, flows_[k]));
        }
    }

    /// Returns the node that allocates a storage.
    [[nodiscard]] std::uint32_t made_by(std::uint32_t s) const { return readers_[s].front(); }
    /// Returns a lower bound on the peak of every order.
    [[nodiscard]] std::int64_t least_peak() const {
        return forced_.empty() ? 0 : *std::max_element(forced_.begin(), forced_.end());
    }
    /// Returns the kernel at which that much must be alive. Precondition: the least peak is not 0.
    [[nodiscard]] std::uint32_t least_peak_at() const {
        return kernels_[static_cast<std::size_t>(std::max_element(forced_.begin(), forced_.end()) - forced_.begin())];
    }

    /// A lower bound on the peak of every order, and the kernel at which so much must be alive.
    struct peak_of_set {
        std::int64_t bytes = 0;
        std::uint32_t at = 0;
    };
    /// Returns such a bound for the kernels at which nearly as much must be alive as at the scarcest: one of them runs
    /// last, so at the one where least is alive if it runs last, that much must be alive; and one of them runs first.
    /// Parts of a loss whose gradients are added up are an example: beside the part that runs last, the sum of all
    /// others is alive, although it need not be alive beside any one of them. O(V + E + uses) for each kernel.
    [[nodiscard]] peak_of_set least_peak_of_set() {
        std::uint32_t set = 0;
        for (std::size_t k = 0; k < kernels_.size(); ++k)
            if (forced_[k] >= least_peak() - least_peak() / 64) set |= bit(k);
        const peak_of_set last = least_in(set, true), first = least_in(set, false);
        return last.bytes >= first.bytes ? last : first;
    }

    /// Returns the kernels, those at which the given order needs most first.
    [[nodiscard]] std::span<const std::uint32_t> kernels() const noexcept { return kernels_; }
    /// Returns the indices of the kernels in `kernels()`, called places, those at which most must be alive first.
    [[nodiscard]] std::vector<std::size_t> scarcest_first() const {
        std::vector<std::size_t> places(kernels_.size());
        for (std::size_t k = 0; k < places.size(); ++k) places[k] = k;
        std::stable_sort(places.begin(), places.end(),
                         [&](std::size_t a, std::size_t b) { return forced_[a] > forced_[b]; });
        return places;
    }
    /// Returns the bytes that must be alive at the kernel with this place.
    [[nodiscard]] std::int64_t forced(std::size_t place) const { return forced_[place]; }
    /// Sets the side of every node relative to that kernel, as dependences determine it. O(V).
    void decide_sides(std::size_t place, std::span<kernel_side> side) const {
        const std::uint32_t mark = bit(place);
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            side[n] = (after_[n] & mark) != 0    ? kernel_side::after
                      : (before_[n] & mark) != 0 ? kernel_side::before
                                                 : kernel_side::free;
    }
    /// Returns, by storage, the nodes that use it. The first one makes it.
    [[nodiscard]] const index_lists& readers() const noexcept { return readers_; }
    /// Returns, by node, the bytes that it allocates and that are never freed.
    [[nodiscard]] std::span<const std::int64_t> kept() const noexcept { return kept_; }

    /// Returns jobs that exclude each other within a limit. It considers the k scarcest kernels, for every k, and
    /// returns the jobs of the set whose total work is longest. Precondition: the limit is at least least_peak().
    [[nodiscard]] std::vector<memory_job> jobs_within(std::int64_t limit) {
        const std::vector<std::size_t> scarcest = scarcest_first();
        std::vector<memory_job> best, jobs;
        std::int64_t most = 0;
        for (std::size_t k = 2; k <= scarcest.size(); ++k) {
            const std::span<const std::size_t> set = std::span(scarcest).first(k);
            jobs.clear();
            std::int64_t work = 0;
            for (std::size_t j : set) {
                jobs.push_back({kernels_[j], occupied_from(j, set, limit)});
                work += jobs.back().work;
            }
            if (work > most) {
                most = work;
                best = jobs;
            }
        }
        return best;
    }

private:
    static constexpr std::size_t most_kernels = 16, most_visited = 200;
    static constexpr std::int64_t unknown = -1;
    [[nodiscard]] static constexpr std::uint32_t bit(std::size_t k) { return std::uint32_t{1} << k; }

    /// Chooses the kernels at which memory has a local maximum in the given order, and keeps the highest of them.
    void choose_kernels() {
        const workspace::scope scratch(w_);
        const std::span<std::int64_t> live = w_.take<std::int64_t>(c_.size());
        const std::span<std::uint32_t> left = w_.take<std::uint32_t>(c_.storage_bytes.size());
        for (std::size_t s = 0; s < left.size(); ++s) left[s] = static_cast<std::uint32_t>(readers_[s].size());
        std::int64_t now = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            live[n] = now += c_.allocation[n];
            for (std::uint32_t s : c_.touched[n])
                if (--left[s] == 0) now -= c_.storage_bytes[s];
        }
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (c_.kind[n] != compact_tasks::role::compute) continue;
            if ((n > 0 && live[n - 1] > live[n]) || (n + 1 < c_.size() && live[n + 1] >= live[n])) continue;
            kernels_.push_back(n);
        }
        const auto needs_more = [&](std::uint32_t a, std::uint32_t b) {
            return live[a] != live[b] ? live[a] > live[b] : a < b;
        };
        std::sort(kernels_.begin(), kernels_.end(), needs_more);
        if (kernels_.size() > most_kernels) kernels_.resize(most_kernels);
    }

    /// Returns the least of what must be alive at a kernel of a set if it runs after all others of the set, or before
    /// them, and that kernel; 0 if no kernel can.
    [[nodiscard]] peak_of_set least_in(std::uint32_t set, bool last) {
        const workspace::scope scratch(w_);
        memory_flow flow(c_, readers_, w_);
        const std::span<kernel_side> side = w_.take<kernel_side>(c_.size());
        const std::span<std::int64_t> carried = w_.take<std::int64_t>(c_.storage_bytes.size());
        peak_of_set least;
        for (std::size_t k = 0; k < kernels_.size(); ++k) {
            const std::uint32_t others = set & ~bit(k), v = kernels_[k];
            if ((set & bit(k)) == 0 || ((last ? before_[v] : after_[v]) & others) != 0) continue;
            // What comes before the kernel itself is before it, and what comes after it is after it, also if it comes
            // after, or before, another kernel of the set.
            const std::uint32_t earlier = last ? set : bit(k), later = last ? bit(k) : set;
            for (std::uint32_t n = 0; n < c_.size(); ++n)
                side[n] = (after_[n] & bit(k)) != 0     ? kernel_side::after
                          : (before_[n] & earlier) != 0 ? kernel_side::before
                          : (after_[n] & later) != 0    ? kernel_side::after
                                                        : kernel_side::free;
            std::fill(carried.begin(), carried.end(), 0);
            const std::int64_t alive = flow.at(v, side, kept_, carried);
            if (least.bytes == 0 || alive < least.bytes) least = {alive, v};
        }
        return least;
    }

    /// Returns a lower bound on how long, from the beginning of a kernel of the set, storages are alive one after the
    /// other next to each of which no other kernel of the set fits. Only paths through nodes that use such storages
    /// count, and at most the first 200 nodes, in program order.
    [[nodiscard]] std::int64_t occupied_from(std::size_t k, std::span<const std::size_t> set, std::int64_t limit) {
        // Returns whether the storage excludes all other kernels of the set: the storage and the other bytes that must
        // be alive at such a kernel exceed the limit together.
        const auto excludes = [&](std::uint32_t s) {
            for (std::size_t j : set)
                if (j != k && forced_[j] - flows_[j][s] <= limit - c_.storage_bytes[s]) return false;
            return true;
        };
        const workspace::scope scratch(w_);
        const std::uint32_t first = kernels_[k];
        visited_.clear();
        waiting_.assign(1, first);
        std::int64_t longest = 0;
        while (!waiting_.empty() && visited_.size() < most_visited) {
            std::pop_heap(waiting_.begin(), waiting_.end(), comes_later);
            const std::uint32_t n = waiting_.back();
            waiting_.pop_back();
            if (!visited_.empty() && visited_.back().node == n) continue;
            // `lane` is a lower bound on the time from the beginning of the kernel until n is done; unknown if n may
            // come before the kernel.
            std::int64_t lane = n == first ? 0 : unknown;
            for (std::uint32_t p : c_.predecessors[n]) {
                const auto v = std::lower_bound(visited_.begin(), visited_.end(), p,
                                                [](const visit& a, std::uint32_t b) { return a.node < b; });
                if (v == visited_.end() || v->node != p || v->lane == unknown) continue;
                lane = std::max(lane, v->lane + (c_.launch[n] == p ? c_.duration[p] : 0));
            }
            if (c_.kind[n] == compact_tasks::role::compute && lane != unknown) lane += c_.duration[n];
            visited_.push_back({n, lane});
            longest = std::max(longest, lane);
            for (std::uint32_t s : c_.touched[n]) {
                if (!excludes(s)) continue;
                for (std::uint32_t r : readers_[s])
                    if (r > n) {
                        waiting_.push_back(r);
                        std::push_heap(waiting_.begin(), waiting_.end(), comes_later);
                    }
            }
        }
        return longest;
    }

    static bool comes_later(std::uint32_t a, std::uint32_t b) { return a > b; }
    struct visit {
        std::uint32_t node;
        std::int64_t lane;
    };

    const compact_tasks& c_;
    workspace& w_;
    index_lists readers_;                         // by storage: nodes that use it
    std::span<std::int64_t> kept_;                // by node: bytes allocated and never freed
    std::span<std::uint32_t> before_;             // by node: the kernels before which it comes, or which it is, as bits
    std::span<std::uint32_t> after_;              // by node: the kernels after which it comes, or which it is, as bits
    std::vector<std::uint32_t> kernels_;          // those at which the given order needs most
    std::vector<std::int64_t> forced_;            // by kernel: bytes that are alive there in every order
    std::vector<std::span<std::int64_t>> flows_;  // by kernel and storage: the part of these bytes that it carries
    std::vector<visit> visited_;
    std::vector<std::uint32_t> waiting_;
};

}  // namespace stretto::detail

#endif
