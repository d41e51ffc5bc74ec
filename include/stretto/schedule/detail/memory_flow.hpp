// What must be alive while a kernel runs, whatever else is decided, as a flow from what comes before it to what comes
// after it.
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

/// Where a node runs, seen from a kernel: before it, after it (as the kernel itself does), or as one likes. A free node
/// that is being searched, or has been in vain, is entered.
enum class kernel_side : std::uint8_t {
    before,
    after,
    free,
    entered
};

/// What comes before a kernel v and is used after it is alive at v. What is used by nodes that may run before v or
/// after it (to compute activations again, for instance) is alive, or what these have made of it is, and so on: along
/// every path of storages from what comes before v to what comes after, one storage is alive. So a flow along such
/// paths, in which no storage carries more than its bytes, is no more than what is alive at v. (It is the easy half of
/// the theorem of maximum flow and minimum cut. A blocking flow is enough here.) A path may end in a free node as well,
/// where it pays what that node costs if it runs before v.
template <class = void>
class memory_flow {
public:
    /// `readers` are the nodes that use each storage, in program order; the first one makes it. The arrays are taken
    /// from the open scope of the workspace.
    memory_flow(const compact_tasks& c, const index_lists& readers, workspace& w)
        : c_(c), readers_(readers), side_(w.take<kernel_side>(c.size())), cost_left_(w.take<std::int64_t>(c.size())) {}

    /// Finds a flow at a kernel and returns all of it: in every order in which nodes are on their sides, what is alive
    /// at the kernel, and what the nodes before it cost besides, are no less. `cost` is by node, and so is `side`;
    /// `flow`, which is 0 at first, tells what each storage carries. O(V + E + uses).
    [[nodiscard]] std::int64_t at(std::uint32_t kernel, std::span<const kernel_side> side,
                                  std::span<const std::int64_t> cost, std::span<std::int64_t> flow) {
        std::copy(side.begin(), side.end(), side_.begin());
        std::copy(cost.begin(), cost.end(), cost_left_.begin());
        std::int64_t all = 0;
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (side_[n] == kernel_side::before || n == kernel) all += cost[n];
        // Storages with fewer ways on go first, so that they do not find their only one taken.
        for (std::vector<std::uint32_t>& some : sources_) some.clear();
        for (std::uint32_t s = 0; s < c_.storage_bytes.size(); ++s) {
            const std::uint32_t by = readers_[s].front();
            if (side_[by] != kernel_side::before && by != kernel) continue;
            if (const std::size_t ways = ways_on(s); ways != 0)
                sources_[std::min<std::size_t>(ways, 3) - 1].push_back(s);
            else flow[s] = is_used_after(s) ? c_.storage_bytes[s] : 0;
            if (by == kernel) flow[s] = c_.storage_bytes[s];  // its own results are there while it runs
            all += flow[s];
        }
        for (const std::vector<std::uint32_t>& some : sources_)
            for (std::uint32_t s : some) all += through_storage(flow, s, c_.storage_bytes[s], 0);
        return all;
    }

    /// Whether there is room in the flow that was found last for `more` from a free node: then so much more is alive at
    /// the kernel, or paid, if that node runs before it. The flow stays as it is. A search that has taken `steps_left`
    /// steps ends with no; what it takes is subtracted. No search takes more than 200.
    [[nodiscard]] bool grows_by(std::int64_t more, std::uint32_t n, std::span<std::int64_t> flow,
                                std::size_t& steps_left) {
        const std::size_t steps = std::min(most_steps, steps_left);
        trail_.clear();
        steps_left_ = steps;
        const std::int64_t sent = through_node(flow, n, more, 0);
        steps_left -= steps - steps_left_;
        steps_left_ = no_limit;
        for (const passage& back : trail_) {
            if (back.storage != no_node) flow[back.storage] -= back.sent;
            else {
                side_[back.node] = kernel_side::free;
                cost_left_[back.node] += back.sent;
            }
        }
        return sent == more;
    }
    /// Adds to the flow that was found last what gets through from a free node, at most `most`, and returns that. If
    /// the node is paid that much for running after the kernel, all of the flow is no more than what is alive and paid.
    /// Steps are limited as above.
    [[nodiscard]] std::int64_t add_from(std::uint32_t n, std::int64_t most, std::span<std::int64_t> flow,
                                        std::size_t& steps_left) {
        trail_.clear();
        steps_left_ = steps_left;
        const std::int64_t sent = through_node(flow, n, most, 0);
        steps_left = steps_left_;
        steps_left_ = no_limit;
        return sent;
    }
    /// A free node has turned out to run after the kernel.
    void put_after(std::uint32_t n) { side_[n] = kernel_side::after; }

private:
    static constexpr std::size_t deepest = 500, most_steps = 200, no_limit = SIZE_MAX;

    /// The nodes that use `s` and are free; none counts if one comes after the kernel.
    [[nodiscard]] std::size_t ways_on(std::uint32_t s) const {
        std::size_t ways = 0;
        for (std::uint32_t n : readers_[s]) {
            if (side_[n] == kernel_side::after) return 0;
            ways += side_[n] == kernel_side::free;
        }
        return ways;
    }
    [[nodiscard]] bool is_used_after(std::uint32_t s) const {
        for (std::uint32_t n : readers_[s])
            if (side_[n] == kernel_side::after) return true;
        return false;
    }
    /// Sends as much as it can, at most `wanted`, through a storage to nodes that use it.
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
    /// The same from a node that has run before the kernel, if it has: then it costs what it does, and its results are
    /// alive, or what was made of them is; and so it is with all nodes that it comes after.
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
        if (sent == wanted) side_[n] = kernel_side::free;  // else nothing more gets through, and it stays marked
        return sent;
    }

    /// What a search that is taken back has sent through a storage, or paid at a node that it has entered.
    struct passage {
        std::uint32_t storage, node;
        std::int64_t sent;
    };

    const compact_tasks& c_;
    const index_lists& readers_;
    std::span<kernel_side> side_;
    std::span<std::int64_t> cost_left_;      // by node: what it costs and no path has paid yet
    std::vector<std::uint32_t> sources_[3];  // storages from before the kernel, by the number of their ways on
    std::vector<passage> trail_;
    std::size_t steps_left_ = no_limit;  // of a search that is taken back; others are not limited
};

}  // namespace stretto::detail

#endif
