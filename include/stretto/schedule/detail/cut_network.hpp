// This is a flow network for finding a minimum cut. It is small enough to be built anew for every query.
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
        first_.assign(2, none);
        edges_.clear();
    }
    /// Adds a vertex and returns its number.
    std::uint32_t add() {
        first_.push_back(none);
        return static_cast<std::uint32_t>(first_.size() - 1);
    }
    /// Adds an edge: a cut costs `capacity` if `from` is on the side of the source and `to` is not.
    void connect(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
        push(from, to, capacity);
        push(to, from, 0);
    }

    /// Sends as much as possible from the source to the sink. O(V² E); in practice a small multiple of E.
    void saturate() {
        while (measure_distances()) {
            next_ = first_;
            send_blocking_flow();
        }
        side_.assign(first_.size(), unknown);
        // A vertex from which the sink can still be reached is on the side of the sink in every minimum cut.
        queue_.assign(1, sink);
        side_[sink] = at_sink;
        for (std::size_t k = 0; k < queue_.size(); ++k)
            for (std::uint32_t e = first_[queue_[k]]; e != none; e = edges_[e].next)
                if (edges_[e ^ 1].left > 0 && side_[edges_[e].to] == unknown) {
                    side_[edges_[e].to] = at_sink;
                    queue_.push_back(edges_[e].to);
                }
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
            for (std::uint32_t e = first_[queue_[k]]; e != none; e = edges_[e].next)
                if (edges_[e].left > 0) prefer_source(edges_[e].to);
    }
    /// Returns whether `v` is on the side of the source. Precondition: `divide` has run.
    [[nodiscard]] bool on_source_side(std::uint32_t v) const { return side_[v] == at_source; }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr char unknown = 0, at_source = 1, at_sink = 2;

    struct edge {
        std::uint32_t to, next;
        std::int64_t left;  // unused capacity
    };

    void push(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
        edges_.push_back({to, first_[from], capacity});
        first_[from] = static_cast<std::uint32_t>(edges_.size() - 1);
    }

    /// Computes the distance of each vertex from the source, in edges with unused capacity. Returns whether the sink is
    /// reached.
    bool measure_distances() {
        distance_.assign(first_.size(), none);
        distance_[source] = 0;
        queue_.assign(1, source);
        for (std::size_t k = 0; k < queue_.size() && distance_[sink] == none; ++k)
            for (std::uint32_t e = first_[queue_[k]]; e != none; e = edges_[e].next)
                if (edges_[e].left > 0 && distance_[edges_[e].to] == none) {
                    distance_[edges_[e].to] = distance_[queue_[k]] + 1;
                    queue_.push_back(edges_[e].to);
                }
        return distance_[sink] != none;
    }

    /// Sends flow along shortest paths until each of them has a full edge.
    void send_blocking_flow() {
        path_.clear();
        for (std::uint32_t at = source;;) {
            if (at == sink) {
                std::int64_t amount = unbounded;
                for (std::uint32_t e : path_) amount = std::min(amount, edges_[e].left);
                std::size_t keep = path_.size();
                for (std::size_t k = path_.size(); k-- > 0;) {
                    edges_[path_[k]].left -= amount;
                    edges_[path_[k] ^ 1].left += amount;
                    if (edges_[path_[k]].left == 0) keep = k;
                }
                at = edges_[path_[keep] ^ 1].to;
                path_.resize(keep);
                continue;
            }
            std::uint32_t& e = next_[at];
            while (e != none && (edges_[e].left == 0 || distance_[edges_[e].to] != distance_[at] + 1))
                e = edges_[e].next;
            if (e != none) {
                path_.push_back(e);
                at = edges_[e].to;
            } else if (at == source) {
                return;
            } else {
                at = edges_[path_.back() ^ 1].to;
                next_[at] = edges_[next_[at]].next;  // this edge is a dead end
                path_.pop_back();
            }
        }
    }

    std::vector<std::uint32_t> first_, next_, distance_, queue_, path_;  // by vertex, except the last two
    std::vector<edge> edges_;                                            // an edge and its reverse are adjacent
    std::vector<char> side_;
};

}  // namespace stretto::detail

#endif
