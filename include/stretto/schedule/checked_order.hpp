// The witness that an order is legal for a task graph. Executors take a witness, so that they cannot run an order that
// was not checked, or that was checked for another graph.
#ifndef STRETTO_SCHEDULE_CHECKED_ORDER_HPP
#define STRETTO_SCHEDULE_CHECKED_ORDER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/order_fingerprint.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/verify.hpp"

namespace stretto {

/// The identity of the graph for which an order was checked: a 128-bit hash of everything that decides whether an order
/// is legal, namely of what kind its tasks are and what they depend on, wait for, read, write, alias and allocate.
/// Durations, payloads, groups and calls are not part of it, because they do not change which orders are legal. So a
/// step that is measured again keeps its orders.
struct graph_identity {
    std::uint64_t tasks = 0;
    order_fingerprint hash = {};

    friend constexpr bool operator==(const graph_identity&, const graph_identity&) = default;
};

/// Computes the identity of a graph. O(V + E) time. The result is the same on every machine.
template <class = void>
[[nodiscard]] graph_identity identity_of(const task_graph& g) {
    detail::word_hash hash;
    const auto add_lists = [&](const index_lists& lists) {
        hash.add(lists.rows());
        for (std::size_t row = 0; row < lists.rows(); ++row) {
            hash.add(lists[row].size());
            for (const std::uint32_t x : lists[row]) hash.add(x);
        }
    };
    for (task_id t = 0; t < g.size(); ++t) {
        hash.add(static_cast<std::uint64_t>(g.kind[t]) | std::uint64_t{g.launch[t]} << 32);
        hash.add(g.first_result[t]);
    }
    for (const bytes size : g.allocation) hash.add(static_cast<std::uint64_t>(size.count));
    add_lists(g.declared);
    add_lists(g.operands);
    add_lists(g.writes);
    add_lists(g.storages);
    return {g.size(), hash.value()};
}

class checked_order;

/// Checks an order as verify_order does (schedule/verify.hpp). Returns the witness, or, as the error, the first
/// violation. It takes the time of verify_order, plus O(V + E).
template <class = void>
[[nodiscard]] expected<checked_order, order_violation> check_order(const task_graph& g, std::vector<task_id> order,
                                                                   bytes limit = unlimited_bytes);

/// A legal order. Only `check_order` makes one.
class checked_order {
public:
    [[nodiscard]] const std::vector<task_id>& order() const noexcept { return order_; }
    /// Returns the fingerprint of the order on the graph for which it was checked. Ranks with equal fingerprints issue
    /// the same collectives in the same order on every group. A graph with the same identity but other groups or calls
    /// may give another one.
    [[nodiscard]] const order_fingerprint& fingerprint() const noexcept { return fingerprint_; }
    /// Returns the identity of the graph for which the order was checked.
    [[nodiscard]] const graph_identity& graph() const noexcept { return graph_; }
    /// Returns whether the order was checked for this graph, or for a graph with the same identity. O(V + E).
    [[nodiscard]] bool belongs_to(const task_graph& g) const { return identity_of(g) == graph_; }
    /// Returns the memory limit against which the peak of the order was checked.
    [[nodiscard]] bytes memory_limit() const noexcept { return limit_; }

    friend bool operator==(const checked_order&, const checked_order&) = default;

private:
    checked_order() = default;
    template <class>
    friend expected<checked_order, order_violation> check_order(const task_graph&, std::vector<task_id>, bytes);

    std::vector<task_id> order_;
    order_fingerprint fingerprint_;
    graph_identity graph_;
    bytes limit_;
};

template <class>
expected<checked_order, order_violation> check_order(const task_graph& g, std::vector<task_id> order, bytes limit) {
    if (const auto figures = verify_order(g, order, limit); !figures) return unexpected(figures.error());
    checked_order checked;
    checked.fingerprint_ = fingerprint_of(g, order);
    checked.graph_ = identity_of(g);
    checked.limit_ = limit;
    checked.order_ = std::move(order);
    return checked;
}

/// Returns the order in which the program is written: all tasks in ascending order of their numbers.
template <class = void>
[[nodiscard]] std::vector<task_id> program_order(const task_graph& g) {
    std::vector<task_id> order(g.size());
    for (task_id t = 0; t < g.size(); ++t) order[t] = t;
    return order;
}

}  // namespace stretto

#endif
