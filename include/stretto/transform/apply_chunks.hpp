// Carries out a chunk_plan on the user's IR.
#ifndef STRETTO_TRANSFORM_APPLY_CHUNKS_HPP
#define STRETTO_TRANSFORM_APPLY_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/chunk_cells.hpp"

namespace stretto {

/// Applies the plan. Calls only these verbs of the rewriter, besides `insert_before`: `split` once per value and region
/// that needs it, `clone` once per operation and chunk, `concat` or `sum` once per value that is read outside (or
/// `empty_like` once and `slice_write` once per chunk), `replace_uses` once per reader that is not chunked itself, and
/// `erase` once per chunked operation.
///
/// The clones of an operation take its position, chunk after chunk. A value is split before its first use. It is
/// recombined right after its last part, or before its first reader if the region writes it in place. Memory for slices
/// is allocated after the first part, and each slice is written right after the clone that computes it. Each clone of a
/// chain reads the result of the clone before it. Where a sum widens, it reads the only clone and, for the later
/// chunks, what their clones would read.
///
/// Preconditions: `g` is the view from which the plan was made, and the IR has not changed since; `split` returns one
/// part per size, and `clone` returns one result for each result of the operation (check_rewriter). Besides the calls
/// of the rewriter, takes O(operations of the plan and their operands) time; finding a value among the results of its
/// producer takes time linear in their number.
template <dataflow_graph G, chunking_rewriter<G> R>
    requires indexed_graph<G>
void apply_chunks(const chunk_plan<vertex_t<G>, value_t<G>>& plan, G g, R& rewriter) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    detail::chunk_cells<G> at(plan, g);
    std::vector<char> chunked(g.index_bound(), false);
    for (const chunked_operation<V>& o : plan.operations)
        chunked[detail::checked_index(g, o.vertex, chunked.size())] = true;

    std::size_t next_split = 0, next_join = 0;  // both are listed in the order of the operations
    std::vector<X> operands, slices;
    for (std::uint32_t k = 0; k < plan.operations.size(); ++k) {
        const chunked_operation<V>& o = plan.operations[k];
        const auto& region = plan.regions[o.region];
        const auto& own = at.operations[k];
        const std::span<const std::int64_t> sizes(region.sizes);
        rewriter.insert_before(o.vertex);
        for (; next_split < at.splits.size() && at.splits[next_split].operation == k; ++next_split) {
            const std::uint32_t first = at.splits[next_split].first_part;
            std::size_t parts = 0;
            for (X part : rewriter.split(at.cells[at.splits[next_split].whole], plan.splits[next_split].dim, sizes)) {
                STRETTO_ASSERT(parts < sizes.size(), "split gives more parts than there are sizes");
                at.cells[first + parts++] = part;
            }
            STRETTO_ASSERT(parts == sizes.size(), "split gives fewer parts than there are sizes");
        }
        std::size_t end_join = next_join;
        while (end_join < plan.joins.size() && g.producer(plan.joins[end_join].value) == o.vertex) ++end_join;
        slices.assign(end_join - next_join, X{});
        chunk_part part{0, own.parts, region.tokens, {}, plan.operand_states(o), plan.result_states(o), o.region};
        for (; part.chunk < own.clones; ++part.chunk) {
            part.rows = {part.rows.first + part.rows.count, o.once ? region.tokens : sizes[part.chunk]};
            operands.clear();
            for (std::uint32_t i = own.first_operand; i < own.last_operand; ++i)
                operands.push_back(at.cells[at.operands[i].first + part.chunk * at.operands[i].step]);
            if (o.is_chain() && part.chunk > 0) operands[o.chained] = at.cells[own.first_result + part.chunk - 1];
            std::uint32_t results = 0;
            for (X made : rewriter.clone(o.vertex, std::span<const X>(operands), part)) {
                STRETTO_ASSERT(results < own.results, "clone gives more results than the operation has");
                at.cells[own.first_result + part.chunk + own.parts * results++] = made;
            }
            STRETTO_ASSERT(results == own.results, "clone gives fewer results than the operation has");
            if constexpr (slice_writing_rewriter<R, G>)
                for (std::size_t n = next_join; n < end_join; ++n) {
                    const chunk_join<V, X>& j = plan.joins[n];
                    if (j.how != recombination::slices) continue;
                    const X made = at.cells[at.first_part(k, j.value) + part.chunk];
                    X& whole = slices[n - next_join];
                    if (part.chunk == 0) whole = rewriter.empty_like(j.value, made);
                    whole = rewriter.slice_write(whole, made, j.dim, sizes, part.chunk);
                }
        }
        for (std::uint32_t c = own.clones; c < own.parts; ++c) {  // the sum widens what the later clones would read
            const auto& unconverted = at.operands[own.first_operand];
            at.cells[own.first_result + c] = at.cells[unconverted.first + c * unconverted.step];
        }
        for (std::size_t n = next_join; n < end_join; ++n) {
            const chunk_join<V, X>& j = plan.joins[n];
            const std::span<const X> parts(at.cells.data() + at.first_part(k, j.value), own.parts);
            rewriter.insert_before(j.late ? j.readers[0] : o.vertex);
            const auto recombined = [&] {
                if (j.how == recombination::sum) return X(rewriter.sum(parts));
                if (j.how == recombination::first) return o.is_chain() ? parts.back() : parts[0];
                if constexpr (slice_writing_rewriter<R, G>)
                    if (j.how == recombination::slices) return slices[n - next_join];
                return X(rewriter.concat(parts, j.dim));
            };
            const X whole = recombined();
            at.cells[at.whole_cell(j.value)] = whole;
            for (const V& reader : j.readers)
                if (!chunked[detail::checked_index(g, reader, chunked.size())])
                    rewriter.replace_uses(reader, j.value, whole);
        }
        next_join = end_join;
    }
    for (std::size_t k = plan.operations.size(); k-- > 0;) rewriter.erase(plan.operations[k].vertex);
}

}  // namespace stretto

#endif
