// Decides whether ranks that issue collectives can wait for each other forever. A collective occupies its stream, and a
// part of its device, from the moment a rank begins it until every member of its group has begun it. Ranks that begin
// collectives in different orders can therefore hang, although each program is correct on its own.
//
// The verdict is exact for the machine described here. The machine does not model kernels that leave no room for
// collectives, nor runtime calls that wait for all work of a device.
#ifndef STRETTO_SCHEDULE_DEADLOCK_HPP
#define STRETTO_SCHEDULE_DEADLOCK_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/schedule/detail/launch_machine.hpp"
#include "stretto/schedule/detail/shortest_wait_cycle.hpp"
#include "stretto/schedule/rank_program.hpp"

namespace stretto {

/// The reason why ranks hang, or why their programs cannot be judged.
struct deadlock {
    enum class reason : std::uint8_t {
        /// The action of chain[0] is not valid. Either its `after` lists something that is not an earlier launch of its
        /// rank, or its group is not in the list, does not know its ranks, names a rank without a program, or does not
        /// contain this rank.
        not_a_program,
        /// The actions of chain[0] and chain[1] are the same collective of their group, but they name different calls.
        different_calls,
        /// The rank of chain[1] never launches the collective of chain[0]; the action of chain[1] is UINT32_MAX.
        missing_call,
        /// The entries of `chain` wait for each other in a cycle: each for the next one, and the last one for the
        /// first. It is a shortest cycle of the state in which the ranks hang.
        cycle,
        /// More than `max_states` states would have to be tried; `chain` is empty.
        undecided,
    };
    reason why = reason::cycle;
    std::vector<blocked_action> chain;  ///< the actions concerned; only those of a cycle have a reason and a blocker

    friend bool operator==(const deadlock&, const deadlock&) = default;
};

/// The witness that the programs complete in every execution.
struct deadlock_freedom {
    std::size_t collectives = 0;  ///< how many collectives the ranks run together, each counted once
};

/// Judges the programs of all ranks: `programs[r]` is that of rank r. `groups[i]` is the group that actions call i; it
/// must know its ranks. Returns a witness, or, as the error, what goes wrong. The result is deterministic. Checking
/// that the programs are valid takes O(A + M) time for A actions of all ranks, and M ranks of all groups, each counted
/// once per group.
///
/// If a device has room for the collectives of all its streams, or begins them in launch order, every execution ends in
/// the same state. Reaching it takes O((A + L) S) time for S streams per rank and L collectives, counted once per
/// member. Otherwise the states of all executions are explored one by one, except for states that differ only on ranks
/// whose device has room for all streams. This is exponential in the number of collectives, and the search gives up
/// after `max_states` states. Finding the shortest cycle takes O(W (W + E)) for W launches that wait and E reasons for
/// which they do. Precondition: a device holds at least one collective.
template <class = void>
[[nodiscard]] expected<deadlock_freedom, deadlock> check_deadlock(std::span<const rank_program> programs,
                                                                  std::span<const process_group> groups,
                                                                  device_model device = {},
                                                                  std::size_t max_states = 100'000) {
    STRETTO_ASSERT(device.resident > 0, "a device that holds no collective begins none");
    using why = deadlock::reason;
    const auto failed = [](why reason, std::vector<blocked_action> chain) {
        return unexpected(deadlock{reason, std::move(chain)});
    };
    if (const auto broken = detail::first_broken_action(programs, groups))
        return failed(why::not_a_program, {{broken->rank, broken->action}});
    const detail::matched_launches<> matched(programs, groups);
    if (const auto& odd = matched.mismatch())
        return failed(odd->second.action == detail::no_action ? why::missing_call : why::different_calls,
                      {{odd->first.rank, odd->first.action}, {odd->second.rank, odd->second.action}});

    detail::launch_machine<> machine(programs, matched, device);
    machine.settle();
    switch (detail::run_to_a_hang(machine, max_states)) {
        case detail::run_result::completes:
            return deadlock_freedom{matched.collectives()};
        case detail::run_result::hangs:
            return failed(why::cycle, detail::shortest_wait_cycle(machine));
        case detail::run_result::too_many_states:
            break;
    }
    return failed(why::undecided, {});
}

}  // namespace stretto

#endif
