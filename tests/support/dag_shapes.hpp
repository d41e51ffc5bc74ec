// Acyclic graphs of the shapes that break indices of reachability, at any size, and the oracle for them: the closure as
// a matrix of bits. Ids are topological unless they are shuffled.
#ifndef STRETTO_TESTS_SUPPORT_DAG_SHAPES_HPP
#define STRETTO_TESTS_SUPPORT_DAG_SHAPES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/index_lists.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/shuffle.hpp"

namespace support {

struct dag_shape {
    stretto::index_lists predecessors, successors;

    explicit dag_shape(stretto::index_lists reads) : predecessors(std::move(reads)) {
        successors = predecessors.inverse(predecessors.rows());
    }
    explicit dag_shape(const std::vector<std::vector<std::uint32_t>>& reads) : dag_shape(rows_of(reads)) {}
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(predecessors.rows()); }
    [[nodiscard]] stretto::snapshot_view view() const { return {successors, predecessors}; }

    /// The same graph under other ids, in a random order.
    [[nodiscard]] dag_shape renamed(std::uint64_t seed) const {
        const std::vector<std::uint32_t> id = shuffled(size(), seed);
        std::vector<std::vector<std::uint32_t>> reads(size());
        for (std::uint32_t v = 0; v < size(); ++v) {
            for (std::uint32_t u : predecessors[v]) reads[id[v]].push_back(id[u]);
            std::sort(reads[id[v]].begin(), reads[id[v]].end());
        }
        return dag_shape(reads);
    }

private:
    static stretto::index_lists rows_of(const std::vector<std::vector<std::uint32_t>>& reads) {
        stretto::index_lists rows;
        for (const auto& row : reads) rows.push_row(row);
        return rows;
    }
};

/// A chain: every vertex reads the one before it.
inline dag_shape path_shape(std::uint32_t length) {
    stretto::index_lists reads;
    for (std::uint32_t v = 0; v < length; ++v) {
        if (v > 0) reads.push(v - 1);
        reads.close_row();
    }
    return dag_shape(std::move(reads));
}

/// A chain of `length` vertices. A branch of three vertices leaves it at every fifth vertex, one joins it at every
/// seventh, and every eleventh vertex is read again `skip` vertices further on.
inline dag_shape spine_with_branches(std::uint32_t length, std::uint32_t skip = 20) {
    std::vector<std::vector<std::uint32_t>> reads(1);
    std::vector<std::uint32_t> spine{0};
    const auto add = [&](std::vector<std::uint32_t> row) {
        reads.push_back(std::move(row));
        return static_cast<std::uint32_t>(reads.size() - 1);
    };
    for (std::uint32_t k = 1; k < length; ++k) {
        std::vector<std::uint32_t> row{spine.back()};
        if (k % 7 == 0) row.push_back(add({add({add({})})}));
        if (k % 11 == 0 && k > skip) row.push_back(spine[k - skip]);
        spine.push_back(add(std::move(row)));
        if (k % 5 == 0) add({add({add({spine.back()})})});
    }
    return dag_shape(reads);
}

/// `copies` of a graph, one after the other, that share the vertices without predecessors.
inline dag_shape replicated(const dag_shape& g, std::uint32_t copies) {
    std::vector<std::vector<std::uint32_t>> reads;
    std::vector<std::uint32_t> id(g.size());
    for (std::uint32_t copy = 0; copy < copies; ++copy)
        for (std::uint32_t v = 0; v < g.size(); ++v) {
            if (g.predecessors[v].empty() && copy > 0) continue;
            id[v] = static_cast<std::uint32_t>(reads.size());
            std::vector<std::uint32_t> row;
            for (std::uint32_t u : g.predecessors[v])
                // In the first copy, shared vertices keep their ids; all others were renamed above.
                row.push_back(id[u]);
            reads.push_back(std::move(row));
        }
    return dag_shape(reads);
}

/// Ranks of 2^levels vertices; each reads its own place and one other of the rank before.
inline dag_shape butterflies(std::uint32_t levels, std::uint32_t ranks) {
    const std::uint32_t width = std::uint32_t{1} << levels;
    std::vector<std::vector<std::uint32_t>> reads(width);
    for (std::uint32_t rank = 1; rank < ranks; ++rank)
        for (std::uint32_t v = 0; v < width; ++v)
            reads.push_back({(rank - 1) * width + v, (rank - 1) * width + (v ^ (1u << (rank % levels)))});
    return dag_shape(reads);
}

/// Every vertex reads `degree` earlier ones out of the `window` before it.
inline dag_shape random_shape(std::uint32_t size, std::uint32_t degree, std::uint32_t window, std::uint64_t seed) {
    std::vector<std::vector<std::uint32_t>> reads(size);
    std::uint64_t state = seed;
    for (std::uint32_t v = 1; v < size; ++v)
        for (std::uint32_t k = 0; k < degree; ++k) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            reads[v].push_back(v - 1 - static_cast<std::uint32_t>((state >> 33) % std::min(window, v)));
        }
    return dag_shape(reads);
}

/// One vertex, `consumers` that read it, and one that reads them all.
inline dag_shape star_shape(std::uint32_t consumers) {
    std::vector<std::vector<std::uint32_t>> reads(consumers + 2, std::vector<std::uint32_t>{0});
    reads.front().clear();
    reads.back().clear();
    for (std::uint32_t v = 1; v <= consumers; ++v) reads.back().push_back(v);
    return dag_shape(reads);
}

/// The closure: a bit for every pair of ids, set if the first reaches the second. It takes the ids in topological
/// order.
class closure_bits {
public:
    template <class Order>
    closure_bits(stretto::snapshot_view g, const Order& order)
        : words_((g.index_bound() + 63) / 64), bits_(g.index_bound() * words_) {
        for (std::uint32_t v : order) {
            for (std::uint32_t u : g.predecessors(v))
                for (std::size_t k = 0; k < words_; ++k) bits_[v * words_ + k] |= bits_[u * words_ + k];
            bits_[v * words_ + v / 64] |= std::uint64_t{1} << (v % 64);
        }
    }
    [[nodiscard]] bool reaches(std::uint32_t u, std::uint32_t v) const {
        return (bits_[v * words_ + u / 64] >> (u % 64)) & 1u;
    }

private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace support

#endif
