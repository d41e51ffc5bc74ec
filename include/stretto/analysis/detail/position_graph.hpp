// A graph whose vertices are the positions in a topological order, as 32-bit ids. Reachability indices whose
// construction passes over the graph many times are built from it.
#ifndef STRETTO_ANALYSIS_DETAIL_POSITION_GRAPH_HPP
#define STRETTO_ANALYSIS_DETAIL_POSITION_GRAPH_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto::detail {

/// A copy of the graph, unless the view is a snapshot whose ids are in topological order already. What the view refers
/// to must outlive this object.
template <dependence_graph G>
class position_graph {
public:
    position_graph(G g, const topological_order<vertex_t<G>>& order) : position_(positions_by_index(g, order)) {
        if constexpr (std::is_same_v<G, snapshot_view>) {
            std::uint32_t in_place = 0;
            while (in_place < order.size() && position_[in_place] == in_place) ++in_place;
            if (in_place == order.size()) {
                view_ = g;
                return;
            }
        }
        predecessors_ = predecessor_positions(g, order, position_);
        successors_ = predecessors_.inverse(order.size());
    }
    position_graph(const position_graph&) = delete;
    position_graph& operator=(const position_graph&) = delete;

    [[nodiscard]] snapshot_view view() const noexcept { return view_; }
    /// The position of every vertex, by index; `unlisted` for a vertex that is not in the order.
    [[nodiscard]] const std::vector<std::uint32_t>& positions() const noexcept { return position_; }
    [[nodiscard]] std::vector<std::uint32_t>& positions() noexcept { return position_; }

private:
    std::vector<std::uint32_t> position_;
    index_lists predecessors_, successors_;
    snapshot_view view_{successors_, predecessors_};
};

}  // namespace stretto::detail

#endif
