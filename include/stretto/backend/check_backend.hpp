// Does a backend keep the promises that a compiler cannot check? Every rank of a group calls this at the same time, in
// a test of the backend:
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

/// A broken promise of a backend.
struct backend_finding {
    const char* rule = "";                    ///< short and stable: "all_gather", "place", ...
    const char* hint = "";                    ///< one sentence: what is wrong, and what usually causes it
    std::size_t replay = 0;                   ///< which one it was, from 0
    std::size_t number = 0;                   ///< the first one that is wrong among the 32-bit numbers of the result
    std::optional<run_failure> failure = {};  ///< if the backend has failed

    [[nodiscard]] std::string message() const {
        std::string text = std::string(rule) + ", replay " + std::to_string(replay) + ": " + hint;
        if (failure) text += "; " + explain(*failure, [](task_id t) { return "task " + std::to_string(t); });
        else text += "; number " + std::to_string(number);
        return text;
    }
};

/// What was checked: a test of a backend compares these with what it knows.
struct backend_summary {
    std::size_t members = 0;   ///< of the group
    std::size_t programs = 0;  ///< that were run
    std::size_t refused = 0;   ///< that the communicator says it cannot do
    friend bool operator==(const backend_summary&, const backend_summary&) = default;
};

/// Checks that kernels and collectives of a group happen in the order that queues and events give, and that collectives
/// move and reduce what their definitions say: all-gather, reduce-scatter, all-reduce, all-to-all in equal, unequal and
/// measured shares, and where a collective may receive where it sends, that too. Each is a program of its own: a kernel
/// makes numbers that depend on the rank and the replay, the collective begins, another kernel writes elsewhere, and
/// after the wait a third one reads what has arrived. Three replays, so that what is left from the last one is not
/// taken for the result. All members must call it with the same group, outside of any other replay; after a finding on
/// one rank the others may fail as well. Deterministic. O(members^2) memory.
template <backend B>
[[nodiscard]] expected<backend_summary, backend_finding> check_backend(B& rank, group_id group);

}  // namespace stretto

#include "stretto/backend/detail/backend_checker.hpp"

#endif
