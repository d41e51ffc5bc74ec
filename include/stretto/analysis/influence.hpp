// Influence: which of up to 512 symbols reach each vertex, found for all of them in one sweep over the graph.
// Operations, or single dependences, may pass some symbols and stop others. State that is carried around (a buffer
// written in place, the next iteration of a loop) is followed to the fixpoint.
//
// A graph whose sets fit in a cache gets one set per vertex. In a larger graph vertices share sets, because at a
// million vertices the cost is memory traffic, not arithmetic. A vertex whose predecessors all refer to the same set,
// and that neither adds nor may stop a symbol, refers to that set too and costs four bytes. In training steps this
// holds for three vertices in four.
//
// Longer than 300 lines: the two ways to store sets answer the same questions, and are best read side by side.
#ifndef STRETTO_ANALYSIS_INFLUENCE_HPP
#define STRETTO_ANALYSIS_INFLUENCE_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/order_positions.hpp"
#include "stretto/analysis/symbol_set.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/views/with_dependences.hpp"

namespace stretto {

/// `seeds(v)` gives the symbols that begin at `v`, or null if none do. The set is read before the next call; there may
/// be two calls for a vertex. A vertex_symbols is such a seeding, and so is any callable.
template <class F, class G, std::size_t Symbols>
concept symbol_seeding = requires(F& seeds, const vertex_t<G> v) {
    { seeds(v) } -> std::convertible_to<const symbol_set<Symbols>*>;
};

/// `transfer(v)` returns those symbols of the predecessors that `v` passes on, or null if it passes all of them. The
/// others end there. It may be called several times for a vertex, and must then return equal sets.
template <class F, class G, std::size_t Symbols>
concept vertex_transfer = requires(F& transfer, const vertex_t<G> v) {
    { transfer(v) } -> std::convertible_to<const symbol_set<Symbols>*>;
};

/// `transfer(u, v)` returns the symbols that pass along the edges from `u` to `v`, or null if all do. It may be called
/// several times for an edge, and must then return equal sets.
template <class F, class G, std::size_t Symbols>
concept edge_transfer = requires(F& transfer, const vertex_t<G> v) {
    { transfer(v, v) } -> std::convertible_to<const symbol_set<Symbols>*>;
};

/// The transfer that stops nothing.
struct passes_everything {};

/// How symbols propagate: through everything, or as a transfer by vertex or by edge decides.
template <class F, class G, std::size_t Symbols>
concept symbol_transfer =
    std::same_as<F, passes_everything> || vertex_transfer<F, G, Symbols> || edge_transfer<F, G, Symbols>;

/// Sets of symbols for a few vertices, such as where symbols begin or what a vertex passes on. It takes 4 bytes per
/// index, and a set for each vertex that has one.
template <std::size_t Symbols, indexed_graph G>
class vertex_symbols {
public:
    explicit vertex_symbols(G g) : graph_(g), row_of_(g.index_bound(), 0) {}

    /// The set of `v`, which is empty at the first access. The reference is valid until another vertex gets a set.
    symbol_set<Symbols>& operator[](vertex_t<G> v) {
        std::uint32_t& row = row_of_[slot(v)];
        if (row == 0) {
            rows_.emplace_back();
            row = static_cast<std::uint32_t>(rows_.size());
        }
        return rows_[row - 1];
    }
    /// The set of `v`, or null if it has none.
    const symbol_set<Symbols>* operator()(vertex_t<G> v) const {
        const std::uint32_t row = row_of_[slot(v)];
        return row == 0 ? nullptr : &rows_[row - 1];
    }

private:
    std::size_t slot(vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < row_of_.size(), "vertex index is not below the index_bound() these sets were made with");
        return i;
    }

    G graph_;
    std::vector<std::uint32_t> row_of_;  // by index; one more than the row, 0 for none
    std::vector<symbol_set<Symbols>> rows_;
};

/// The symbols that influence each vertex. Graphs whose sets take up to 4 MiB (65,536 vertices with 512 symbols) have a
/// set per index. Larger ones have 4 bytes per index, and vertices share a set where it is clear without a comparison
/// that theirs are equal.
template <std::size_t Symbols, indexed_graph G>
class influence_map {
public:
    explicit influence_map(G g)
        : graph_(g),
          row_of_(g.index_bound() > most_unshared ? g.index_bound() : 0, 0),
          rows_(g.index_bound() > most_unshared ? 1 : g.index_bound()) {}

    /// The symbols that reach `v`. Precondition: its index is below the index_bound() that the map was made with.
    const symbol_set<Symbols>& operator[](vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < bound(), "vertex index is not below the index_bound() this map was made with");
        return rows_[shared() ? row_of_[i] : i];
    }
    /// The number of sets that are stored, for judging how well vertices share them.
    [[nodiscard]] std::size_t stored_sets() const noexcept { return rows_.size(); }

private:
    template <std::size_t, dependence_graph>
    friend class influence_sweep;

    static constexpr std::size_t most_unshared = (std::size_t{4} << 20) / sizeof(symbol_set<Symbols>);
    static constexpr std::uint32_t nothing = 0;  // the row of the empty set, if vertices share sets
    bool shared() const { return !row_of_.empty(); }
    std::size_t bound() const { return shared() ? row_of_.size() : rows_.size(); }

    G graph_;
    std::vector<std::uint32_t> row_of_;      // by index, if vertices share sets
    std::vector<symbol_set<Symbols>> rows_;  // by index, if they do not
};

/// Computes influence on one graph any number of times, and allocates nothing unless the answer is larger than all
/// before.
///
/// The symbols of a vertex are those that begin there, and those of its predecessors that `transfer` lets pass; a
/// vertex's own transfer does not stop what begins at it. One run is one sweep in topological order with O(V + E) set
/// operations. The result does not depend on the order in which the view lists neighbours.
template <std::size_t Symbols, dependence_graph G>
class influence_sweep {
public:
    using vertex_type = vertex_t<G>;
    using set = symbol_set<Symbols>;

    /// `order` is a topological order of `g` and must outlive the sweep; a temporary is rejected at compile time.
    influence_sweep(G g, const topological_order<vertex_type>& order) : order_(&order), result_(g) {}
    influence_sweep(G g, const topological_order<vertex_type>&& order) = delete;

    /// The influence of `seeds` through `transfer`. The reference is valid until the next run.
    template <class Seeds, class Transfer = passes_everything>
        requires symbol_seeding<Seeds, G, Symbols> && symbol_transfer<std::remove_cvref_t<Transfer>, G, Symbols>
    const influence_map<Symbols, G>& run(Seeds&& seeds, Transfer&& transfer = {}) & {
        const auto at = [this](const vertex_type& v) { return detail::checked_index(graph(), v, result_.bound()); };
        if (result_.shared()) {
            result_.rows_.resize(1);
            for (const vertex_type& v : *order_) result_.row_of_[at(v)] = row_for(v, seeds, transfer);
        } else {
            for (const vertex_type& v : *order_) fill(result_.rows_[at(v)], v, at, seeds, transfer);
        }
        return result_;
    }

    /// The same, with edges along which state is carried, which usually run against the order: for example from an
    /// operation that writes a buffer to those that read it in the next iteration. `transfer` applies to them as to any
    /// other edge. The result is the least fixpoint, that is, the union over all paths. After the sweep a vertex is
    /// visited again only when its set has grown: at most `Symbols` times, in practice once or twice. This takes 4 more
    /// bytes per index.
    template <class Seeds, class Transfer, indexed_graph T>
        requires symbol_seeding<Seeds, G, Symbols> && symbol_transfer<std::remove_cvref_t<Transfer>, G, Symbols> &&
                 std::same_as<vertex_t<T>, vertex_t<G>>
    const influence_map<Symbols, G>& run(Seeds&& seeds, Transfer&& transfer, const dependence_table<T>& carried) & {
        run(seeds, transfer);
        if (carried.size() > 0) follow(carried, transfer);
        return result_;
    }

    /// Moves the result of the last run out of the sweep.
    [[nodiscard]] influence_map<Symbols, G> take() && { return std::move(result_); }

private:
    const G& graph() const { return result_.graph_; }

    /// The symbols that pass along an edge; null if all do.
    template <class Transfer>
    static const set* along([[maybe_unused]] Transfer& transfer, [[maybe_unused]] const vertex_type& u,
                            [[maybe_unused]] const vertex_type& v) {
        if constexpr (edge_transfer<Transfer, G, Symbols>) return transfer(u, v);
        else return nullptr;
    }
    /// The symbols that pass through a vertex; null if all do.
    template <class Transfer>
    static const set* through([[maybe_unused]] Transfer& transfer, [[maybe_unused]] const vertex_type& v) {
        if constexpr (vertex_transfer<Transfer, G, Symbols>) return transfer(v);
        else return nullptr;
    }

    /// Writes the set of a vertex into `result`. The sets of its predecessors are already in the rows that `row_of`
    /// names.
    template <class RowOf, class Seeds, class Transfer>
    void fill(set& result, const vertex_type& v, RowOf row_of, Seeds& seeds, Transfer& transfer) const {
        const set* rows = result_.rows_.data();
        set own;  // a copy of its own, so that it can stay in registers
        for (vertex_type u : graph().predecessors(v)) {
            if (const set* some = along(transfer, u, v)) own |= rows[row_of(u)] & *some;
            else own |= rows[row_of(u)];
        }
        if (const set* passed = through(transfer, v)) own &= *passed;
        if (const set* begun = seeds(v)) own |= *begun;
        result = own;
    }

    /// The row for a vertex: a new one if its predecessors have different rows, if symbols begin at it, or if it may
    /// stop some; otherwise the row of its predecessors.
    template <class Seeds, class Transfer>
    std::uint32_t row_for(const vertex_type& v, Seeds& seeds, Transfer& transfer) {
        const auto row_of = [this](const vertex_type& u) { return result_.row_of_[graph().index(u)]; };
        std::uint32_t row = result_.nothing;
        bool changes = false;
        auto&& predecessors = graph().predecessors(v);
        auto at = detail::begin_of(predecessors);
        const auto end = detail::end_of(predecessors);
        if (at != end) {
            const auto row_behind = [&](const vertex_type& u) {
                const std::uint32_t behind = row_of(u);
                changes |= (along(transfer, u, v) != nullptr) & (behind != result_.nothing);
                return behind;
            };
            row = row_behind(*at);
            for (++at; at != end; ++at) changes |= row_behind(*at) != row;
        }
        const bool stops = (through(transfer, v) != nullptr) & (row != result_.nothing), begins = seeds(v) != nullptr;
        if (!(changes | stops | begins)) return row;
        fill(result_.rows_.emplace_back(), v, row_of, seeds, transfer);
        return static_cast<std::uint32_t>(result_.rows_.size() - 1);
    }

    /// Continues from the result of a sweep to the fixpoint. Before a set grows, it is moved to a row that no other
    /// vertex shares.
    template <class Transfer, class Carried>
    void follow(const Carried& carried, Transfer& transfer) {
        if (position_.empty()) {
            position_.resize(graph().index_bound());
            for (std::size_t p = 0; p < order_->size(); ++p)
                position_[graph().index((*order_)[p])] = static_cast<std::uint32_t>(p);
            grown_ = detail::position_set<>(order_->size());
        }
        const std::size_t size = order_->size(), shared_rows = result_.rows_.size();
        std::size_t lowest = size;  // position of what has grown behind the scan
        const auto pass_on = [&](vertex_type u, vertex_type v, std::size_t scanned) {
            if (!grow(u, v, transfer, shared_rows)) return;
            const std::size_t p = position_[graph().index(v)];
            grown_.insert(p);
            if (p < scanned && p < lowest) lowest = p;
        };
        const auto carry = [&](vertex_type u, std::size_t scanned) {
            for (auto c = typename Carried::cursor(carried, u, true); !c.done(); c.advance())
                pass_on(u, c.neighbour(), scanned);
        };
        for (const vertex_type& u : *order_) carry(u, size);
        while (lowest < size) {
            std::size_t p = lowest;
            lowest = size;
            for (; (p = grown_.first_from(p, size)) < size; ++p) {
                grown_.erase(p);
                const vertex_type u = (*order_)[p];
                for (vertex_type v : graph().successors(u)) pass_on(u, v, p + 1);
                carry(u, p + 1);
            }
        }
    }

    /// Adds to the set of `v` the symbols that reach it along the edge from `u`. Returns whether any of them is new.
    template <class Transfer>
    bool grow(const vertex_type& u, const vertex_type& v, Transfer& transfer, std::size_t shared_rows) {
        set joined = result_[u];
        if (const set* some = along(transfer, u, v)) joined &= *some;
        if (const set* some = through(transfer, v)) joined &= *some;
        joined |= result_[v];
        if (joined == result_[v]) return false;
        std::size_t row = graph().index(v);
        if (result_.shared()) {
            std::uint32_t& row_of_v = result_.row_of_[row];
            if (row_of_v < shared_rows) {
                row_of_v = static_cast<std::uint32_t>(result_.rows_.size());
                result_.rows_.emplace_back();
            }
            row = row_of_v;
        }
        result_.rows_[row] = joined;
        return true;
    }

    const topological_order<vertex_type>* order_;
    influence_map<Symbols, G> result_;
    std::vector<std::uint32_t> position_;  // by index; only where state is carried
    detail::position_set<> grown_{0};      // empty between runs
};

/// The symbols that influence each vertex: those that begin there, and those of its predecessors that `transfer` lets
/// pass. For several runs an influence_sweep, which gives the same guarantees, is cheaper.
template <std::size_t Symbols, dependence_graph G, class Seeds, class Transfer = passes_everything>
    requires symbol_seeding<Seeds, G, Symbols> && symbol_transfer<std::remove_cvref_t<Transfer>, G, Symbols>
[[nodiscard]] influence_map<Symbols, G> influence(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds,
                                                  Transfer&& transfer = {}) {
    influence_sweep<Symbols, G> sweep(g, order);
    sweep.run(seeds, transfer);
    return std::move(sweep).take();
}

/// The same, with edges along which state is carried, which usually run against the order.
template <std::size_t Symbols, dependence_graph G, class Seeds, class Transfer, indexed_graph T>
    requires symbol_seeding<Seeds, G, Symbols> && symbol_transfer<std::remove_cvref_t<Transfer>, G, Symbols> &&
             std::same_as<vertex_t<T>, vertex_t<G>>
[[nodiscard]] influence_map<Symbols, G> influence(G g, const topological_order<vertex_t<G>>& order, Seeds&& seeds,
                                                  Transfer&& transfer, const dependence_table<T>& carried) {
    influence_sweep<Symbols, G> sweep(g, order);
    sweep.run(seeds, transfer, carried);
    return std::move(sweep).take();
}

}  // namespace stretto

#endif
