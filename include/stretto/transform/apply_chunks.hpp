// Carries a chunk_plan out on the user's IR.
#ifndef STRETTO_TRANSFORM_APPLY_CHUNKS_HPP
#define STRETTO_TRANSFORM_APPLY_CHUNKS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto {

/// What a rewriter may need to know of the clone that it is asked for: its rows of `tokens`, and the states of the
/// operands and results, by component. A clone that all chunks share (`chunks` is 1) has all rows.
struct chunk_part {
    std::uint32_t chunk = 0, chunks = 1;
    std::int64_t tokens = 0;
    chunk_interval rows;
    std::span<const chunk_state> operands, results;

    [[nodiscard]] std::int64_t share(std::int64_t amount) const { return share_of(amount, tokens, rows); }
};

/// `insert_before(v)`: what is made from now on stands before v, in the order of the calls. `clone(v, operands, part)`:
/// an operation like v that reads `operands` and has the extents of that part; gives its results. `split`, `concat`,
/// `sum`, `replace_uses`, `erase`: as in core/rewriter_concepts.hpp.
template <class R, class G>
concept chunking_rewriter =
    use_rewriter<R, G> && erasing_rewriter<R, G> &&
    requires(R& r, vertex_t<G> v, value_t<G> x, std::size_t dim, std::span<const std::int64_t> sizes,
             std::span<const value_t<G>> values, const chunk_part& part) {
        r.insert_before(v);
        { r.clone(v, values, part) } -> iterable_of<value_t<G>>;
        { r.split(x, dim, sizes) } -> iterable_of<value_t<G>>;
        { r.concat(values, dim) } -> std::convertible_to<value_t<G>>;
        { r.sum(values) } -> std::convertible_to<value_t<G>>;
    };

/// Replays the plan. `g` must be the view it was made from, and the IR unchanged since. One `split` per value and
/// region, one `clone` per operation and chunk, one `concat` or `sum` per value that is read outside, one
/// `replace_uses` per reader, one `erase` per chunked operation; nothing else. Clones stand where their original stood,
/// chunk after chunk; a value is cut before its first use, and recombined right behind its last part, or before its
/// first reader if the region writes it in place.
/// O(operations of the plan and their operands) beside the rewriter.
template <dataflow_graph G, chunking_rewriter<G> R>
    requires indexed_graph<G>
void apply_chunks(const chunk_plan<vertex_t<G>, value_t<G>>& plan, G g, R& rewriter) {
    using V = vertex_t<G>;
    using X = value_t<G>;
    constexpr std::uint32_t none = UINT32_MAX;
    // What became of a value, found by its producer: parts in a region, and the recombined value.
    struct fate {
        X value;
        std::uint32_t region;
        std::vector<X> parts;
        bool joined = false;
        X whole{};
        std::uint32_t next = UINT32_MAX;  // another value of the same producer, or the same one in another region
    };
    std::vector<fate> fates;
    std::vector<std::uint32_t> first_fate(g.index_bound(), none);
    auto fate_of = [&](X x, std::uint32_t region) -> fate* {
        for (std::uint32_t k = first_fate[g.index(g.producer(x))]; k != none; k = fates[k].next)
            if (fates[k].value == x && fates[k].region == region) return &fates[k];
        return nullptr;
    };
    auto add_fate = [&](X x, std::uint32_t region) -> fate& {
        std::uint32_t& first = first_fate[g.index(g.producer(x))];
        fates.push_back({x, region, {}, false, {}, first});
        first = static_cast<std::uint32_t>(fates.size() - 1);
        return fates.back();
    };
    // The value itself, or what its parts were recombined to.
    auto whole_of = [&](X x) -> X {
        for (std::uint32_t k = first_fate[g.index(g.producer(x))]; k != none; k = fates[k].next)
            if (fates[k].value == x && fates[k].joined) return fates[k].whole;
        return x;
    };
    std::vector<char> chunked(g.index_bound(), false);
    for (const chunked_operation<V>& o : plan.operations) chunked[g.index(o.vertex)] = true;

    std::size_t next_split = 0, next_join = 0;  // both are listed in the order of the operations
    std::vector<X> operands;
    for (const chunked_operation<V>& o : plan.operations) {
        const auto& region = plan.regions[o.region];
        const std::span<const std::int64_t> sizes =
            o.once ? std::span<const std::int64_t>(&region.tokens, 1) : std::span<const std::int64_t>(region.sizes);
        rewriter.insert_before(o.vertex);
        std::vector<X> read;
        for (X x : g.operands(o.vertex)) read.push_back(x);
        for (X x : read) {
            if (next_split == plan.splits.size()) break;
            const chunk_split<X>& s = plan.splits[next_split];
            if (!(s.value == x) || s.region != o.region) continue;
            ++next_split;
            std::vector<X> parts;
            for (X y : rewriter.split(whole_of(x), s.dim, std::span<const std::int64_t>(region.sizes)))
                parts.push_back(y);
            add_fate(x, o.region).parts = std::move(parts);
        }
        std::vector<std::vector<X>> made;  // by chunk
        chunk_part part{0,
                        static_cast<std::uint32_t>(sizes.size()),
                        region.tokens,
                        {},
                        plan.operand_states(o),
                        plan.result_states(o)};
        for (; part.chunk < part.chunks; ++part.chunk) {
            part.rows = {part.rows.first + part.rows.count, sizes[part.chunk]};
            operands.clear();
            for (X x : read) {
                const fate* f = fate_of(x, o.region);
                operands.push_back(f != nullptr ? f->parts[f->parts.size() == 1 ? 0 : part.chunk] : whole_of(x));
            }
            made.emplace_back();
            for (X y : rewriter.clone(o.vertex, std::span<const X>(operands), part)) made.back().push_back(y);
        }
        std::size_t k = 0;
        for (X x : g.results(o.vertex)) {
            fate& f = add_fate(x, o.region);
            for (const std::vector<X>& of_chunk : made) f.parts.push_back(of_chunk[k]);
            ++k;
        }
        for (; next_join < plan.joins.size() && g.producer(plan.joins[next_join].value) == o.vertex; ++next_join) {
            const chunk_join<V, X>& j = plan.joins[next_join];
            fate& f = *fate_of(j.value, j.region);
            f.joined = true;
            const std::span<const X> parts(f.parts);
            rewriter.insert_before(j.late ? j.readers[0] : o.vertex);
            f.whole = j.how == recombination::concat ? X(rewriter.concat(parts, j.dim))
                      : j.how == recombination::sum  ? X(rewriter.sum(parts))
                                                     : f.parts[0];
            for (const V& reader : j.readers)
                if (!chunked[g.index(reader)]) rewriter.replace_uses(reader, j.value, f.whole);
        }
    }
    for (std::size_t k = plan.operations.size(); k-- > 0;) rewriter.erase(plan.operations[k].vertex);
}

}  // namespace stretto

#endif
