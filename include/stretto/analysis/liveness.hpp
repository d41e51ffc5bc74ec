// Liveness of buffers: which storages exist, which values live in them, and from when to when under a given order.
//
// The subject is buffers, not values. A value that aliases others lives in their storages, an operation that writes in
// place uses them, and a storage is live until the last use of any value in it. A storage that a collective reads is in
// use until the wait of that collective, because the network reads it while the lane does other work. Inputs exist
// before the step and are never freed, nor are operands of the output. The task graph follows the same rules
// (storage_rules.hpp): schedule/memory.hpp applies them to schedules, this header to any view.
#ifndef STRETTO_ANALYSIS_LIVENESS_HPP
#define STRETTO_ANALYSIS_LIVENESS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/analysis/storage_rules.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/value_map.hpp"

namespace stretto {

/// A storage and its life under an order. Positions count the operations of the order from 0.
template <dataflow_graph G>
struct storage_life {
    value_t<G> value;     ///< the value that allocates it
    bytes size;           ///< 0 if the model has no size for it
    std::uint32_t first;  ///< position of the operation that allocates it
    std::uint32_t last;   ///< position of the last that reads, writes or aliases it, or waits for a reader
    bool input;  ///< whether an input allocates it: it exists before `first`, is never freed, and is not counted
    bool kept;   ///< whether it is never freed: an input's, or read by the output
    friend bool operator==(const storage_life&, const storage_life&) = default;
};

/// The storage that is live at one position of an order.
struct live_storage {
    std::uint32_t at = 0;        ///< the position
    bytes size = {};             ///< sum over the live storages
    std::uint32_t storages = 0;  ///< the number of live storages
    friend bool operator==(const live_storage&, const live_storage&) = default;
};

/// The storages of a graph and their lives under one order. liveness_of creates it; `update` switches to another order.
/// A storage counts at its first position, at its last and at all between them. Storages of inputs do not count.
template <dependence_graph G>
    requires dataflow_graph<G>
class buffer_liveness {
public:
    /// The lives under program order, which must be topological.
    template <op_model<G> M>
    buffer_liveness(G g, const M& model) : buffer_liveness(g) {
        read_all(g.vertices(), model);
    }
    /// The lives under `order`. A value must come after what it aliases.
    template <op_model<G> M>
    buffer_liveness(G g, const M& model, const topological_order<vertex_t<G>>& order) : buffer_liveness(g) {
        read_all(order, model);
    }

    /// All storages, in the order of the values that allocate them.
    [[nodiscard]] const std::vector<storage_life<G>>& lives() const noexcept { return lives_; }
    /// The storages in which `x` lives, as indices into lives(): its own and those of what it aliases; empty if it
    /// allocates nothing and aliases only values without storage. O(results of its producer).
    [[nodiscard]] std::span<const std::uint32_t> storages_of(value_t<G> x) const { return storages_[value_id(x)]; }

    /// The live storage at each position: while that operation runs, after its allocations and before anything is
    /// freed.
    [[nodiscard]] const std::vector<live_storage>& profile() const noexcept { return profile_; }
    /// The first position with the most bytes, and the first with the most storages; a default value for the empty
    /// graph.
    [[nodiscard]] live_storage most_bytes() const noexcept { return most_bytes_; }
    [[nodiscard]] live_storage most_storages() const noexcept { return most_storages_; }

    /// Calls `f(life)` for every storage that profile()[position] counts. O(storages of the graph).
    template <class F>
    void for_each_live(std::uint32_t position, F f) const {
        for (const storage_life<G>& s : lives_)
            if (!s.input && s.first <= position && (s.kept || position <= s.last)) f(s);
    }

    /// Recomputes the lives under another order of the same graph, in which every value must come after what it
    /// aliases. Storages keep their indices in lives(). It allocates nothing and takes O(V + uses) time.
    void update(const topological_order<vertex_t<G>>& order) {
        STRETTO_ASSERT(order.size() == sequence_.size(), "the order is not one of the same graph");
        for (std::size_t at = 0; at < order.size(); ++at) sequence_[at] = operation_id(order[at]);
        follow();
    }

private:
    /// The input of the rules in storage_rules.hpp. Operations and values are numbered along the first order.
    struct program {
        std::vector<op_kind> kind;
        std::vector<std::uint32_t> launch, first_result;
        index_lists operands, writes, aliases;
        std::vector<char> allocates;  // by value
    };

    explicit buffer_liveness(G g)
        : graph_(g), operation_(g.index_bound(), detail::nothing), values_(g), first_own_{0} {}

    /// Numbers operations, values and storages along `order`, and derives everything else from these numbers.
    template <class Order, class M>
    void read_all(Order&& order, const M& model) {
        program p;
        p.first_result.push_back(0);
        for (vertex_t<G> v : order) {
            sequence_.push_back(static_cast<std::uint32_t>(sequence_.size()));
            read(p, model, v);
        }
        std::uint32_t next = 0;
        detail::unique_rows rows;
        for (std::uint32_t x = 0; x < p.aliases.rows(); ++x)
            detail::add_storages(storages_, rows, p.allocates[x] ? next++ : detail::nothing, p.aliases[x]);
        for (std::uint32_t t = 0; t < sequence_.size(); ++t)
            detail::for_each_value_kept(p, t, [&](std::uint32_t x) {
                for (std::uint32_t s : storages_[x]) lives_[s].kept = true;
            });
        uses_ = detail::derive_touched(p, storages_, [](std::uint32_t, std::uint32_t) { return true; });
        follow();
    }

    [[nodiscard]] std::uint32_t operation_id(vertex_t<G> v) const {
        const std::size_t i = graph_.index(v);
        STRETTO_ASSERT(i < operation_.size() && operation_[i] != detail::nothing, "an operation is not in the order");
        return operation_[i];
    }
    /// The number of a value: that of its producer's first result, plus its place among the results.
    [[nodiscard]] std::uint32_t value_id(value_t<G> x) const {
        const std::uint32_t id = values_.number(x);
        STRETTO_ASSERT(id != values_.none,
                       "a value is no result of an operation that is in the order by then: is the order topological? "
                       "If the graph has a cycle, topological_sort names it");
        return id;
    }

    /// Reads one operation and its results; everything to which it refers has been read before.
    template <class M>
    void read(program& p, const M& model, vertex_t<G> v) {
        p.kind.push_back(model.kind(v));
        p.launch.push_back(detail::nothing);
        if (p.kind.back() == op_kind::wait) {
            const vertex_t<G> start = launch_of<G>(graph_, model, v);
            if (!(start == v)) p.launch.back() = operation_id(start);
        }
        for (value_t<G> x : graph_.operands(v)) p.operands.push(value_id(x));
        p.operands.close_row();

        std::uint32_t& operation = operation_[detail::checked_index(graph_, v, operation_.size())];
        STRETTO_ASSERT(operation == detail::nothing, "the order has a vertex twice");
        operation = static_cast<std::uint32_t>(p.kind.size() - 1);
        for (std::uint32_t own = values_.add(v); own < values_.size(); ++own) {
            const value_t<G> x = values_.value(own);
            bool aliases = false;
            for_each_alias<G>(model, x, [&](value_t<G> y) {
                const std::uint32_t id = value_id(y);
                STRETTO_ASSERT(id <= own, "a result aliases a later result of the same operation");
                if (id == own) return;
                p.aliases.push(id);
                aliases = true;
            });
            p.aliases.close_row();
            const bytes size = allocation_of<G>(model, x);
            STRETTO_ASSERT(size >= bytes{}, "a value allocates a negative amount");
            // A model that knows no sizes still has storages: a value that aliases nothing allocates one.
            const bool allocates = size > bytes{} || !aliases;
            p.allocates.push_back(allocates);
            if (allocates) lives_.push_back({x, size, 0, 0, p.kind.back() == op_kind::input, false});
        }
        p.first_result.push_back(values_.size());
        first_own_.push_back(static_cast<std::uint32_t>(lives_.size()));
        for_each_effect<G>(model, v, [&](value_t<G> y) { p.writes.push(value_id(y)); });
        p.writes.close_row();
    }

    /// Computes the lives and the profile for the order in `sequence_`.
    void follow() {
        for (std::uint32_t at = 0; at < sequence_.size(); ++at) {
            const std::uint32_t t = sequence_[at];
            for (std::uint32_t s = first_own_[t]; s < first_own_[t + 1]; ++s) lives_[s].first = at;
            for (std::uint32_t s : uses_[t]) lives_[s].last = at;
        }
        profile_.clear();
        most_bytes_ = most_storages_ = {};
        live_storage now;
        for (const std::uint32_t t : sequence_) {
            for (std::uint32_t s = first_own_[t]; s < first_own_[t + 1]; ++s) {
                if (lives_[s].input) continue;
                now.size += lives_[s].size;
                ++now.storages;
            }
            profile_.push_back(now);
            if (now.at == 0 || most_bytes_.size < now.size) most_bytes_ = now;
            if (now.at == 0 || most_storages_.storages < now.storages) most_storages_ = now;
            for (std::uint32_t s : uses_[t]) {
                if (lives_[s].kept || lives_[s].last != now.at) continue;
                now.size -= lives_[s].size;
                --now.storages;
            }
            ++now.at;
        }
    }

    G graph_;
    std::vector<std::uint32_t> operation_;  // by index: the operation's number
    std::vector<std::uint32_t> sequence_;   // by position: the operation's number
    value_numbering<G> values_;
    std::vector<std::uint32_t> first_own_;  // by operation: the first of the storages that it allocates
    index_lists storages_;                  // by value: the storages that it lives in
    index_lists uses_;                      // by operation: the storages that it needs
    std::vector<storage_life<G>> lives_;
    std::vector<live_storage> profile_;  // by position
    live_storage most_bytes_, most_storages_;
};

/// The storages of `g` and their lives in program order, which must be topological. Sizes, aliases, in-place writes and
/// waits come from `model`. The result is deterministic. It takes O(V + E + uses) time, plus a search among the results
/// of the producer for every use of a value, and about 48 bytes per vertex, 60 per storage and a handle per value.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] buffer_liveness<G> liveness_of(G g, M model) {
    return buffer_liveness<G>(g, model);
}

/// The same under `order`; program order need not be topological. A value must come after what it aliases.
template <dependence_graph G, op_model<G> M>
    requires dataflow_graph<G>
[[nodiscard]] buffer_liveness<G> liveness_of(G g, M model, const topological_order<vertex_t<G>>& order) {
    return buffer_liveness<G>(g, model, order);
}

}  // namespace stretto

#endif
