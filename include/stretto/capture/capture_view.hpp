// The adapter for stretto-graph files: capture_view presents a capture as a graph, and capture_op_model says what its
// nodes are and what they cost.
#ifndef STRETTO_CAPTURE_CAPTURE_VIEW_HPP
#define STRETTO_CAPTURE_CAPTURE_VIEW_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/capture/capture.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {

/// The nodes of a capture as vertices, numbered by position. Value x is everything that node x produces, so values have
/// the numbers of their producers. The edges are exactly the `inputs`; capture_op_model adds the order that `alias` and
/// `mutates` imply. All members take O(1), and program order is topological. The capture must outlive the view.
struct capture_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;

    const capture* step;

    [[nodiscard]] id_range vertices() const noexcept { return id_range(step->size()); }
    [[nodiscard]] std::span<const vertex_type> successors(vertex_type v) const noexcept { return step->readers(v); }
    [[nodiscard]] std::span<const vertex_type> predecessors(vertex_type v) const noexcept { return step->inputs(v); }
    [[nodiscard]] std::size_t index(vertex_type v) const noexcept { return v; }
    [[nodiscard]] std::size_t index_bound() const noexcept { return step->size(); }

    [[nodiscard]] std::span<const value_type> operands(vertex_type v) const noexcept { return step->inputs(v); }
    [[nodiscard]] std::array<value_type, 1> results(vertex_type v) const noexcept { return {v}; }
    [[nodiscard]] vertex_type producer(value_type x) const noexcept { return x; }
    [[nodiscard]] std::span<const vertex_type> consumers(value_type x) const noexcept { return step->readers(x); }
};

/// Kinds, durations and memory as the file states them. The capture must outlive the model.
struct capture_op_model {
    const capture* step;

    [[nodiscard]] op_kind kind(std::uint32_t v) const noexcept { return step->kind(v); }
    [[nodiscard]] nanoseconds duration(std::uint32_t v) const noexcept { return step->duration(v); }
    [[nodiscard]] collective_kind collective(std::uint32_t v) const noexcept { return step->collective(v); }
    [[nodiscard]] group_id group(std::uint32_t v) const noexcept { return step->group(v); }
    [[nodiscard]] bytes payload(std::uint32_t v) const noexcept { return step->payload(v); }
    [[nodiscard]] std::uint32_t launch_of(std::uint32_t w) const noexcept { return step->launch_of(w).value_or(w); }
    [[nodiscard]] bytes bytes_of(std::uint32_t x) const noexcept { return step->allocation(x); }
    [[nodiscard]] std::span<const std::uint32_t> aliases(std::uint32_t x) const noexcept { return step->aliases(x); }
    [[nodiscard]] std::span<const std::uint32_t> effects(std::uint32_t v) const noexcept { return step->writes(v); }
    /// Returns whether v turns one element of a tensor into a number of the program, which the host must read.
    [[nodiscard]] bool synchronises(std::uint32_t v) const noexcept {
        return step->op(v) == "aten._local_scalar_dense.default";
    }
};

static_assert(dependence_graph<capture_view> && dataflow_graph<capture_view>);
static_assert(op_model<capture_op_model, capture_view>);

}  // namespace stretto

#endif
