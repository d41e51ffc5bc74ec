// Does u reach v? This is an exact index for any acyclic graph: it is built once and asked often.
//
// Labels of constant size answer most questions by comparison, and prune the search that answers the others. There are
// two kinds of such labels, and two kinds of indices that never search; each kind trades memory for generality. The
// index determines the first kind that is good enough for the given graph, and reports which it has chosen and why. It
// counts the steps of searches and never measures time, so the choice is the same on every machine.
#ifndef STRETTO_ANALYSIS_REACHABILITY_HPP
#define STRETTO_ANALYSIS_REACHABILITY_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/analysis/detail/closure_rows.hpp"
#include "stretto/analysis/detail/hub_labels.hpp"
#include "stretto/analysis/detail/position_graph.hpp"
#include "stretto/analysis/detail/pruned_search.hpp"
#include "stretto/analysis/detail/spine_labels.hpp"
#include "stretto/analysis/detail/support_labels.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/checked_index.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"

namespace stretto {

/// The four ways to store reachability.
enum class reachability_kind : std::uint8_t {
    spine_labels,  ///< 8 bytes per vertex, 12 if indices are not positions; for one long graph, such as a training step
    support_labels,  ///< 32 bytes per vertex; for several long parts side by side, such as micro-batches
    closure_rows,    ///< half a bit per pair of vertices; for small graphs; no question leads to a search
    hub_labels       ///< some 100 bytes per vertex; for large graphs; no question leads to a search
};

/// Why an index is of its kind.
enum class reachability_reason : std::uint8_t {
    demanded,      ///< the caller asked for it
    few_steps,     ///< it is the first kind whose searches are short
    no_search,     ///< searches are long with both kinds that may need them
    fewest_steps,  ///< searches are long and hub labels would be too many: the better of the two kinds that search
};

/// The performance of a kind of index on sample questions: pairs in topological order, drawn by a fixed generator.
struct reachability_trial {
    std::uint32_t pairs = 0;  ///< questions asked; 0 if this kind was not tried, or never searches
    std::uint64_t steps = 0;  ///< edges that the searches followed in total; a trial that takes too many ends early
    std::size_t bytes = 0;    ///< size of the index; 0 if it was not completed
    /// The average number of steps per question; 0 if there was no question.
    [[nodiscard]] double mean_steps() const {
        return pairs == 0 ? 0 : static_cast<double>(steps) / static_cast<double>(pairs);
    }
    friend bool operator==(const reachability_trial&, const reachability_trial&) = default;
};

/// The kind that was chosen, and the evidence for the choice. It is the same on every machine for the same graph, the
/// same order, and the same sequence in which the view lists neighbours.
struct reachability_choice {
    reachability_kind kind = reachability_kind::spine_labels;
    reachability_reason reason = reachability_reason::few_steps;
    reachability_trial trials[4];  ///< one for each kind

    /// The trial of one kind.
    [[nodiscard]] const reachability_trial& trial(reachability_kind k) const {
        return trials[static_cast<std::size_t>(k)];
    }
    /// The size of the index in bytes, without workspaces.
    [[nodiscard]] std::size_t bytes() const { return trial(kind).bytes; }
    friend bool operator==(const reachability_choice&, const reachability_choice&) = default;
};

/// Exact reachability on a graph, of which `order` is a topological order. The data to which the view refers must
/// outlive the index and stay unchanged. Precondition: fewer than 2^28 vertices.
///
/// The cost of building depends on the kind. Spine labels take O(V + E) time in three passes and no scratch memory.
/// Support labels take about 26 passes, with 100 bytes per vertex and 8 per edge of scratch. Rows of the closure take
/// O(V E / 128) time. Hub labels take O(V L (L + E/V)) time if there are L of them per vertex. There is no recursion
/// and no hashing, and everything is deterministic. Sources: detail/spine_labels.hpp, detail/support_labels.hpp,
/// detail/closure_rows.hpp and detail/hub_labels.hpp name theirs.
template <dependence_graph G>
class reachability {
public:
    using vertex_type = vertex_t<G>;

    /// The memory that a question needs while it is answered; each thread needs its own. It takes a bit per index, and
    /// as much as the longest search so far has needed, so it allocates only when a search is longer than all before.
    class workspace {
    public:
        explicit workspace(const reachability& index) : search_(index.graph_.index_bound()) {}

    private:
        friend class reachability;
        detail::pruned_search<G> search_;
    };

    /// Builds the first kind whose searches take no more than 8 steps per question on average, over a sample of at most
    /// 1,000 questions. Rows of the closure are considered for at most 16,384 vertices; hub labels are abandoned when
    /// there are more than 40 per vertex.
    reachability(G g, const topological_order<vertex_type>& order) : graph_(g), own_(*this) {
        make_spine(order);
        choice_.trials[0] = try_kind(spine_, order);
        if (good_enough(choice_.trials[0])) return;

        detail::position_graph<G> positions(g, order);
        make_supports(positions, order);
        choice_.trials[1] = try_kind(supports_, order);
        choice_.kind = reachability_kind::support_labels;
        if (!good_enough(choice_.trials[1])) {
            const bool small = order.size() <= most_rows;
            choice_.kind = small ? reachability_kind::closure_rows : reachability_kind::hub_labels;
            choice_.reason = reachability_reason::no_search;
            if (small) {
                make_rows(positions);
            } else if (!make_hubs(positions, most_hubs * order.size())) {
                const bool supports_help = 2 * choice_.trials[1].mean_steps() < choice_.trials[0].mean_steps();
                choice_.kind = supports_help ? reachability_kind::support_labels : reachability_kind::spine_labels;
                choice_.reason = reachability_reason::fewest_steps;
            }
        }
        if (choice_.kind != reachability_kind::spine_labels) spine_ = {};
        if (choice_.kind != reachability_kind::support_labels) supports_ = {};
    }

    /// Builds an index of the given kind, at any cost.
    reachability(G g, const topological_order<vertex_type>& order, reachability_kind kind) : graph_(g), own_(*this) {
        choice_.kind = kind;
        choice_.reason = reachability_reason::demanded;
        if (kind == reachability_kind::spine_labels) {
            make_spine(order);
            choice_.trials[0] = try_kind(spine_, order);
            return;
        }
        detail::position_graph<G> positions(g, order);
        if (kind == reachability_kind::support_labels) {
            make_supports(positions, order);
            choice_.trials[1] = try_kind(supports_, order);
        } else if (kind == reachability_kind::closure_rows) {
            make_rows(positions);
        } else {
            make_hubs(positions, UINT64_MAX);
        }
    }

    /// Whether there is a path from `u` to `v`. Every vertex reaches itself. O(1) if the labels decide; otherwise a
    /// search of the part of the graph that they leave open, O(V + E) in the worst case. Precondition: both vertices
    /// are in the order.
    [[nodiscard]] bool reaches(vertex_type u, vertex_type v) { return reaches(u, v, own_); }

    /// The same for several threads at once, each with its own workspace.
    [[nodiscard]] bool reaches(vertex_type u, vertex_type v, workspace& scratch) const {
        switch (choice_.kind) {
            case reachability_kind::spine_labels:
                return ask(spine_, u, v, scratch);
            case reachability_kind::support_labels:
                return ask(supports_, u, v, scratch);
            case reachability_kind::closure_rows:
                return rows_.reaches(position_of(u), position_of(v));
            case reachability_kind::hub_labels:
                break;
        }
        return hubs_.reaches(position_of(u), position_of(v));
    }

    /// Which kind of index this is, and why.
    [[nodiscard]] const reachability_choice& choice() const noexcept { return choice_; }

private:
    static constexpr std::uint32_t most_steps = 8, most_pairs = 1000;  // per question, on average; questions in a trial
    static constexpr std::uint64_t most_hubs = 40;                     // per vertex
    static constexpr std::size_t most_rows = 16'384;

    void make_spine(const topological_order<vertex_type>& order) { spine_ = detail::spine_labels<>(graph_, order); }
    void make_supports(const detail::position_graph<G>& positions, const topological_order<vertex_type>& order) {
        supports_ = detail::support_labels(detail::support_labelling(positions.view()), graph_, order);
    }
    void make_rows(detail::position_graph<G>& positions) {
        rows_ = detail::closure_rows<>(positions.view());
        positions_ = std::move(positions.positions());
        choice_.trials[2].bytes = rows_.bytes() + positions_.size() * sizeof(std::uint32_t);
    }
    bool make_hubs(detail::position_graph<G>& positions, std::uint64_t most) {
        detail::hub_labelling labelling(positions.view());
        if (!labelling.run(most)) return false;
        hubs_ = detail::hub_labels<>(labelling, static_cast<std::uint32_t>(positions.view().index_bound()));
        positions_ = std::move(positions.positions());
        choice_.trials[3].bytes = hubs_.bytes() + positions_.size() * sizeof(std::uint32_t);
        return true;
    }

    template <class Labels>
    bool ask(const Labels& labels, vertex_type u, vertex_type v, workspace& scratch) const {
        const std::size_t from = graph_.index(u), to = graph_.index(v);
        STRETTO_ASSERT(labels.contains(from) && labels.contains(to), "a vertex is not in the order");
        const detail::reach_verdict verdict = labels.compare(from, to);
        if (verdict != detail::reach_verdict::unknown)
            return detail::either(verdict == detail::reach_verdict::yes, from == to);
        std::uint64_t steps = 0;
        return scratch.search_.run(graph_, labels, u, v, steps, UINT64_MAX);
    }
    std::uint32_t position_of(vertex_type v) const {
        const std::uint32_t position = positions_[detail::checked_index(graph_, v, positions_.size())];
        STRETTO_ASSERT(position != UINT32_MAX, "a vertex is not in the order");
        return position;
    }

    /// Asks the sample questions to an index that may search.
    template <class Labels>
    reachability_trial try_kind(const Labels& labels, const topological_order<vertex_type>& order) {
        reachability_trial trial{0, 0, labels.bytes()};
        if (order.size() < 2) return trial;
        std::uint64_t state = 0x9E3779B97F4A7C15u;
        // Knuth's linear congruential generator (MMIX). Only its upper bits are used, because the lower ones are weak.
        const auto any_position = [&] {
            state = state * 6364136223846793005u + 1442695040888963407u;
            return static_cast<std::size_t>(((state >> 32) * order.size()) >> 32);
        };
        const std::size_t share = order.size() / 32;
        const auto pairs = static_cast<std::uint32_t>(share < 64 ? 64 : share < most_pairs ? share : most_pairs);
        const std::uint64_t most = std::uint64_t{most_steps} * pairs;
        for (; trial.pairs < pairs && trial.steps <= most; ++trial.pairs) {
            std::size_t from = any_position(), to = any_position();
            if (from > to) std::swap(from, to);
            const vertex_type &u = order[from], &v = order[to];
            if (labels.compare(graph_.index(u), graph_.index(v)) == detail::reach_verdict::unknown)
                own_.search_.run(graph_, labels, u, v, trial.steps, most);
        }
        return trial;
    }
    /// Whether the searches of a trial were short enough. A trial that ended early was not.
    static bool good_enough(const reachability_trial& trial) {
        return trial.steps <= std::uint64_t{most_steps} * trial.pairs;
    }

    G graph_;
    reachability_choice choice_;
    detail::spine_labels<> spine_;  // empty unless it is the kind chosen, as are the next three
    detail::support_labels supports_;
    detail::closure_rows<> rows_;           // over positions
    detail::hub_labels<> hubs_;             // over positions
    std::vector<std::uint32_t> positions_;  // by index; only for the kinds over positions
    workspace own_;
};

}  // namespace stretto

#endif
