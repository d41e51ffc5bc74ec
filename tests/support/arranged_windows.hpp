// Random rearrangements of a part of an order, for tests of what a search by moves is made of.
#ifndef STRETTO_TESTS_SUPPORT_ARRANGED_WINDOWS_HPP
#define STRETTO_TESTS_SUPPORT_ARRANGED_WINDOWS_HPP

#include <cstdint>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "support/node_orders.hpp"

namespace support {

/// The positions [first, first + nodes.size()) of an order, and a sequence of their nodes that respects dependences.
struct arranged_window {
    std::uint32_t first = 0;
    node_order nodes;

    /// The order with this window.
    [[nodiscard]] node_order in(node_order order) const {
        for (std::size_t k = 0; k < nodes.size(); ++k) order[first + k] = nodes[k];
        return order;
    }
};

/// Picks nodes of [first, first + count) one after the other, each among those whose predecessors have been picked, as
/// `pick(n)` says, which returns a number below n.
template <class Pick>
[[nodiscard]] arranged_window arrange(const stretto::detail::compact_tasks& c, const node_order& order,
                                      std::uint32_t first, std::uint32_t count, Pick pick) {
    arranged_window w{first, {}};
    node_order left(order.begin() + first, order.begin() + first + count);
    while (!left.empty()) {
        node_order ready;
        for (const std::uint32_t n : left) {
            bool is_ready = true;
            for (const std::uint32_t p : c.predecessors[n])
                for (const std::uint32_t other : left) is_ready = is_ready && other != p;
            if (is_ready) ready.push_back(n);
        }
        w.nodes.push_back(ready[pick(ready.size())]);
        std::erase(left, w.nodes.back());
    }
    return w;
}

}  // namespace support

#endif
