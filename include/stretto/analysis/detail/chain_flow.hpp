// The flow behind Dilworth's theorem. As many vertices as possible are to be followed by another one that they reach;
// each is followed by at most one and follows at most one. The vertices without a follower are the ends of chains, so a
// maximum flow yields a cover with as few chains as possible, and the cut that proves it maximum is an antichain of
// that size.
//
// The flow never asks whether one vertex reaches another. Every vertex is split into an `in` and an `out`. Every out
// has one unit to send and every in takes one; units travel through whatever lies between, and any number may pass
// through a vertex. The network is therefore as large as the graph, whereas the closure would be quadratic. First,
// edges from an only predecessor to an only successor are contracted; then a greedy sweep places almost all units, and
// blocking flows along shortest paths place the rest. There is no recursion. Source: E. A. Dinic, Algorithm for
// solution of a problem of maximum flow in a network with power estimation, Soviet Math. Doklady 11, 1970.
#ifndef STRETTO_ANALYSIS_DETAIL_CHAIN_FLOW_HPP
#define STRETTO_ANALYSIS_DETAIL_CHAIN_FLOW_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// A maximum flow of a graph, computed by the constructor. A node stands for a path of contracted vertices.
template <class = void>
class chain_flow {
public:
    /// Row v of `predecessors` holds the predecessors of v, all of them below v; parallel edges do no harm. The
    /// constructor takes O(V + E) time for the greedy sweep and for each blocking flow, and O(length) for each unit
    /// that the flow places. The object takes 60 bytes per vertex and 16 per edge, less for what is contracted.
    explicit chain_flow(const index_lists& predecessors) {
        contract(predecessors);
        mirror_arcs();
        flow_.assign(in_.size(), 0);
        through_.assign(nodes(), 0);
        preceded_.assign(nodes(), false);
        followed_.assign(nodes(), false);
        place_greedily();
        level_.resize(2 * nodes());
        arc_.resize(2 * nodes());
        while (label()) push();
    }

    /// A largest set of vertices none of which reaches another, ascending. Of several such sets it is the latest: every
    /// member of any other is in it or reaches one that is.
    [[nodiscard]] std::vector<std::uint32_t> antichain() const {
        std::vector<std::uint32_t> vertices;
        for (std::uint32_t v = 0; v < nodes(); ++v)
            if (level_[out_of(v)] != unreached && level_[in_of(v)] == unreached) vertices.push_back(last_[v]);
        return vertices;
    }

    /// The vertices in chains: each row ascends, and each vertex reaches the next in its row. Every vertex is in one
    /// row. Rows come in the order of their first vertices.
    [[nodiscard]] index_lists chains() const;

private:
    static constexpr std::uint32_t unreached = UINT32_MAX;

    // The `in` and the `out` of a node, its halves, have numbers of their own.
    [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(last_.size()); }
    static std::uint32_t in_of(std::uint32_t v) { return 2 * v; }
    static std::uint32_t out_of(std::uint32_t v) { return 2 * v + 1; }

    /// Joins every vertex to its predecessor if that is its only one and has no other successor.
    void contract(const index_lists& predecessors) {
        const std::size_t n = predecessors.rows();
        std::vector<std::uint32_t> degree(n, 0);
        for (std::size_t v = 0; v < n; ++v)
            for (std::uint32_t u : predecessors[v]) ++degree[u];
        node_of_.resize(n);
        first_in_.push_back(0);
        for (std::uint32_t v = 0; v < n; ++v) {
            const auto row = predecessors[v];
            if (row.size() == 1 && degree[row[0]] == 1) {
                node_of_[v] = node_of_[row[0]];
                last_[node_of_[v]] = v;
                continue;
            }
            node_of_[v] = nodes();
            last_.push_back(v);
            // Only the last vertex of a path has edges that leave the path.
            for (std::uint32_t u : row) in_.push_back(node_of_[u]);
            first_in_.push_back(static_cast<std::uint32_t>(in_.size()));
        }
    }

    /// Derives the successors from the predecessors. Each entry knows its counterpart among the predecessors, where the
    /// flow of the arc is stored.
    void mirror_arcs() {
        first_out_.assign(nodes() + 1, 0);
        for (std::uint32_t u : in_) ++first_out_[u + 1];
        for (std::uint32_t v = 0; v < nodes(); ++v) first_out_[v + 1] += first_out_[v];
        std::vector<std::uint32_t> next = first_out_;
        out_.resize(in_.size());
        slot_.resize(in_.size());
        for (std::uint32_t v = 0; v < nodes(); ++v)
            for (std::uint32_t slot = first_in_[v]; slot < first_in_[v + 1]; ++slot) {
                const std::uint32_t at = next[in_[slot]]++;
                out_[at] = v;
                slot_[at] = slot;
            }
    }

    /// Places most of the units. In order, each node takes a unit that waits at one of its predecessors. When a
    /// predecessor has no later successor, what still waits there travels on. At the end, units that nobody took go
    /// back to where they came from.
    void place_greedily() {
        std::vector<std::uint32_t> waiting(nodes(), 0), later(nodes());
        for (std::uint32_t v = 0; v < nodes(); ++v) {
            later[v] = first_out_[v + 1] - first_out_[v];
            std::uint32_t taken = unreached;
            for (std::uint32_t slot = first_in_[v]; slot < first_in_[v + 1]; ++slot)
                // It takes from the predecessor that has the fewest others to give it to.
                if (waiting[in_[slot]] != 0 && (taken == unreached || later[in_[slot]] < later[in_[taken]]))
                    taken = slot;
            if (taken != unreached) {
                ++flow_[taken];
                --waiting[in_[taken]];
                preceded_[v] = true;
            }
            for (std::uint32_t slot = first_in_[v]; slot < first_in_[v + 1]; ++slot) {
                const std::uint32_t u = in_[slot];
                if (--later[u] != 0) continue;
                flow_[slot] += waiting[u];
                through_[v] += waiting[u];
                waiting[u] = 0;
            }
            waiting[v] = through_[v] + 1;
            followed_[v] = true;
        }
        for (std::uint32_t v = nodes(); v-- > 0;) {
            if (waiting[v] == 0) continue;
            followed_[v] = false;
            std::uint32_t surplus = waiting[v] - 1;
            through_[v] -= surplus;
            for (std::uint32_t slot = first_in_[v]; surplus != 0; ++slot) {
                const std::uint32_t back = flow_[slot] < surplus ? flow_[slot] : surplus;
                flow_[slot] -= back;
                waiting[in_[slot]] += back;
                surplus -= back;
            }
        }
    }

    /// Labels the halves with their distances in the residual network from the outs that still have their unit, as far
    /// as the nearest ins that have none. Returns whether there are such ins; if not, the labels are the cut.
    bool label() {
        for (std::uint32_t& l : level_) l = unreached;
        queue_.clear();
        for (std::uint32_t v = 0; v < nodes(); ++v)
            if (!followed_[v]) reach(out_of(v), 0);
        std::uint32_t found = unreached;
        for (std::size_t head = 0; head < queue_.size(); ++head) {
            const std::uint32_t x = queue_[head], v = x / 2, next = level_[x] + 1;
            if (level_[x] >= found) break;
            if (x == out_of(v)) {
                if (through_[v] != 0) reach(in_of(v), next);
                for (std::uint32_t at = first_out_[v]; at < first_out_[v + 1]; ++at) {
                    const std::uint32_t w = out_[at];
                    reach(in_of(w), next);
                    if (!preceded_[w]) found = next;
                }
            } else {
                reach(out_of(v), next);
                for (std::uint32_t slot = first_in_[v]; slot < first_in_[v + 1]; ++slot)
                    if (flow_[slot] != 0) reach(out_of(in_[slot]), next);
            }
        }
        return found != unreached;
    }
    /// Labels a half, unless it has a label already, and queues it.
    void reach(std::uint32_t x, std::uint32_t level) {
        if (level_[x] != unreached) return;
        level_[x] = level;
        queue_.push_back(x);
    }

    /// Finds a blocking flow in the labelled network, depth first. An arc that has led nowhere is not tried again.
    void push() {
        for (std::uint32_t& a : arc_) a = 0;
        for (std::uint32_t root = 0; root < nodes(); ++root) {
            if (followed_[root]) continue;
            path_.clear();
            path_.push_back(out_of(root));
            while (!path_.empty()) {
                const std::uint32_t x = path_.back();
                if (x % 2 == 0 && !preceded_[x / 2]) {
                    send_along_path();
                    followed_[root] = true;
                    break;
                }
                const std::uint32_t next = advance(x);
                if (next != unreached) path_.push_back(next);
                else path_.pop_back();
            }
        }
    }

    /// The end of the next arc of half `x` that leads one level further; `unreached` if there is none. Arc 0 joins the
    /// two halves of a node.
    std::uint32_t advance(std::uint32_t x) {
        const std::uint32_t v = x / 2, level = level_[x] + 1;
        if (x == out_of(v)) {
            if (arc_[x] == 0) {
                if (through_[v] != 0 && level_[in_of(v)] == level) return in_of(v);
                arc_[x] = 1;
            }
            for (std::uint32_t at; (at = first_out_[v] + arc_[x] - 1) < first_out_[v + 1]; ++arc_[x])
                if (level_[in_of(out_[at])] == level) return in_of(out_[at]);
        } else {
            if (arc_[x] == 0) {
                if (level_[out_of(v)] == level) return out_of(v);
                arc_[x] = 1;
            }
            for (std::uint32_t slot; (slot = first_in_[v] + arc_[x] - 1) < first_in_[v + 1]; ++arc_[x])
                if (flow_[slot] != 0 && level_[out_of(in_[slot])] == level) return out_of(in_[slot]);
        }
        level_[x] = unreached;  // nothing that leads here leads anywhere
        return unreached;
    }

    /// Moves one unit along the path that `push` has found.
    void send_along_path() {
        preceded_[path_.back() / 2] = true;
        for (std::size_t i = 0; i + 1 < path_.size(); ++i) {
            const std::uint32_t x = path_[i], v = x / 2;
            if (x == out_of(v)) {
                if (arc_[x] == 0) --through_[v];
                else ++flow_[slot_[first_out_[v] + arc_[x] - 1]];
            } else {
                if (arc_[x] == 0) ++through_[v];
                else --flow_[first_in_[v] + arc_[x] - 1];
            }
        }
    }

    std::vector<std::uint32_t> node_of_;          // by vertex: its node
    std::vector<std::uint32_t> last_;             // by node: the last of its vertices
    std::vector<std::uint32_t> first_in_, in_;    // predecessors
    std::vector<std::uint32_t> first_out_, out_;  // successors
    std::vector<std::uint32_t> slot_;             // by place in out_: the place of the same arc in in_
    std::vector<std::uint32_t> flow_;             // by place in in_
    std::vector<std::uint32_t> through_;          // by node: the units that pass through it
    std::vector<char> preceded_, followed_;       // by node: whether its in has taken a unit, and its out has sent one
    std::vector<std::uint32_t> level_, arc_;      // by half
    std::vector<std::uint32_t> queue_, path_;
};

template <class Void>
index_lists chain_flow<Void>::chains() const {
    // Units get names here: those of the chains that they carry on. The units that leave a node together are kept
    // together as a linked list.
    struct list {
        std::uint32_t first = unreached, last = unreached;
    };
    std::vector<std::uint32_t> chain_of(nodes()), next;
    std::vector<list> arriving(nodes());
    const auto append = [&](list& to, list what) {
        if (what.first == unreached) return;
        if (to.first == unreached) to.first = what.first;
        else next[to.last] = what.first;
        to.last = what.last;
    };
    for (std::uint32_t v = 0; v < nodes(); ++v) {
        list here = arriving[v];
        if (preceded_[v]) {
            chain_of[v] = here.first;
            here.first = here.first == here.last ? unreached : next[here.first];
        } else {
            chain_of[v] = static_cast<std::uint32_t>(next.size());
            next.push_back(unreached);
        }
        std::uint32_t units = through_[v] + (followed_[v] ? 1u : 0u);
        if (followed_[v]) append(here, {chain_of[v], chain_of[v]});
        for (std::uint32_t at = first_out_[v]; units != 0; ++at) {
            const std::uint32_t amount = flow_[slot_[at]];
            if (amount == 0) continue;
            list leaving = here;
            if (amount != units) {
                for (std::uint32_t i = 1; i < amount; ++i) here.first = next[here.first];
                leaving.last = here.first;
                here.first = next[here.first];
            }
            append(arriving[out_[at]], leaving);
            units -= amount;
        }
    }
    index_lists chain_of_vertex;
    chain_of_vertex.reserve(node_of_.size(), node_of_.size());
    for (std::uint32_t v : node_of_) {
        chain_of_vertex.push(chain_of[v]);
        chain_of_vertex.close_row();
    }
    return chain_of_vertex.inverse(next.size());
}

}  // namespace stretto::detail

#endif
