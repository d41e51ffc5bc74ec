// The purpose of the collectives of a training step. Gathers of parameters and reductions of gradients may be merged
// with others of their kind, because the former depend on parameters alone, and nothing but results of the step depends
// on the latter. The collectives of the computation in between may not.
//
// The classification needs the joint graph, forward and backward: after the two are separated, an input may be a
// parameter or a saved value. So its result is a tag, a value for every vertex, that moves along with the vertices when
// the graph is cut, cloned or merged.
//
// Longer than 300 lines: the two sweeps share all that they know about values, storages and vertices.
#ifndef STRETTO_ANALYSIS_CLASSIFY_COLLECTIVES_HPP
#define STRETTO_ANALYSIS_CLASSIFY_COLLECTIVES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/analysis/storage_rules.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/input_role_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/core/vertex_map.hpp"

namespace stretto {

/// What a collective is for, as far as merging must know.
enum class traffic_kind : std::uint8_t {
    none,       ///< the vertex is neither a start nor its wait
    parameter,  ///< an all-gather of a value that derives from parameters alone
    terminal,   ///< a reduction whose result flows to the results of the step without being combined with its data
    exchange,   ///< an all-to-all: tokens on the way to experts and back, heads in sequence parallelism
    other,      ///< a collective of anything else
};

/// The kind of traffic in words.
[[nodiscard]] constexpr std::string_view explain(traffic_kind what) noexcept {
    switch (what) {
        case traffic_kind::none:
            return "no collective";
        case traffic_kind::parameter:
            return "gathers parameters";
        case traffic_kind::terminal:
            return "reduces results of the step";
        case traffic_kind::exchange:
            return "exchanges data between all ranks";
        case traffic_kind::other:
            break;
    }
    return "other traffic";
}

/// The purpose of a vertex, and its place in the registration order. The place of a gather is the first place of the
/// parameters that it gathers. The place of a terminal reduction is the first among the places of those results of the
/// step that it reaches, which have that order too, and of those parameters into whose memory it is written. It is
/// no_place if there is none.
struct traffic_tag {
    traffic_kind what = traffic_kind::none;
    std::uint32_t place = no_place;
    friend bool operator==(const traffic_tag&, const traffic_tag&) = default;
};

/// The tag of a vertex that represents both: the kind if they agree, else `other`; and the first of the places. It is
/// associative and commutative, and a tag of kind `none` is its neutral element.
[[nodiscard]] constexpr traffic_tag join(const traffic_tag& a, const traffic_tag& b) noexcept {
    if (a.what == traffic_kind::none) return b;
    if (b.what == traffic_kind::none) return a;
    return {a.what == b.what ? a.what : traffic_kind::other, a.place < b.place ? a.place : b.place};
}

/// The tag of every vertex of a graph.
template <indexed_graph G>
using traffic_tags = vertex_map<G, traffic_tag>;

/// Transfers tags to another graph: a vertex w of `h` gets the join of the tags of `origins(w)`, the vertices of the
/// first graph from which it was made: one for a copy or a clone, several for a merged vertex, none for a new one. O(V
/// + origins).
template <indexed_graph G, vertex_list_graph H, class Origins>
    requires indexed_graph<H> && requires(Origins& origins, vertex_t<H> w) {
        { origins(w) } -> iterable_of<vertex_t<G>>;
    }
[[nodiscard]] traffic_tags<H> carry(const traffic_tags<G>& tags, H h, Origins origins) {
    traffic_tags<H> carried(h);
    for (vertex_t<H> w : h.vertices()) {
        traffic_tag tag;
        for (vertex_t<G> v : origins(w)) tag = join(tag, tags[v]);
        carried[w] = tag;
    }
    return carried;
}

namespace detail {

/// Classifies with one sweep forward, which finds what every value is made of, and one backward, which finds where it
/// flows. Both follow memory: a reader of a value also reads everything that was written into its storage.
template <dependence_graph G, op_model<G> M, input_role_model<G> R>
    requires dataflow_graph<G>
class traffic_classifier {
    using V = vertex_t<G>;
    using X = value_t<G>;

public:
    traffic_classifier(G g, const M& model, const R& roles)
        : g_(g), model_(model), roles_(roles), values_(number_values(g)), tags_(g) {}

    [[nodiscard]] traffic_tags<G> run() {
        for (V v : g_.vertices()) order_.push_back(v);
        content_.resize(values_.size());
        for (V v : order_) forward(v);
        tail_.resize(order_.size());
        later_.resize(values_.size());
        position_.resize(g_.index_bound());
        for (std::uint32_t p = 0; p < order_.size(); ++p) position_[g_.index(order_[p])] = p;
        for (std::uint32_t p = static_cast<std::uint32_t>(order_.size()); p-- > 0;) backward(p);
        for (std::uint32_t p = 0; p < order_.size(); ++p)
            if (model_.kind(order_[p]) == op_kind::start) tags_[order_[p]] = tag_of(p);
        for (V v : order_)
            if (model_.kind(v) == op_kind::wait)
                if (const V s = launch_of(g_, model_, v); !(s == v)) tags_[v] = tags_[s];
        return std::move(tags_);
    }

private:
    /// What a value is made of, as far as the two sweeps need it.
    struct content {
        bool only_parameters = true;     ///< parameters and constants
        bool settled = true;             ///< reduced results, state of the model as it is here, and constants
        std::uint32_t place = no_place;  ///< the first place of its parameters; no_place if there are none

        void add(const content& c) {
            only_parameters = only_parameters && c.only_parameters;
            settled = settled && c.settled;
            place = std::min(place, c.place);
        }
    };

    /// The content that a reader of x now sees: that of x, and what was written into its memory since.
    [[nodiscard]] content read(std::uint32_t x) const {
        content c = content_[x];
        for (std::uint32_t s : storages_[x]) c.add(content_[s]);
        return c;
    }
    static bool folds(collective_kind kind) {
        return kind == collective_kind::reduce_scatter || kind == collective_kind::all_reduce;
    }

    /// Finds what the results of v are made of, and adds that to the storages that v writes.
    void forward(V v) {
        const op_kind kind = model_.kind(v);
        content all;
        std::size_t operands = 0;
        for (X x : g_.operands(v)) {
            all.add(read(values_.number(x)));
            ++operands;
        }
        reads_.push_back(all);
        simple_.push_back(all.settled || operands == 1);
        if (kind == op_kind::start) all.settled = folds(collective_of<G>(model_, v));
        for (X x : g_.results(v)) {
            const std::uint32_t n = values_.number(x);
            content_[n] = kind == op_kind::input ? of_input(x) : all;
            aliased_.clear();
            for_each_alias<G>(model_, x, [&](X y) {
                if (values_.number(y) < n) aliased_.push_back(values_.number(y));
            });
            const bool own = aliased_.empty() || allocation_of<G>(model_, x).count > 0;
            add_storages(storages_, rows_, own ? n : nothing, aliased_);
        }
        for_each_effect<G>(model_, v, [&](X x) {
            for (std::uint32_t s : storages_[values_.number(x)]) content_[s].add(all);
        });
    }
    /// The content of a result of an input, which follows from its role.
    [[nodiscard]] content of_input(X x) const {
        switch (roles_.role(x)) {
            case input_role::parameter:
                return {true, true, static_cast<std::uint32_t>(roles_.place(x))};
            case input_role::buffer:
            case input_role::gradient:
                return {false, true, no_place};
            default:
                return {false, false, no_place};
        }
    }

    /// Where a value flows: whether it reaches results of the step and nothing else, and which one first.
    struct fate {
        bool any = false, fine = true;
        std::uint32_t place = no_place;

        void add(const fate& f) {
            any = any || f.any;
            fine = fine && f.fine;
            place = std::min(place, f.place);
        }
    };

    /// Finds where the results of the vertex at position p flow. Its readers come later and are already done.
    void backward(std::uint32_t p) {
        const V v = order_[p];
        fate f;
        if (model_.kind(v) == op_kind::output) {
            std::uint32_t place = 0;
            for (X x : g_.operands(v)) {
                for (std::uint32_t s : storages_[values_.number(x)]) later_[s].add({true, true, place});
                ++place;
            }
            tail_[p] = {true, true, no_place};
            return;
        }
        for (X x : g_.results(v))
            for (V c : g_.consumers(x)) f.add(of_reader(c, x));
        for_each_effect<G>(model_, v, [&](X x) {
            for (std::uint32_t s : storages_[values_.number(x)]) {
                f.add(later_[s]);
                if (model_.kind(g_.producer(values_.value(s))) == op_kind::input) {
                    f.any = true;
                    f.place = std::min(f.place, static_cast<std::uint32_t>(roles_.place(values_.value(s))));
                }
            }
        });
        tail_[p] = f;
        const fate seen = {true, f.any && f.fine && simple_[p], f.place};
        const auto touch = [&](X x) {
            for (std::uint32_t s : storages_[values_.number(x)]) later_[s].add(seen);
        };
        for (X x : g_.operands(v)) touch(x);
        for_each_effect<G>(model_, v, touch);
    }
    /// Where x flows through its reader c.
    [[nodiscard]] fate of_reader(V c, X x) const {
        if (model_.kind(c) == op_kind::output) {
            std::uint32_t place = 0;
            for (X y : g_.operands(c)) {
                if (y == x) break;
                ++place;
            }
            return {true, true, place};
        }
        const std::uint32_t p = position_[g_.index(c)];
        return {true, tail_[p].any && tail_[p].fine && simple_[p], tail_[p].place};
    }

    /// The tag of the start at position p.
    [[nodiscard]] traffic_tag tag_of(std::uint32_t p) const {
        const V v = order_[p];
        switch (collective_of<G>(model_, v)) {
            case collective_kind::all_gather:
                if (reads_[p].only_parameters && reads_[p].place != no_place)
                    return {traffic_kind::parameter, reads_[p].place};
                return {traffic_kind::other, no_place};
            case collective_kind::reduce_scatter:
            case collective_kind::all_reduce:
                if (tail_[p].any && tail_[p].fine) return {traffic_kind::terminal, tail_[p].place};
                return {traffic_kind::other, no_place};
            case collective_kind::all_to_all:
                return {traffic_kind::exchange, no_place};
            default:
                return {traffic_kind::other, no_place};
        }
    }

    G g_;
    const M& model_;
    const R& roles_;
    value_numbering<G> values_;
    traffic_tags<G> tags_;
    std::vector<V> order_;
    std::vector<content> content_;  // by value; for the value that names a storage, includes what was written into it
    std::vector<content> reads_;    // by position: the joined content of its operands
    std::vector<char> simple_;      // by position: whether it adds no data of the step to what it reads
    std::vector<fate> tail_;        // by position
    std::vector<fate> later_;       // by storage: where its contents flow from here on
    std::vector<std::uint32_t> position_;  // by index
    index_lists storages_;                 // by value
    unique_rows<> rows_;
    std::vector<std::uint32_t> aliased_;
};

}  // namespace detail

/// Tags every start and its waits.
///
/// `parameter`: an all-gather whose operands derive from parameters and constants alone, in any number of operations:
/// casts, views, pads, quantised or chunked shards. A value that was written in place also derives from what was
/// written.
///
/// `terminal`: a reduce-scatter or all-reduce whose result reaches only the results of the step, or memory of its
/// inputs. It does so through operations that read one value, or otherwise only such results, state of the model
/// (parameters, buffers, existing gradients) and constants: casts, sums of gradients, clipping, an update of the
/// weights, a gather of updated weights. A gradient that is reduced for tensor parallelism and then multiplied with an
/// activation is not terminal.
///
/// Precondition: `g` lists its vertices in a topological order. Deterministic. O(V + E + aliases), plus a search among
/// the operands of the output for each of them.
///
/// Source: the two derived sets of autoparallel's pre-bucketing (its pull request 412), where any operation may stand
/// between a reduction and the gradient; and the tests of Inductor for FSDP, where no operation with two operands may.
template <dependence_graph G, op_model<G> M, input_role_model<G> R>
    requires dataflow_graph<G>
[[nodiscard]] traffic_tags<G> classify_collectives(G g, const M& model, const R& roles) {
    return detail::traffic_classifier<G, M, R>(g, model, roles).run();
}

}  // namespace stretto

#endif
