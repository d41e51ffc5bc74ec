// Properties of linear collectives, and of the memory of their operands, that plan_reductions and verify_reductions
// both test.
#ifndef STRETTO_TRANSFORM_DETAIL_REDUCTION_FACTS_HPP
#define STRETTO_TRANSFORM_DETAIL_REDUCTION_FACTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/detail/program_facts.hpp"

namespace stretto::detail {

/// Whether the start v launches a linear collective: an all-reduce or a reduce-scatter that yields the sum or the
/// average of the data of the ranks. Averages count only for element types that are known to be floating point, because
/// averages of integers are rounded.
template <dataflow_graph G, op_model<G> M>
[[nodiscard]] bool launches_linear_collective(const M& model, vertex_t<G> v) {
    const collective_call call = call_of<G>(model, v);
    if (call.kind != collective_kind::reduce_scatter && call.kind != collective_kind::all_reduce) return false;
    if (call.reduction == reduction_kind::sum) return true;
    const bool rounds = call.element != element_type::f16 && call.element != element_type::bf16 &&
                        call.element != element_type::f32 && call.element != element_type::f64;
    return call.reduction == reduction_kind::average && !rounds;
}

/// Whether two starts differ only in their data (and in their logical ids and chunks, which do not matter here).
template <dataflow_graph G, op_model<G> M, linear_model<G> L>
[[nodiscard]] bool same_reduction(const M& model, const L& linear, vertex_t<G> a, vertex_t<G> b) {
    const collective_call x = call_of<G>(model, a), y = call_of<G>(model, b);
    return x.kind == y.kind && x.reduction == y.reduction && x.element == y.element &&
           group_of<G>(model, a) == group_of<G>(model, b) && payload_of<G>(model, a) == payload_of<G>(model, b) &&
           linear.alike(a, b);
}

/// Whether the operand of member k of r may be overwritten when the second member is launched. It must be the only
/// result of a kernel, which allocates memory for it alone; no other operand of r may live in that memory, because the
/// additions read the others then or later; from the second member on, no vertex may use that memory, except the
/// members of r and their waits, which are removed; and it must be no result of the step. Without the member `aliases`,
/// an op model cannot tell views from copies, so the answer is false. Precondition: the graph has all vertices and
/// values of r.
template <class Facts, class M, class R>
[[nodiscard]] bool may_overwrite(const Facts& f, const storage_uses<Facts>& uses, const M& model, const R& r,
                                 std::size_t k) {
    using G = decltype(f.graph);
    if constexpr (!members_of<G, M>().aliases) return false;
    const std::uint32_t x = f.values.number(r.operands[k]), at = f.position_of(r.members[1]);
    if (f.storages[x].size() != 1 || f.storages[x][0] != x || f.kind[f.producer[x]] != op_kind::compute) return false;
    if (f.first_result[f.producer[x] + 1] - f.first_result[f.producer[x]] != 1) return false;
    if constexpr (members_of<G, M>().bytes_of)
        if (allocation_of<G>(model, f.values.value(x)).count <= 0) return false;
    for (std::size_t i = 0; i < r.operands.size(); ++i)
        if (i != k && std::ranges::count(f.storages[f.values.number(r.operands[i])], x) > 0) return false;
    const auto vanishes = [&](std::uint32_t p) {
        return std::ranges::count(r.members, f.vertex[p]) + std::ranges::count(r.waits, f.vertex[p]) > 0;
    };
    for (std::uint32_t p : uses.users(x))
        if (f.kind[p] == op_kind::output || (p >= at && !vanishes(p))) return false;
    return true;
}

}  // namespace stretto::detail

#endif
