// Establishes a given program order in the user's IR with the fewest moves.
#ifndef STRETTO_TRANSFORM_REORDER_HPP
#define STRETTO_TRANSFORM_REORDER_HPP

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/rewriter_concepts.hpp"

namespace stretto {

/// Moves `vertex` to the position right before `at`.
template <handle V>
struct move {
    V vertex;
    V at;
    friend bool operator==(const move&, const move&) = default;
};

/// A reordering of the IR as a value: moves that must be made in this order. All other vertices keep their positions.
template <handle V>
struct reorder_plan {
    std::vector<move<V>> moves;
    friend bool operator==(const reorder_plan&, const reorder_plan&) = default;
};

/// The error that an order is not a permutation of the vertices: the first position of a vertex that occurs a second
/// time or whose index no vertex of the graph has. If vertices are missing, it is the length of the order.
struct not_a_permutation {
    std::size_t position;
};

namespace detail {

/// Marks a longest strictly increasing subsequence among those of `values` that are below `ceiling`. O(n log n).
template <class = void>
[[nodiscard]] inline std::vector<char> longest_increasing(const std::vector<std::size_t>& values, std::size_t ceiling) {
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> last_of_length;  // position of the smallest value that ends a subsequence of length k + 1
    std::vector<std::size_t> before(values.size(), none);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= ceiling) continue;
        const auto longer = std::lower_bound(last_of_length.begin(), last_of_length.end(), values[i],
                                             [&](std::size_t p, std::size_t value) { return values[p] < value; });
        if (longer != last_of_length.begin()) before[i] = *(longer - 1);
        if (longer == last_of_length.end()) last_of_length.push_back(i);
        else *longer = i;
    }
    std::vector<char> member(values.size(), false);
    for (std::size_t i = last_of_length.empty() ? none : last_of_length.back(); i != none; i = before[i])
        member[i] = true;
    return member;
}

}  // namespace detail

/// Plans the fewest moves that turn the program order of `view` into `order`. The vertices of a longest common
/// subsequence stay in place. So does the vertex that must end up last, because the only move is one to before another
/// vertex. Dependences are not checked: `order` is expected to come from a scheduler or a verifier. Takes O(V log V)
/// time and O(V) space; deterministic.
template <vertex_list_graph G>
    requires indexed_graph<G>
[[nodiscard]] expected<reorder_plan<vertex_t<G>>, not_a_permutation> plan_reorder(G view,
                                                                                  std::span<const vertex_t<G>> order) {
    constexpr std::size_t unseen = SIZE_MAX;
    std::vector<std::size_t> position(view.index_bound(), unseen);
    std::size_t count = 0;
    for (vertex_t<G> v : view.vertices()) position[detail::checked_index(view, v, position.size())] = count++;
    std::vector<std::size_t> now;  // the current position of the i-th vertex of the order
    for (vertex_t<G> v : order) {
        const std::size_t i = view.index(v);
        if (i >= position.size() || position[i] == unseen) return unexpected(not_a_permutation{now.size()});
        now.push_back(position[i]);
        position[i] = unseen;
    }
    if (now.size() != count) return unexpected(not_a_permutation{now.size()});

    reorder_plan<vertex_t<G>> plan;
    if (count == 0) return plan;
    std::vector<char> stays = detail::longest_increasing(now, now.back());
    stays.back() = true;
    // A vertex that moves is put before the next one that stays. Moves are made in order, so vertices that move to
    // before the same vertex keep their relative order.
    std::vector<std::size_t> anchor(count);
    for (std::size_t i = count; i-- > 0;) anchor[i] = stays[i] ? i : anchor[i + 1];
    for (std::size_t i = 0; i < count; ++i)
        if (!stays[i]) plan.moves.push_back({order[i], order[anchor[i]]});
    return plan;
}

/// Makes the moves. Cannot fail. Makes O(moves) calls of the rewriter.
template <class V, class R>
void apply(const reorder_plan<V>& plan, R&& rewriter)
    requires requires(V v) { rewriter.move_before(v, v); }
{
    for (const move<V>& m : plan.moves) rewriter.move_before(m.vertex, m.at);
}

}  // namespace stretto

#endif
