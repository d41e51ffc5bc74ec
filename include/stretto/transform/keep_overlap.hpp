// Merges collectives only as far as everything that hides them still does. Finds what hides every collective in an
// order, and gives the dependences that keep it so: what hides a collective stays after its start and before its wait.
// plan_buckets over the graph with these dependences then respects them like any others, and a bucket has the union of
// those of its members.
//
// Source: the overlap-preserving bucketer of PyTorch (torch/_inductor/fx_passes/overlap_preserving_bucketer.py) and its
// augmented graph. docs/algorithms/buckets.md says what is different here.
#ifndef STRETTO_TRANSFORM_KEEP_OVERLAP_HPP
#define STRETTO_TRANSFORM_KEEP_OVERLAP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/vertex_map.hpp"
#include "stretto/core/vertex_set.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/views/with_dependences.hpp"

namespace stretto {

/// A collective in an order, and what hides it there.
template <handle V>
struct hidden_collective {
    V start;
    std::vector<V> waits;   ///< all that wait for it, in order
    std::vector<V> behind;  ///< kernels, and waits for collectives of other groups, that run during its transfer
    nanoseconds exposed;    ///< the time that none of them hides
};

/// What hides collectives in an order, and the dependences that keep it.
template <indexed_graph G>
struct kept_overlap {
    std::vector<hidden_collective<vertex_t<G>>> collectives;  ///< in the order of their starts
    /// From every start to what hides it, from there to the waits for that start, and from every kernel to the next.
    dependence_table<G> dependences;
    vertex_set<G> hiding;  ///< starts whose waits hide other collectives
};

/// Counts every kernel: the default of keep_overlap.
struct every_kernel {
    template <handle V>
    [[nodiscard]] constexpr bool operator()(V) const noexcept {
        return true;
    }
};

namespace detail {

/// Runs an order and credits the time of kernels and waits to the collectives in flight.
template <graph_view G, class M, class Counts>
class overlap_walk {
    using V = vertex_t<G>;
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    overlap_walk(G g, const M& model, Counts& counts) : g_(g), model_(model), counts_(counts), number_(g, none) {}

    void run(V v) {
        switch (model_.kind(v)) {
            case op_kind::start: {
                number_[v] = static_cast<std::uint32_t>(found_.size());
                channel_of(group_of<G>(model_, v)).issued.push_back(number_[v]);
                found_.push_back({v, {}, {}, duration_of<G>(model_, v)});
                break;
            }
            case op_kind::wait: {
                const V s = launch_of(g_, model_, v);
                if (s == v || number_[s] == none) break;
                found_[number_[s]].waits.push_back(v);
                finish(number_[s], group_of<G>(model_, s), v);
                break;
            }
            case op_kind::compute:
                if (counts_(v)) credit(v, duration_of<G>(model_, v), nullptr);
                break;
            default:
                break;
        }
    }
    [[nodiscard]] std::vector<hidden_collective<V>> take() { return std::move(found_); }

private:
    /// The collectives of a group in the order of their starts. Those before `first` are over.
    struct channel {
        group_id group;
        std::vector<std::uint32_t> issued;
        std::size_t first = 0;
    };

    channel& channel_of(group_id group) {
        for (channel& c : channels_)
            if (c.group == group) return c;
        return channels_.emplace_back(channel{group, {}});
    }
    /// Hides collectives of all channels except one for as long as `by` takes. A channel carries one at a time.
    void credit(V by, nanoseconds window, const channel* except) {
        for (channel& c : channels_) {
            nanoseconds left = window;
            while (&c != except && left.count > 0 && c.first < c.issued.size()) {
                hidden_collective<V>& hidden = found_[c.issued[c.first]];
                const nanoseconds part = std::min(hidden.exposed, left);
                if (part.count > 0 && (hidden.behind.empty() || !(hidden.behind.back() == by)))
                    hidden.behind.push_back(by);  // a wait that ends several collectives comes once
                hidden.exposed = hidden.exposed - part;
                left = left - part;
                if (hidden.exposed.count > 0) break;
                ++c.first;
            }
        }
    }
    /// Waits in `by` until a collective and those before it on its channel are over, which hides others meanwhile.
    void finish(std::uint32_t number, group_id group, V by) {
        channel& c = channel_of(group);
        for (; c.first < c.issued.size() && c.issued[c.first] <= number; ++c.first)
            credit(by, found_[c.issued[c.first]].exposed, &c);
    }

    G g_;
    const M& model_;
    Counts& counts_;
    vertex_map<G, std::uint32_t> number_;  // of a start: its entry in found_
    std::vector<hidden_collective<V>> found_;
    std::vector<channel> channels_;
};

}  // namespace detail

/// Finds what hides every collective if `g` runs in `order`, and the dependences that keep it so. A kernel takes its
/// duration, and hides, on every channel, the first collective that is in flight and then those behind it. A wait that
/// stalls hides those of other groups, and ends all those before its own on their channel. The exposed times of all
/// collectives for which somebody waits add up to the stalls of schedule/simulate.hpp. Kernels for which
/// `counts(v) -> bool` is false, such as casts that a pack may absorb, take no time here and may move freely.
///
/// Plan over `views::with_dependences(views::in_order(g, order), kept.dependences)`: in every plan that is legal there,
/// everything in `behind` of a member stays between the start and the wait of its bucket, and kernels that count keep
/// their order. Precondition: `order` has every vertex once, and each after those on which it depends. Deterministic.
/// O(V · groups + hiding pairs) time, where there is at most one pair per kernel or wait and group, plus one per
/// collective.
template <indexed_graph G, op_model<G> M, class Counts = every_kernel>
[[nodiscard]] kept_overlap<G> keep_overlap(G g, const M& model, std::span<const vertex_t<G>> order,
                                           Counts counts = {}) {
    using V = vertex_t<G>;
    detail::overlap_walk<G, M, Counts> walk(g, model, counts);
    kept_overlap<G> kept{{}, dependence_table<G>(g), vertex_set<G>(g)};
    const V* last = nullptr;
    for (const V& v : order) {
        walk.run(v);
        if (model.kind(v) != op_kind::compute || !counts(v)) continue;
        if (last) kept.dependences.add(*last, v);
        last = &v;
    }
    kept.collectives = walk.take();
    for (const hidden_collective<V>& c : kept.collectives)
        for (const V& by : c.behind) {
            kept.dependences.add(c.start, by);
            for (const V& w : c.waits) kept.dependences.add(by, w);
            if (model.kind(by) == op_kind::wait) kept.hiding.insert(launch_of(g, model, by));
        }
    return kept;
}

/// Makes the choices of another policy, but keeps apart the collectives whose waits hide others, as PyTorch does:
/// merged with a longer or a shorter collective, such a wait would stall for another time. Refers to `kept`.
template <indexed_graph G, class Choose>
struct buckets_beside_hiding {
    const kept_overlap<G>* kept;
    Choose choose;

    /// The choice for a start v, for plan_buckets.
    [[nodiscard]] bucket_choice operator()(vertex_t<G> v) const {
        return kept->hiding.contains(v) ? bucket_choice{} : choose(v);
    }
};
template <class G, class Choose>
buckets_beside_hiding(const kept_overlap<G>*, Choose) -> buckets_beside_hiding<G, Choose>;

}  // namespace stretto

#endif
