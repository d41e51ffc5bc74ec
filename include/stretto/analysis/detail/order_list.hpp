// An order of vertices in which any two can be compared in constant time, and any few moved at little more: a linked
// list whose elements carry ascending labels with room between them. Where the room runs out, the neighbourhood is
// spread evenly over the smallest stretch that is sparse enough, and a larger stretch must be sparser. That makes O(log
// V) new labels per move, amortised. Source: M. A. Bender, R. Cole, E. D. Demaine, M. Farach-Colton, J. Zito, Two
// simplified algorithms for maintaining order in a list, ESA 2002.
#ifndef STRETTO_ANALYSIS_DETAIL_ORDER_LIST_HPP
#define STRETTO_ANALYSIS_DETAIL_ORDER_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"

namespace stretto::detail {

/// What the list stores for an element.
template <class Id>
struct order_place {
    std::uint64_t label;
    Id previous, next;  ///< the element itself, if it is not in the list
};

/// The order of the ids 0 .. n-1. It takes 16 bytes per id of 32 bits, and 16 per change that can still be undone.
/// `Places` is where the n + 1 places are stored, by number; the last one is that of the list itself.
template <class Id, class Places = std::vector<order_place<Id>>>
class order_list {
public:
    using id = Id;

    explicit order_list(std::size_t size) : order_list(size, Places(size + 1)) {}
    order_list(std::size_t size, Places places) : end_(static_cast<id>(size)), at_(std::move(places)) {
        at_[end_] = {0, end_, end_};
    }
    /// Adds `v` at the end. Only allowed while nothing has been moved.
    void append(id v) {
        const std::uint64_t room = limit / (std::uint64_t{end_} + 2);
        at_[v].label = at_[at_[end_].previous].label + room;
        link(v, at_[end_].previous);
    }

    /// Whether `a` comes before `b`. O(1). Precondition: both are in the list.
    [[nodiscard]] bool precedes(id a, id b) const { return at_[a].label < at_[b].label; }
    /// To walk through the list, go from front() by next(), or from back() by previous(), until end().
    [[nodiscard]] id front() const { return at_[end_].next; }
    [[nodiscard]] id back() const { return at_[end_].previous; }
    [[nodiscard]] id next(id v) const { return at_[v].next; }
    [[nodiscard]] id previous(id v) const { return at_[v].previous; }
    [[nodiscard]] id end() const noexcept { return end_; }

    /// Moves `moved`, whose elements are sorted, to directly before or directly behind `anchor`, which must not be one
    /// of them. O(moved), and the amortised cost of making room.
    void move_before(std::span<const id> moved, id anchor) {
        take_out(moved);
        put(moved, at_[anchor].previous);
    }
    void move_behind(std::span<const id> moved, id anchor) {
        take_out(moved);
        put(moved, anchor);
    }
    /// Takes `v` out of the list.
    void remove(id v) {
        history_.push_back({at_[v].label, v, at_[v].previous});
        unlink(v);
    }
    /// Lets `by` leave its own place and take that of `v`, which leaves the list.
    void replace(id v, id by) {
        remove(by);
        const order_place<id> freed = at_[v];
        remove(v);
        at_[by].label = freed.label;
        link(by, freed.previous);
    }

    /// Sorts ids by their places in the list: by insertion if they are few, as a heap if they are many.
    void sort(std::vector<id>& ids) const {
        if (ids.size() <= 16) {
            for (std::size_t i = 1; i < ids.size(); ++i)
                for (std::size_t k = i; k > 0 && precedes(ids[k], ids[k - 1]); --k) std::swap(ids[k], ids[k - 1]);
            return;
        }
        for (std::size_t i = ids.size() / 2; i-- > 0;) sift(ids, i, ids.size());
        for (std::size_t last = ids.size() - 1; last > 0; --last) {
            std::swap(ids[0], ids[last]);
            sift(ids, 0, last);
        }
    }

    /// The length of the history is a moment to which undo_to leads back: same order, same labels.
    [[nodiscard]] std::size_t now() const noexcept { return history_.size(); }
    void undo_to(std::size_t then) {
        STRETTO_ASSERT(then <= history_.size(), "that moment has been undone");
        for (; history_.size() > then; history_.pop_back()) {
            const change& last = history_.back();
            if (last.previous != last.v) {
                if (at_[last.v].previous != last.v) unlink(last.v);
                link(last.v, last.previous);
            }
            at_[last.v].label = last.label;
        }
    }
    void forget_history() noexcept { history_.clear(); }

private:
    static constexpr std::uint64_t limit = std::uint64_t{1} << 63;

    struct change {  // what was there before the change
        std::uint64_t label;
        id v, previous;  // `previous` is the element itself if only the label changed
    };

    void link(id v, id previous) {
        const id next = at_[previous].next;
        at_[v].previous = previous;
        at_[v].next = next;
        at_[previous].next = v;
        at_[next].previous = v;
    }
    void unlink(id v) {
        at_[at_[v].previous].next = at_[v].next;
        at_[at_[v].next].previous = at_[v].previous;
        at_[v].previous = at_[v].next = v;
    }
    /// The label of an element, or, for the end of the list, a limit above all labels.
    [[nodiscard]] std::uint64_t label_behind(id v) const { return v == end_ ? limit : at_[v].label; }

    void take_out(std::span<const id> moved) {
        for (id v : moved) remove(v);
    }
    /// Links the elements in behind `previous`, with labels spread over the gap.
    void put(std::span<const id> moved, id previous) {
        std::uint64_t room = label_behind(at_[previous].next) - at_[previous].label;
        if (room <= moved.size()) {
            make_room(previous, moved.size());
            room = label_behind(at_[previous].next) - at_[previous].label;
        }
        const std::uint64_t step = room / (moved.size() + 1);
        std::uint64_t label = at_[previous].label;
        for (id v : moved) {
            at_[v].label = label += step;
            link(v, previous);
            previous = v;
        }
    }
    /// Spreads the labels around the gap behind `before`, so that the gap has room for `count` more.
    void make_room(id before, std::uint64_t count) {
        id left = before, right = at_[before].next;  // labels strictly between these change
        std::uint64_t inside = 0, sparse = std::uint64_t{1} << 14;
        for (std::uint64_t wanted = 16;; wanted *= 2, sparse += sparse / 2) {
            while (inside < wanted && (left != end_ || right != end_)) {
                if (left != end_) {
                    left = at_[left].previous;
                    ++inside;
                }
                if (right != end_) {
                    right = at_[right].next;
                    ++inside;
                }
            }
            const std::uint64_t step = (label_behind(right) - at_[left].label) / (inside + count + 1);
            if (step < sparse && !(left == end_ && right == end_)) continue;
            std::uint64_t label = at_[left].label;
            if (left == before) label += count * step;
            for (id v = at_[left].next; v != right; v = at_[v].next) {
                history_.push_back({at_[v].label, v, v});
                at_[v].label = label += step;
                if (v == before) label += count * step;
            }
            return;
        }
    }
    void sift(std::vector<id>& heap, std::size_t i, std::size_t size) const {
        for (std::size_t child; (child = 2 * i + 1) < size; i = child) {
            if (child + 1 < size && precedes(heap[child], heap[child + 1])) ++child;
            if (!precedes(heap[i], heap[child])) return;
            std::swap(heap[i], heap[child]);
        }
    }

    id end_;     // stands before the first element and behind the last
    Places at_;  // by id
    std::vector<change> history_;
};

}  // namespace stretto::detail

#endif
