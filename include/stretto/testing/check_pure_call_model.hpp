// Checks the promises of a pure call model that a compiler cannot check. It takes two lines in the test of an adapter:
//
//     const auto calls = stretto::check_pure_call_model(view, my_calls);
//     if (!calls) FAIL(calls.error().message());
#ifndef STRETTO_TESTING_CHECK_PURE_CALL_MODEL_HPP
#define STRETTO_TESTING_CHECK_PURE_CALL_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/pure_call_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct pure_call_summary {
    std::size_t pure = 0;   ///< vertices that are pure
    std::size_t calls = 0;  ///< the number of different calls among them
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const { return pure == 0 ? "no operation is pure" : ""; }
    friend bool operator==(const pure_call_summary&, const pure_call_summary&) = default;
};

/// Checks that `same_call` is an equivalence among pure vertices, that equal calls have equal hashes, and that
/// `is_pure` and `hash_of_call` are repeatable. It cannot check that equal calls on equal operands give equal results;
/// only an interpreter can. `copied_operand` is not checked. The result is deterministic. Every pure vertex is compared
/// with the first and the last vertex of every different call before it.
template <vertex_list_graph G, pure_call_model<G> M>
[[nodiscard]] expected<pure_call_summary, finding> check_pure_call_model(G g, M calls) {
    pure_call_summary summary;
    std::vector<vertex_t<G>> firsts;  // of each call
    std::vector<vertex_t<G>> lasts;   // of each call
    std::size_t here = 0;
    for (const vertex_t<G> v : g.vertices()) {
        const auto broken = [&](const char* rule, const char* hint) {
            return unexpected(finding{.rule = rule, .hint = hint, .vertex = here});
        };
        const bool pure = calls.is_pure(v);
        if (calls.is_pure(v) != pure)
            return broken("stable", "whether it is pure comes out differently when asked again");
        if (pure) {
            ++summary.pure;
            const std::uint64_t hash = calls.hash_of_call(v);
            if (calls.hash_of_call(v) != hash)
                return broken("stable", "the hash comes out differently when asked again");
            if (!calls.same_call(v, v)) return broken("same-call", "it is not the same call as itself");
            std::size_t own = firsts.size();
            for (std::size_t k = 0; k < firsts.size(); ++k) {
                const bool same = calls.same_call(firsts[k], v);
                if (calls.same_call(v, firsts[k]) != same)
                    return broken("same-call",
                                  "whether two calls are the same depends on which of them is named first");
                if (calls.same_call(lasts[k], v) != same || (same && own != firsts.size()))
                    return broken("same-call",
                                  "it is the same call as one of two that are the same, and not as the other");
                if (same) own = k;
                if (same && calls.hash_of_call(firsts[k]) != hash)
                    return broken("call-hash", "two calls are the same, and their hashes differ");
            }
            if (own == firsts.size()) {
                firsts.push_back(v);
                lasts.push_back(v);
            } else {
                lasts.erase(lasts.begin() + static_cast<std::ptrdiff_t>(own));
                lasts.insert(lasts.begin() + static_cast<std::ptrdiff_t>(own), v);
            }
        }
        ++here;
    }
    summary.calls = firsts.size();
    return summary;
}

}  // namespace stretto

#endif
