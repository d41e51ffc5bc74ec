// What chunking does to a program, as a value: which operations are cloned once per chunk, which values are cut on the
// way in, and how the parts become one value again on the way out. Made by plan_chunks, carried out by apply_chunks.
#ifndef STRETTO_TRANSFORM_CHUNK_PLAN_HPP
#define STRETTO_TRANSFORM_CHUNK_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/concepts.hpp"

namespace stretto {

/// Where tokens come in: a value that is one tensor, cut along `dim` wherever a region reads it whole.
template <handle X>
struct token_dimension {
    X value;
    std::size_t dim = 0;
};

/// Operations that may be chunked together, and into what. A forward region and the backward region of the same layer
/// belong into one chunk_region if they have the same sizes: then backward reads the parts that forward has left.
template <handle V>
struct chunk_region {
    std::vector<V> candidates;        ///< in any order; those that no token reaches stay whole
    std::vector<std::int64_t> sizes;  ///< rows per chunk. Their sum divides the extent of every token dimension
    std::vector<V> kept = {};         ///< of the candidates: stay whole though a token reaches them, and so do waits
                                      ///< and starts that belong to them
};

/// One operation of a plan and what its operands and results are, by component.
template <handle V>
struct chunked_operation {
    V vertex;
    std::uint32_t region = 0;
    bool once = false;                ///< every chunk would compute the same: only the first one does
    std::uint32_t first_operand = 0;  ///< into chunk_plan::states
    std::uint32_t first_result = 0, last_result = 0;

    /// Of a chain: which operand it is that every chunk writes in place, one behind the other. Chunk 0 writes the value
    /// itself, the next ones what the chunk before has left; whoever reads the only result, in any chunk or outside,
    /// reads what the last chunk has left.
    std::uint32_t chained = no_chain;
    static constexpr std::uint32_t no_chain = UINT32_MAX;

    [[nodiscard]] bool is_chain() const noexcept { return chained != no_chain; }
};

/// A value from outside of a region, cut along a dimension once for all operations of the region that read it.
template <handle X>
struct chunk_split {
    X value;
    std::uint32_t region = 0;
    std::uint32_t dim = 0;
};

enum class recombination : std::uint8_t {
    concat,  ///< one part behind the other, once all of them are there
    sum,     ///< in the order of the chunks
    first,   ///< all parts are the same; of a chain, what the last chunk has left
    slices   ///< as concat, but every part is written in place to where it belongs as soon as it is there
};

/// A value that somebody outside of its region reads.
template <handle V, handle X>
struct chunk_join {
    X value;
    std::uint32_t region = 0;
    recombination how = recombination::concat;
    std::uint32_t dim = 0;
    std::vector<V> readers;  ///< outside of the region, in program order
    bool late = false;       ///< somebody writes the parts in place: recombined before the first reader, else at once

    /// Whether `how` may be either of concat and slices.
    [[nodiscard]] bool may_be_slices() const noexcept {
        return (how == recombination::concat && !late) || how == recombination::slices;
    }
};

/// How many operations a plan makes and removes.
struct chunk_counts {
    std::size_t chunked = 0;  ///< operations that vanish
    std::size_t clones = 0;   ///< their clones
    std::size_t splits = 0, concats = 0, sums = 0;
    std::size_t empties = 0, slice_writes = 0;  ///< of values that are written slice by slice
    friend bool operator==(const chunk_counts&, const chunk_counts&) = default;
};

enum class chunk_reason : std::uint8_t {
    no_regions,           ///< there is nothing to chunk
    no_sizes,             ///< a region into no chunks
    negative_size,        ///< a chunk of fewer than no rows
    extent_indivisible,   ///< a token dimension is no multiple of the rows of a region
    dim_out_of_range,     ///< a token dimension that its value does not have
    overlapping,          ///< `vertex` is a candidate of two regions
    not_in_graph,         ///< a candidate that the graph does not list
    not_convex,           ///< `path` leaves a region at `vertex` and enters it again at `other`
    nothing_reached,      ///< no token reaches any candidate of a region
    refused,              ///< `vertex` cannot run per chunk: `detail`
    only_sums,            ///< the same, and nothing that it reads is in rows: it runs once, on sums over the chunks
    unknown_live_out,     ///< `other`, outside, reads `vertex`, whose parts nothing is known to recombine
    written_outside,      ///< `other`, outside, writes in place what `vertex` has made
    read_between_writes,  ///< `other`, outside, reads `vertex` before the region has written it for the last time
    left_in_flight,       ///< the collective `vertex` or its wait `other` would be chunked, and not both; or `other`,
                          ///< outside, reads it before it has arrived
    result_unset          ///< the chunk model finds `vertex` possible and does not say what its result `component` is.
                          ///< An error of the model, and never skipped
};

/// Why there is no plan, or why one leaves an operation whole. `vertex` and `other` are what the reason is about.
template <handle V>
struct chunk_error {
    using reason = chunk_reason;
    reason why;
    std::uint32_t region = 0;
    V vertex{};
    V other{};
    std::string detail = {};    ///< of refused and only_sums: the model's reason
    std::vector<V> path = {};   ///< of not_convex, from `vertex` to `other`
    std::size_t component = 0;  ///< of result_unset: which of the components of the results
};

/// A candidate that a token reaches, and that stays whole since it must.
template <handle V>
struct refused_operation {
    V vertex;
    chunk_error<V> why;
};

/// Everything is in program order. An empty plan changes nothing.
template <handle V, handle X>
struct chunk_plan {
    struct region {
        std::int64_t tokens = 0;
        std::vector<std::int64_t> sizes;  ///< positive
    };
    std::vector<region> regions;
    std::vector<chunked_operation<V>> operations;
    std::vector<chunk_split<X>> splits;
    std::vector<chunk_join<V, X>> joins;
    std::vector<chunk_state> states;
    std::vector<refused_operation<V>> refused;
    std::vector<std::uint32_t> unreached;  ///< regions of several chunks with nothing in them that a token reaches

    [[nodiscard]] bool empty() const noexcept { return operations.empty(); }
    [[nodiscard]] chunk_counts counts() const {
        chunk_counts n;
        n.chunked = operations.size();
        for (const chunked_operation<V>& o : operations) n.clones += o.once ? 1 : regions[o.region].sizes.size();
        n.splits = splits.size();
        for (const chunk_join<V, X>& j : joins) {
            n.concats += j.how == recombination::concat;
            n.sums += j.how == recombination::sum;
            n.empties += j.how == recombination::slices;
            if (j.how == recombination::slices) n.slice_writes += regions[j.region].sizes.size();
        }
        return n;
    }
    [[nodiscard]] std::span<const chunk_state> operand_states(const chunked_operation<V>& o) const {
        return {states.data() + o.first_operand, states.data() + o.first_result};
    }
    [[nodiscard]] std::span<const chunk_state> result_states(const chunked_operation<V>& o) const {
        return {states.data() + o.first_result, states.data() + o.last_result};
    }
};

/// Decides for every value that is put together of slices how: written in place part by part where `wanted(join)` says
/// so, else concatenated. A concatenation is one kernel, and takes all parts and the whole at once; slices are as many
/// kernels as chunks, and a part that nobody else reads is gone when it is written. Values are the same.
/// O(joins), one question each.
template <handle V, handle X, class Wanted>
    requires requires(Wanted& wanted, const chunk_join<V, X>& join) { static_cast<bool>(wanted(join)); }
void choose_slices(chunk_plan<V, X>& plan, Wanted wanted) {
    for (chunk_join<V, X>& j : plan.joins)
        if (j.may_be_slices()) j.how = wanted(j) ? recombination::slices : recombination::concat;
}

}  // namespace stretto

#endif
