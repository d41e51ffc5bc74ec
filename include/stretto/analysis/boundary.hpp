// The boundary of a region: the values that enter it (live-ins) and those that leave it (live-outs), each listed once
// with the operations on the other side that read it. In a graph without values, vertices take their place.
#ifndef STRETTO_ANALYSIS_BOUNDARY_HPP
#define STRETTO_ANALYSIS_BOUNDARY_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/heap_sort.hpp"

namespace stretto {
namespace detail {

/// The type that crosses a boundary of a graph of type G, chosen by whether the graph has values.
template <graph_view G>
struct crossing_item {
    using type = vertex_t<G>;
};
template <dataflow_graph G>
struct crossing_item<G> {
    using type = value_t<G>;
};

}  // namespace detail

/// The items that can cross a boundary: the values of a dataflow graph, the vertices of any other.
template <graph_view G>
using crossing_t = typename detail::crossing_item<G>::type;

/// An item that crosses a boundary, and the operations that read it, each listed once in topological order. They are
/// inside the region for a live-in and outside for a live-out. The span points into the crossing_list from which it was
/// obtained.
template <handle Item, handle V>
struct crossing {
    Item item;
    std::span<const V> consumers;
};

/// The crossings in one direction. They are stored in three flat arrays, so a list that is filled repeatedly allocates
/// only when it grows.
template <handle Item, handle V>
class crossing_list {
public:
    [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }
    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    /// Crossing number `i`. Precondition: i < size().
    [[nodiscard]] crossing<Item, V> operator[](std::size_t i) const {
        STRETTO_ASSERT(i < items_.size(), "crossing out of range");
        return {items_[i], {consumers_.data() + first_[i], consumers_.data() + first_[i + 1]}};
    }
    /// The items without their readers.
    [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }
    friend bool operator==(const crossing_list&, const crossing_list&) = default;

private:
    template <dependence_graph>
    friend class boundary_finder;

    void clear() {
        items_.clear();
        consumers_.clear();
        first_.clear();
        first_.push_back(0);
    }
    void close(const Item& item) {
        items_.push_back(item);
        first_.push_back(consumers_.size());
    }

    std::vector<Item> items_;
    std::vector<V> consumers_;
    std::vector<std::size_t> first_{0};  // by item: where its consumers begin; one more entry marks the end of the last
};

/// Live-ins are produced outside and read inside; their `consumers` are the readers inside. Live-outs are produced
/// inside and read outside; their `consumers` are the readers outside. Both lists follow the order of the producers,
/// and for one producer the order of its results.
template <graph_view G>
struct boundary {
    crossing_list<crossing_t<G>, vertex_t<G>> live_ins, live_outs;
    friend bool operator==(const boundary&, const boundary&) = default;
};

/// Finds the boundaries of regions of one graph. In a dataflow graph, a dependence without a value (control, an effect)
/// is not part of the boundary.
///
/// One call takes O(edges with an end in the region + results of the producers of its live-ins + window / 64) time,
/// where the window reaches from the first to the last member in the order; readers that the view does not list in
/// topological order are sorted, which adds a logarithmic factor. A call allocates nothing unless its boundary is
/// larger than all before. The finder holds 8 bytes per index. Two threads must not use one finder at the same time.
template <dependence_graph G>
class boundary_finder {
public:
    using vertex_type = vertex_t<G>;
    using item_type = crossing_t<G>;

    /// `order` is a topological order of `g` and must outlive the finder; a temporary is rejected at compile time.
    boundary_finder(G g, const topological_order<vertex_type>& order)
        : at_(g, order), members_(order.size()), producer_slot_(order.size(), none) {}
    boundary_finder(G g, const topological_order<vertex_type>&& order) = delete;

    /// The boundary of `region`, which is a convex_subgraph or any other collection of vertices. The reference is valid
    /// until the next call.
    template <class Region = std::initializer_list<vertex_type>>
        requires vertex_collection<Region, vertex_type>
    const boundary<G>& find(Region&& region) & {
        std::size_t first = at_.size(), behind = 0;
        at_.for_each(region, [&](std::size_t p) {
            members_.insert(p);
            if (p < first) first = p;
            if (p >= behind) behind = p + 1;
        });
        found_.live_ins.clear();
        found_.live_outs.clear();
        for (std::size_t p = first; (p = members_.first_from(p, behind)) < behind; ++p) {
            collect_reads(p);
            collect_live_outs(p);
        }
        emit_live_ins();
        members_.clear_words(first, behind);
        return found_;
    }

    /// Moves the result of the last call out of the finder.
    [[nodiscard]] boundary<G> take() && { return std::move(found_); }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// A value that an outside producer defines, and the head and tail of the list of its reads from inside.
    struct candidate {
        item_type item;
        std::uint32_t first_use = none, last_use = none;
    };
    /// One read of a candidate: an entry of a linked list through `uses_`.
    struct use {
        std::uint32_t consumer;  // position of the reader
        std::uint32_t next;      // the next read of the same candidate
    };
    /// An outside producer that a member reads, and the range of its results among the candidates.
    struct producer {
        std::uint32_t position;
        std::uint32_t first, behind;  // range in `candidates_`
        std::uint32_t last_read;      // the candidate that was read last; the next read is often of the next one
    };

    const G& graph() const { return at_.graph(); }

    /// Calls f(item, producer) for everything that `v` reads. In a graph without values, the item is the vertex on
    /// which `v` depends.
    template <class F>
    void for_each_read(const vertex_type& v, F f) const {
        if constexpr (dataflow_graph<G>) {
            for (item_type x : graph().operands(v)) f(x, vertex_type(graph().producer(x)));
        } else {
            for (vertex_type u : graph().predecessors(v)) f(u, u);
        }
    }
    /// Calls f(item) for everything that `v` defines.
    template <class F>
    void for_each_result(const vertex_type& v, F f) const {
        if constexpr (dataflow_graph<G>) {
            for (item_type x : graph().results(v)) f(x);
        } else {
            f(v);
        }
    }
    /// Calls f(reader) once for each use of `x`.
    template <class F>
    void for_each_consumer(const item_type& x, F f) const {
        if constexpr (dataflow_graph<G>) {
            for (vertex_type v : graph().consumers(x)) f(v);
        } else {
            for (vertex_type v : graph().successors(x)) f(v);
        }
    }

    /// Records every value that the member at position `p` reads from outside.
    void collect_reads(std::size_t p) {
        for_each_read(at_.vertex(p), [&](const item_type& x, const vertex_type& from) {
            const std::uint32_t q = at_.of(from);
            if (members_.contains(q)) return;
            candidate& c = candidate_of(x, q);
            if (c.last_use != none && uses_[c.last_use].consumer == p) return;  // this operation reads it twice
            const std::uint32_t u = static_cast<std::uint32_t>(uses_.size());
            uses_.push_back({static_cast<std::uint32_t>(p), none});
            if (c.last_use == none) c.first_use = u;
            else uses_[c.last_use].next = u;
            c.last_use = u;
        });
    }
    /// The candidate for value `x` of the producer at `position`. The first read of a producer turns all its results
    /// into candidates, because only `results` gives the order in which they must be listed.
    candidate& candidate_of(const item_type& x, std::uint32_t position) {
        std::uint32_t& slot = producer_slot_[position];
        if (slot == none) {
            slot = static_cast<std::uint32_t>(producers_.size());
            const std::uint32_t first = static_cast<std::uint32_t>(candidates_.size());
            for_each_result(at_.vertex(position), [&](const item_type& y) { candidates_.push_back({y}); });
            const std::uint32_t behind = static_cast<std::uint32_t>(candidates_.size());
            producers_.push_back({position, first, behind, first});
        }
        producer& from = producers_[slot];
        STRETTO_ASSERT(from.first < from.behind, "a value is read that is no result of its producer");
        std::uint32_t i = from.last_read;
        while (!(candidates_[i].item == x)) {
            if (++i == from.behind) i = from.first;
            STRETTO_ASSERT(i != from.last_read, "a value is read that is no result of its producer");
        }
        from.last_read = i;
        return candidates_[i];
    }
    /// Appends the live-ins in the order of their producers, and leaves the scratch arrays empty.
    void emit_live_ins() {
        positions_.clear();
        for (const producer& from : producers_) positions_.push_back(from.position);
        detail::heap_sort(positions_);
        for (std::uint32_t p : positions_) {
            const producer& from = producers_[producer_slot_[p]];
            for (std::uint32_t i = from.first; i < from.behind; ++i) {
                const candidate& c = candidates_[i];
                if (c.first_use == none) continue;
                for (std::uint32_t u = c.first_use; u != none; u = uses_[u].next)
                    found_.live_ins.consumers_.push_back(at_.vertex(uses_[u].consumer));
                found_.live_ins.close(c.item);
            }
            producer_slot_[p] = none;
        }
        producers_.clear();
        candidates_.clear();
        uses_.clear();
    }

    /// Members are visited in topological order, so appending their results keeps the right order.
    void collect_live_outs(std::size_t p) {
        for_each_result(at_.vertex(p), [&](const item_type& x) {
            positions_.clear();
            for_each_consumer(x, [&](const vertex_type& v) {
                if (const std::uint32_t q = at_.of(v); !members_.contains(q)) positions_.push_back(q);
            });
            if (positions_.empty()) return;
            detail::heap_sort(positions_);
            std::uint32_t before = none;
            for (std::uint32_t q : positions_) {
                if (q != before) found_.live_outs.consumers_.push_back(at_.vertex(q));
                before = q;
            }
            found_.live_outs.close(x);
        });
    }

    detail::order_positions<G> at_;
    detail::position_set<> members_;            // empty between calls
    std::vector<std::uint32_t> producer_slot_;  // by position; `none` between calls
    std::vector<producer> producers_;
    std::vector<candidate> candidates_;
    std::vector<use> uses_;
    std::vector<std::uint32_t> positions_;
    boundary<G> found_;
};

/// The boundary of one `region`, which is a convex_subgraph or any other collection of vertices. For several regions a
/// boundary_finder, which gives the same guarantees, is cheaper. It takes O(V + edges with an end in the region) time
/// and 8 bytes per index of scratch.
template <dependence_graph G, class Region = std::initializer_list<vertex_t<G>>>
    requires vertex_collection<Region, vertex_t<G>>
[[nodiscard]] boundary<G> boundary_of(G g, const topological_order<vertex_t<G>>& order, Region&& region) {
    boundary_finder<G> finder(g, order);
    finder.find(region);
    return std::move(finder).take();
}

}  // namespace stretto

#endif
