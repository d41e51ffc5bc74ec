// How early a kernel may run when memory is scarce. While the lane would stall, a list pass takes any ready kernel,
// also one whose result nobody reads before the end of the step; activations that are computed again for the backward
// pass are the usual case. What such a kernel allocates then fills the memory for all that time, and in the end the
// limit keeps back kernels that are due. A window holds kernels back until the lane comes close to their place.
#ifndef STRETTO_SCHEDULE_DETAIL_KERNEL_WINDOW_HPP
#define STRETTO_SCHEDULE_DETAIL_KERNEL_WINDOW_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// The places of kernels in an order in which everything happens as late as it may, and which of them add to the memory
/// in use. All arrays are a workspace's.
struct kernel_places {
    std::span<std::int64_t> place;  ///< of a node: the lane time of all kernels before it, in nanoseconds
    std::span<std::uint32_t> lane;  ///< the kernels, in the order of their places
    std::span<char> adds;           ///< of a node: whether it is a kernel that allocates more than is free behind it
};

/// The places of kernels in a backward pass, whose nodes are `late_nodes`, last to first. O(V + storages).
template <class = void>
[[nodiscard]] inline kernel_places places_in(const compact_tasks& c, std::span<const std::uint32_t> late_nodes,
                                             workspace& w) {
    std::size_t kernels = 0;
    for (std::uint32_t n : late_nodes) kernels += c.machine[n] == 0;
    const kernel_places p{w.take(c.size(), std::int64_t{0}), w.take<std::uint32_t>(kernels), w.take(c.size(), '\0')};
    const workspace::scope scratch(w);
    const std::span<char> met = w.take(c.storage_bytes.size(), '\0');
    std::int64_t lane = 0;
    for (std::uint32_t n : late_nodes)
        if (c.machine[n] == 0) lane += c.duration[n];
    for (std::uint32_t n : late_nodes) {
        std::int64_t added = c.allocation[n];
        for (std::uint32_t s : c.touched[n]) {
            if (!met[s]) added -= c.storage_bytes[s];  // n is its last reader
            met[s] = 1;
        }
        if (c.machine[n] != 0) continue;
        lane -= c.duration[n];
        p.place[n] = lane;
        p.lane[--kernels] = n;
        p.adds[n] = added > 0;
    }
    return p;
}

/// Holds back the kernels that add to the memory in use until the first kernel that has not run is no more than a
/// length of lane time before them. One object follows one pass.
class kernel_window {
public:
    /// The arrays of `p` must outlive the window; its own are taken from the open scope of the workspace.
    kernel_window(const kernel_places& p, std::int64_t length, workspace& w)
        : p_(p), length_(length), ran_(w.take(p.place.size(), '\0')) {}

    /// Notes that a node has run.
    void run(std::uint32_t n) {
        ran_[n] = 1;
        while (next_ < p_.lane.size() && ran_[p_.lane[next_]]) ++next_;
    }
    /// Whether it is too early for a kernel.
    [[nodiscard]] bool holds(std::uint32_t n) const {
        return p_.adds[n] && next_ < p_.lane.size() && p_.place[n] - length_ > p_.place[p_.lane[next_]];
    }

    /// Keeps a kernel until its time has come.
    void keep(std::uint32_t n) {
        kept_.push_back(n);
        std::push_heap(kept_.begin(), kept_.end(), later());
    }
    [[nodiscard]] bool keeps_any() const noexcept { return !kept_.empty(); }
    /// Whether there is a kernel whose time has come.
    [[nodiscard]] bool has_due() const { return !kept_.empty() && !holds(kept_.front()); }
    /// Gives back the kernel with the earliest place. Precondition: one is kept.
    std::uint32_t take_first() {
        const std::uint32_t n = kept_.front();
        std::pop_heap(kept_.begin(), kept_.end(), later());
        kept_.pop_back();
        return n;
    }

private:
    struct comes_later {
        const std::int64_t* place;
        bool operator()(std::uint32_t a, std::uint32_t b) const {
            return place[a] != place[b] ? place[a] > place[b] : a > b;
        }
    };
    [[nodiscard]] comes_later later() const { return {p_.place.data()}; }

    const kernel_places& p_;
    std::int64_t length_;
    std::span<char> ran_;  // by node
    std::size_t next_ = 0;
    std::vector<std::uint32_t> kept_;  // a heap, the earliest place first
};

}  // namespace stretto::detail

#endif
