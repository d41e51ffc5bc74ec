// A graph as 32-bit ids in program order, and the mapping back to the user's vertices. A snapshot_view already has such
// ids and is used directly; any other graph is copied once.
#ifndef STRETTO_ANALYSIS_DETAIL_PROGRAM_IDS_HPP
#define STRETTO_ANALYSIS_DETAIL_PROGRAM_IDS_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/analysis/detail/raw_array.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// The ids of a graph, from a snapshot of it.
template <dependence_graph G>
class program_ids {
public:
    using view_type = snapshot_view;

    explicit program_ids(G g) : copy_(g) {}
    [[nodiscard]] snapshot_view view() const noexcept { return copy_.view(); }
    [[nodiscard]] std::uint32_t id(vertex_t<G> v) const { return copy_.id(v); }
    [[nodiscard]] vertex_t<G> vertex(std::uint32_t id) const { return copy_.vertex(id); }
    /// The ids of some vertices, in the order given.
    template <class Vertices>
    [[nodiscard]] raw_array<std::uint32_t> of(const Vertices& vertices) const {
        raw_array<std::uint32_t> ids(vertices.size());
        std::uint32_t* next = ids.begin();
        for (const vertex_t<G>& v : vertices) *next++ = id(v);
        return ids;
    }

private:
    snapshot<G> copy_;
};

/// The ids of a snapshot_view are its vertices. What the view refers to must outlive this object.
template <>
class program_ids<snapshot_view> {
public:
    using view_type = snapshot_view;

    explicit program_ids(snapshot_view g) : view_(g) {}
    [[nodiscard]] snapshot_view view() const noexcept { return view_; }
    [[nodiscard]] std::uint32_t id(std::uint32_t v) const { return v; }
    [[nodiscard]] std::uint32_t vertex(std::uint32_t id) const { return id; }
    template <class Vertices>
    [[nodiscard]] const Vertices& of(const Vertices& vertices) const {
        return vertices;
    }

private:
    snapshot_view view_;
};

}  // namespace stretto::detail

#endif
