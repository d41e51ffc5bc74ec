// The width of an acyclic graph is the size of its largest antichain: how many vertices can be in progress at once if
// only dependences restrict them. This header finds a largest antichain together with the proof that none is larger, a
// cover of the graph with equally many chains. Source: R. P. Dilworth, A decomposition theorem for partially ordered
// sets, Annals of Mathematics 51, 1950.
#ifndef STRETTO_ANALYSIS_ANTICHAIN_HPP
#define STRETTO_ANALYSIS_ANTICHAIN_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/chain_flow.hpp"
#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto {
namespace detail {
struct antichain_maker;
}

/// Vertices of which none depends on another, each listed once. This is a witness type: only a function that finds an
/// antichain can construct one. It says nothing about a graph that has changed since.
template <handle V>
class antichain {
public:
    using value_type = V;

    [[nodiscard]] const V* begin() const noexcept { return vertices_.data(); }
    [[nodiscard]] const V* end() const noexcept { return vertices_.data() + vertices_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return vertices_.size(); }
    [[nodiscard]] const V& operator[](std::size_t i) const { return vertices_[i]; }
    friend bool operator==(const antichain&, const antichain&) = default;

private:
    explicit antichain(std::vector<V> vertices) : vertices_(std::move(vertices)) {}
    friend struct detail::antichain_maker;

    std::vector<V> vertices_;
};

/// A partition of all vertices into chains. Within a chain each vertex reaches the next one, not necessarily by an
/// edge. Only maximum_antichain constructs one.
template <handle V>
class chain_cover {
public:
    /// The number of chains.
    [[nodiscard]] std::size_t size() const noexcept { return chains_.rows(); }
    /// The vertices of one chain, in topological order. The span is valid as long as the cover is neither moved nor
    /// destroyed.
    [[nodiscard]] std::span<const V> operator[](std::size_t chain) const {
        const std::span<const std::uint32_t> row = chains_[chain];
        return {vertices_.data() + (row.data() - chains_[0].data()), row.size()};
    }
    friend bool operator==(const chain_cover&, const chain_cover&) = default;

private:
    chain_cover(index_lists chains, std::vector<V> vertices)
        : chains_(std::move(chains)), vertices_(std::move(vertices)) {}
    friend struct detail::antichain_maker;

    index_lists chains_;       // positions in the topological order
    std::vector<V> vertices_;  // the same vertices, one chain after the other
};

/// Two witnesses that prove each other. An antichain cannot have more vertices than a chain cover has chains, because
/// each chain holds at most one of its vertices; these two are equally large, so neither can be improved.
template <handle V>
struct width_certificate {
    antichain<V> widest;
    chain_cover<V> chains;

    /// The size of the largest antichain, which is also the least number of chains that contain all vertices.
    [[nodiscard]] std::size_t width() const noexcept { return widest.size(); }
};

namespace detail {

/// Constructs the witness types for maximum_antichain, the only function that may.
struct antichain_maker {
    template <handle V>
    static antichain<V> make(std::vector<V> vertices) {
        return antichain<V>(std::move(vertices));
    }
    template <handle V>
    static chain_cover<V> make(index_lists chains, std::vector<V> vertices) {
        return chain_cover<V>(std::move(chains), std::move(vertices));
    }
};

}  // namespace detail

/// Finds a largest antichain of `g` and the chain cover that proves it. `order` is a topological order of `g`. Of
/// several largest antichains the result is the latest: every vertex of any other one is in it or leads to it, so the
/// result does not depend on which topological order is given. Vertices are listed in the given order, chains in the
/// order of their first vertices.
///
/// The algorithm is a maximum flow over the graph itself; it never forms the transitive closure. The greedy part takes
/// O(V + E) time, and so does each blocking flow that remains after it: milliseconds for training steps of 10^4
/// vertices, O(V (V + E)) at worst. Space is about 60 bytes per vertex and 24 per edge.
template <dependence_graph G>
[[nodiscard]] width_certificate<vertex_t<G>> maximum_antichain(G g, const topological_order<vertex_t<G>>& order) {
    using V = vertex_t<G>;
    const detail::chain_flow<> flow(detail::predecessor_positions(g, order, detail::positions_by_index(g, order)));
    std::vector<V> widest, members;
    for (std::uint32_t at : flow.antichain()) widest.push_back(order[at]);
    index_lists chains = flow.chains();
    members.reserve(order.size());
    for (std::size_t chain = 0; chain < chains.rows(); ++chain)
        for (std::uint32_t at : chains[chain]) members.push_back(order[at]);
    return {detail::antichain_maker::make(std::move(widest)),
            detail::antichain_maker::make(std::move(chains), std::move(members))};
}

}  // namespace stretto

#endif
