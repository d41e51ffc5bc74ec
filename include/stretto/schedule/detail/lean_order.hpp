// This header makes an order with a low peak from a given one. At each place where the peak occurs, nodes move to the
// other side of that place, so that as little as possible is alive there.
//
// A minimum cut decides which tasks come before a node v and which after it, so that as little as possible is alive at
// v. A storage crosses the cut if its maker comes before v and one of its users does not, and it weighs its bytes;
// predecessors of a node before v come before v as well. On each side, nodes keep their relative order. At a node that
// stays on its side of v, no more is alive than before. Otherwise, because such cuts are submodular, combining the cut
// at that node with the one at v would give a smaller cut at v. Only at nodes that change sides can more be alive, and
// there the next cut is made.
#ifndef STRETTO_SCHEDULE_DETAIL_LEAN_ORDER_HPP
#define STRETTO_SCHEDULE_DETAIL_LEAN_ORDER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/cut_network.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Lowers the peak of an order, one cut after the other, each in a window around the highest place.
template <class = void>
class lean_order {
public:
    /// `order` contains every node once and respects dependences. The arrays are taken from the open scope of the
    /// workspace.
    lean_order(const compact_tasks& c, std::span<const std::uint32_t> order, workspace& w)
        : c_(c),
          w_(w),
          node_(w.take<std::uint32_t>(c.size())),
          position_(w.take<std::uint32_t>(c.size())),
          before_(w.take(c.size() + std::size_t{1}, std::int64_t{0})),
          last_(w.take(c.storage_bytes.size(), 0u)),
          maker_(w.take(c.storage_bytes.size(), no_node)),
          side_(w.take(c.size(), side::outside)),
          vertex_(w.take<std::uint32_t>(c.size())),
          storage_vertex_(w.take(c.storage_bytes.size(), no_node)) {
        std::copy(order.begin(), order.end(), node_.begin());
        for (std::uint32_t p = 0; p < c.size(); ++p)
            for (std::uint32_t s : c.touched[node_[p]]) {
                if (maker_[s] == no_node) maker_[s] = node_[p];
                last_[s] = p;
            }
        settle(0, c.size());
    }

    /// Returns an order whose peak is at most `enough` bytes, or as low as the search could make it with at most 200
    /// cuts; it is never higher than the peak of the given order. O(cuts * (V + flow in a window)).
    [[nodiscard]] std::vector<std::uint32_t> run(std::int64_t enough) {
        if (c_.size() == 0) return {};
        std::uint32_t at = highest();
        for (std::size_t cuts = 0; cuts < most_cuts && live(at) > enough && cut_at(node_[at]); ++cuts) at = highest();
        lowest_ = live(at);
        return {node_.begin(), node_.end()};
    }
    /// Returns the peak of the order that `run` has returned.
    [[nodiscard]] std::int64_t peak() const noexcept { return lowest_; }

private:
    enum class side : std::uint8_t {
        outside,
        free,
        before,
        after
    };
    static constexpr std::size_t most_cuts = 200, most_tries = 10;
    static constexpr std::uint32_t narrowest = 32, widest = 8192;

    /// Returns the bytes alive while the node at a position runs.
    [[nodiscard]] std::int64_t live(std::uint32_t p) const { return before_[p] + c_.allocation[node_[p]]; }
    /// Returns the first position with the most bytes alive.
    [[nodiscard]] std::uint32_t highest() const {
        std::uint32_t at = 0;
        for (std::uint32_t p = 1; p < c_.size(); ++p)
            if (live(p) > live(at)) at = p;
        return at;
    }

    /// Updates the tables that depend on the order after nodes have changed places within [from, to).
    void settle(std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t p = from; p < to; ++p) {
            position_[node_[p]] = p;
            for (std::uint32_t s : c_.touched[node_[p]])
                if (last_[s] < to) last_[s] = p;
        }
        for (std::uint32_t p = from; p < to; ++p) {
            std::int64_t now = live(p);
            for (std::uint32_t s : c_.touched[node_[p]])
                if (last_[s] == p) now -= c_.storage_bytes[s];
            before_[p + 1] = now;
        }
    }

    /// Moves nodes to the other side of `v` so that less is alive at `v`, and no other node reaches the amount that was
    /// alive at `v` unless it had exactly that amount before. A node that would reach it is kept on its side, and the
    /// cut is made again; if that fails, the window grows. Returns whether this succeeded; if not, the order is
    /// unchanged.
    bool cut_at(std::uint32_t v) {
        const std::uint32_t p = position_[v];
        const std::int64_t was = live(p);
        for (std::uint32_t reach = narrowest;; reach *= 4) {
            const std::uint32_t from = p - std::min(p, reach), to = std::min(c_.size(), p + reach);
            undo_.assign(node_.begin() + from, node_.begin() + to);
            high_.clear();
            for (std::uint32_t q = from; q < to; ++q)
                if (live(q) == was && q != p) high_.push_back(node_[q]);
            stays_.clear();
            for (std::size_t tries = 0; tries < most_tries; ++tries) {
                cut(v, from, to);
                const std::size_t before = stays_.size();
                for (std::uint32_t q = from; q < to; ++q)
                    if (live(q) > was || (live(q) == was && !holds(high_, node_[q]))) stays_.push_back(node_[q]);
                if (stays_.size() == before) return true;
                std::copy(undo_.begin(), undo_.end(), node_.begin() + from);
                settle(from, to);
                if (holds(stays_, v)) break;
            }
            if (reach >= widest || (from == 0 && to == c_.size())) return false;
        }
    }

    [[nodiscard]] static bool holds(const std::vector<std::uint32_t>& nodes, std::uint32_t n) {
        return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
    }

    /// Reorders the nodes in a window by a minimum cut at `v`.
    void cut(std::uint32_t v, std::uint32_t from, std::uint32_t to) {
        const workspace::scope scratch(w_);
        const std::uint32_t p = position_[v];
        for (std::uint32_t q = from; q < to; ++q) side_[node_[q]] = side::free;
        for (std::uint32_t n : stays_) side_[n] = position_[n] < p ? side::before : side::after;
        side_[v] = side::after;
        for (std::uint32_t q = p + 1; q < to; ++q)
            for (std::uint32_t before : c_.predecessors[node_[q]])
                if (side_[before] == side::after) side_[node_[q]] = side::after;
        side_[v] = side::before;
        for (std::uint32_t q = p; q-- > from;)
            for (std::uint32_t after : c_.successors[node_[q]])
                if (side_[after] == side::before) side_[node_[q]] = side::before;
        side_[v] = side::after;

        network_.clear();
        for (std::uint32_t q = from; q < to; ++q)
            if (side_[node_[q]] == side::free) vertex_[node_[q]] = network_.add();
        storages_.clear();
        for (std::uint32_t q = from; q < to; ++q) {
            const std::uint32_t n = node_[q];
            if (side_[n] != side::free) continue;
            std::int64_t kept = c_.allocation[n];
            for (std::uint32_t before : c_.predecessors[n])
                if (side_[before] == side::free) network_.connect(vertex_[n], vertex_[before], network_.unbounded);
            for (std::uint32_t s : c_.touched[n]) {
                if (maker_[s] == n) kept -= c_.storage_bytes[s];
                connect(s, n, to);
            }
            if (kept > 0) network_.connect(vertex_[n], network_.sink, kept);
        }
        // Nodes that are fixed after `v` may use these storages, too.
        for (std::uint32_t q = from; q < to; ++q)
            if (side_[node_[q]] == side::after)
                for (std::uint32_t s : c_.touched[node_[q]])
                    if (storage_vertex_[s] != no_node)
                        network_.connect(storage_vertex_[s], network_.sink, network_.unbounded);
        network_.saturate();
        for (std::uint32_t q = from; q < p; ++q)
            if (side_[node_[q]] == side::free) network_.prefer_source(vertex_[node_[q]]);
        network_.divide();

        later_.clear();
        std::uint32_t at = from;
        for (std::uint32_t q = from; q < to; ++q) {
            const std::uint32_t n = node_[q];
            const bool first =
                side_[n] == side::before || (side_[n] == side::free && network_.on_source_side(vertex_[n]));
            if (first) node_[at++] = n;
            else if (n != v) later_.push_back(n);
        }
        node_[at++] = v;
        std::copy(later_.begin(), later_.end(), node_.begin() + at);
        for (std::uint32_t s : storages_) storage_vertex_[s] = no_node;
        for (std::uint32_t q = from; q < to; ++q) side_[node_[q]] = side::outside;
        settle(from, to);
    }

    /// Adds a storage that the free node `n` touches to the network, unless it has no bytes or crosses the cut in any
    /// case.
    void connect(std::uint32_t s, std::uint32_t n, std::uint32_t to) {
        const std::uint32_t maker = maker_[s];
        if (storage_vertex_[s] == no_node) {
            if (c_.storage_bytes[s] == 0 || (side_[maker] != side::free && last_[s] >= to))
                return;  // it crosses the cut in any case
            storage_vertex_[s] = network_.add();
            storages_.push_back(s);
            network_.connect(side_[maker] == side::free ? vertex_[maker] : network_.source, storage_vertex_[s],
                             c_.storage_bytes[s]);
            if (last_[s] >= to) network_.connect(storage_vertex_[s], network_.sink, network_.unbounded);
        }
        if (n != maker) network_.connect(storage_vertex_[s], vertex_[n], network_.unbounded);
    }

    const compact_tasks& c_;
    workspace& w_;
    std::span<std::uint32_t> node_, position_;  // the node at a position, and the position of a node
    std::span<std::int64_t> before_;            // by position: the bytes alive just before its node
    std::span<std::uint32_t> last_;             // by storage: the position of its last use
    std::span<std::uint32_t> maker_;            // by storage: the node that allocates it
    std::span<side> side_;
    std::span<std::uint32_t> vertex_;          // by free node
    std::span<std::uint32_t> storage_vertex_;  // no_node outside of a cut
    std::vector<std::uint32_t> storages_, later_, undo_, high_, stays_;
    cut_network<> network_;
    std::int64_t lowest_ = 0;
};

}  // namespace stretto::detail

#endif
