// In a state in which nothing can continue, the shortest cycle of waits explains why.
#ifndef STRETTO_SCHEDULE_DETAIL_SHORTEST_WAIT_CYCLE_HPP
#define STRETTO_SCHEDULE_DETAIL_SHORTEST_WAIT_CYCLE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/detail/launch_machine.hpp"
#include "stretto/schedule/rank_program.hpp"

namespace stretto::detail {

/// Returns the cycle with the fewest entries. An entry is a launch that has not begun, with what blocks it. If the
/// blocker has not begun, it is the launch of the next entry. Otherwise the blocker is a collective, and the next entry
/// is the same collective on a rank that has not begun it. Precondition: the machine has settled, has no choice, and is
/// not complete. Then every launch that has not begun has a successor, so there is a cycle. It is found by
/// breadth-first search from every such launch. O(W (W + E)) for W such launches and E reasons.
template <class = void>
[[nodiscard]] std::vector<blocked_action> shortest_wait_cycle(const launch_machine<>& machine) {
    struct edge {
        blocked_action because;
        std::size_t to;  // a place
    };
    const matched_launches<>& matched = machine.matched();
    const std::size_t places = matched.actions();
    std::vector<std::vector<edge>> edges(places);
    for (rank_id r = 0; r < machine.programs().size(); ++r)
        machine.each_blocked(r, [&](std::uint32_t action, blocked_action::reason reason, std::uint32_t blocker) {
            const blocked_action because = {r, action, reason, blocker};
            std::vector<edge>& from = edges[matched.place(r, action)];
            if (!machine.begun(r, blocker)) {
                from.push_back({because, matched.place(r, blocker)});
                return;
            }
            for (const ranked_action m : matched.members(matched.collective(matched.place(r, blocker))))
                if (!machine.begun(m.rank, m.action)) from.push_back({because, matched.place(m.rank, m.action)});
        });

    std::vector<blocked_action> best;
    std::vector<std::size_t> reached, from(places), length(places);
    std::vector<const edge*> by(places);
    std::vector<std::size_t> seen_from(places, places);
    for (std::size_t first = 0; first < places; ++first) {
        if (edges[first].empty()) continue;
        reached.assign(1, first);
        length[first] = 0;
        bool closed = false;
        for (std::size_t k = 0; k < reached.size() && !closed; ++k) {
            const std::size_t at = reached[k];
            // Cycles through `at` would be no shorter than the best one.
            if (!best.empty() && length[at] + 1 >= best.size()) break;
            for (const edge& e : edges[at]) {
                if (e.to == first) {
                    best.assign(length[at] + 1, e.because);
                    for (std::size_t back = at, n = length[at]; n-- > 0; back = from[back]) best[n] = by[back]->because;
                    closed = true;
                    break;
                }
                if (seen_from[e.to] == first) continue;
                seen_from[e.to] = first;
                from[e.to] = at;
                by[e.to] = &e;
                length[e.to] = length[at] + 1;
                reached.push_back(e.to);
            }
        }
    }
    return best;
}

}  // namespace stretto::detail

#endif
