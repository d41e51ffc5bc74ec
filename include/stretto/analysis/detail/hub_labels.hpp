// Hub labels (2-hop labels). Every vertex lists hubs that it reaches and hubs that reach it, and u reaches v exactly if
// the first list of u meets the second list of v. No query needs a search, for any graph.
//
// The order in which vertices become hubs decides how long the lists are. A long graph is best cut in the middle: the
// midpoint of a longest path comes first, then the quarter points, and so on; then the same on further, disjoint paths;
// then all other vertices. Sources of pruned labelling: Akiba, Iwata, Yoshida, SIGMOD 2013; for reachability Yano et
// al., CIKM 2013.
#ifndef STRETTO_ANALYSIS_DETAIL_HUB_LABELS_HPP
#define STRETTO_ANALYSIS_DETAIL_HUB_LABELS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/greedy_paths.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/index_lists.hpp"

namespace stretto::detail {

/// A growing list of numbers for each of n rows, all in one array. A list is a chain of blocks of seven numbers, each
/// with a link to the block before it, so that lists can grow in turns.
template <class Id = std::uint32_t>
class block_lists {
public:
    explicit block_lists(std::size_t rows) : rows_(rows) {}

    void push(Id row, Id item) {
        list& l = rows_[row];
        if (l.size % per_block == 0) {
            blocks_.push_back({{}, l.newest});
            l.newest = static_cast<Id>(blocks_.size() - 1);
        }
        blocks_[l.newest].items[l.size++ % per_block] = item;
    }
    /// The length of the list of a row.
    [[nodiscard]] Id size(Id row) const { return rows_[row].size; }
    /// Calls `f(item)` for the items of a row, latest first, until it returns true. Returns whether it did.
    template <class F>
    bool any_of(Id row, F f) const {
        const list& l = rows_[row];
        for (Id at = l.newest, left = l.size; left > 0; at = blocks_[at].before) do {
                if (f(blocks_[at].items[--left % per_block])) return true;
            } while (left % per_block != 0);
        return false;
    }

private:
    static constexpr Id per_block = 7;
    struct list {
        Id newest = 0, size = 0;
    };
    struct block {
        Id items[per_block];
        Id before;
    };
    std::vector<list> rows_;
    std::vector<block> blocks_;
};

/// Decides the order in which vertices become hubs, and makes the labels that follow from it. The vertices of the graph
/// must be ids in topological order.
template <dependence_graph Ids>
class hub_labelling {
public:
    using id = vertex_t<Ids>;

    explicit hub_labelling(Ids g)
        : graph_(g),
          reached_(g.index_bound()),
          reaching_(g.index_bound()),
          marked_(g.index_bound()),
          seen_(g.index_bound(), UINT32_MAX) {}

    /// Makes the labels. Returns false as soon as there are more than `most`; they are incomplete then.
    bool run(std::uint64_t most) {
        const std::vector<id> hubs = hub_order();
        for (id number = 0; number < hubs.size() && labels_ <= most; ++number) {
            flood(hubs[number], number, 2 * number, reached_, reaching_,
                  [g = graph_](id v) { return g.successors(v); });
            flood(hubs[number], number, 2 * number + 1, reaching_, reached_,
                  [g = graph_](id v) { return g.predecessors(v); });
        }
        return labels_ <= most;
    }
    /// By vertex: the hubs that it reaches, and those that reach it, as places in the order of hubs.
    [[nodiscard]] const block_lists<id>& reached() const noexcept { return reached_; }
    [[nodiscard]] const block_lists<id>& reaching() const noexcept { return reaching_; }

private:
    /// The vertices in the order in which they become hubs.
    [[nodiscard]] std::vector<id> hub_order() const {
        const auto size = static_cast<id>(graph_.index_bound());
        std::vector<id> hubs;
        hubs.reserve(size);
        std::vector<std::uint8_t> is_hub(size);
        const index_lists paths = greedy_paths(graph_, 64, 8, UINT32_MAX);
        std::vector<std::pair<id, id>> pieces;
        for (std::size_t k = 0; k < paths.rows(); ++k) {
            pieces.assign(1, {0, static_cast<id>(paths[k].size())});
            for (std::size_t next = 0; next < pieces.size(); ++next) {
                const auto [begin, end] = pieces[next];
                if (begin == end) continue;
                const id middle = begin + (end - begin) / 2;
                hubs.push_back(paths[k][middle]);
                is_hub[paths[k][middle]] = true;
                pieces.push_back({begin, middle});
                pieces.push_back({middle + 1, end});
            }
        }
        // Then come the vertices through which many ways may lead, ordered by powers of two: a crowd of similar
        // neighbours must not label each other.
        const auto weight = [&](id v) {
            const std::uint64_t before = graph_.predecessors(v).size() + 1, after = graph_.successors(v).size() + 1;
            return static_cast<id>(std::bit_width(before * after));
        };
        std::vector<id> behind(66, 0);  // by weight: how many vertices are heavier
        for (id v = 0; v < size; ++v)
            if (!is_hub[v]) ++behind[64 - weight(v) + 1];
        id total = static_cast<id>(hubs.size());
        for (id& b : behind) b = total += b;
        hubs.resize(size);
        for (id v = 0; v < size; ++v)
            if (!is_hub[v]) hubs[behind[64 - weight(v)]++] = v;
        return hubs;
    }

    /// Adds hub `number` to the labels of all vertices in one direction. The traversal stops at vertices for which
    /// earlier hubs already answer the query.
    template <class Neighbours>
    void flood(id hub, id number, id round, const block_lists<id>& of_hub, block_lists<id>& of_others,
               Neighbours neighbours) {
        const auto mark_all = [&](bool marked) {
            of_hub.any_of(hub, [&](id h) {
                marked_[h] = marked;
                return false;
            });
        };
        mark_all(true);
        queue_.assign(1, hub);
        for (std::size_t k = 0; k < queue_.size(); ++k) {
            const id v = queue_[k];
            if (of_others.any_of(v, [&](id h) { return marked_[h] != 0; })) continue;
            of_others.push(v, number);
            ++labels_;
            for (id w : neighbours(v)) {
                if (seen_[w] == round) continue;
                seen_[w] = round;
                queue_.push_back(w);
            }
        }
        mark_all(false);
    }

    Ids graph_;
    block_lists<id> reached_, reaching_;  // by vertex: hub numbers
    std::vector<std::uint8_t> marked_;    // by hub number
    std::vector<id> seen_, queue_;
    std::uint64_t labels_ = 0;
};

/// The finished lists, packed into one array. Vertices are positions in the topological order.
template <class Id = std::uint32_t>
class hub_labels {
public:
    hub_labels() = default;
    /// Packs the lists of a labelling. Precondition: it ran to its end.
    template <class Labelling>
    hub_labels(const Labelling& labelling, Id size) {
        std::size_t total = 0;
        begin_.reserve(2 * std::size_t{size} + 1);
        for (Id v = 0; v < size; ++v)
            for (const block_lists<Id>* lists : {&labelling.reached(), &labelling.reaching()}) {
                begin_.push_back(static_cast<Id>(total));
                total += lists->size(v);
            }
        begin_.push_back(static_cast<Id>(total));
        hubs_.resize(total);
        for (Id v = 0, row = 0; v < size; ++v)
            for (const block_lists<Id>* lists : {&labelling.reached(), &labelling.reaching()})
                lists->any_of(v, [this, at = begin_[++row]](Id hub) mutable {
                    hubs_[--at] = hub;
                    return false;
                });
    }

    /// Whether there is a path from `u` to `v`. O(labels of u + labels of v).
    [[nodiscard]] bool reaches(Id u, Id v) const {
        if (u >= v) return u == v;
        const Id* const rows_of_u = begin_.data() + 2 * std::size_t{u};
        const Id* const rows_of_v = begin_.data() + 2 * std::size_t{v};
        Id a = rows_of_u[0], b = rows_of_v[1];
        const Id a_end = rows_of_u[1], b_end = rows_of_v[2];
        while (a < a_end && b < b_end) {
            const Id reached = hubs_[a], reaching = hubs_[b];
            if (reached == reaching) return true;
            a += reached < reaching;
            b += reaching < reached;
        }
        return false;
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return (begin_.size() + hubs_.size()) * sizeof(Id); }

private:
    std::vector<Id> begin_;  // at 2v: where the hubs that v reaches begin; at 2v + 1: where those that reach v begin
    std::vector<Id> hubs_;   // ascending within a row
};

}  // namespace stretto::detail

#endif
