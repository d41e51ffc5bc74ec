// Where an order stalls, kernels that come later could run instead, if memory has room for their results until they are
// needed. In a step that computes activations again, for example, that could happen during the exchanges of the forward
// pass. What is computed early is alive for long, so memory has room for a part of it only, and a list pass would take
// what comes first. A minimum cut takes what is worth most.
//
// Let v be a kernel before which an order stalls, and let all work before v be worth p bytes per nanosecond. A cut
// decides what runs before v, so that what is alive at v, less what the work before it is worth, is least. As p rises,
// work is only added; so the smallest p that leaves too little room tells which work is worth its memory.
//
// Source: G. Gallo, M. D. Grigoriadis, R. E. Tarjan, A fast parametric maximum flow algorithm and applications, SIAM
// Journal on Computing 18, 1989 (minimum cuts are nested if only capacities at the source rise).
#ifndef STRETTO_SCHEDULE_DETAIL_EARLY_WORK_HPP
#define STRETTO_SCHEDULE_DETAIL_EARLY_WORK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/cut_network.hpp"
#include "stretto/schedule/detail/lean_order.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Brings work forward in one order, to before one of its kernels.
template <class = void>
class early_work {
public:
    /// `order` contains every node once and respects dependences. It must outlive the object; arrays are taken from the
    /// open scope of the workspace.
    early_work(const compact_tasks& c, std::span<const std::uint32_t> order, std::uint32_t kernel, workspace& w)
        : c_(c),
          order_(order),
          kernel_(kernel),
          side_(w.take(c.size(), side::free)),
          vertex_(w.take<std::uint32_t>(c.size())),
          maker_(w.take(c.storage_bytes.size(), no_node)),
          left_(w.take<std::uint32_t>(c.storage_bytes.size())) {
        bool before = true;
        for (std::uint32_t n : order) {
            for (std::uint32_t s : c.touched[n])
                if (maker_[s] == no_node) maker_[s] = n;
            if (n == kernel) before = false;
            if (before) side_[n] = side::before;
            bool after = n == kernel;
            for (std::uint32_t p : c.predecessors[n]) after = after || side_[p] == side::after;
            if (after) side_[n] = side::after;
            else if (!before && is_kernel(n)) free_work_ += c.duration[n];
        }
        for (const std::int64_t size : c.allocation) all_bytes_ += size;
    }

    /// Returns the order in which up to `wanted` nanoseconds of work have moved to just before the kernel, so that at
    /// most `limit` bytes are alive there; elsewhere, more may be alive. Returns nothing if no work moves. It takes a
    /// few minimum cuts, most of which only add to the flow of the one before, and O(log V) sweeps of O(V + uses).
    [[nodiscard]] std::vector<std::uint32_t> brought_forward(std::int64_t limit, std::int64_t wanted) {
        if (free_work_ == 0 || wanted <= 0) return {};
        build();
        chosen fits{std::vector<char>(c_.size(), false)}, too_much;
        // At this price, the wanted work is worth a thousandth of the memory. It is usually worth far more.
        double price = static_cast<double>(limit) / static_cast<double>(wanted) / 1024;
        const auto fits_at = [&](double higher) {
            const cut_network<> before = network_;
            const std::vector<worth> paid = worth_;
            chosen next = worth_its_memory(higher);
            if (next.alive <= limit && next.work <= wanted) {
                fits = std::move(next);
                return true;
            }
            too_much = std::move(next);
            network_ = before;
            worth_ = paid;
            return false;
        };
        // The price is found to within a factor of 4. What lies between two prices is decided by place, which is
        // enough: finer prices did not make orders faster.
        for (int prices = 0; prices < most_prices && fits.work < free_work_ && fits_at(price * 16); ++prices)
            price *= 16;
        if (!too_much.early.empty()) (void)fits_at(price * 4);
        if (!too_much.early.empty()) add_part_of(too_much, limit, wanted, fits);
        return fits.work == 0 ? std::vector<std::uint32_t>() : arranged(fits.early);
    }

    /// Returns what is alive at the kernel in the order as given. O(V + uses).
    [[nodiscard]] std::int64_t alive() {
        chosen none{std::vector<char>(c_.size(), false)};
        measure(none);
        return none.alive;
    }

private:
    enum class side : std::uint8_t {
        free,
        before,
        after
    };
    static constexpr int most_prices = 12;

    /// Nodes after the kernel that move to before it.
    struct chosen {
        std::vector<char> early;  // by node
        std::int64_t alive = 0;   // at the kernel
        std::int64_t work = 0;
    };

    [[nodiscard]] bool is_kernel(std::uint32_t n) const { return c_.kind[n] == compact_tasks::role::compute; }

    /// Builds the network, in which work is worth nothing yet. A storage is alive at the kernel if its maker comes
    /// before the kernel and one of its users does not; then it costs its bytes.
    void build() {
        network_.clear();
        worth_.clear();
        for (std::uint32_t n : order_)
            if (side_[n] == side::free) vertex_[n] = network_.add();
        users_.assign(c_.storage_bytes.size(), {});
        for (std::uint32_t n : order_)
            for (std::uint32_t s : c_.touched[n])
                if (n != maker_[s]) users_[s].add(side_[n]);
        const auto maker_of = [&](std::uint32_t s) {
            return side_[maker_[s]] == side::free ? vertex_[maker_[s]] : network_.source;
        };
        for (std::uint32_t n : order_) {
            if (side_[n] != side::free) continue;
            for (std::uint32_t p : c_.predecessors[n])
                if (side_[p] == side::free) network_.connect(vertex_[n], vertex_[p], network_.unbounded);
            std::int64_t kept = c_.allocation[n];  // what is alive at the kernel in any case if n comes before it
            for (std::uint32_t s : c_.touched[n]) {
                users& u = users_[s];
                if (n == maker_[s] && !u.is_after) kept -= c_.storage_bytes[s];
                if (n == maker_[s] || u.is_after || c_.storage_bytes[s] == 0) continue;
                if (u.free == 1) network_.connect(maker_of(s), vertex_[n], c_.storage_bytes[s]);
                if (u.free < 2) continue;
                if (u.vertex == no_node) {
                    u.vertex = network_.add();
                    network_.connect(maker_of(s), u.vertex, c_.storage_bytes[s]);
                }
                network_.connect(u.vertex, vertex_[n], network_.unbounded);
            }
            if (kept > 0) network_.connect(vertex_[n], network_.sink, kept);
            if (is_kernel(n) && c_.duration[n] > 0)
                worth_.push_back({network_.connect(network_.source, vertex_[n], 0), n, 0});
        }
    }
    /// Makes work worth `price` bytes per nanosecond, which is no less than before, and returns what is then worth its
    /// memory. A cut costs no more than all
    /// bytes that are allocated, so a larger worth would change nothing. The product of two
    /// doubles is the same on every machine with IEEE 754 arithmetic.
    [[nodiscard]] chosen worth_its_memory(double price) {
        for (worth& w : worth_) {
            const double exact = price * static_cast<double>(c_.duration[w.node]);
            const std::int64_t now =
                exact < static_cast<double>(all_bytes_) ? static_cast<std::int64_t>(exact) : all_bytes_ + 1;
            network_.raise(w.edge, now - w.bytes);
            w.bytes = now;
        }
        network_.saturate();
        network_.divide();
        chosen c{std::vector<char>(c_.size(), false)};
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            c.early[n] = side_[n] == side::free && network_.on_source_side(vertex_[n]);
        measure(c);
        return c;
    }
    /// Adds nodes of a larger choice to a smaller one, as many as fit of those that come first in the order. In a step
    /// of many equal layers, the work of all layers is worth its memory at the same price, although it does not fit.
    void add_part_of(const chosen& larger, std::int64_t limit, std::int64_t wanted, chosen& smaller) {
        std::vector<std::uint32_t> added;
        for (std::uint32_t n : order_)
            if (larger.early[n] && !smaller.early[n]) added.push_back(n);
        std::size_t fits = 0, too_many = added.size() + 1;
        const std::vector<char> given = smaller.early;
        while (too_many - fits > 1) {
            const std::size_t middle = fits + (too_many - fits) / 2;
            chosen part{given};
            for (std::size_t k = 0; k < middle; ++k) part.early[added[k]] = true;
            measure(part);
            if (part.alive <= limit && part.work <= wanted) {
                fits = middle;
                smaller = std::move(part);
            } else {
                too_many = middle;
            }
        }
    }
    /// Computes the figures of a choice. O(V + uses).
    void measure(chosen& choice) {
        std::copy(c_.storage_uses.begin(), c_.storage_uses.end(), left_.begin());
        std::int64_t now = c_.allocation[kernel_];
        choice.work = 0;
        for (std::uint32_t n : order_) {
            if (side_[n] != side::before && !choice.early[n]) continue;
            if (choice.early[n] && is_kernel(n)) choice.work += c_.duration[n];
            now += c_.allocation[n];
            for (std::uint32_t s : c_.touched[n])
                if (--left_[s] == 0) now -= c_.storage_bytes[s];
        }
        choice.alive = now;
    }
    /// Returns the order with these nodes before the kernel. All of them keep their relative order.
    [[nodiscard]] std::vector<std::uint32_t> arranged(const std::vector<char>& early) const {
        std::vector<std::uint32_t> nodes;
        nodes.reserve(order_.size());
        for (std::uint32_t n : order_)
            if (side_[n] == side::before || early[n]) nodes.push_back(n);
        for (std::uint32_t n : order_)
            if (side_[n] != side::before && !early[n]) nodes.push_back(n);
        return nodes;
    }

    /// The users of a storage, without its maker.
    struct users {
        bool is_after = false;           // one of them comes after the kernel
        std::uint32_t free = 0;          // how many of them are free
        std::uint32_t vertex = no_node;  // of the storage in the network, if it has one

        void add(side where) {
            is_after = is_after || where == side::after;
            free += where == side::free;
        }
    };
    /// What the work of a node is worth.
    struct worth {
        std::uint32_t edge, node;
        std::int64_t bytes;
    };

    const compact_tasks& c_;
    std::span<const std::uint32_t> order_;
    std::uint32_t kernel_;
    std::span<side> side_;             // by node, relative to the kernel; what is free comes after it
    std::span<std::uint32_t> vertex_;  // by free node
    std::span<std::uint32_t> maker_;   // by storage: the node that allocates it
    std::vector<users> users_;         // by storage
    std::span<std::uint32_t> left_;    // by storage: uses that `measure` has not met
    std::vector<worth> worth_;
    cut_network<> network_;
    std::int64_t free_work_ = 0, all_bytes_ = 0;
};

/// Returns the order in which up to `wanted` nanoseconds of work have moved to before `kernel`, as above, with a peak
/// of at most `limit` bytes. Before the kernel it takes no more memory than the order leaves free where it needs most,
/// because that is what is free until its results are needed; work whose results take the place of what they are made
/// of needs none. If more is alive elsewhere, nodes move there so that less is (detail/lean_order.hpp). Returns nothing
/// if no work moves, or if the order does not fit.
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> with_early_work(const compact_tasks& c,
                                                                std::span<const std::uint32_t> order,
                                                                std::uint32_t kernel, std::int64_t limit,
                                                                std::int64_t wanted, workspace& w) {
    const workspace::scope scratch(w);
    early_work early(c, order, kernel, w);
    const std::int64_t free = std::max<std::int64_t>(0, limit - peak_of(c, order, w));
    std::vector<std::uint32_t> moved = early.brought_forward(early.alive() + free, wanted);
    if (moved.empty() || peak_of(c, moved, w) <= limit) return moved;
    lean_order lean(c, moved, w);
    moved = lean.run(limit);
    return lean.peak() <= limit ? moved : std::vector<std::uint32_t>();
}

}  // namespace stretto::detail

#endif
