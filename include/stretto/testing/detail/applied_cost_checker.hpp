// A rewriter that passes every verb on to another one and records what each clone should cost according to the part
// cost model. These promises are then compared with what the op model says about the rewritten program.
#ifndef STRETTO_TESTING_DETAIL_APPLIED_COST_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_APPLIED_COST_CHECKER_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/units.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// The promises of one plan. `g` shows the program before the plan is applied. `rewriter` and `costs` must outlive this
/// object.
template <dataflow_graph G, class R, part_cost_model<G> P>
class promised_costs {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    promised_costs(const G& g, R& rewriter, const P& costs) : rewriter_(&rewriter), costs_(&costs) {
        for (V v : g.vertices()) before_.push_back(v);
    }

    // The verbs of a chunking_rewriter; only clone does more than pass them on.
    void insert_before(V v) { rewriter_->insert_before(v); }
    std::vector<X> clone(V v, std::span<const X> operands, const chunk_part& part) {
        promise own;
        own.position = static_cast<std::size_t>(std::find(before_.begin(), before_.end(), v) - before_.begin());
        own.chunk = part.chunk;
        own.rows = part.rows.count;
        own.tokens = part.tokens;
        own.knows_rows = knows_rows(part.operands) && knows_rows(part.results);
        own.allocated.resize(part.results.size());  // a result has one state or more
        own.cost = costs_->of_clone(v, part, std::span<bytes>(own.allocated));
        for (X made : rewriter_->clone(v, operands, part)) own.results.push_back(made);
        if (!own.results.empty()) promises_.push_back(own);
        return own.results;
    }
    std::vector<X> split(X x, std::size_t dim, std::span<const std::int64_t> sizes) {
        std::vector<X> parts;
        for (X part : rewriter_->split(x, dim, sizes)) parts.push_back(part);
        return parts;
    }
    X concat(std::span<const X> parts, std::size_t dim) { return rewriter_->concat(parts, dim); }
    X sum(std::span<const X> parts) { return rewriter_->sum(parts); }
    X empty_like(X x, X part)
        requires slice_writing_rewriter<R, G>
    {
        return rewriter_->empty_like(x, part);
    }
    X slice_write(X whole, X part, std::size_t dim, std::span<const std::int64_t> sizes, std::size_t k)
        requires slice_writing_rewriter<R, G>
    {
        return rewriter_->slice_write(whole, part, dim, sizes, k);
    }
    void replace_uses(V v, X from, X to) { rewriter_->replace_uses(v, from, to); }
    void erase(V v) { rewriter_->erase(v); }

    /// Compares what was promised with what the op model says about the rewritten program, and counts what agrees.
    /// Returns the first disagreement. O(promises).
    template <op_model<G> M, class Summary>
    [[nodiscard]] finding compare(const G& after, const M& model, double tolerance, Summary& summary) const {
        for (const promise& own : promises_) {
            const V v = after.producer(own.results[0]);
            const auto differ = [&](std::int64_t said, std::int64_t promised) {
                // Without the number of rows there is no cost to compare with, but one that is missing can be
                // recognised.
                if (!own.knows_rows) return (said == 0) != (promised == 0);
                const auto a = static_cast<double>(said), b = static_cast<double>(promised);
                return std::abs(a - b) > tolerance * std::max(a, b);
            };
            const auto broken = [&](const char* rule, const char* hint, std::int64_t said, std::int64_t promised) {
                return finding{.rule = rule,
                               .hint = hint,
                               .vertex = own.position,
                               .verb = "clone",
                               .detail = "chunk " + std::to_string(own.chunk) + ", " + std::to_string(own.rows) +
                                         " of " + std::to_string(own.tokens) + " rows: the op model says " +
                                         std::to_string(said) + ", the costs of parts " + std::to_string(promised)};
            };
            const std::int64_t time = duration_of<G>(model, v).count, sent = payload_of<G>(model, v).count;
            if (differ(time, own.cost.duration.count))
                return broken("clone-duration",
                              "a clone takes another time than was promised; does the rewriter give it its cost?", time,
                              own.cost.duration.count);
            if (model.kind(v) == op_kind::start && differ(sent, own.cost.payload.count))
                return broken("clone-payload", "a clone sends another number of bytes than was promised", sent,
                              own.cost.payload.count);
            for (std::size_t k = 0; k < own.results.size(); ++k)
                if (const std::int64_t held = allocation_of<G>(model, own.results[k]).count;
                    differ(held, own.allocated[k].count))
                    return broken("clone-bytes", "a result of a clone has storage of another size than was promised",
                                  held, own.allocated[k].count);
            ++summary.clones;
            summary.of_unknown_rows += !own.knows_rows;
        }
        return {};
    }

private:
    /// What one clone should cost.
    struct promise {
        std::size_t position = 0;  // of the operation, before
        std::uint32_t chunk = 0;
        std::int64_t rows = 0, tokens = 0;
        bool knows_rows = true;
        clone_cost cost;
        std::vector<bytes> allocated;  // by result; entries beyond the results are unused
        std::vector<X> results;
    };
    /// Whether the number of rows in the parts follows from the states.
    [[nodiscard]] static bool knows_rows(std::span<const chunk_state> states) {
        return std::none_of(states.begin(), states.end(), [](const chunk_state& s) {
            return s.what == chunk_state::kind::permuted || s.what == chunk_state::kind::opaque;
        });
    }

    R* rewriter_;
    const P* costs_;
    std::vector<V> before_;
    std::vector<promise> promises_;
};

}  // namespace stretto::detail

#endif
