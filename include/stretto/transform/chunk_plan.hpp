// A chunk plan as a value: which operations are cloned once per chunk, which values are split beforehand, and how the
// parts are recombined afterwards. plan_chunks makes a plan, and apply_chunks carries it out.
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

/// Where tokens enter: a value that is a single tensor. It is split along `dim` wherever a region reads it whole.
template <handle X>
struct token_dimension {
    X value;
    std::size_t dim = 0;
};

/// Operations that may be chunked together, and the sizes of the chunks. Put the forward and backward operations of a
/// layer into one chunk_region if they use the same sizes: the backward operations can then read the parts that the
/// forward operations have produced.
template <handle V>
struct chunk_region {
    std::vector<V> candidates;        ///< in any order; a candidate that no token reaches stays whole
    std::vector<std::int64_t> sizes;  ///< rows per chunk; their sum divides the extent of every token dimension
    std::vector<V> kept = {};  ///< candidates that stay whole even if a token reaches them, together with the waits or
                               ///< starts that belong to them
};

/// One operation of a plan, and the states of its operands and results, component by component.
template <handle V>
struct chunked_operation {
    V vertex;
    std::uint32_t region = 0;
    bool once = false;                ///< every chunk would compute the same result, so only the first chunk runs it
    std::uint32_t first_operand = 0;  ///< the states of the operands begin here in chunk_plan::states
    std::uint32_t first_result = 0, last_result = 0;  ///< those of the results are [first_result, last_result)

    /// For a chain, the operand that the chunks write in place, one after another. Chunk 0 writes the value itself;
    /// each later chunk writes the result of the chunk before it. A reader of the only result, inside or outside a
    /// chunk, reads the result of the last chunk.
    std::uint32_t chained = no_chain;
    static constexpr std::uint32_t no_chain = UINT32_MAX;

    /// Only the first chunk runs the operation, which converts an addend to a wider type. For the later chunks, the sum
    /// of its result reads the operand of the operation, and so converts it (`sum_widens` of a chunk_model).
    bool sum_widens = false;

    [[nodiscard]] bool is_chain() const noexcept { return chained != no_chain; }
    /// How many parts of each result there are in a region with that many chunks. If a sum widens, it reads all parts
    /// but the first before they are converted.
    [[nodiscard]] constexpr std::size_t parts(std::size_t chunks) const noexcept { return once ? 1 : chunks; }
    /// How many clones replace the operation there.
    [[nodiscard]] constexpr std::size_t clones(std::size_t chunks) const noexcept {
        return sum_widens ? 1 : parts(chunks);
    }
};

/// A value from outside a region that is split along dimension `dim`, once for all operations of the region that read
/// it.
template <handle X>
struct chunk_split {
    X value;
    std::uint32_t region = 0;
    std::uint32_t dim = 0;
};

/// How the parts of a value become the value again.
enum class recombination : std::uint8_t {
    concat,  ///< concatenates the parts once all of them are available
    sum,     ///< adds the parts in the order of the chunks
    first,   ///< uses any one part, because all are equal; for a chain, uses the result of the last chunk
    slices   ///< gives the same value as concat, but writes each part into its place as soon as it is available
};

/// A value that is read outside its region and must be recombined.
template <handle V, handle X>
struct chunk_join {
    X value;
    std::uint32_t region = 0;
    recombination how = recombination::concat;
    std::uint32_t dim = 0;
    std::vector<V> readers;  ///< outside the region, in program order
    bool late = false;  ///< The region writes the parts in place: recombine before the first reader, not right after
                        ///< the last part

    /// Returns whether choose_slices may set `how` to either concat or slices.
    [[nodiscard]] bool may_be_slices() const noexcept {
        return (how == recombination::concat && !late) || how == recombination::slices;
    }
};

/// How many operations a plan adds and removes.
struct chunk_counts {
    std::size_t chunked = 0;  ///< operations that are removed
    std::size_t clones = 0;   ///< clones that take their place
    std::size_t splits = 0, concats = 0, sums = 0;
    std::size_t empties = 0, slice_writes = 0;  ///< allocations and writes for values that are written slice by slice
    friend bool operator==(const chunk_counts&, const chunk_counts&) = default;
};

/// Why there is no plan, or why a plan leaves an operation whole. `vertex` and `other` are those of a chunk_error.
enum class chunk_reason : std::uint8_t {
    no_regions,          ///< there is nothing to chunk
    no_sizes,            ///< the list of chunk sizes of a region is empty
    negative_size,       ///< a chunk has a negative number of rows
    too_many_rows,       ///< the total number of rows in a region overflows its integer type
    extent_indivisible,  ///< the extent of a token dimension is not a multiple of the number of rows of a region
    dim_out_of_range,    ///< a value does not have its token dimension
    overlapping,         ///< `vertex` is a candidate in two regions
    not_in_graph,        ///< a candidate, or the producer of a token dimension, is not a vertex of the graph
    not_convex,          ///< `path` leaves a region at `vertex` and enters it again at `other`
    nothing_reached,     ///< no token reaches any candidate of a region
    refused,             ///< `vertex` cannot run per chunk, for the reason in `detail`
    only_sums,           ///< the same, but `vertex` reads only sums and so can run once, on the sums over all chunks
    unknown_live_out,  ///< `other`, outside the region, reads `vertex`, whose parts cannot be recombined in a known way
    written_outside,   ///< `other`, outside the region, writes to a result of `vertex` in place
    read_between_writes,  ///< `other`, outside the region, reads `vertex` before the last in-place write to it in the
                          ///< region
    left_in_flight,  ///< only one of the collective `vertex` and its wait `other` would be chunked; or `other`, outside
                     ///< the region, reads the result before it has arrived
    result_unset     ///< the chunk model accepts `vertex` but leaves the state of result `component` unset; this is an
                     ///< error in the model and is never skipped
};

/// The reason why there is no plan, or why a plan leaves an operation whole. `vertex` and `other` are the operations
/// that the description of the reason names.
template <handle V>
struct chunk_error {
    using reason = chunk_reason;
    reason why;
    std::uint32_t region = 0;
    V vertex{};
    V other{};
    std::string detail = {};    ///< for refused and only_sums: the model's reason
    std::vector<V> path = {};   ///< for not_convex: the path from `vertex` to `other`
    std::size_t component = 0;  ///< for result_unset: the number of the component
};

/// A candidate that depends on a token dimension but must stay whole.
template <handle V>
struct refused_operation {
    V vertex;
    chunk_error<V> why;
    V cause{};  ///< the first operation in the chain of refusals that led to this one; possibly `vertex` itself
};

/// A plan for all regions. All lists are in program order. An empty plan changes nothing.
template <handle V, handle X>
struct chunk_plan {
    struct region {
        std::int64_t tokens = 0;
        std::vector<std::int64_t> sizes;  ///< rows per chunk; all are positive
    };
    std::vector<region> regions;
    std::vector<chunked_operation<V>> operations;
    std::vector<chunk_split<X>> splits;
    std::vector<chunk_join<V, X>> joins;
    std::vector<chunk_state> states;
    std::vector<refused_operation<V>> refused;
    std::vector<std::uint32_t> unreached;  ///< regions with several chunks in which no token reaches any candidate

    [[nodiscard]] bool empty() const noexcept { return operations.empty(); }
    /// Counts what the plan adds and removes. O(operations + joins).
    [[nodiscard]] chunk_counts counts() const {
        chunk_counts n;
        n.chunked = operations.size();
        for (const chunked_operation<V>& o : operations) n.clones += o.clones(regions[o.region].sizes.size());
        n.splits = splits.size();
        for (const chunk_join<V, X>& j : joins) {
            n.concats += j.how == recombination::concat;
            n.sums += j.how == recombination::sum;
            n.empties += j.how == recombination::slices;
            if (j.how == recombination::slices) n.slice_writes += regions[j.region].sizes.size();
        }
        return n;
    }
    /// The states of the operands of `o`, component by component. Precondition: `o` belongs to this plan.
    [[nodiscard]] std::span<const chunk_state> operand_states(const chunked_operation<V>& o) const {
        return {states.data() + o.first_operand, states.data() + o.first_result};
    }
    /// The same for its results.
    [[nodiscard]] std::span<const chunk_state> result_states(const chunked_operation<V>& o) const {
        return {states.data() + o.first_result, states.data() + o.last_result};
    }
};

/// Decides how each value that consists of slices is recombined: its parts are written in place if `wanted(join)` is
/// true, and concatenated otherwise. A concatenation is one kernel, and needs memory for all parts and the whole at the
/// same time. Slices need one kernel per chunk, but a part that nothing else reads is freed as soon as it is written.
/// The resulting values are identical. Takes O(joins) time and calls `wanted` at most once per join.
template <handle V, handle X, class Wanted>
    requires requires(Wanted& wanted, const chunk_join<V, X>& join) { static_cast<bool>(wanted(join)); }
void choose_slices(chunk_plan<V, X>& plan, Wanted wanted) {
    for (chunk_join<V, X>& j : plan.joins)
        if (j.may_be_slices()) j.how = wanted(j) ? recombination::slices : recombination::concat;
}

}  // namespace stretto

#endif
