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

/// What merged_order does. It is a list scheduler: of what may come next, it takes what stood first. Vertices of the
/// contracted graph are named by the first position of theirs, and visited in the order of where they are to stand.
/// Most of them can be taken at once, and nothing is asked about them. Only sets, what was moved, what follows a late
/// set, and what follows somebody who had to wait may have to wait; whoever had to is taken as soon as it can be.
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

    /// The order. It is complete if and only if contracting the sets makes no cycle: whoever is taken comes after all
    /// that it needs, and of those that are not taken each one waits for another.
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
            if (state_[p] == 0) {  // the common case: nobody has a question
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

    // What is known of a vertex.
    static constexpr std::uint8_t taken = 1;
    static constexpr std::uint8_t asked = 2;      // it may have to wait
    static constexpr std::uint8_t awaited = 4;    // somebody waits for it
    static constexpr std::uint8_t was_moved = 8;  // it does not stand where it stood
    static constexpr std::uint8_t heads_set = 16;
    static constexpr std::uint8_t inside = 32;  // of a position: it belongs to a set that is named by another one

    /// Calls f for the vertices beside u, in one direction, as often as there are edges.
    template <class F>
    void for_each_beside(const index_lists& lists, id u, F f) const {
        const auto one = [&](id p) {
            for (id q : lists[p])
                if (head_[q] != u) f(head_[q]);
        };
        if ((state_[u] & heads_set) == 0) return one(u);
        for (id p : sets_[set_of_[u]].members) one(p);
    }

    void move(id u, id rank) {
        rank_[u] = rank;
        if ((state_[u] & was_moved) != 0) return;
        state_[u] |= was_moved | asked;
        moved_.push_back(u);
    }
    /// What an early set needs comes as early as the set.
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
    void ask_followers(id u) {
        for_each_beside(after_, u, [&](id x) { state_[x] |= asked; });
    }

    /// Takes u and all that could have come before it had it not waited for it, or lets it wait.
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
    std::vector<id> head_;             // by position: the vertex that it belongs to
    std::vector<id> rank_;             // by vertex: where it is to stand
    std::vector<std::uint8_t> state_;  // by vertex
    std::vector<id> set_of_;           // by vertex that heads one
    std::vector<id> missing_;          // by vertex that has been visited: what it waits for
    std::vector<id> moved_, open_, order_;
    std::size_t count_ = 0;     // of those that have their place in the order
    std::vector<entry> ready_;  // have waited, and need wait no longer
};

/// Positions in their new order. `before` lists, by position, what must come before it; `after` is its inverse.
/// Precondition: the sets have no member in common, and contracting them makes no cycle. O(V), and O(log v) for each
/// edge of the v vertices that are merged, moved, or have to wait.
template <class = void>
[[nodiscard]] std::vector<std::uint32_t> merged_order(const index_lists& before, const index_lists& after,
                                                      const std::vector<merged_set>& sets) {
    std::vector<std::uint32_t> order = order_merger<>(before, after, sets).run();
    STRETTO_ASSERT(order.size() == before.rows(), "contracting the sets makes a cycle");
    return order;
}

}  // namespace stretto::detail

#endif
