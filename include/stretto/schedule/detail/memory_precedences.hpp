// A memory limit implies precedences. Let v be a kernel at which memory is scarce. If some other node ran before v, its
// results would be alive at v, or what has been made of them; and so would be the results of all its predecessors. If
// the limit leaves less room than that, the node runs after v, as if it depended on v. In the same way, if it ran after
// v, what it reads would be alive at v, or what that is made of; where that is too much, the node runs before v.
//
// In a step that recomputes activations, these nodes are the recomputations of the layers whose turn in the backward
// pass comes later. They depend on nothing but the inputs of the layers, and without a limit they would hide the
// exchanges of the forward pass. Within the limit they cannot leave the stretch between two peaks; nor can what has to
// be done with the results of one layer before those of the next find room. So all bounds that are based on dependences
// become larger.
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
/// If the flow has room for more into this node, the node and its predecessors run before v in the same way. Nodes that
/// come before or after v by pairs of earlier kernels count as if dependences said so.
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
    /// puts after or before it, except nodes that come after, or before, another such node. For each such kernel, calls
    /// see(place, side) with the sides on which nodes run. O(V + E + uses) for each of up to 8 kernels. Precondition:
    /// the limit is at least least_peak().
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
        steps_left_ = steps_for(c_.size());
        int in_vain = 0;
        for (const std::size_t place : places) {
            if (pairs.empty() && in_vain++ == most_in_vain) steps_left_ = 0;  // from now on only single paths are tried
            forced_.decide_sides(place, side_);
            decide_by(pairs, forced_.kernels()[place]);
            find_pairs(place, limit, pairs);
            see(place, std::span<const kernel_side>(side_));
        }
        return pairs;
    }

private:
    static constexpr std::size_t most_kernels = 8;
    static constexpr int most_rounds = 2, most_in_vain = 3;

    /// Returns how many steps all searches may take together. A small graph can afford more of them for each node.
    [[nodiscard]] static std::size_t steps_for(std::size_t nodes) {
        return std::min(200 * nodes, 400'000 + 24 * nodes);
    }
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

    /// Decides the sides of free nodes that come before or after v by dependences and these pairs together. Pairs that
    /// run against program order are left out, as they are by with_precedences(). O(V + E), and O(P log P) for P pairs.
    void decide_by(std::vector<node_pair> pairs, std::uint32_t v) {
        if (pairs.empty()) return;
        std::erase_if(pairs, [](const node_pair& p) { return p.first >= p.then; });
        std::sort(pairs.begin(), pairs.end(), [](const node_pair& a, const node_pair& b) { return a.then < b.then; });
        auto next = pairs.begin();
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            bool after = is_beside(c_.predecessors[n], kernel_side::after);
            for (; next != pairs.end() && next->then == n; ++next)
                after = after || side_[next->first] == kernel_side::after;
            if (after && side_[n] == kernel_side::free) side_[n] = kernel_side::after;
        }
        std::sort(pairs.begin(), pairs.end(), [](const node_pair& a, const node_pair& b) { return a.first > b.first; });
        next = pairs.begin();
        for (std::uint32_t n = c_.size(); n-- > 0;) {
            bool before = is_beside(c_.successors[n], kernel_side::before);
            for (; next != pairs.end() && next->first == n; ++next)
                before = before || next->then == v || side_[next->then] == kernel_side::before;
            if (before && side_[n] == kernel_side::free) side_[n] = kernel_side::before;
        }
    }
    /// Returns whether one of these nodes is on that side.
    [[nodiscard]] bool is_beside(std::span<const std::uint32_t> nodes, kernel_side side) const {
        return std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t n) { return side_[n] == side; });
    }

    /// Appends the pairs of the kernel with this place, to which the sides are relative.
    void find_pairs(std::size_t place, std::int64_t limit, std::vector<node_pair>& pairs) {
        const std::uint32_t v = forced_.kernels()[place];
        const std::size_t known = pairs.size();
        std::size_t no_steps = 0;
        std::size_t& steps_left = most_is_free() ? no_steps : steps_left_;
        for (int round = 0; round < most_rounds; ++round) {
            // In later rounds, more nodes are on a side, so the flow may be larger.
            std::fill(carried_.begin(), carried_.end(), 0);
            const std::int64_t alive = flow_.at(v, side_, forced_.kept(), carried_);
            if (alive > limit) break;
            const std::int64_t more = limit - alive + 1;
            const bool after = put_after(more, v, pairs, steps_left), before = put_before(more, v, pairs, steps_left);
            if (!after && !before) break;
        }
        // A node that comes after, or before, another of these nodes needs no pair of its own.
        const auto is_implied = [&](const node_pair& p) {
            return p.first == v ? is_beside(c_.predecessors[p.then], kernel_side::after)
                                : is_beside(c_.successors[p.first], kernel_side::before);
        };
        pairs.erase(std::remove_if(pairs.begin() + static_cast<std::ptrdiff_t>(known), pairs.end(), is_implied),
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
            if (!is_beside(c_.predecessors[n], kernel_side::after)) {
                if (passes_[n] == 0 && !flow_.grows_by(more, n, carried_, steps_left)) continue;
                pairs.push_back({v, n});
            }
            side_[n] = kernel_side::after;
            flow_.put(n, kernel_side::after);
            any = true;
        }
        return any;
    }
    /// Puts before v every free node that finds no room after it, and its predecessors, in the same way.
    [[nodiscard]] bool put_before(std::int64_t more, std::uint32_t v, std::vector<node_pair>& pairs,
                                  std::size_t& steps_left) {
        bool any = false;
        for (std::uint32_t n = c_.size(); n-- > 0;) {
            if (side_[n] != kernel_side::free) continue;
            if (!is_beside(c_.successors[n], kernel_side::before)) {
                if (!flow_.grows_into(more, n, carried_, steps_left)) continue;
                pairs.push_back({n, v});
            }
            side_[n] = kernel_side::before;
            flow_.put(n, kernel_side::before);
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
