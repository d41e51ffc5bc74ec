// Places the storages of an order in one block of memory, so that a replay allocates nothing. Storages that never live
// at the same time share bytes. That adds dependences which the task graph does not have: the first writer of bytes
// must wait for all earlier users of those bytes (backend/lane_program.hpp derives these dependences).
#ifndef STRETTO_BACKEND_ARENA_PLAN_HPP
#define STRETTO_BACKEND_ARENA_PLAN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// The places of the storages of an order in an arena.
struct arena_plan {
    static constexpr std::int64_t outside = -1;

    /// By storage: its offset in bytes from the beginning of the arena; `outside` for storages of inputs and others
    /// that the caller owns, and for storages of size zero.
    std::vector<std::int64_t> offset;
    bytes size;                  ///< the size of the arena
    std::int64_t alignment = 1;  ///< the alignment of every offset, in bytes

    /// Returns whether a storage is in the arena.
    [[nodiscard]] bool holds(value_id storage) const { return offset[storage] != outside; }
    friend bool operator==(const arena_plan&, const arena_plan&) = default;
};

/// Places each storage, when the task that allocates it is reached, at the lowest offset where it overlaps no live
/// storage. A storage is live from that task to the last task in `order` that touches it, as in profile_memory;
/// operands of the output are never freed. Storages of inputs, and those of `of_caller`, are outside. The size of the
/// arena is the peak of the order without them if every storage is rounded up to the alignment, plus any fragmentation.
/// Deterministic. O(V + E + S * storages live at once) for S storages. Precondition: `order` is a permutation of the
/// tasks, and `alignment` is positive.
template <class = void>
[[nodiscard]] arena_plan plan_arena(const task_graph& g, std::span<const task_id> order, std::int64_t alignment = 64,
                                    std::span<const value_id> of_caller = {}) {
    STRETTO_ASSERT(order.size() == g.size() && alignment > 0, "an arena is planned for an order of all tasks");
    struct block {
        std::int64_t begin, end;
        value_id storage;
    };
    const auto rounded = [&](std::int64_t n) { return (n + alignment - 1) / alignment * alignment; };
    std::vector<task_id> last(g.allocation.size(), no_task);
    for (const task_id t : order)
        for (const value_id s : g.touched[t]) last[s] = t;

    arena_plan plan;
    plan.alignment = alignment;
    plan.offset.assign(g.allocation.size(), arena_plan::outside);
    std::vector<char> apart(g.allocation.size(), false);
    for (const value_id s : of_caller) apart[s] = true;
    std::vector<block> live;  // sorted by offset
    for (const task_id t : order) {
        if (g.kind[t] != op_kind::input) {
            for (value_id s = g.first_result[t]; s < g.first_result[t + 1]; ++s) {
                if (g.allocation[s].count == 0 || apart[s] != 0) continue;
                const std::int64_t size = rounded(g.allocation[s].count);
                std::int64_t begin = 0;
                auto at = live.begin();
                for (; at != live.end() && at->begin - begin < size; ++at) begin = at->end;
                live.insert(at, {begin, begin + size, s});
                plan.offset[s] = begin;
                plan.size = std::max(plan.size, bytes{begin + size});
            }
        }
        for (const value_id s : g.touched[t])
            if (last[s] == t) std::erase_if(live, [&](const block& b) { return b.storage == s; });
    }
    return plan;
}

}  // namespace stretto

#endif
