// A program order in which chosen operations stand side by side, as near to the given order as is easy to have.
#ifndef STRETTO_TRANSFORM_DETAIL_MERGED_ORDER_HPP
#define STRETTO_TRANSFORM_DETAIL_MERGED_ORDER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// Operations that become one. An early set stands where its first member was, and what it needs is drawn forward; a
/// late one where its last member was, and what needs it is put off.
struct merged_set {
    std::vector<std::uint32_t> members;  ///< positions, in the order in which they are to stand
    bool early = true;
};

/// Positions in their new order. `before` lists, by position, what must come before it. Precondition: the sets have no
/// member in common, and contracting them makes no cycle. It is a list scheduler: of what may come next, it takes what
/// stood first. O((V + E) log V), and for each early set O(what it draws forward).
template <class = void>
[[nodiscard]] std::vector<std::uint32_t> merged_order(const index_lists& before, const std::vector<merged_set>& sets) {
    const auto n = static_cast<std::uint32_t>(before.rows());
    constexpr std::uint32_t none = UINT32_MAX;
    std::vector<std::uint32_t> set_of(n, none), node(n), rank;  // the contracted graph
    for (std::uint32_t k = 0; k < sets.size(); ++k)
        for (std::uint32_t p : sets[k].members) set_of[p] = k;
    std::vector<std::uint32_t> node_of_set(sets.size(), none), first;  // first: a position of each node
    for (std::uint32_t p = 0; p < n; ++p) {
        std::uint32_t* const known = set_of[p] == none ? nullptr : &node_of_set[set_of[p]];
        if (known == nullptr || *known == none) {
            node[p] = static_cast<std::uint32_t>(rank.size());
            rank.push_back(p);
            first.push_back(p);
            if (known != nullptr) *known = node[p];
        } else {
            node[p] = *known;
            if (!sets[set_of[p]].early) rank[node[p]] = p;
        }
    }
    const auto nodes = static_cast<std::uint32_t>(rank.size());
    const auto for_each_before = [&](std::uint32_t u, auto f) {
        const auto one = [&](std::uint32_t p) {
            for (std::uint32_t q : before[p])
                if (node[q] != u) f(node[q]);
        };
        if (set_of[first[u]] == none) return one(first[u]);
        for (std::uint32_t p : sets[set_of[first[u]]].members) one(p);
    };
    std::vector<std::uint32_t> open;
    for (const merged_set& s : sets) {  // what an early set needs comes as early as the set
        if (!s.early || s.members.empty()) continue;
        const std::uint32_t wanted = rank[node[s.members[0]]];
        for (open.assign(1, node[s.members[0]]); !open.empty();) {
            const std::uint32_t u = open.back();
            open.pop_back();
            for_each_before(u, [&](std::uint32_t w) {
                if (rank[w] <= wanted) return;
                rank[w] = wanted;
                open.push_back(w);
            });
        }
    }

    std::vector<std::uint32_t> missing(nodes, 0);
    index_lists needs;
    for (std::uint32_t u = 0; u < nodes; ++u) {
        for_each_before(u, [&](std::uint32_t w) {
            needs.push(w);
            ++missing[u];
        });
        needs.close_row();
    }
    const index_lists after = needs.inverse(nodes);
    using entry = std::pair<std::uint32_t, std::uint32_t>;  // rank and node
    std::vector<entry> ready;
    const auto later = [](const entry& a, const entry& b) { return b < a; };
    const auto release = [&](std::uint32_t u) {
        ready.push_back({rank[u], u});
        std::push_heap(ready.begin(), ready.end(), later);
    };
    for (std::uint32_t u = 0; u < nodes; ++u)
        if (missing[u] == 0) release(u);
    std::vector<std::uint32_t> order;
    order.reserve(n);
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), later);
        const std::uint32_t u = ready.back().second;
        ready.pop_back();
        if (set_of[first[u]] == none) order.push_back(first[u]);
        else
            for (std::uint32_t p : sets[set_of[first[u]]].members) order.push_back(p);
        for (std::uint32_t w : after[u])
            if (--missing[w] == 0) release(w);
    }
    STRETTO_ASSERT(order.size() == n, "contracting the sets makes a cycle");
    return order;
}

}  // namespace stretto::detail

#endif
