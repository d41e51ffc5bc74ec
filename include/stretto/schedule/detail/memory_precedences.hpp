// What a memory limit proves about order. Let v be a kernel at which memory is scarce. If some other node ran before v,
// what it makes would be alive at v, or what has been made of that; and so would be the results of all that it comes
// after. Where the limit leaves less room, the node runs after v, as if it depended on it.
//
// In a step that computes activations again, these are the recomputations of the layers whose turn in the backward pass
// comes later. They depend on nothing but the inputs of the layers, and without a limit they would be what hides the
// exchanges of the forward pass. Within the limit they cannot leave the stretch between two peaks, and all bounds that
// rest on dependences grow.
#ifndef STRETTO_SCHEDULE_DETAIL_MEMORY_PRECEDENCES_HPP
#define STRETTO_SCHEDULE_DETAIL_MEMORY_PRECEDENCES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/memory_flow.hpp"
#include "stretto/schedule/detail/memory_jobs.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Of two nodes, which comes first in every order within a limit.
struct node_pair {
    std::uint32_t first, then;
};

/// Finds such pairs. The base is a flow at v (detail/memory_flow.hpp), which is no more than what is alive there. If it
/// leaves room for more from a node that may run before v or after it, and both together exceed the limit, the node
/// runs after v, and with it all that comes after it. Then further paths end there, and more nodes may follow.
template <class = void>
class memory_precedences {
public:
    /// The arrays are taken from the open scope of the workspace.
    memory_precedences(const compact_tasks& c, const forced_memory<>& forced, workspace& w)
        : c_(c),
          forced_(forced),
          flow_(c, forced.readers(), w),
          side_(w.take<kernel_side>(c.size())),
          passes_(w.take<std::uint8_t>(c.size())),
          carried_(w.take<std::int64_t>(c.storage_bytes.size())) {}

    /// The pairs for this limit: kernels at which memory is scarce, and nodes that the limit puts after them, without
    /// those that come after another such node. O(V + E + uses) for each of up to 16 kernels; searches of up to 200
    /// steps take at most 48 V together. Precondition: the limit is at least least_peak().
    [[nodiscard]] std::vector<node_pair> within(std::int64_t limit) {
        std::vector<node_pair> pairs;
        steps_left_ = steps_per_node * c_.size();
        int in_vain = 0;
        for (const std::size_t place : forced_.scarcest_first()) {
            // Where most of the memory may be free, nearly everything fits.
            if (forced_.forced(place) < limit / 2 || in_vain == most_in_vain) break;
            const std::size_t known = pairs.size();
            forced_.decide_sides(place, side_);
            find_pairs(forced_.kernels()[place], limit, pairs);
            in_vain = pairs.size() == known ? in_vain + 1 : 0;
        }
        return pairs;
    }

private:
    static constexpr int most_rounds = 3, most_in_vain = 4;
    static constexpr std::size_t steps_per_node = 48;

    /// Appends the pairs of the kernel v, from which all sides are seen.
    void find_pairs(std::uint32_t v, std::int64_t limit, std::vector<node_pair>& pairs) {
        const std::size_t known = pairs.size();
        for (int round = 0; round < most_rounds; ++round) {
            std::fill(carried_.begin(), carried_.end(), 0);
            const std::int64_t alive = flow_.at(v, side_, forced_.kept(), carried_);
            if (!put_after(limit - alive + 1, v, pairs)) break;
        }
        // What comes after another of these nodes needs no pair of its own.
        const auto follows = [&](const node_pair& p) {
            const std::span<const std::uint32_t> before = c_.predecessors[p.then];
            return std::any_of(before.begin(), before.end(),
                               [&](std::uint32_t n) { return side_[n] == kernel_side::after; });
        };
        pairs.erase(std::remove_if(pairs.begin() + static_cast<std::ptrdiff_t>(known), pairs.end(), follows),
                    pairs.end());
    }

    /// Puts after v what leaves no room for `more`, and what comes after that. Returns whether there was any such node.
    [[nodiscard]] bool put_after(std::int64_t more, std::uint32_t v, std::vector<node_pair>& pairs) {
        find_passages(more);
        bool any = false;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (side_[n] != kernel_side::free) continue;
            bool after = false;
            for (const std::uint32_t p : c_.predecessors[n]) after = after || side_[p] == kernel_side::after;
            if (!after) {
                if (passes_[n] == 0 && !flow_.grows_by(more, n, carried_, steps_left_)) continue;
                pairs.push_back({v, n});
            }
            side_[n] = kernel_side::after;
            flow_.put_after(n);
            any = true;
        }
        return any;
    }
    /// Finds the free nodes from which there is room for `more` along a single path. O(V + uses).
    void find_passages(std::int64_t more) {
        for (std::uint32_t n = c_.size(); n-- > 0;) {
            passes_[n] = side_[n] == kernel_side::after;
            if (side_[n] != kernel_side::free) continue;
            for (const std::uint32_t s : c_.touched[n]) {
                if (c_.storage_bytes[s] - carried_[s] < more || forced_.made_by(s) != n) continue;
                for (const std::uint32_t r : forced_.readers()[s]) passes_[n] |= passes_[r];
            }
        }
    }

    const compact_tasks& c_;
    const forced_memory<>& forced_;
    memory_flow<> flow_;
    std::span<kernel_side> side_;      // by node, seen from v
    std::span<std::uint8_t> passes_;   // by node: whether there is room from it along a single path
    std::span<std::int64_t> carried_;  // by storage: the flow at v
    std::size_t steps_left_ = 0;       // of all searches
};

/// The same graph with these pairs as further dependences, without those that run against program order: an order that
/// keeps them all is no longer known. O(V + E).
template <class = void>
[[nodiscard]] inline compact_tasks with_precedences(const compact_tasks& c, std::vector<node_pair> pairs) {
    std::sort(pairs.begin(), pairs.end(), [](const node_pair& a, const node_pair& b) {
        return a.then != b.then ? a.then < b.then : a.first < b.first;
    });
    compact_tasks made = c;
    made.predecessors = {};
    auto next = pairs.begin();
    for (std::uint32_t n = 0; n < c.size(); ++n) {
        for (const std::uint32_t p : c.predecessors[n]) made.predecessors.push(p);
        for (; next != pairs.end() && next->then == n; ++next)
            if (next->first < n) made.predecessors.push(next->first);
        made.predecessors.close_row();
    }
    made.successors = made.predecessors.inverse(made.size());
    return made;
}

}  // namespace stretto::detail

#endif
