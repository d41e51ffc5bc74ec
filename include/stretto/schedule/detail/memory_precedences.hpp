// A memory limit implies precedences. Let v be a kernel at which memory is scarce. If some other node ran before v, its
// results would be alive at v, or what has been made of them; and so would be the results of all its predecessors. If
// the limit leaves less room than that, the node runs after v, as if it depended on v.
//
// In a step that recomputes activations, these nodes are the recomputations of the layers whose turn in the backward
// pass comes later. They depend on nothing but the inputs of the layers, and without a limit they would hide the
// exchanges of the forward pass. Within the limit they cannot leave the stretch between two peaks, so all bounds that
// are based on dependences become larger.
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

/// Two nodes in the order in which they run in every order within a limit, and a lower bound on the time between the
/// end of the first and the beginning of the other. If `first` is no_node, the time counts from the beginning of the
/// step; if `then` is no_node, it counts to the end of the step.
struct node_pair {
    std::uint32_t first, then;
    std::int64_t apart = 0;  // nanoseconds
};

/// Finds such pairs. The base is a flow at v (detail/memory_flow.hpp), which is at most what is alive there. Consider a
/// node that may run on either side of v. If the flow has room for more from this node, and both together exceed the
/// limit, the node runs after v, and so do all its successors. Then further paths end there, and more nodes may follow.
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

    /// Returns the pairs for this limit. Each consists of a kernel at which memory is scarce and a node that the limit
    /// puts after it, except nodes that come after another such node. For each such kernel, calls see(place, side) with
    /// the sides on which nodes run. O(V + E + uses) for each of up to 8 kernels. Precondition: the limit is at least
    /// least_peak().
    template <class See>
    [[nodiscard]] std::vector<node_pair> within(std::int64_t limit, See see) {
        std::vector<std::size_t> places;
        for (const std::size_t place : forced_.scarcest_first()) {
            // Where most of the memory may be free, nearly everything fits.
            if (forced_.forced(place) < limit / 2 || places.size() == most_kernels) break;
            places.push_back(place);
        }
        std::sort(places.begin(), places.end(),
                  [&](std::size_t a, std::size_t b) { return forced_.kernels()[a] < forced_.kernels()[b]; });
        std::vector<node_pair> pairs;
        steps_left_ = steps_per_node * c_.size();
        int in_vain = 0;
        for (const std::size_t place : places) {
            if (pairs.empty() && in_vain++ == most_in_vain) steps_left_ = 0;  // from now on only single paths are tried
            forced_.decide_sides(place, side_);
            find_pairs(place, limit, pairs);
            see(place, std::span<const kernel_side>(side_));
        }
        return pairs;
    }

private:
    static constexpr std::size_t most_kernels = 8, steps_per_node = 24;
    static constexpr int most_rounds = 2, most_in_vain = 3;

    /// Returns whether most work may run on either side. Searching from all these nodes would use up the steps that
    /// other kernels need.
    [[nodiscard]] bool most_is_free() const {
        std::int64_t work = 0, free = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (c_.kind[n] != compact_tasks::role::compute) continue;
            work += c_.duration[n];
            if (side_[n] == kernel_side::free) free += c_.duration[n];
        }
        return free > work / 2;
    }

    /// Appends the pairs of the kernel with this place, to which the sides are relative.
    void find_pairs(std::size_t place, std::int64_t limit, std::vector<node_pair>& pairs) {
        const std::uint32_t v = forced_.kernels()[place];
        const std::size_t known = pairs.size();
        std::size_t no_steps = 0;
        std::size_t& steps_left = most_is_free() ? no_steps : steps_left_;
        for (int round = 0; round < most_rounds; ++round) {
            // In later rounds, more paths end after v, so the flow may be larger.
            std::fill(carried_.begin(), carried_.end(), 0);
            const std::int64_t alive = flow_.at(v, side_, forced_.kept(), carried_);
            if (alive > limit || !put_after(limit - alive + 1, v, pairs, steps_left)) break;
        }
        // A node that comes after another of these nodes needs no pair of its own.
        const auto follows = [&](const node_pair& p) {
            const std::span<const std::uint32_t> before = c_.predecessors[p.then];
            return std::any_of(before.begin(), before.end(),
                               [&](std::uint32_t n) { return side_[n] == kernel_side::after; });
        };
        pairs.erase(std::remove_if(pairs.begin() + static_cast<std::ptrdiff_t>(known), pairs.end(), follows),
                    pairs.end());
    }

    /// Puts after v every free node that finds no room before it: if the node ran before v, `more` additional bytes
    /// would be alive at v. Puts its successors after v as well. Returns whether there was any such node.
    [[nodiscard]] bool put_after(std::int64_t more, std::uint32_t v, std::vector<node_pair>& pairs,
                                 std::size_t& steps_left) {
        find_passages(more);
        bool any = false;
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            if (side_[n] != kernel_side::free) continue;
            bool after = false;
            for (const std::uint32_t p : c_.predecessors[n]) after = after || side_[p] == kernel_side::after;
            if (!after) {
                if (passes_[n] == 0 && !flow_.grows_by(more, n, carried_, steps_left)) continue;
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
    std::span<kernel_side> side_;      // by node, relative to v
    std::span<std::uint8_t> passes_;   // by node: whether a single path from it has room
    std::span<std::int64_t> carried_;  // by storage: the flow at v
    std::size_t steps_left_ = 0;       // the remaining steps of all searches
};

}  // namespace stretto::detail

#endif
