// The chunk model of programs in PyTorch's ATen and prims operators. It says how each operator behaves when it runs on
// a subset of the rows of its operands. docs/algorithms/chunk-states.md lists the rules and proves them. This header
// has no rules of its own: the dialect says what an operator is, and this class only adds the arguments of clones.
#ifndef STRETTO_ATEN_ATEN_CHUNK_MODEL_HPP
#define STRETTO_ATEN_ATEN_CHUNK_MODEL_HPP

#include <cstdint>
#include <span>
#include <vector>

#include "stretto/aten/argument_spelling.hpp"
#include "stretto/aten/aten_dialect.hpp"
#include "stretto/aten/detail/operators_by_name.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/row_orders.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"

namespace stretto {

/// A chunk_model of any graph with a tensor_model whose operators have the names that PyTorch gives them. It is the
/// rule_chunk_model of aten_dialect, which documents its assumptions, and it also computes the arguments of clones. The
/// orders must outlive the model and every reason that it returns; models that share them may exchange states.
/// `numbers` says which values are computed twice (aten_calls.hpp supplies what value_numbers needs). It must also
/// outlive the model; without it, a value is equal only to itself.
template <dataflow_graph G, tensor_model<G> T>
    requires indexed_graph<G>
class aten_chunk_model : public rule_chunk_model<G, aten_dialect<G, T>> {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    aten_chunk_model(G view, T tensors, row_orders& orders, const value_numbers<G>* numbers = nullptr)
        : rule_chunk_model<G, aten_dialect<G, T>>(view, aten_dialect<G, T>(tensors), orders, numbers),
          view_(view),
          dialect_(tensors),
          orders_(&orders),
          numbers_(numbers) {}

    /// Returns the arguments that the clone of v for one chunk must have. `tokens` is the number of rows of the region.
    /// Extents along the chunked dimension that are integers, or numbers that all chunks share, are replaced by those
    /// of the chunk; optional arguments that cannot be given for a chunk are omitted; everything else is unchanged.
    /// Lists that change are allocated in `store`, which must outlive the result. O(operands and arguments of v).
    /// Precondition: combine_rule accepted the operation with the states `operands` and returned `results`.
    [[nodiscard]] chunk_arguments local_arguments(vertex_type v, std::int64_t tokens, chunk_interval chunk,
                                                  std::span<const chunk_state> operands,
                                                  std::span<const chunk_state> results, argument_store& store) const {
        const detail::aten::aten_operator* known = detail::aten::find_aten_operator(dialect_.name(v));
        std::vector<chunk_state> given(results.begin(), results.end());
        const laid_out_call<G, aten_dialect<G, T>> q(view_, dialect_, *orders_, numbers_, v, tokens, operands, given);
        STRETTO_ASSERT(known != nullptr && q.is_sound(), "combine_rule has refused this operation");
        const detail::aten::aten_arguments arguments = dialect_.arguments(v);
        return detail::aten::argument_speller(arguments, q.call(), chunk, store).spell(known->extents);
    }

private:
    G view_;
    aten_dialect<G, T> dialect_;
    row_orders* orders_;
    const value_numbers<G>* numbers_;
};

}  // namespace stretto

#endif
