// Checks the promises of a backend that a compiler cannot check. In a test of the backend, every rank of a group calls
// this at the same time:
//
//     const auto seen = stretto::check_backend(rank, group);
//     if (!seen) FAIL(seen.error().message());
#ifndef STRETTO_BACKEND_CHECK_BACKEND_HPP
#define STRETTO_BACKEND_CHECK_BACKEND_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "stretto/backend/collective_operation.hpp"
#include "stretto/backend/concepts.hpp"
#include "stretto/backend/run_failure.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto {

/// The first broken promise of a backend that a check has met.
struct backend_finding {
    const char* rule = "";                    ///< a short and stable name of the promise: "all_gather", "place", ...
    const char* hint = "";                    ///< a sentence that says what is wrong, and the usual cause
    std::size_t replay = 0;                   ///< the number of the replay, from 0
    std::size_t number = 0;                   ///< the position of the first wrong 32-bit number in the result
    std::optional<run_failure> failure = {};  ///< the failure, if the backend has reported one

    /// Returns the finding in words.
    [[nodiscard]] std::string message() const {
        std::string text = std::string(rule) + ", replay " + std::to_string(replay) + ": " + hint;
        if (failure) text += "; " + explain(*failure, [](task_id t) { return "task " + std::to_string(t); });
        else text += "; number " + std::to_string(number);
        return text;
    }
};

/// Counts of what was checked. A test of a backend can compare them with the expected numbers.
struct backend_summary {
    std::size_t members = 0;   ///< members of the group
    std::size_t programs = 0;  ///< programs that were run
    std::size_t refused = 0;   ///< programs whose collective the communicator does not support
    friend bool operator==(const backend_summary&, const backend_summary&) = default;
};

/// Checks that kernels and collectives of a group happen in the order that queues and events give, and that collectives
/// move and reduce as their definitions say: all-gather, reduce-scatter, all-reduce, and all-to-all in equal, unequal
/// and measured shares, also in place where a collective may receive where it sends. Each is a program of its own: a
/// kernel makes numbers that depend on the rank and the replay, the collective begins, another kernel writes elsewhere,
/// and after the wait a third kernel reads the received data. Each program is replayed three times, so that leftovers
/// of the previous replay are not taken for the result. Returns what was checked, or the first finding. All members
/// must call it with the same group, outside of any other replay, and the host must be able to access arenas; after a
/// finding on one rank, the others may fail as well. Deterministic. O(members^2) time and O(members) memory on each
/// rank.
template <backend B>
[[nodiscard]] expected<backend_summary, backend_finding> check_backend(B& rank, group_id group);

}  // namespace stretto

#include "stretto/backend/detail/backend_checker.hpp"

#endif
