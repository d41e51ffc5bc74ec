// What chunking does to a program, as a value: which operations are cloned once per chunk, which values are cut before,
// and how the parts become one value again after. plan_chunks makes a plan, and apply_chunks carries it out.
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

/// Where tokens enter: a value that is one tensor, and is cut along `dim` wherever a region reads it whole.
template <handle X>
struct token_dimension {
    X value;
    std::size_t dim = 0;
};

/// Operations that may be chunked together, and the sizes of the chunks. A forward region and the backward region of
/// the same layer belong in one chunk_region if they have the same sizes: backward then reads the parts that forward
/// has left.
template <handle V>
struct chunk_region {
    std::vector<V> candidates;        ///< in any order; those that no token reaches stay whole
    std::vector<std::int64_t> sizes;  ///< rows per chunk. Their sum divides the extent of every token dimension
    std::vector<V> kept = {};         ///< candidates that stay whole even if a token reaches them, with the
                                      ///< waits and starts that belong to them
};

/// One operation of a plan, and the states of its operands and results, by component.
template <handle V>
struct chunked_operation {
    V vertex;
    std::uint32_t region = 0;
    bool once = false;                ///< every chunk would compute the same, so only the first one does
    std::uint32_t first_operand = 0;  ///< into chunk_plan::states
    std::uint32_t first_result = 0, last_result = 0;

    /// For a chain, the operand that every chunk writes in place, one after the other. Chunk 0 writes the value itself;
    /// each of the next ones writes what the chunk before has left. Whatever reads the only result, in a chunk or
    /// outside, reads what the last chunk has left.
    std::uint32_t chained = no_chain;
    static constexpr std::uint32_t no_chain = UINT32_MAX;

    [[nodiscard]] bool is_chain() const noexcept { return chained != no_chain; }
};

/// A value from outside a region, cut along a dimension once for all operations of the region that read it.
template <handle X>
struct chunk_split {
    X value;
    std::uint32_t region = 0;
    std::uint32_t dim = 0;
};

enum class recombination : std::uint8_t {
    concat,  ///< one part after the other, as soon as all of them are there
    sum,     ///< in the order of the chunks
    first,   ///< all parts are the same; for a chain, what the last chunk has left
    slices   ///< like concat, but each part is written into its place as soon as it is there
};

/// A value that is read outside its region.
template <handle V, handle X>
struct chunk_join {
    X value;
    std::uint32_t region = 0;
    recombination how = recombination::concat;
    std::uint32_t dim = 0;
    std::vector<V> readers;  ///< outside the region, in program order
    bool late = false;       ///< the parts are written in place: recombined before the first reader, else at once

    /// Whether `how` may be either concat or slices.
    [[nodiscard]] bool may_be_slices() const noexcept {
        return (how == recombination::concat && !late) || how == recombination::slices;
    }
};

/// How many operations a plan makes and removes.
struct chunk_counts {
    std::size_t chunked = 0;  ///< operations that are removed
    std::size_t clones = 0;   ///< their clones
    std::size_t splits = 0, concats = 0, sums = 0;
    std::size_t empties = 0, slice_writes = 0;  ///< for values that are written slice by slice
    friend bool operator==(const chunk_counts&, const chunk_counts&) = default;
};

enum class chunk_reason : std::uint8_t {
    no_regions,           ///< there is nothing to chunk
    no_sizes,             ///< a region has no chunks
    negative_size,        ///< a chunk has fewer than no rows
    too_many_rows,        ///< the chunks of a region have more rows together than an integer holds
    extent_indivisible,   ///< a token dimension is not a multiple of the rows of a region
    dim_out_of_range,     ///< a value does not have its token dimension
    overlapping,          ///< `vertex` is a candidate of two regions
    not_in_graph,         ///< the graph does not list a candidate
    not_convex,           ///< `path` leaves a region at `vertex` and enters it again at `other`
    nothing_reached,      ///< no token reaches any candidate of a region
    refused,              ///< `vertex` cannot run per chunk: `detail`
    only_sums,            ///< the same, but what it reads are sums only: it runs once, on sums over the chunks
    unknown_live_out,     ///< `other`, outside, reads `vertex`, whose parts do not recombine in a known way
    written_outside,      ///< `other`, outside, writes in place what `vertex` has made
    read_between_writes,  ///< `other`, outside, reads `vertex` before the last write to it in the region
    left_in_flight,       ///< the collective `vertex` or its wait `other` would be chunked, and not both; or `other`,
                          ///< outside, reads it before it has arrived
    result_unset          ///< the chunk model finds `vertex` possible and does not say what its result `component` is.
                          ///< An error of the model, and never skipped
};

/// Why there is no plan, or why a plan leaves an operation whole. `vertex` and `other` are the operations that the
/// reason names.
template <handle V>
struct chunk_error {
    using reason = chunk_reason;
    reason why;
    std::uint32_t region = 0;
    V vertex{};
    V other{};
    std::string detail = {};    ///< for refused and only_sums: the model's reason
    std::vector<V> path = {};   ///< for not_convex: from `vertex` to `other`
    std::size_t component = 0;  ///< for result_unset: which component of the results
};

/// A candidate that a token reaches, but that must stay whole.
template <handle V>
struct refused_operation {
    V vertex;
    chunk_error<V> why;
    V cause{};  ///< the first operation of the chain that led to this: itself, or another one that is refused
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
    std::vector<std::uint32_t> unreached;  ///< regions of several chunks in which no token reaches anything

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

/// Decides how each value that consists of slices is made: written in place part by part if `wanted(join)` is true,
/// otherwise concatenated. A concatenation is one kernel, and needs all parts and the whole at once. Slices need as
/// many kernels as chunks, but a part that nothing else reads is freed once it is written. The values are the same.
/// O(joins), and one question for each.
template <handle V, handle X, class Wanted>
    requires requires(Wanted& wanted, const chunk_join<V, X>& join) { static_cast<bool>(wanted(join)); }
void choose_slices(chunk_plan<V, X>& plan, Wanted wanted) {
    for (chunk_join<V, X>& j : plan.joins)
        if (j.may_be_slices()) j.how = wanted(j) ? recombination::slices : recombination::concat;
}

}  // namespace stretto

#endif
