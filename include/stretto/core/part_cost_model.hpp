// The cost of the parts of operations: the facts about a machine that are needed to try a way of cutting a program
// before changing the program.
#ifndef STRETTO_CORE_PART_COST_MODEL_HPP
#define STRETTO_CORE_PART_COST_MODEL_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// The cost of a clone, besides the storage of its results. `payload` matters only for a start.
struct clone_cost {
    nanoseconds duration;
    bytes payload;
};

/// An operation that combines parts: its kind (`compute` for a kernel, `view` for none), time and allocation.
struct join_cost {
    op_kind kind = op_kind::compute;
    nanoseconds duration;
    bytes allocation;
};

/// The costs of what apply_chunks makes. `of_clone(v, part, allocated)` is the cost of the clone of v for that part; it
/// fills `allocated` with the storage of its results, in the order of the results of v, with 0 for one that shares the
/// storage of another value. `of_concat(x)` is the cost of one kernel that makes a value like x from all its parts.
/// `of_sum(x)` is the cost of adding two parts of x. `of_empty(x)` is the storage of a value like x into which slices
/// are written. `of_slice_write(x, dim, sizes, k)` is the time to copy part k of those sizes along `dim` of x to its
/// place. Cutting is free: a part that is cut out shares the storage of the whole. No cost is negative. A part with
/// more rows costs no less, and a clone with all rows allocates and sends what the operation does. `check_part_costs`
/// checks this.
template <class C, class G>
concept part_cost_model =
    dataflow_graph<G> && requires(const C& c, vertex_t<G> v, value_t<G> x, const chunk_part& part, std::size_t dim,
                                  std::span<bytes> allocated, std::span<const std::int64_t> sizes) {
        { c.of_clone(v, part, allocated) } -> std::same_as<clone_cost>;
        { c.of_concat(x) } -> std::same_as<join_cost>;
        { c.of_sum(x) } -> std::same_as<join_cost>;
        { c.of_empty(x) } -> std::same_as<bytes>;
        { c.of_slice_write(x, dim, sizes, dim) } -> std::same_as<nanoseconds>;
    };

}  // namespace stretto

#endif
