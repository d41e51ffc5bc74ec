// Programs of operations that give one result each, as a view: what benchmarks of executors run.
#ifndef STRETTO_BENCH_SUPPORT_OPERATION_LIST_HPP
#define STRETTO_BENCH_SUPPORT_OPERATION_LIST_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "stretto/core/op_model.hpp"

namespace bench {

/// Operations in program order. An operation and its result have the same number.
struct operation_list {
    struct operation {
        stretto::op_kind kind;
        std::vector<std::uint32_t> reads;
        std::size_t chunk = 0;
    };
    std::vector<operation> operations = {};
    std::vector<std::vector<std::uint32_t>> readers = {};

    std::uint32_t add(operation o) {
        const auto v = static_cast<std::uint32_t>(operations.size());
        readers.emplace_back();
        for (const std::uint32_t x : o.reads) readers[x].push_back(v);
        operations.push_back(std::move(o));
        return v;
    }
};

/// For views::from_values. The list must outlive it.
struct operation_values {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const operation_list* list;

    [[nodiscard]] std::vector<std::uint32_t> vertices() const {
        std::vector<std::uint32_t> all(list->operations.size());
        std::iota(all.begin(), all.end(), std::uint32_t{0});
        return all;
    }
    [[nodiscard]] std::size_t index(std::uint32_t v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return list->operations.size(); }
    [[nodiscard]] const std::vector<std::uint32_t>& operands(std::uint32_t v) const {
        return list->operations[v].reads;
    }
    [[nodiscard]] std::array<std::uint32_t, 1> results(std::uint32_t v) const { return {v}; }
    [[nodiscard]] std::uint32_t producer(std::uint32_t x) const { return x; }
    [[nodiscard]] const std::vector<std::uint32_t>& consumers(std::uint32_t x) const { return list->readers[x]; }
};

}  // namespace bench

#endif
