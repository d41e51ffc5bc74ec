// Reports explain in words why ranks hang, with the caller's names for what the ranks launch.
#ifndef STRETTO_SCHEDULE_EXPLAIN_DEADLOCK_HPP
#define STRETTO_SCHEDULE_EXPLAIN_DEADLOCK_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/schedule/deadlock.hpp"

namespace stretto {

/// Returns the spelling of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(deadlock::reason reason) noexcept {
    using why = deadlock::reason;
    switch (reason) {
        case why::not_a_program:
            return "not_a_program";
        case why::different_calls:
            return "different_calls";
        case why::missing_call:
            return "missing_call";
        case why::cycle:
            return "cycle";
        case why::undecided:
            break;
    }
    return "undecided";
}

namespace detail {

/// Returns the words that follow the name of a blocker. They say how it is related to the action that it blocks, and
/// what has to happen to it.
[[nodiscard]] constexpr std::string_view place_of_blocker(blocked_action::reason why) noexcept {
    using reason = blocked_action::reason;
    switch (why) {
        case reason::stream:
            return ", ahead of it on its stream, completes";
        case reason::event:
            return ", which it is to follow, completes";
        case reason::host:
            return ", for which its host waits, completes";
        case reason::order:
            return ", launched before it, begins";
        case reason::resident:
            break;
    }
    return ", which fills the device, completes";
}

}  // namespace detail

/// Describes the fault in one sentence without a full stop. `name(rank, action)` returns the text for an action of a
/// rank, and is called only for actions that exist. O(chain). Precondition: `d` is a result of check_deadlock.
template <class Name>
[[nodiscard]] std::string explain(const deadlock& d, const Name& name) {
    using why = deadlock::reason;
    const auto called = [&](rank_id rank, std::uint32_t action) {
        return std::string(std::string_view(name(rank, action)));
    };
    const auto rank = [](const blocked_action& b) { return "rank " + std::to_string(b.rank); };
    if (d.why == why::undecided) return "it is not known whether they hang: too many executions are possible";
    const blocked_action& first = d.chain[0];
    const std::string of_first = called(first.rank, first.action);
    if (d.why == why::not_a_program)
        return rank(first) + ": " + of_first +
               " waits for what is no earlier launch, or its group is unknown, does not know its ranks, names a rank "
               "without a program, or does not contain this rank";
    if (d.why == why::different_calls)
        return rank(first) + " launches " + of_first + " where " + rank(d.chain[1]) + " launches " +
               called(d.chain[1].rank, d.chain[1].action) +
               " of the same group: all its members must launch the same collectives in the same order";
    if (d.why == why::missing_call)
        return rank(first) + " launches " + of_first + ", which " + rank(d.chain[1]) + " of the same group never does";
    std::string text;
    for (std::size_t k = 0; k < d.chain.size(); ++k) {
        const blocked_action& now = d.chain[k];
        const blocked_action& next = d.chain[(k + 1) % d.chain.size()];
        if (k != 0) text += "; ";
        text +=
            rank(now) + " does not begin " + called(now.rank, now.action) + " before " + called(now.rank, now.blocker);
        text += detail::place_of_blocker(now.why);
        // A blocker that has not begun is the next entry itself. One that has begun waits for the member that is the
        // next entry.
        if (next.rank != now.rank || next.action != now.blocker)
            text += ", for which " + rank(next) + " must begin " + called(next.rank, next.action);
    }
    return text;
}

}  // namespace stretto

#endif
