// Values. The vertices of a dataflow graph read and produce values. Operations with several results, and results with
// many readers, are the normal case.
#ifndef STRETTO_CORE_DATAFLOW_CONCEPTS_HPP
#define STRETTO_CORE_DATAFLOW_CONCEPTS_HPP

#include "stretto/core/concepts.hpp"

namespace stretto {

/// Adds `value_type`; `operands(v)`, the values that v reads, in order; `results(v)`, the values that v defines, each
/// of which is a result of exactly one vertex; `producer(x)`; and `consumers(x)`, which lists vertices once per use.
/// Each data dependence that the values imply is also an edge in `successors` and `predecessors`.
template <class G>
concept dataflow_graph = graph_view<G> && requires { typename G::value_type; } && handle<typename G::value_type> &&
                         requires(const G& g, const typename G::vertex_type v, const typename G::value_type x) {
                             { g.operands(v) } -> iterable_of<typename G::value_type>;
                             { g.results(v) } -> iterable_of<typename G::value_type>;
                             { g.producer(x) } -> std::convertible_to<typename G::vertex_type>;
                             { g.consumers(x) } -> iterable_of<typename G::vertex_type>;
                         };

/// The handle type of the values of a view.
template <dataflow_graph G>
using value_t = typename G::value_type;

}  // namespace stretto

#endif
