// Estimates the costs of parts of operations before anything is cut, for trial plans. Most programs know only the costs
// of whole operations; share_costs derives the rest from these.
#ifndef STRETTO_TUNE_PART_COSTS_HPP
#define STRETTO_TUNE_PART_COSTS_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

namespace detail {

/// The longest time and the largest size of a task, at which sums saturate. make_task_graph refuses a step with such a
/// task, because its times and bytes may add up to at most 2^62.
inline constexpr std::int64_t most_of_a_task = INT64_MAX;

/// Returns the sum of two amounts that are not negative; it saturates.
[[nodiscard]] constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? most_of_a_task : sum;
}
/// Returns a time in nanoseconds, rounded down; it saturates.
[[nodiscard]] constexpr std::int64_t whole_nanoseconds(double time) noexcept {
    return time < 9e18 ? static_cast<std::int64_t>(time) : most_of_a_task;
}

}  // namespace detail

/// Returns whether a part in that state has only some of the rows, rather than all rows or a partial sum of that size.
[[nodiscard]] constexpr bool has_rows(const chunk_state& s) noexcept {
    return s.what != chunk_state::kind::whole && s.what != chunk_state::kind::addend;
}

/// The tensor sizes that share_costs needs. `components_of(x)` is the number of tensors of x (0 if x is a number);
/// `size(x, component)` is the size of one tensor in bytes; `extent(x, component, dim)` is one of its extents.
template <class S, class G>
concept size_model = dataflow_graph<G> && requires(const S& s, value_t<G> x, std::size_t component, std::size_t dim) {
    { s.components_of(x) } -> std::convertible_to<std::size_t>;
    { s.size(x, component) } -> std::convertible_to<std::int64_t>;
    { s.extent(x, component, dim) } -> std::convertible_to<std::int64_t>;
};

/// A size_model that takes sizes from the shapes and element types of a tensor_model.
template <dataflow_graph G, tensor_model<G> T>
struct tensor_sizes {
    T tensors;

    [[nodiscard]] std::size_t components_of(value_t<G> x) const { return components(x).size(); }
    [[nodiscard]] std::int64_t size(value_t<G> x, std::size_t c) const { return size_of(components(x)[c]); }
    [[nodiscard]] std::int64_t extent(value_t<G> x, std::size_t c, std::size_t dim) const {
        return components(x)[c].shape[dim];
    }

private:
    [[nodiscard]] std::span<const tensor_type> components(value_t<G> x) const { return tensors.components(x); }
};

/// A size_model that takes sizes from the extents of a chunk_model, with `element` bytes per element. It serves
/// programs with a single element type, or without a tensor_model.
template <dataflow_graph G, chunk_model<G> C>
struct extent_sizes {
    C chunks;
    std::int64_t element = 4;

    [[nodiscard]] std::size_t components_of(value_t<G> x) const { return chunks.components_of(x); }
    [[nodiscard]] std::int64_t size(value_t<G> x, std::size_t c) const {
        std::int64_t all = element;
        for (std::size_t d = 0; d < chunks.rank(x, c); ++d)
            if (__builtin_mul_overflow(all, extent(x, c, d), &all)) return detail::most_of_a_task;
        return all;
    }
    [[nodiscard]] std::int64_t extent(value_t<G> x, std::size_t c, std::size_t dim) const {
        return chunks.extent(x, c, dim);
    }
};

/// Machine parameters of share_costs.
struct part_cost_options {
    nanoseconds launch = {};                ///< the time to launch one kernel, at least 0; every clone needs a launch
    double memory_bytes_per_second = 1e12;  ///< the bandwidth of memory, positive
};

/// Prices no collective: each part takes its share of the whole time.
struct no_collective_prices {
    [[nodiscard]] std::optional<nanoseconds> operator()(collective_kind, group_id, bytes) const { return std::nullopt; }
};

/// The part_cost_model of a program that knows the costs and sizes of its whole operations. Work is divided in
/// proportion to rows, but each clone takes at least a launch plus the time to write its results, up to the cost of the
/// whole. An operation without rows, such as one on partial sums, costs the same in every chunk. A collective takes the
/// time that `prices(kind, group, payload)` gives for the payload of its part, or its share of the whole time if there
/// is no price. A cut result has its share of the storage of the whole. Concatenations, sums and slice writes take a
/// launch and the time to read and write once the data that they move; sums of numbers are free. Shares are exact
/// integers, and times to move memory are computed as doubles; values beyond 64 bits saturate. Deterministic.
/// O(components of the operation).
template <dataflow_graph G, op_model<G> M, size_model<G> S, class Prices = no_collective_prices>
class share_costs {
public:
    /// `prices(kind, group, payload)` returns the optional time of a collective; see no_collective_prices.
    share_costs(G g, M ops, S sizes, part_cost_options options = {}, Prices prices = {})
        : graph_(g), ops_(ops), sizes_(sizes), options_(options), prices_(prices) {
        STRETTO_ASSERT(options.memory_bytes_per_second > 0, "the bandwidth of memory is more than nothing");
        STRETTO_ASSERT(options.launch.count >= 0, "a launch takes no less than no time");
    }

    // Members of the part_cost_model concept:
    [[nodiscard]] clone_cost of_clone(vertex_t<G> v, const chunk_part& part, std::span<bytes> allocated) const {
        std::int64_t made = 0;
        std::size_t state = 0, result = 0;
        for (value_t<G> x : graph_.results(v)) {
            std::int64_t size = 0, whole = 0;
            const std::size_t components = sizes_.components_of(x);
            for (std::size_t c = 0; c < components; ++c) {
                whole = detail::saturated_sum(whole, sizes_.size(x, c));
                size = detail::saturated_sum(size, size_of_part(x, c, part.results[state + c], part));
            }
            state += components == 0 ? 1 : components;
            bytes& own = allocated[result++];
            own = allocation_of<G>(ops_, x);
            if (size != whole) own.count = part.share(own.count);
            made = detail::saturated_sum(made, size);
        }
        clone_cost cost{duration_of<G>(ops_, v), {}};
        const op_kind kind = ops_.kind(v);
        if (kind == op_kind::start) {
            cost.payload = payload_of<G>(ops_, v);
            if (!part.operands.empty() && has_rows(part.operands[0])) {
                cost.payload.count = part.share(cost.payload.count);
                const std::optional<nanoseconds> price =
                    prices_(collective_of<G>(ops_, v), group_of<G>(ops_, v), cost.payload);
                cost.duration = price.value_or(nanoseconds{part.share(cost.duration.count)});
            }
        } else if (kind == op_kind::compute) {
            cost.duration = time_of_part(cost.duration.count, made, part);
        }
        return cost;
    }
    [[nodiscard]] join_cost of_concat(value_t<G> x) const {
        const bytes whole = of_empty(x);
        return {op_kind::compute, time_of_copy(whole.count), whole};
    }
    [[nodiscard]] join_cost of_sum(value_t<G> x) const {
        return sizes_.components_of(x) == 0 ? join_cost{op_kind::view, {}, {}} : of_concat(x);
    }
    [[nodiscard]] bytes of_empty(value_t<G> x) const {
        bytes whole;
        for (std::size_t c = 0; c < sizes_.components_of(x); ++c)
            whole.count = detail::saturated_sum(whole.count, sizes_.size(x, c));
        return whole;
    }
    [[nodiscard]] nanoseconds of_slice_write(value_t<G> x, std::size_t dim, std::span<const std::int64_t> sizes,
                                             std::size_t k) const {
        std::int64_t tokens = 0;
        for (std::int64_t s : sizes) tokens += s;
        const std::int64_t extent = sizes_.extent(x, 0, dim), rows = extent / tokens * sizes[k];
        return time_of_copy(rows == 0 ? 0 : sizes_.size(x, 0) / extent * rows);
    }

private:
    /// The bytes of a part of component c of x in state `s`.
    [[nodiscard]] std::int64_t size_of_part(value_t<G> x, std::size_t c, const chunk_state& s,
                                            const chunk_part& part) const {
        const std::int64_t whole = sizes_.size(x, c);
        if (s.dim < 0 || !has_rows(s)) return whole;
        const std::int64_t extent = sizes_.extent(x, c, static_cast<std::size_t>(s.dim));
        return extent == 0 ? 0 : whole / extent * part.share(extent);
    }
    /// The time of a kernel that takes `whole` ns for all rows and writes `made` bytes for this part.
    [[nodiscard]] nanoseconds time_of_part(std::int64_t whole, std::int64_t made, const chunk_part& part) const {
        const std::int64_t launch = std::min(whole, options_.launch.count);
        bool by_rows = false;
        for (const chunk_state& s : part.operands) by_rows = by_rows || has_rows(s);
        for (const chunk_state& s : part.results) by_rows = by_rows || s.what == chunk_state::kind::sliced;
        if (!by_rows) return {whole};
        const std::int64_t work = whole - launch, done = part.share(work);
        const double writing = static_cast<double>(made) / options_.memory_bytes_per_second * 1e9;
        const std::int64_t least = std::min(work, detail::whole_nanoseconds(writing));
        return {launch + std::max(done, least)};
    }
    /// The time of a kernel that reads and writes this many bytes, rounded up.
    [[nodiscard]] nanoseconds time_of_copy(std::int64_t written) const {
        const double moved = 2 * static_cast<double>(written) / options_.memory_bytes_per_second * 1e9;
        return {
            detail::saturated_sum(detail::saturated_sum(options_.launch.count, 1), detail::whole_nanoseconds(moved))};
    }

    G graph_;
    M ops_;
    S sizes_;
    part_cost_options options_;
    Prices prices_;
};

}  // namespace stretto

#endif
