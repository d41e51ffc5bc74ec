// Checks the promises of a view that a compiler cannot check. It takes two lines in the test of an adapter:
//
//     const auto graph = stretto::check_graph(my_view{&ir});
//     if (!graph) FAIL(graph.error().message());
//
// Every rule is checked on the actual graph, and the first broken one is reported with the vertices concerned and a
// hint. The check does not trust the view: a bad index leads to a finding, not to a crash.
#ifndef STRETTO_TESTING_CHECK_GRAPH_HPP
#define STRETTO_TESTING_CHECK_GRAPH_HPP

#include <cstddef>
#include <utility>

#include "stretto/analysis/unread_storage.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/detail/flight_checker.hpp"
#include "stretto/testing/detail/graph_checker.hpp"
#include "stretto/testing/detail/misspelt_members.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct graph_summary {
    std::size_t vertices = 0;
    std::size_t edges = 0;
    std::size_t values = 0;  ///< 0 unless the view is a dataflow_graph
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const { return vertices == 0 ? "the program has no operation" : ""; }
    friend bool operator==(const graph_summary&, const graph_summary&) = default;
};

/// What an op model says about all vertices. A test of an adapter can compare this with the expected numbers.
struct model_summary {
    std::size_t inputs = 0, computes = 0, views = 0, starts = 0, waits = 0, outputs = 0;
    std::size_t waits_on_nothing = 0;
    op_model_members members = {};  ///< the optional members that the model has; for all others the defaults are used
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return computes + views + starts + waits == 0 ? "the program has no operation but inputs and outputs" : "";
    }
    friend bool operator==(const model_summary&, const model_summary&) = default;
};

struct check_options {
    /// Also require that vertices() lists every vertex after its predecessors. Most of the library does not need that
    /// (topological_sort makes such an order), but a task graph does.
    bool program_order_is_topological = true;
};

/// Checks every promise of dependence_graph and, if `g` models it, of dataflow_graph. Deterministic. O(V + E) without
/// values; a value with u uses among vertices of o operands adds O(u (u + o)).
template <dependence_graph G>
[[nodiscard]] expected<graph_summary, finding> check_graph(G g, check_options options = {}) {
    if constexpr (requires { typename G::value_type; })
        static_assert(dataflow_graph<G>, "the view has a value_type, and something about its values is missing");
    detail::graph_checker<G> checker(g);
    finding f = checker.read();
    graph_summary summary;
    if (!*f.rule) f = checker.mirror();
    if constexpr (dataflow_graph<G>)
        if (!*f.rule) f = checker.values(summary.values);
    if (!*f.rule) f = checker.acyclic();
    if (!*f.rule && options.program_order_is_topological) f = checker.program_order();
    if (!*f.rule) f = checker.stable();
    if (*f.rule) return unexpected(std::move(f));
    summary.vertices = checker.vertices().size();
    summary.edges = checker.successors().items();
    return summary;
}

/// Checks a model against its graph: durations and sizes are not negative; groups are positions in a list;
/// collective(v) is the kind of call(v); a wait waits for an earlier start or for nothing; operands are defined before
/// they are read; aliases and effects name values that already exist and that the operation reads, or whose storage it
/// reads (first_unread_storage); no result aliases itself; and no member has a name that looks like a misspelt optional
/// one. It also replays the program: between a start and its first wait, no kernel and no other start may read or write
/// what the collective fills, or write what it reads, even through aliases. For each vertex it calls only the members
/// that `op_model` documents for its kind. Precondition: check_graph finds nothing. O(V + E) calls.
template <dependence_graph G, op_model<G> M>
[[nodiscard]] expected<model_summary, finding> check_op_model(G g, M model) {
    using V = vertex_t<G>;
    detail::graph_checker<G> checker(g);
    if (finding f = checker.read(); *f.rule) return unexpected(std::move(f));
    if (const char* hint = detail::misspelt_member<M, G>())
        return unexpected(finding{.rule = "misspelt", .hint = hint});
    model_summary summary{.members = members_of<G, M>()};
    std::size_t here = 0;
    finding f;
    const auto broken = [&](const char* rule, const char* hint, std::size_t other = finding::none) {
        if (!*f.rule) f = {.rule = rule, .hint = hint, .vertex = here, .other = other};
    };
    for (const V& v : checker.vertices()) {
        if (duration_of<G>(model, v) < nanoseconds{}) broken("duration", "duration(v) is negative");
        switch (model.kind(v)) {
            case op_kind::input:
                ++summary.inputs;
                break;
            case op_kind::compute:
                ++summary.computes;
                break;
            case op_kind::view:
                ++summary.views;
                if (duration_of<G>(model, v) > nanoseconds{})
                    broken("duration", "a view takes no time: an operation that runs a kernel is of kind compute");
                break;
            case op_kind::start:
                ++summary.starts;
                if (payload_of<G>(model, v) < bytes{}) broken("payload", "payload(v) is negative");
                if (group_of<G>(model, v) >= group_limit)
                    broken("group",
                           "group(v) is too large for a position in a list of groups; give a handle or a hash of a "
                           "communicator the number under which it first occurred");
                if constexpr (calling_op_model<M, G>)
                    if (collective_of<G>(model, v) != call_of<G>(model, v).kind)
                        broken("collective", "collective(v) is not the kind of call(v)");
                break;
            case op_kind::output:
                ++summary.outputs;
                break;
            case op_kind::wait: {
                ++summary.waits;
                if (duration_of<G>(model, v) > nanoseconds{})
                    broken("duration", "a wait takes as long as the collective: duration(v) is that of its start");
                const V s = launch_of<G>(g, model, v);
                if (s == v) {
                    ++summary.waits_on_nothing;
                    break;
                }
                const std::size_t p = checker.position(s);
                if (p == finding::none) broken("launch", "launch_of(w) is missing in vertices()");
                else if (model.kind(s) != op_kind::start)
                    broken("launch", "launch_of(w) is no start; of a wait that waits for nothing it is w itself", p);
                else if (p > here) broken("launch", "a wait comes before the start that it waits for", p);
                break;
            }
            default:
                broken("kind", "kind(v) is none of the enumerators");
        }
        for (value_t<G> x : g.operands(v)) {
            const std::size_t p = checker.definition(x);
            if (p == finding::none) broken("operand", "an operation reads a value that the graph does not have");
            else if (p >= here) broken("operand", "an operation reads a value that is defined later", p);
        }
        for (value_t<G> x : g.results(v)) {
            if (allocation_of<G>(model, x) < bytes{}) broken("bytes", "bytes_of(x) of a result is negative");
            for_each_alias<G>(model, x, [&](value_t<G> y) {
                const std::size_t p = checker.definition(y);
                if (y == x) broken("alias", "a result aliases itself: a value in memory of its own aliases none");
                if (p == finding::none) broken("alias", "a result aliases a value that the graph does not have");
                else if (p > here) broken("alias", "a result aliases a value that is defined later", p);
                bool behind = false;
                for (value_t<G> z : g.results(v)) {
                    if (behind && z == y) broken("alias", "a result aliases a later result of the same operation");
                    behind = behind || z == x;
                }
            });
        }
        for_each_effect<G>(model, v, [&](value_t<G> y) {
            const std::size_t p = checker.definition(y);
            if (p == finding::none) broken("effect", "an operation writes a value that the graph does not have");
            else if (p > here) broken("effect", "an operation writes a value that is defined later", p);
        });
        if (*f.rule) return unexpected(std::move(f));
        ++here;
    }
    if (const auto unread = first_unread_storage(g, model)) {
        here = checker.position(unread->vertex);
        if (unread->how == unread_storage<G>::use::shares)
            broken("alias", "a result aliases a value that the operation does not read, nor what shares its storage",
                   checker.definition(unread->value));
        else
            broken("effect", "an operation writes a value that it does not read, nor what shares its storage",
                   checker.definition(unread->value));
        return unexpected(std::move(f));
    }
    if (f = detail::flight_checker<G, M>(g, model).check(); *f.rule) return unexpected(std::move(f));
    return summary;
}

}  // namespace stretto

#endif
