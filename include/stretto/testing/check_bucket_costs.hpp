// Checks the promises of a bucket cost model that a compiler cannot check. It takes two lines in the test of an
// adapter:
//
//     const auto costs = stretto::check_bucket_costs(view, my_model, my_costs);
//     if (!costs) FAIL(costs.error().message());
#ifndef STRETTO_TESTING_CHECK_BUCKET_COSTS_HPP
#define STRETTO_TESTING_CHECK_BUCKET_COSTS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct bucket_cost_summary {
    std::size_t starts = 0;
    nanoseconds dearest;  ///< the longest time of a collective with its own payload
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const { return starts == 0 ? "no operation starts a collective" : ""; }
    friend bool operator==(const bucket_cost_summary&, const bucket_cost_summary&) = default;
};

/// Checks that more bytes take no less time, and that times are not negative: for copies of 1, 2, 4, … 2^36 bytes, and
/// for every start with no payload, with its own, and with one that exceeds its own by each of these amounts. Also
/// checks that no size of a value is negative, if the model has `size_of`. Deterministic. O(V + values) calls.
template <vertex_list_graph G, op_model<G> M, bucket_cost_model<G> C>
[[nodiscard]] expected<bucket_cost_summary, finding> check_bucket_costs(G g, const M& ops, const C& costs) {
    constexpr bytes most{std::int64_t{1} << 36};
    bucket_cost_summary summary;
    std::size_t here = 0;
    nanoseconds before;
    for (bytes b{1}; b <= most; b += b) {
        const nanoseconds t = costs.of_moving(b);
        if (t < before || t.count < 0)
            return unexpected(
                finding{.rule = "of_moving", .hint = "a copy of more bytes takes less time, or less than none"});
        before = t;
    }
    for (const vertex_t<G> v : g.vertices()) {
        if (ops.kind(v) == op_kind::start) {
            const bytes own = payload_of<G>(ops, v);
            const nanoseconds alone = costs.of_merged(v, own);
            const nanoseconds empty = costs.of_merged(v, {});
            bool in_order = empty.count >= 0 && empty <= alone;
            before = alone;
            for (bytes b{1}; b <= most; b += b) {
                const nanoseconds t = costs.of_merged(v, own + b);
                in_order = in_order && before <= t;
                before = t;
            }
            if (!in_order)
                return unexpected(finding{.rule = "of_merged",
                                          .hint = "a larger collective takes less time, or less than none",
                                          .vertex = here});
            ++summary.starts;
            if (summary.dearest < alone) summary.dearest = alone;
        }
        if constexpr (detail::has_size_as_documented<C, value_t<G>>)
            for (const value_t<G>& x : g.results(v))
                if (bytes(costs.size_of(x)) < bytes{})
                    return unexpected(
                        finding{.rule = "size_of", .hint = "size_of(x) of a result is negative", .vertex = here});
        ++here;
    }
    return summary;
}

}  // namespace stretto

#endif
