// Rewriters: the few verbs with which a plan changes a foreign graph. A view never mutates and a rewriter never
// answers questions; they are two structs over the same IR, so the constness of the IR stays its owner's business.
// Each transform asks for the fewest verbs. Planning has already proved that the calls are legal: a rewriter does
// what it is told and cannot fail half-way.
#ifndef STRETTO_CORE_REWRITER_CONCEPTS_HPP
#define STRETTO_CORE_REWRITER_CONCEPTS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"

namespace stretto {

/// `clone(v, operands)`: a new vertex like `v` that reads `operands` instead; returns it. It stands behind `v`.
template <class R, class G>
concept cloning_rewriter = dataflow_graph<G> && requires(R& r, vertex_t<G> v, std::span<const value_t<G>> operands) {
    { r.clone(v, operands) } -> std::convertible_to<vertex_t<G>>;
};

/// `replace_uses(v, from, to)`: the reads of `from` by `v` become reads of `to`.
template <class R, class G>
concept use_rewriter =
    dataflow_graph<G> && requires(R& r, vertex_t<G> v, value_t<G> from, value_t<G> to) { r.replace_uses(v, from, to); };

/// `erase(v)`: removes a vertex whose results nobody reads any more.
template <class R, class G>
concept erasing_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v) { r.erase(v); };

/// `move_before(v, at)`: program order becomes ... v, at ...; dependences are untouched.
template <class R, class G>
concept ordering_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v, vertex_t<G> at) { r.move_before(v, at); };

/// `fuse(members)`: one vertex that does the work of all members (a bucket); its results, in member order.
/// `extract(fused, i)`: the value that member i used to produce.
template <class R, class G>
concept fusing_rewriter =
    dataflow_graph<G> && requires(R& r, vertex_t<G> fused, std::span<const vertex_t<G>> members, std::size_t i) {
        { r.fuse(members) } -> std::convertible_to<vertex_t<G>>;
        { r.extract(fused, i) } -> std::convertible_to<value_t<G>>;
    };

/// `duplicate_group(g)`: a new communicator with the same ranks in the same order. `set_group(v, g)`: v uses it.
template <class R, class G>
concept group_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v, group_id group) {
    { r.duplicate_group(group) } -> std::convertible_to<group_id>;
    r.set_group(v, group);
};

/// The verbs of chunking: `split` along a dimension into parts whose extents are in the ratio of the sizes, `concat`
/// and `sum` of parts.
template <class R, class G>
concept slicing_rewriter =
    dataflow_graph<G> && requires(R& r, value_t<G> x, std::size_t dim, std::span<const std::int64_t> sizes,
                                  std::span<const value_t<G>> parts) {
        { r.split(x, dim, sizes) } -> iterable_of<value_t<G>>;
        { r.concat(parts, dim) } -> std::convertible_to<value_t<G>>;
        { r.sum(parts) } -> std::convertible_to<value_t<G>>;
    };

/// `empty_like(x, part)`: memory for a value like x, a part of which is there already; what it holds is never read.
/// `slice_write(whole, part, dim, sizes, k)`: writes `part` in place to where `split(whole, dim, sizes)` would find
/// part k; gives `whole`, or a new name of its memory.
template <class R, class G>
concept slice_writing_rewriter = dataflow_graph<G> && requires(R& r, value_t<G> x, std::size_t dim,
                                                               std::span<const std::int64_t> sizes, std::size_t k) {
    { r.empty_like(x, x) } -> std::convertible_to<value_t<G>>;
    { r.slice_write(x, x, dim, sizes, k) } -> std::convertible_to<value_t<G>>;
};

}  // namespace stretto

#endif
