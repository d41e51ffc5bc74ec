// Merges collectives into buckets: which of them travel together, and in which order the program then runs.
// docs/algorithms/buckets.md has the argument.
#ifndef STRETTO_TRANSFORM_PLAN_BUCKETS_HPP
#define STRETTO_TRANSFORM_PLAN_BUCKETS_HPP

#include <concepts>
#include <span>
#include <vector>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/detail/bucket_sweep.hpp"

namespace stretto {

namespace detail {

/// A limit with which nothing could ever be merged.
[[nodiscard]] constexpr bool leaves_no_room(const bucket_options& o) noexcept {
    return o.most_bytes.count <= 0 || o.most_members == 0 || o.longest.count <= 0 || o.most_open == 0;
}

}  // namespace detail

/// Buckets of collectives that `choose(v) -> bucket_choice` lets travel together. Members of one bucket agree in label,
/// kind, group, reduction and element type; gathers may differ in the last one. They are all-gathers, reduce-scatters
/// or all-reduces of one value, into memory of their own, that nobody looks at before their only wait.
///
/// One pass for each key, in program order. A collective goes into the first bucket that it may join and that has room;
/// one that it may join and that has no room is closed, as peers do. What it depends on stays open: of the chains A to
/// B and C to D come the buckets {A, C} and {B, D}. With most_open = 1 that is the greedy of autoparallel's pull
/// request 412 (its cap counts the same bytes), with most_span also that of its pull request 481.
///
/// Legality is exact. A set of collectives may be merged if and only if contracting their starts, and their waits,
/// makes no cycle, where writes in place, waits and other dependences of `g` count; `order` is the proof.
///
/// The error says that a limit is zero. Precondition: `g` lists its vertices in a topological order, and who uses a
/// memory reads a value that lives in it. Deterministic. O((V + E) log V + aliases), and what attempts to merge cost in
/// incremental_reachability: at most most_open for a candidate.
template <dependence_graph G, op_model<G> M, class Choose, bucket_cost_model<G> C = no_bucket_costs>
    requires dataflow_graph<G> && requires(Choose& choose, vertex_t<G> v) {
        { choose(v) } -> std::same_as<bucket_choice>;
    }
[[nodiscard]] expected<bucket_plan<vertex_t<G>, value_t<G>>, bucket_obstacle> plan_buckets(
    G g, const M& model, Choose choose, const bucket_options& options = {}, const C& costs = {}) {
    if (detail::leaves_no_room(options)) return unexpected(bucket_obstacle::no_room);
    return detail::bucket_sweep<G, M, C>(g, model, costs, options).sweep(choose);
}

/// Plans of one program, of which many are asked: what it knows of the program is gathered once, and each plan is what
/// plan_buckets gives. The view, the models and the options must outlive it and stay as they are. It can be neither
/// copied nor moved.
template <dependence_graph G, op_model<G> M, bucket_cost_model<G> C = no_bucket_costs>
    requires dataflow_graph<G>
class bucket_planner {
public:
    /// O(V + E + aliases).
    bucket_planner(G g, const M& model, const C& costs, const bucket_options& options)
        : no_room_(detail::leaves_no_room(options)), sweep_(g, model, costs, options) {}

    /// As plan_buckets. O(V), O(log v) for each edge of the v vertices that move, and what attempts to merge cost.
    template <class Choose>
        requires requires(Choose& choose, vertex_t<G> v) {
            { choose(v) } -> std::same_as<bucket_choice>;
        }
    [[nodiscard]] expected<bucket_plan<vertex_t<G>, value_t<G>>, bucket_obstacle> plan(Choose choose) {
        if (no_room_) return unexpected(bucket_obstacle::no_room);
        return sweep_.sweep(choose);
    }

private:
    bool no_room_;
    detail::bucket_sweep<G, M, C> sweep_;
};

/// The buckets that are asked for, each given by its starts, and nothing else; labels are not asked for. A set of one
/// start changes nothing. The error is the first start that cannot be in its set, with one at fault: members of
/// different kinds, members that depend on each other, more than a limit allows. Otherwise as above.
template <dependence_graph G, op_model<G> M, class Choose, bucket_cost_model<G> C = no_bucket_costs>
    requires dataflow_graph<G> && requires(Choose& choose, vertex_t<G> v) {
        { choose(v) } -> std::same_as<bucket_choice>;
    }
[[nodiscard]] expected<bucket_plan<vertex_t<G>, value_t<G>>, refused_bucket<vertex_t<G>>> plan_these_buckets(
    G g, const M& model, std::span<const std::vector<vertex_t<G>>> sets, Choose choose,
    const bucket_options& options = {}, const C& costs = {}) {
    return detail::bucket_sweep<G, M, C>(g, model, costs, options).merge(sets, choose);
}

}  // namespace stretto

#endif
