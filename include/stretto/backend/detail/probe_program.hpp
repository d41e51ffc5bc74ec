// The IR in which check_backend writes its programs, and a view of it. It has only what the checks need.
#ifndef STRETTO_BACKEND_DETAIL_PROBE_PROGRAM_HPP
#define STRETTO_BACKEND_DETAIL_PROBE_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto::detail {

/// A graph whose operations list the values that they read, each the result of an earlier operation.
struct probe_program {
    /// A value: its producer, the bytes that it allocates, and the values whose storage it shares.
    struct result {
        std::uint32_t by;
        bytes size;
        std::vector<std::uint32_t> aliases;
    };
    /// An operation, with the numbers of the values that it reads, makes and writes in place.
    struct operation {
        op_kind kind;
        std::vector<std::uint32_t> reads, makes;
        std::vector<std::uint32_t> writes = {};
    };
    std::vector<operation> operations;
    std::vector<result> results;
    // These are the predecessors and successors of operations and the readers of values. They are repeated for every
    // use, as a view may list them.
    std::vector<std::vector<std::uint32_t>> before, after, readers;

    /// Appends an operation with a result for each of `sizes`, all of which share the storages of `aliases`, and
    /// returns its number. Program order is the order of calls, so values that it reads must already exist. The caller
    /// adds the values that it writes in place afterwards. O(values that it reads and makes).
    std::uint32_t add(op_kind kind, std::vector<std::uint32_t> reads, const std::vector<bytes>& sizes,
                      std::vector<std::uint32_t> aliases = {}) {
        const auto v = static_cast<std::uint32_t>(operations.size());
        operations.push_back({kind, std::move(reads), {}});
        before.emplace_back();
        after.emplace_back();
        for (const std::uint32_t x : operations[v].reads) {
            before[v].push_back(results[x].by);
            after[results[x].by].push_back(v);
            readers[x].push_back(v);
        }
        for (const bytes size : sizes) {
            operations[v].makes.push_back(static_cast<std::uint32_t>(results.size()));
            results.push_back({v, size, aliases});
            readers.emplace_back();
        }
        return v;
    }
};

/// A view of a program. The list of vertices is made on demand, because a program is small and read only once. The
/// program must outlive the view and must not grow meanwhile.
struct probe_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const probe_program* p;

    [[nodiscard]] std::vector<std::uint32_t> vertices() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t v = 0; v < p->operations.size(); ++v) all.push_back(v);
        return all;
    }
    [[nodiscard]] std::size_t index(std::uint32_t v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return p->operations.size(); }
    [[nodiscard]] const std::vector<std::uint32_t>& successors(std::uint32_t v) const { return p->after[v]; }
    [[nodiscard]] const std::vector<std::uint32_t>& predecessors(std::uint32_t v) const { return p->before[v]; }
    [[nodiscard]] const std::vector<std::uint32_t>& operands(std::uint32_t v) const { return p->operations[v].reads; }
    [[nodiscard]] const std::vector<std::uint32_t>& results(std::uint32_t v) const { return p->operations[v].makes; }
    [[nodiscard]] std::uint32_t producer(std::uint32_t x) const { return p->results[x].by; }
    [[nodiscard]] const std::vector<std::uint32_t>& consumers(std::uint32_t x) const { return p->readers[x]; }
};

}  // namespace stretto::detail

#endif
