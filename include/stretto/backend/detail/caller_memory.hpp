// Memory that the caller of bind_order owns: that of inputs, and that in which it wants results of the step.
#ifndef STRETTO_BACKEND_DETAIL_CALLER_MEMORY_HPP
#define STRETTO_BACKEND_DETAIL_CALLER_MEMORY_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/backend/bind_error.hpp"
#include "stretto/backend/concepts.hpp"
#include "stretto/backend/memory_access.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// Returns where the caller wants a storage that a task allocates, or null if the executor is to place it.
template <kernel_source S>
[[nodiscard]] std::byte* destination_of(const task_graph& g, S& source, value_id storage) {
    if constexpr (has_storage_destination<S>)
        if (g.allocation[storage].count != 0) return source.destination(storage);
    return nullptr;
}

/// Returns the storages for which the caller has a destination, in ascending order.
template <kernel_source S>
[[nodiscard]] std::vector<value_id> storages_with_destination(const task_graph& g, S& source) {
    std::vector<value_id> found;
    for (value_id s = 0; s < g.allocation.size(); ++s)
        if (g.kind[g.storage_owner[s]] != op_kind::input && destination_of(g, source, s) != nullptr) found.push_back(s);
    return found;
}

/// Returns an error if two storages share bytes of the caller and a task writes one of them, because no dependence
/// orders that task and those that use the other storage. Bytes that are only read may be shared. `of_caller` is, by
/// storage, its address in memory of the caller, or null if it is elsewhere. O(V + E), and O(s log s) for s storages
/// of the caller.
template <class = void>
[[nodiscard]] std::optional<bind_error> find_shared_memory(const task_graph& g,
                                                           const std::vector<std::byte*>& of_caller) {
    struct range {
        std::uintptr_t begin = 0, end = 0;
        task_id writer = no_task;
    };
    std::vector<task_id> writer(g.allocation.size(), no_task);
    for (task_id t = 0; t < g.size(); ++t)
        for_each_access(g, t, [&](value_id s, bool writes) {
            if (writes) writer[s] = t;
        });
    std::vector<range> ranges;
    for (value_id s = 0; s < g.allocation.size(); ++s) {
        if (of_caller[s] == nullptr || g.allocation[s].count == 0) continue;
        const auto begin = reinterpret_cast<std::uintptr_t>(of_caller[s]);
        ranges.push_back({begin, begin + static_cast<std::uintptr_t>(g.allocation[s].count), writer[s]});
    }
    std::sort(ranges.begin(), ranges.end(), [](const range& a, const range& b) { return a.begin < b.begin; });
    range any, written;  // those that reach furthest so far
    for (const range& r : ranges) {
        if (r.writer != no_task && r.begin < any.end) return bind_error{bind_error::reason::shared_memory, r.writer};
        if (r.begin < written.end) return bind_error{bind_error::reason::shared_memory, written.writer};
        if (r.end > any.end) any = r;
        if (r.writer != no_task && r.end > written.end) written = r;
    }
    return {};
}

}  // namespace stretto::detail

#endif
