// Orders of the nodes of compact tasks, for tests of the passes of the scheduler.
#ifndef STRETTO_TESTS_SUPPORT_NODE_ORDERS_HPP
#define STRETTO_TESTS_SUPPORT_NODE_ORDERS_HPP

#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"

namespace support {

using node_order = std::vector<std::uint32_t>;

/// Whether every node is there once, behind all of its predecessors.
inline bool legal(const stretto::detail::compact_tasks& c, const node_order& order) {
    std::vector<bool> ran(c.size(), false);
    for (std::uint32_t n : order) {
        if (ran[n]) return false;
        for (std::uint32_t p : c.predecessors[n])
            if (!ran[p]) return false;
        ran[n] = true;
    }
    return order.size() == c.size();
}

}  // namespace support

#endif
