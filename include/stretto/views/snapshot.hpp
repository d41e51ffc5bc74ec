// A snapshot is a copy of the adjacency of a graph, and of nothing else, as 32-bit ids in program order. The ids are
// positions in vertices(), the rows are sorted, and both directions are stored. Analyses that traverse the graph often
// work on a snapshot, and so do kernels that should be compiled only once and not for every IR.
#ifndef STRETTO_VIEWS_SNAPSHOT_HPP
#define STRETTO_VIEWS_SNAPSHOT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto {

/// The integers 0 .. size-1, or first .. last-1, as a range.
class id_range {
public:
    /// This iterator satisfies all requirements of a C++20 forward iterator, so that ids work in the pipelines of range
    /// libraries.
    class iterator {
    public:
        using value_type = std::uint32_t;
        using difference_type = std::ptrdiff_t;

        constexpr iterator() noexcept = default;
        constexpr explicit iterator(std::uint32_t id) noexcept : id_(id) {}
        constexpr std::uint32_t operator*() const noexcept { return id_; }
        constexpr iterator& operator++() noexcept {
            ++id_;
            return *this;
        }
        constexpr iterator operator++(int) noexcept { return iterator(id_++); }
        friend constexpr bool operator==(iterator, iterator) = default;

    private:
        std::uint32_t id_ = 0;
    };

    constexpr explicit id_range(std::size_t size) noexcept : last_(static_cast<std::uint32_t>(size)) {}
    constexpr id_range(std::uint32_t first, std::uint32_t last) noexcept : first_(first), last_(last) {}
    constexpr iterator begin() const noexcept { return iterator(first_); }
    constexpr iterator end() const noexcept { return iterator(last_); }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return last_ - first_; }

private:
    std::uint32_t first_ = 0, last_;
};

/// A dependence graph over rows of ids: row v of `successors` and of `predecessors` lists the neighbours of v. The
/// vertices are the ids, and an id is its own index. The lists must outlive the view. It is not a template.
class snapshot_view {
public:
    using vertex_type = std::uint32_t;

    snapshot_view(const index_lists& successors, const index_lists& predecessors)
        : successors_(&successors), predecessors_(&predecessors) {}
    id_range vertices() const { return id_range(successors_->rows()); }
    std::span<const std::uint32_t> successors(std::uint32_t v) const { return (*successors_)[v]; }
    std::span<const std::uint32_t> predecessors(std::uint32_t v) const { return (*predecessors_)[v]; }
    std::size_t index(std::uint32_t v) const { return v; }
    std::size_t index_bound() const { return successors_->rows(); }
    std::size_t edge_count() const { return successors_->items(); }

private:
    const index_lists* successors_;
    const index_lists* predecessors_;
};

/// The snapshot of a graph, with maps in both directions: `vertex(id)` and `id(v)`. It is built from vertices() and
/// successors() alone and includes parallel edges. Its rows ascend, whatever the order in which the view lists
/// neighbours. It takes O(V + E) time, 8 bytes per vertex and per edge, a handle per vertex and 4 bytes per index. It
/// does not follow changes of the graph.
template <vertex_list_graph G>
    requires adjacency_graph<G> && indexed_graph<G>
class snapshot {
public:
    using vertex_type = vertex_t<G>;

    /// Precondition: vertices() lists every vertex once, and every successor of a listed vertex is listed.
    explicit snapshot(G g) : graph_(g), ids_(g.index_bound(), unlisted) {
        vertices_.reserve(g.index_bound());
        for (vertex_type v : g.vertices()) {
            std::uint32_t& id = ids_[detail::checked_index(g, v, ids_.size())];
            STRETTO_ASSERT(id == unlisted, "vertices() lists a vertex twice, or two with one index");
            id = static_cast<std::uint32_t>(vertices_.size());
            vertices_.push_back(v);
        }
        STRETTO_ASSERT(vertices_.size() < unlisted, "a snapshot has 32-bit ids");
        successors_.reserve(vertices_.size(), 2 * vertices_.size());
        bool ascending = true;
        for (const vertex_type& v : vertices_) {
            std::uint32_t before = 0;
            for (vertex_type w : g.successors(v)) {
                const std::uint32_t id = ids_[detail::checked_index(g, w, ids_.size())];
                STRETTO_ASSERT(id != unlisted, "a successor is missing in vertices()");
                ascending = ascending && before <= id;
                before = id;
                successors_.push(id);
            }
            successors_.close_row();
        }
        predecessors_ = successors_.inverse(vertices_.size());
        if (!ascending) successors_ = predecessors_.inverse(vertices_.size());
    }

    /// The copied adjacency as a view. It is valid as long as the snapshot is neither moved nor destroyed.
    [[nodiscard]] snapshot_view view() const noexcept { return {successors_, predecessors_}; }
    [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
    /// The vertex with this id. Precondition: id < size().
    [[nodiscard]] vertex_type vertex(std::uint32_t id) const {
        STRETTO_ASSERT(id < vertices_.size(), "this id is not below the number of vertices of the snapshot");
        return vertices_[id];
    }
    /// The id of a vertex that is listed. O(1).
    [[nodiscard]] std::uint32_t id(vertex_type v) const { return ids_[detail::checked_index(graph_, v, ids_.size())]; }
    /// All vertices in program order; element `id` is `vertex(id)`.
    [[nodiscard]] const std::vector<vertex_type>& vertices() const noexcept { return vertices_; }

private:
    static constexpr std::uint32_t unlisted = UINT32_MAX;

    G graph_;
    std::vector<vertex_type> vertices_;
    std::vector<std::uint32_t> ids_;  // by index
    index_lists successors_, predecessors_;
};

}  // namespace stretto

#endif
