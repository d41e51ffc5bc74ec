// Finds a program order in which the members of given sets stand next to each other and which otherwise stays close to
// the given order. plan_buckets makes the order of a plan with it: the starts of a bucket become neighbours, and so do
// its waits.
#ifndef STRETTO_TRANSFORM_DETAIL_MERGED_ORDER_HPP
#define STRETTO_TRANSFORM_DETAIL_MERGED_ORDER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// Operations that become one. An early set takes the position of its first member, and everything that it depends on
/// is moved forward to that position. A late set takes the position of its last member, and everything that depends on
/// it is moved back.
struct merged_set {
    std::vector<std::uint32_t> members;  ///< positions, in the order that they shall have
    bool early = true;
};

/// Computes the order. It is a list scheduler on the graph in which every set is contracted to one vertex: of the
/// vertices that may come next, it takes the one with the least rank, that is, the position at which the vertex shall
/// stand. A contracted vertex is named by the first of its positions (its head).
///
/// Vertices are visited by rank, and most can be taken without a look at their edges. Only these may have to wait for
/// another vertex: sets, vertices that were moved, successors of late sets, and successors of vertices that wait. A
/// vertex that waits is taken as soon as everything that it depends on has been taken.
///
/// `before` lists, by position, what must come before it; `after` is its inverse. Both, and the sets, must outlive this
/// object. Precondition: no two sets have a member in common. Takes O(V) time, and O(log v) for each edge of the v
/// vertices that are merged, are moved or have to wait. Deterministic.
template <class = void>
class order_merger {
    using id = std::uint32_t;

public:
    order_merger(const index_lists& before, const index_lists& after, const std::vector<merged_set>& sets)
        : before_(before),
          after_(after),
          sets_(sets),
          size_(static_cast<id>(before.rows())),
          head_(size_),
          rank_(size_),
          state_(size_, 0),
          set_of_(size_),
          missing_(size_, 0) {
        for (id p = 0; p < size_; ++p) head_[p] = rank_[p] = p;
        for (id k = 0; k < sets.size(); ++k) {
            const std::vector<id>& all = sets[k].members;
            if (all.empty()) continue;
            const id head = *std::min_element(all.begin(), all.end());
            for (id p : all) head_[p] = head, state_[p] = inside;
            state_[head] = heads_set | asked;
            set_of_[head] = k;
            if (!sets[k].early) move(head, *std::max_element(all.begin(), all.end()));
        }
    }

    /// The order. It contains all positions if and only if contracting the sets creates no cycle: a vertex that is
    /// taken comes after everything that it depends on, and each vertex that is never taken waits for another such
    /// vertex.
    [[nodiscard]] std::vector<id> run() {
        for (const merged_set& s : sets_)
            if (s.early && !s.members.empty()) draw_forward(head_[s.members[0]]);
        for (const merged_set& s : sets_)
            if (!s.early && !s.members.empty()) ask_followers(head_[s.members[0]]);
        std::vector<entry> moved;
        for (id u : moved_) moved.push_back({rank_[u], u});
        std::sort(moved.begin(), moved.end());
        order_.resize(size_);
        auto next = moved.begin();
        for (id p = 0; p < size_; ++p) {
            while (next != moved.end() && *next < entry{p, p}) visit((next++)->second);
            if (state_[p] == 0) {  // the common case: it cannot have to wait
                state_[p] = taken;
                order_[count_++] = p;
            } else if ((state_[p] & (inside | was_moved)) == 0) {
                visit(p);
            }
        }
        while (next != moved.end()) visit((next++)->second);
        order_.resize(count_);
        return std::move(order_);
    }

private:
    using entry = std::pair<id, id>;  // rank and vertex

    // The bits of state_.
    static constexpr std::uint8_t taken = 1;
    static constexpr std::uint8_t asked = 2;       // it may have to wait, so its predecessors must be checked
    static constexpr std::uint8_t awaited = 4;     // another vertex waits for it
    static constexpr std::uint8_t was_moved = 8;   // its rank is not its head
    static constexpr std::uint8_t heads_set = 16;  // it is the head of a set
    static constexpr std::uint8_t inside = 32;     // of a position: it belongs to a set and is not its head

    /// Calls f for the successors or the predecessors of u in the contracted graph, once for each edge.
    template <class F>
    void for_each_beside(const index_lists& lists, id u, F f) const {
        const auto one = [&](id p) {
            for (id q : lists[p])
                if (head_[q] != u) f(head_[q]);
        };
        if ((state_[u] & heads_set) == 0) return one(u);
        for (id p : sets_[set_of_[u]].members) one(p);
    }

    /// Gives u a rank other than its head.
    void move(id u, id rank) {
        rank_[u] = rank;
        if ((state_[u] & was_moved) != 0) return;
        state_[u] |= was_moved | asked;
        moved_.push_back(u);
    }
    /// Moves everything that an early set depends on, directly or not, forward to the rank of the set.
    void draw_forward(id head) {
        const id wanted = rank_[head];
        for (open_.assign(1, head); !open_.empty();) {
            const id u = open_.back();
            open_.pop_back();
            for_each_beside(before_, u, [&](id w) {
                if (rank_[w] <= wanted) return;
                move(w, wanted);
                open_.push_back(w);
            });
        }
    }
    /// Notes that the successors of u may have to wait for it.
    void ask_followers(id u) {
        for_each_beside(after_, u, [&](id x) { state_[x] |= asked; });
    }

    /// Takes u, and then all vertices that have waited and now need not wait any longer; or lets u wait, if something
    /// that it depends on has not been taken.
    void visit(id u) {
        if ((state_[u] & asked) != 0) {
            for_each_beside(before_, u, [&](id w) {
                if ((state_[w] & taken) != 0) return;
                state_[w] |= awaited;
                ++missing_[u];
            });
            if (missing_[u] != 0) return ask_followers(u);
        }
        take(u);
        while (!ready_.empty()) {
            std::pop_heap(ready_.begin(), ready_.end(), later);
            const id x = ready_.back().second;
            ready_.pop_back();
            take(x);
        }
    }
    static bool later(const entry& a, const entry& b) { return b < a; }
    /// Puts u (or all members of its set) next in the order, and finds out which vertices waited only for it.
    void take(id u) {
        state_[u] |= taken;
        if ((state_[u] & heads_set) == 0) order_[count_++] = u;
        else
            for (id p : sets_[set_of_[u]].members) order_[count_++] = p;
        if ((state_[u] & awaited) == 0) return;
        for_each_beside(after_, u, [&](id x) {
            if (missing_[x] == 0 || --missing_[x] != 0) return;
            ready_.push_back({rank_[x], x});
            std::push_heap(ready_.begin(), ready_.end(), later);
        });
    }

    const index_lists& before_;
    const index_lists& after_;
    const std::vector<merged_set>& sets_;
    id size_;
    std::vector<id> head_;             // by position: the contracted vertex to which it belongs
    std::vector<id> rank_;             // by vertex: the position at which it shall stand
    std::vector<std::uint8_t> state_;  // by vertex
    std::vector<id> set_of_;           // by head of a set
    std::vector<id> missing_;          // by visited vertex: the edges from vertices that it waits for
    std::vector<id> moved_, open_, order_;
    std::size_t count_ = 0;     // positions that are in the order so far
    std::vector<entry> ready_;  // a heap of vertices that have waited and can be taken
};

}  // namespace stretto::detail

#endif
