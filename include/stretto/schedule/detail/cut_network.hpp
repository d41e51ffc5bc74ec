// This is a flow network for finding minimum cuts. Between two of them, capacities may be raised.
#ifndef STRETTO_SCHEDULE_DETAIL_CUT_NETWORK_HPP
#define STRETTO_SCHEDULE_DETAIL_CUT_NETWORK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::detail {

/// The network, with capacities between its vertices. It finds a minimum cut by Dinitz's algorithm. Source: Y. Dinitz,
/// Algorithm for solution of a problem of maximum flow in a network with power estimation, Soviet Mathematics Doklady
/// 11, 1970.
template <class = void>
class cut_network {
public:
    static constexpr std::uint32_t source = 0, sink = 1;
    /// The capacity of an edge that no minimum cut may cut.
    static constexpr std::int64_t unbounded = INT64_MAX / 4;

    /// Removes everything except the source and the sink.
    void clear() {
        vertices_ = 2;
        given_.clear();
        arcs_.clear();
    }
    /// Adds a vertex and returns its number.
    std::uint32_t add() { return vertices_++; }
    /// Adds an edge, and returns its number: a cut costs `capacity` if `from` is on the side of the source and `to` is
    /// not. Precondition: the network has not been saturated.
    std::uint32_t connect(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
        given_.push_back({from, to, capacity});
        return static_cast<std::uint32_t>(given_.size() - 1);
    }
    /// Raises the capacity of an edge. What has been sent stays, so the next call of `saturate` only adds to it.
    void raise(std::uint32_t number, std::int64_t by) {
        if (arcs_.empty()) given_[number].capacity += by;
        else arcs_[arc_of_[number]].left += by;
    }

    /// Sends as much as possible from the source to the sink. O(V² E); in practice a small multiple of E.
    void saturate() {
        if (arcs_.empty()) sort_by_vertex();
        while (measure_distances()) {
            next_.assign(first_.begin(), first_.end() - 1);
            send_blocking_flow();
        }
        // A vertex from which the sink can still be reached is on the side of the sink in every minimum cut.
        side_.resize(vertices_);
        for (std::uint32_t v = 0; v < vertices_; ++v) side_[v] = distance_[v] == none ? unknown : at_sink;
        queue_.assign(1, source);
        side_[source] = at_source;
    }
    /// Keeps only the minimum cuts that have `v` on the side of the source, if there are any.
    void prefer_source(std::uint32_t v) {
        if (side_[v] != unknown) return;
        side_[v] = at_source;
        queue_.push_back(v);
    }
    /// Assigns the remaining vertices to their sides. Call it after `saturate`.
    void divide() {
        for (std::size_t k = 0; k < queue_.size(); ++k)
            for (std::uint32_t e = first_[queue_[k]]; e < first_[queue_[k] + 1]; ++e)
                if (arcs_[e].left > 0) prefer_source(arcs_[e].to);
    }
    /// Returns whether `v` is on the side of the source. Precondition: `divide` has run.
    [[nodiscard]] bool on_source_side(std::uint32_t v) const { return side_[v] == at_source; }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr char unknown = 0, at_source = 1, at_sink = 2;

    struct edge {
        std::uint32_t from, to;
        std::int64_t capacity;
    };
    /// An edge, or its reverse, at one of its vertices.
    struct arc {
        std::uint32_t to, reverse;
        std::int64_t left;  // unused capacity
    };
    /// A vertex on the way of a search, and what it is to send on.
    struct visit {
        std::uint32_t vertex;
        std::int64_t wanted, sent;
    };

    /// Puts the arcs of each vertex side by side, in the order in which they were added.
    void sort_by_vertex() {
        first_.assign(vertices_ + std::size_t{2}, 0);
        for (const edge& e : given_) {
            ++first_[e.from + 2];
            ++first_[e.to + 2];
        }
        for (std::size_t v = 2; v < first_.size(); ++v) first_[v] += first_[v - 1];
        arcs_.resize(2 * given_.size());
        arc_of_.resize(given_.size());
        for (std::size_t k = 0; k < given_.size(); ++k) {
            const edge& e = given_[k];
            const std::uint32_t there = first_[e.from + 1]++, back = first_[e.to + 1]++;
            arcs_[there] = {e.to, back, e.capacity};
            arcs_[back] = {e.from, there, 0};
            arc_of_[k] = there;
        }
        first_.pop_back();
    }

    /// Computes the distance of each vertex to the sink, over arcs with unused capacity. Returns whether the source is
    /// reached; vertices that are farther away may then have none.
    bool measure_distances() {
        distance_.assign(vertices_, none);
        distance_[sink] = 0;
        queue_.assign(1, sink);
        for (std::size_t k = 0; k < queue_.size(); ++k)
            for (std::uint32_t e = first_[queue_[k]]; e < first_[queue_[k] + 1]; ++e) {
                const std::uint32_t v = arcs_[e].to;
                if (distance_[v] != none || arcs_[arcs_[e].reverse].left == 0) continue;
                distance_[v] = distance_[queue_[k]] + 1;
                if (v == source) return true;
                queue_.push_back(v);
            }
        return false;
    }

    /// Sends flow along shortest paths until each of them has a full arc. What a vertex gets is sent on together, so
    /// that paths with a common beginning pass it once.
    void send_blocking_flow() {
        way_.assign(1, {source, INT64_MAX, 0});
        for (;;) {
            visit& here = way_.back();
            std::uint32_t& e = next_[here.vertex];
            if (here.vertex != sink && here.sent < here.wanted && e < first_[here.vertex + 1]) {
                const arc& a = arcs_[e];
                if (a.left > 0 && distance_[a.to] + 1 == distance_[here.vertex])
                    way_.push_back({a.to, std::min(a.left, here.wanted - here.sent), 0});
                else ++e;
                continue;
            }
            const visit done = here;
            way_.pop_back();
            if (way_.empty()) return;
            const std::int64_t sent = done.vertex == sink ? done.wanted : done.sent;
            visit& from = way_.back();
            arc& a = arcs_[next_[from.vertex]];
            a.left -= sent;
            arcs_[a.reverse].left += sent;
            from.sent += sent;
            if (sent < done.wanted) ++next_[from.vertex];  // the vertex can send nothing more on
        }
    }

    std::uint32_t vertices_ = 2;
    std::vector<edge> given_;
    std::vector<std::uint32_t> arc_of_;  // by edge
    std::vector<arc> arcs_;              // by vertex; empty until the network is saturated
    std::vector<std::uint32_t> first_;   // by vertex: its first arc; one more entry for the end
    std::vector<std::uint32_t> next_, distance_, queue_;
    std::vector<visit> way_;
    std::vector<char> side_;
};

}  // namespace stretto::detail

#endif
