// Merges collectives into buckets: decides which collectives are sent together, and in what order the program then
// runs. docs/algorithms/buckets.md gives the proof of correctness.
#ifndef STRETTO_TRANSFORM_PLAN_BUCKETS_HPP
#define STRETTO_TRANSFORM_PLAN_BUCKETS_HPP

#include <algorithm>
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

/// Returns whether a limit that must be positive is zero or negative.
[[nodiscard]] constexpr bool leaves_no_room(const bucket_options& o) noexcept {
    const auto none = [](bytes most) { return most.count <= 0; };
    return none(o.most_bytes) || std::any_of(o.first_most_bytes.begin(), o.first_most_bytes.end(), none) ||
           o.most_members == 0 || o.longest.count <= 0 || o.most_open == 0;
}

}  // namespace detail

/// Plans buckets of the collectives that `choose(v) -> bucket_choice` allows to be merged. All members of a bucket have
/// the same label, kind, group, reduction and element type; the element types of gathers may differ. Members are
/// all-gathers, reduce-scatters or all-reduces that send one value and return one value in memory of its own, which is
/// not read before their only wait.
///
/// The sweep makes one pass per key, in the order of starts in the program, or of waits. A collective joins the first
/// open bucket that may contain it and has room. A bucket without room for it is closed, unless the collective depends
/// on that bucket anyway; such a bucket stays open. The chains A to B and C to D therefore give the buckets {A, C} and
/// {B, D}. With most_open = 1, this is the greedy algorithm of autoparallel's pull request 412 (whose limit counts the
/// same bytes); by waits, with most_span and first_most_bytes, it is that of pull request 481, which merges on the
/// primary group (primary_group_of). Those do not check whether their buckets wait for each other.
///
/// Legality is exact. A set of collectives may be merged if and only if contracting their starts, and contracting their
/// waits, creates no cycle. In-place writes, waits and all other dependences of `g` count. The `order` of the plan is
/// the proof.
///
/// The only error is `no_room`: a limit is zero or negative. Precondition: `g` lists its vertices in a topological
/// order, and every vertex that uses a storage reads a value that lives in it. The result is deterministic. Takes O((V
/// + E) log V + aliases) time, plus the cost of trying to merge in incremental_reachability: at most most_open attempts
/// per candidate.
template <dependence_graph G, op_model<G> M, class Choose, bucket_cost_model<G> C = no_bucket_costs>
    requires dataflow_graph<G> && requires(Choose& choose, vertex_t<G> v) {
        { choose(v) } -> std::same_as<bucket_choice>;
    }
[[nodiscard]] expected<bucket_plan<vertex_t<G>, value_t<G>>, bucket_obstacle> plan_buckets(
    G g, const M& model, Choose choose, const bucket_options& options = {}, const C& costs = {}) {
    if (detail::leaves_no_room(options)) return unexpected(bucket_obstacle::no_room);
    return detail::bucket_sweep<G, M, C>(g, model, costs, options).sweep(choose);
}

/// Makes many bucket plans of one program. It gathers the facts about the program once; each plan equals the result of
/// plan_buckets. It can be neither copied nor moved. Precondition: the view, the models and the options outlive it and
/// do not change.
template <dependence_graph G, op_model<G> M, bucket_cost_model<G> C = no_bucket_costs>
    requires dataflow_graph<G>
class bucket_planner {
public:
    /// O(V + E + aliases).
    bucket_planner(G g, const M& model, const C& costs, const bucket_options& options)
        : no_room_(detail::leaves_no_room(options)), sweep_(g, model, costs, options) {}

    /// Same contract as plan_buckets. Takes O(V) time, O(log v) time for each edge of the v vertices that move, and the
    /// cost of trying to merge.
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

/// Plans exactly the requested buckets, each given by its starts; labels are ignored. A set with a single start is
/// checked like the others, and changes nothing. The error names the first start that cannot be a member of its set,
/// and a member that conflicts with it: their keys differ, a dependence forbids merging, or a limit would be exceeded.
/// Otherwise the contract is that of plan_buckets.
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
