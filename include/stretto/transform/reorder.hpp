// Realises an order on the user's IR with the fewest moves.
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

/// `vertex` moves to the place right before `at`.
template <handle V>
struct move {
    V vertex;
    V at;
    friend bool operator==(const move&, const move&) = default;
};

/// What reordering does to the IR, as a value: moves, which must be made one after the other. All other vertices stay
/// where they are.
template <handle V>
struct reorder_plan {
    std::vector<move<V>> moves;
    friend bool operator==(const reorder_plan&, const reorder_plan&) = default;
};

/// The first position at which the given order is not a permutation of the graph's vertices: there, a vertex occurs for
/// the second time or does not belong to the graph. It is the length of the order if vertices are missing.
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

/// The fewest moves that turn the program order of `view` into `order`: the vertices of a longest common subsequence
/// stay. The vertex that must end up last also stays, since nothing can be moved after the last vertex. Dependences are
/// not checked: `order` comes from a scheduler or a verifier. O(V log V) time, O(V) space; deterministic.
template <vertex_list_graph G>
    requires indexed_graph<G>
[[nodiscard]] expected<reorder_plan<vertex_t<G>>, not_a_permutation> plan_reorder(G view,
                                                                                  std::span<const vertex_t<G>> order) {
    constexpr std::size_t unseen = SIZE_MAX;
    std::vector<std::size_t> position(view.index_bound(), unseen);
    std::size_t count = 0;
    for (vertex_t<G> v : view.vertices()) position[detail::checked_index(view, v, position.size())] = count++;
    std::vector<std::size_t> now;  // the present position of the i-th vertex of the order
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
    // A vertex that moves goes before the next one that stays. Moves are made in order, so vertices that go before the
    // same one keep their order.
    std::vector<std::size_t> anchor(count);
    for (std::size_t i = count; i-- > 0;) anchor[i] = stays[i] ? i : anchor[i + 1];
    for (std::size_t i = 0; i < count; ++i)
        if (!stays[i]) plan.moves.push_back({order[i], order[anchor[i]]});
    return plan;
}

/// Makes the moves. It cannot fail. It takes O(moves) calls of the rewriter, and makes no others.
template <class V, class R>
void apply(const reorder_plan<V>& plan, R&& rewriter)
    requires requires(V v) { rewriter.move_before(v, v); }
{
    for (const move<V>& m : plan.moves) rewriter.move_before(m.vertex, m.at);
}

}  // namespace stretto

#endif
