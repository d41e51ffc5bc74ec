// A view of steps that are kept as arrays, as the benchmarks make them.
#ifndef STRETTO_BENCH_SUPPORT_ARRAY_VIEW_HPP
#define STRETTO_BENCH_SUPPORT_ARRAY_VIEW_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

namespace bench {

/// A view of a step in arrays: `reads` and `readers` are rows, nodes are their numbers, and every node has one result,
/// named like itself.
template <class Step>
struct array_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const Step* step;

    [[nodiscard]] std::ranges::iota_view<std::uint32_t, std::uint32_t> vertices() const { return {0, step->size()}; }
    [[nodiscard]] std::span<const std::uint32_t> successors(std::uint32_t v) const { return step->readers[v]; }
    [[nodiscard]] std::span<const std::uint32_t> predecessors(std::uint32_t v) const { return step->reads[v]; }
    [[nodiscard]] std::size_t index(std::uint32_t v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return step->size(); }
    [[nodiscard]] std::span<const std::uint32_t> operands(std::uint32_t v) const { return step->reads[v]; }
    [[nodiscard]] std::array<std::uint32_t, 1> results(std::uint32_t v) const { return {v}; }
    [[nodiscard]] std::uint32_t producer(std::uint32_t x) const { return x; }
    [[nodiscard]] std::span<const std::uint32_t> consumers(std::uint32_t x) const { return step->readers[x]; }
};

}  // namespace bench

#endif
