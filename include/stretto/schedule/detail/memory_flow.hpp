// This is a lower bound on what is alive while a kernel runs, whatever else is decided. It is a flow from what comes
// before the kernel to what comes after it.
#ifndef STRETTO_SCHEDULE_DETAIL_MEMORY_FLOW_HPP
#define STRETTO_SCHEDULE_DETAIL_MEMORY_FLOW_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Where a node runs, relative to a kernel: before it, after it (this includes the kernel itself), or on either side. A
/// free node is `entered` while it is being searched, and after a search through it was in vain.
enum class kernel_side : std::uint8_t {
    before,
    after,
    free,
    entered
};

/// A storage that is made before a kernel v and used after it is alive at v. A storage may also be used by nodes that
/// may run on either side of v (for instance, to recompute activations). Then either the storage is alive, or what
/// these nodes have made of it is, and so on: along every path of storages from what comes before v to what comes
/// after, one storage is alive. So a flow along such paths, in which no storage carries more than its bytes, is at most
/// what is alive at v. (This is the easy half of the max-flow min-cut theorem. A blocking flow is enough here.) A path
/// may also end in a free node, where it uses up the cost that this node has if it runs before v.
template <class = void>
class memory_flow {
public:
    /// `readers` are the nodes that use each storage, in program order; the first one makes it. The arrays are taken
    /// from the open scope of the workspace.
    memory_flow(const compact_tasks& c, const index_lists& readers, workspace& w)
        : c_(c),
          readers_(readers),
          side_(w.take<kernel_side>(c.size())),
          is_entered_(w.take(c.size(), std::uint8_t{0})),
          cost_left_(w.take<std::int64_t>(c.size())) {}

    /// Finds a flow at a kernel and returns its total. In every order in which the nodes are on their sides, the bytes
    /// alive at the kernel plus the costs of the nodes before it are at least this total. `cost` and `side` are by
    /// node. `flow` is 0 at first; it receives what each storage carries. It takes O(V + E + uses) time, plus the time
    /// of paths through nodes that were passed before; paths have at most 500 nodes.
    [[nodiscard]] std::int64_t at(std::uint32_t kernel, std::span<const kernel_side> side,
                                  std::span<const std::int64_t> cost, std::span<std::int64_t> flow) {
        std::copy(side.begin(), side.end(), side_.begin());
        std::copy(cost.begin(), cost.end(), cost_left_.begin());
        std::int64_t all = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (side_[n] == kernel_side::before || n == kernel) all += cost[n];
        // Storages from which fewer paths continue go first, so that their only path is not already taken.
        for (std::vector<std::uint32_t>& some : sources_) some.clear();
        for (std::uint32_t s = 0; s < c_.storage_bytes.size(); ++s) {
            const std::uint32_t by = readers_[s].front();
            if (side_[by] != kernel_side::before && by != kernel) continue;
            if (const std::size_t ways = ways_on(s); ways != 0)
                sources_[std::min<std::size_t>(ways, 3) - 1].push_back(s);
            else flow[s] = is_used_after(s) ? c_.storage_bytes[s] : 0;
            if (by == kernel) flow[s] = c_.storage_bytes[s];  // its own results are alive while it runs
            all += flow[s];
        }
        for (const std::vector<std::uint32_t>& some : sources_)
            for (std::uint32_t s : some) all += through_storage(flow, s, c_.storage_bytes[s], 0);
        return all;
    }

    /// Returns whether the flow that was found last has room for `more` from a free node. If so, and if that node runs
    /// before the kernel, `more` additional bytes are alive at the kernel or are covered by costs. The flow stays
    /// unchanged. The search gives up after `steps_left` steps, but after no more than 1000, and returns false; the
    /// steps that it has taken are subtracted from `steps_left`.
    [[nodiscard]] bool grows_by(std::int64_t more, std::uint32_t n, std::span<std::int64_t> flow,
                                std::size_t& steps_left) {
        return finds_room(more, flow, steps_left, [&] { return through_node(flow, n, more, 0); });
    }
    /// Returns whether that flow has room for `more` into a free node: if that node runs after the kernel, `more`
    /// additional bytes are alive at the kernel. Otherwise the same as grows_by.
    [[nodiscard]] bool grows_into(std::int64_t more, std::uint32_t n, std::span<std::int64_t> flow,
                                  std::size_t& steps_left) {
        return finds_room(more, flow, steps_left, [&] { return into_node(flow, n, more, 0); });
    }
    /// Sends at most `most` from a free node, adds that to the flow that was found last, and returns the amount sent.
    /// If this amount is charged to the node for running after the kernel, the total flow is still at most what is
    /// alive plus what is charged. The search gives up after `steps_left` steps, which it decrements.
    [[nodiscard]] std::int64_t add_from(std::uint32_t n, std::int64_t most, std::span<std::int64_t> flow,
                                        std::size_t& steps_left) {
        trail_.clear();
        steps_left_ = steps_left;
        const std::int64_t sent = through_node(flow, n, most, 0);
        steps_left = steps_left_;
        steps_left_ = no_limit;
        return sent;
    }
    /// Fixes a free node on a side of the kernel.
    void put(std::uint32_t n, kernel_side side) { side_[n] = side; }

private:
    static constexpr std::size_t deepest = 500, most_steps = 1000, no_limit = SIZE_MAX;

    /// Returns the number of free nodes that use `s`, or 0 if a user of `s` comes after the kernel.
    [[nodiscard]] std::size_t ways_on(std::uint32_t s) const {
        std::size_t ways = 0;
        for (std::uint32_t n : readers_[s]) {
            if (side_[n] == kernel_side::after) return 0;
            ways += side_[n] == kernel_side::free;
        }
        return ways;
    }
    /// Returns whether a user of `s` comes after the kernel.
    [[nodiscard]] bool is_used_after(std::uint32_t s) const {
        for (std::uint32_t n : readers_[s])
            if (side_[n] == kernel_side::after) return true;
        return false;
    }
    /// Sends as much as possible, at most `wanted`, through a storage to the nodes that use it. Returns the amount
    /// sent.
    std::int64_t through_storage(std::span<std::int64_t> flow, std::uint32_t s, std::int64_t wanted,
                                 std::size_t depth) {
        wanted = std::min(wanted, c_.storage_bytes[s] - flow[s]);
        std::int64_t sent = 0;
        for (std::uint32_t n : readers_[s]) {
            if (sent == wanted || steps_left_ == 0) break;
            if (steps_left_ != no_limit) --steps_left_;
            if (n != readers_[s].front()) sent += through_node(flow, n, wanted - sent, depth);
        }
        flow[s] += sent;
        if (steps_left_ != no_limit) trail_.push_back({s, no_node, sent});
        return sent;
    }
    /// Sends as much as possible, at most `wanted`, from a node, and returns the amount sent. A node after the kernel
    /// takes everything. If a free node runs before the kernel, its predecessors do, too. Then it has its cost, and its
    /// results, or what was made of them, are alive, as are those of its predecessors. So the flow is sent to its cost,
    /// to its results and to its predecessors, in this order.
    std::int64_t through_node(std::span<std::int64_t> flow, std::uint32_t n, std::int64_t wanted, std::size_t depth) {
        if (side_[n] == kernel_side::after) return wanted;
        if (side_[n] != kernel_side::free || depth == deepest || steps_left_ == 0) return 0;
        side_[n] = kernel_side::entered;
        std::int64_t sent = std::min(wanted, cost_left_[n]);
        cost_left_[n] -= sent;
        if (steps_left_ != no_limit) {
            --steps_left_;
            trail_.push_back({no_node, n, sent});
        }
        for (std::uint32_t s : c_.touched[n])
            if (sent < wanted && readers_[s].front() == n) sent += through_storage(flow, s, wanted - sent, depth + 1);
        for (std::uint32_t p : c_.predecessors[n])
            if (sent < wanted) sent += through_node(flow, p, wanted - sent, depth + 1);
        if (sent == wanted) side_[n] = kernel_side::free;  // otherwise nothing more gets through, and it stays entered
        return sent;
    }

    /// Sends as much as possible, at most `wanted`, from nodes before the kernel into a node, and returns the amount
    /// sent. Everything comes from a node before the kernel. If a free node runs after the kernel, its successors do,
    /// too. Then what it reads is alive, or what that is made of, and so is what its successors read. So the flow comes
    /// through what it reads, and through its successors, in this order. It is called only in a search to be undone. It
    /// has marks of its own, because a node from which nothing gets through forward may well be reached from before.
    std::int64_t into_node(std::span<std::int64_t> flow, std::uint32_t n, std::int64_t wanted, std::size_t depth) {
        if (side_[n] == kernel_side::before) return wanted;
        if (side_[n] == kernel_side::after || is_entered_[n] != 0 || depth == deepest || steps_left_ == 0) return 0;
        is_entered_[n] = 1;
        --steps_left_;
        entered_.push_back(n);
        std::int64_t sent = 0;
        for (const std::uint32_t s : c_.touched[n]) {
            const std::uint32_t by = readers_[s].front();
            const std::int64_t room = std::min(wanted - sent, c_.storage_bytes[s] - flow[s]);
            if (by == n || room <= 0) continue;
            const std::int64_t got = into_node(flow, by, room, depth + 1);
            flow[s] += got;
            trail_.push_back({s, no_node, got});
            sent += got;
        }
        for (const std::uint32_t after : c_.successors[n])
            if (sent < wanted) sent += into_node(flow, after, wanted - sent, depth + 1);
        if (sent == wanted) is_entered_[n] = 0;  // otherwise nothing more gets through
        return sent;
    }
    /// Runs a search that sends at most `more`, and returns whether it has sent all of that. Undoes what it has sent.
    template <class Send>
    [[nodiscard]] bool finds_room(std::int64_t more, std::span<std::int64_t> flow, std::size_t& steps_left, Send send) {
        const std::size_t steps = std::min(most_steps, steps_left);
        trail_.clear();
        steps_left_ = steps;
        const std::int64_t sent = send();
        steps_left -= steps - steps_left_;
        steps_left_ = no_limit;
        for (const passage& back : trail_) {
            if (back.storage != no_node) flow[back.storage] -= back.sent;
            else {
                side_[back.node] = kernel_side::free;
                cost_left_[back.node] += back.sent;
            }
        }
        for (const std::uint32_t n : entered_) is_entered_[n] = 0;
        entered_.clear();
        return sent == more;
    }

    /// An amount that a search to be undone has sent through a storage, or covered by the cost of a node that it has
    /// entered.
    struct passage {
        std::uint32_t storage, node;
        std::int64_t sent;
    };

    const compact_tasks& c_;
    const index_lists& readers_;
    std::span<kernel_side> side_;
    std::span<std::uint8_t> is_entered_;     // by node: entered by a search into a node
    std::vector<std::uint32_t> entered_;     // these nodes
    std::span<std::int64_t> cost_left_;      // by node: the part of its cost that no path has used
    std::vector<std::uint32_t> sources_[3];  // storages made before the kernel, by their ways_on
    std::vector<passage> trail_;
    std::size_t steps_left_ = no_limit;  // of a limited search; no_limit otherwise
};

}  // namespace stretto::detail

#endif
