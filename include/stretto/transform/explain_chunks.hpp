// Explains why a program cannot be chunked as requested: what is affected, the cause, and what helps. It works over any
// view, op model and chunk model, and uses the caller's names.
#ifndef STRETTO_TRANSFORM_EXPLAIN_CHUNKS_HPP
#define STRETTO_TRANSFORM_EXPLAIN_CHUNKS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/verify_rules.hpp"

namespace stretto {

/// Gives names of vertices for use in sentences. `name(v)` is also called for a candidate that the graph does not list.
template <class L, class G>
concept chunk_labels = graph_view<G> && requires(const L& labels, const vertex_t<G> v) {
    { labels.name(v) } -> std::convertible_to<std::string>;
};

/// The part of a chunk_model that gives the shapes of values: `components_of(x)`, `rank(x, c)`, `extent(x, c, dim)`.
template <class S, class G>
concept value_shapes = dataflow_graph<G> && requires(const S& s, const value_t<G> x, std::size_t n) {
    { s.components_of(x) } -> std::convertible_to<std::size_t>;
    { s.rank(x, n) } -> std::convertible_to<std::size_t>;
    { s.extent(x, n, n) } -> std::convertible_to<std::int64_t>;
};

/// One explanation. `cause` is a predicate whose subject is the affected vertex, region or step. Neither `cause` nor
/// `hint` ends in a full stop.
template <handle V>
struct chunk_explanation {
    enum class subject : std::uint8_t {
        step,    ///< the program as a whole
        region,  ///< the region with the number `region`
        vertex,  ///< `vertex`, which belongs to `region` unless that is no_region
    };
    static constexpr std::uint32_t no_region = UINT32_MAX;

    subject about = subject::step;
    std::uint32_t region = no_region;
    V vertex{};
    std::string cause;
    std::string hint;
};

/// Explains the errors and violations of one request. `regions` and `tokens` are those of the request. Precondition:
/// the arguments outlive it, because it refers to them. Each explanation takes O(sizes of the region + tokens + path)
/// time; one of overlapping regions also takes time linear in their candidates.
template <dataflow_graph G, op_model<G> M, value_shapes<G> S, chunk_labels<G> L>
class chunk_explainer {
public:
    using vertex_type = vertex_t<G>;
    using explanation = chunk_explanation<vertex_type>;

    chunk_explainer(G view, const M& model, const S& shapes, const L& labels,
                    std::span<const chunk_region<vertex_type>> regions,
                    std::span<const token_dimension<value_t<G>>> tokens)
        : view_(view), model_(&model), shapes_(&shapes), labels_(&labels), regions_(regions), tokens_(tokens) {}

    /// Explains why there is no plan, or why a plan leaves an operation whole.
    [[nodiscard]] explanation explain(const chunk_error<vertex_type>& e) const {
        switch (e.why) {
            case chunk_reason::no_regions:
                return {.cause = "no region to chunk is given",
                        .hint = "a region is a set of nodes, and rows per chunk"};
            case chunk_reason::no_sizes:
                return about_region(e.region, "is to run in chunks, and none of them has any rows",
                                    "rows per chunk add up to the tokens; one chunk of all of them changes nothing");
            case chunk_reason::negative_size:
                return about_region(e.region, "is to run in chunks of " + sizes(e.region) + " rows",
                                    "a chunk has no rows or more");
            case chunk_reason::too_many_rows:
                return about_region(e.region, "is to run in chunks of " + sizes(e.region) + " rows, more than 2^63 - 1",
                                    "rows per chunk add up to the tokens");
            case chunk_reason::extent_indivisible:
                return about(e, token_rows(e) + ", and the chunks of the region " + have(e.region),
                             "rows per chunk add up to the tokens, or to a number that divides them");
            case chunk_reason::dim_out_of_range: {
                explanation made =
                    about(e, missing_dimension(e.vertex), "tokens lie along a dimension of one tensor, counted from 0");
                made.region = explanation::no_region;
                return made;
            }
            case chunk_reason::overlapping:
                return about(e, "is a node of two regions" + first_region_of(e.vertex),
                             "give every node to one region; what has equal chunks may be one region");
            case chunk_reason::not_in_graph: {
                explanation made = about(e, "is not listed by the graph", "a region has nodes of the graph only");
                if (lists(e.region, e.vertex)) return made;
                made.region = explanation::no_region;
                made.hint = "tokens lie along a dimension of a value that a node of the graph gives";
                return made;
            }
            case chunk_reason::nothing_reached:
                return about_region(e.region, "has no node that a token reaches, so there is nothing to cut",
                                    "chunks are cut along the token dimensions of what the region reads");
            case chunk_reason::refused:
                return about(e, "cannot run per chunk: " + e.detail,
                             "leave it out of the region, or let what cannot be cut stay whole");
            case chunk_reason::only_sums:
                return about(e, "runs once, on sums over the chunks: " + e.detail, "nothing that it reads is in rows");
            case chunk_reason::unknown_live_out:
                return about(e,
                             "is read outside of the region by " + called(e.other) +
                                 ", and nothing is known to make its parts whole again",
                             "take the reader into the region, or leave this node out");
            case chunk_reason::written_outside:
                return about(e, "is written in place outside of the region by " + called(e.other),
                             "take the write into the region, or leave this node out");
            case chunk_reason::read_between_writes:
                return about(e,
                             "is read outside of the region by " + called(e.other) +
                                 " before the region has written it for the last time",
                             "take the reader into the region, or leave the writes out");
            case chunk_reason::not_convex: {
                explanation made =
                    about(e, "lies on a path that leaves the region and enters it again: " + shown(e.path),
                          "take what lies between into the region, or give what comes behind it a region of its own");
                made.vertex = e.path[1];
                return made;
            }
            case chunk_reason::result_unset:
                return about(
                    e,
                    "can run per chunk, and no rule says what its result " + std::to_string(e.component) + " is then",
                    "a chunk model says the state of every result; for a captured step this is a defect of stretto: "
                    "please report the step");
            case chunk_reason::left_in_flight:
                break;
        }
        const bool wait = model_->kind(e.other) == op_kind::wait && launch_of(view_, *model_, e.other) == e.vertex;
        const std::string what =
            model_->kind(e.vertex) == op_kind::start ? "is a collective" : "has the memory of a collective in flight";
        return about(e,
                     wait ? "is a collective that must be chunked together with its wait " + called(e.other)
                          : what + ", and " + called(e.other) + ", outside, reads it before it has arrived",
                     wait ? "take both into the region, or neither" : "read what the wait gives");
    }

    /// Explains which rule a plan breaks, and where. A plan from plan_chunks breaks none.
    [[nodiscard]] explanation explain(const chunk_violation<vertex_type>& v) const {
        std::string cause = "the plan of its chunks breaks a rule: " + std::string(hint(v.broken));
        if (!(v.other == v.vertex) && !(v.other == vertex_type{})) cause += " (" + called(v.other) + ")";
        if (!v.detail.empty()) cause += ": " + v.detail;
        return {
            explanation::subject::vertex, explanation::no_region, v.vertex, std::move(cause),
            "a plan of plan_chunks breaks a rule only if the chunk model answers the same question in two ways; for a "
            "captured step this is a defect of stretto: please report the step"};
    }

private:
    static explanation about(const chunk_error<vertex_type>& e, std::string cause, std::string hint) {
        return {explanation::subject::vertex, e.region, e.vertex, std::move(cause), std::move(hint)};
    }
    static explanation about_region(std::uint32_t region, std::string cause, std::string hint) {
        return {explanation::subject::region, region, {}, std::move(cause), std::move(hint)};
    }

    /// The name of a vertex.
    [[nodiscard]] std::string called(const vertex_type& v) const { return labels_->name(v); }
    /// Returns the ends of a path, and what lies between them if it is short.
    [[nodiscard]] std::string shown(std::span<const vertex_type> path) const {
        std::string text = called(path[0]);
        for (std::size_t k = 1; k < path.size(); ++k)
            if (k < 3 || k + 2 > path.size()) text += " -> " + called(path[k]);
            else if (k == 3) text += " -> (" + std::to_string(path.size() - 4) + " more)";
        return text;
    }
    /// The sizes of the chunks of a region: "4 + 2".
    [[nodiscard]] std::string sizes(std::uint32_t region) const {
        constexpr std::size_t most = 12;  // if there are very many, the first ones suffice
        const std::vector<std::int64_t>& all = regions_[region].sizes;
        const std::size_t shown = all.size() <= most ? all.size() : most - 4;
        std::string text;
        for (std::size_t k = 0; k < shown; ++k) text += (k == 0 ? "" : " + ") + std::to_string(all[k]);
        return shown == all.size() ? text : text + " + (" + std::to_string(all.size() - shown) + " more)";
    }
    /// The rows of all chunks of a region.
    [[nodiscard]] std::int64_t rows_of(std::uint32_t region) const {
        std::int64_t rows = 0;
        for (std::int64_t size : regions_[region].sizes) rows += size;
        return rows;
    }
    /// The sizes and their total as a predicate: "have 4 + 2 = 6".
    [[nodiscard]] std::string have(std::uint32_t region) const {
        return "have " + sizes(region) +
               (regions_[region].sizes.size() > 1 ? " = " + std::to_string(rows_of(region)) : "");
    }
    /// Whether the region names v.
    [[nodiscard]] bool lists(std::uint32_t region, const vertex_type& v) const {
        if (region >= regions_.size()) return false;
        for (const auto* list : {&regions_[region].candidates, &regions_[region].kept})
            for (const vertex_type& u : *list)
                if (u == v) return true;
        return false;
    }
    /// Whether the value of a token dimension is one tensor that has the dimension.
    [[nodiscard]] bool exists(const token_dimension<value_t<G>>& t) const {
        return static_cast<std::size_t>(shapes_->components_of(t.value)) == 1 &&
               t.dim < static_cast<std::size_t>(shapes_->rank(t.value, 0));
    }
    /// Returns the first token dimension of a value that `v` produces for which `faulty` holds, which is the one that
    /// an error is about; nullptr if there is none.
    template <class Faulty>
    [[nodiscard]] const token_dimension<value_t<G>>* token_of(const vertex_type& v, Faulty faulty) const {
        for (const token_dimension<value_t<G>>& t : tokens_) {
            const vertex_type producer = view_.producer(t.value);
            if (producer == v && faulty(t)) return &t;
        }
        return nullptr;
    }
    /// Describes the token dimension that the chunks of a region do not divide.
    [[nodiscard]] std::string token_rows(const chunk_error<vertex_type>& e) const {
        const std::int64_t total = rows_of(e.region);
        const token_dimension<value_t<G>>* token = token_of(e.vertex, [&](const token_dimension<value_t<G>>& t) {
            return exists(t) && total > 0 && static_cast<std::int64_t>(shapes_->extent(t.value, 0, t.dim)) % total != 0;
        });
        if (token == nullptr) return "has rows of tokens";
        const auto rows = static_cast<std::int64_t>(shapes_->extent(token->value, 0, token->dim));
        return "has " + std::to_string(rows) + " rows of tokens along dimension " + std::to_string(token->dim);
    }
    /// Describes why a value that v produces cannot be cut along its token dimension.
    [[nodiscard]] std::string missing_dimension(const vertex_type& v) const {
        const token_dimension<value_t<G>>* token =
            token_of(v, [&](const token_dimension<value_t<G>>& t) { return !exists(t); });
        if (token == nullptr) return "is to be cut along a dimension that it does not have";
        const auto tensors = static_cast<std::size_t>(shapes_->components_of(token->value));
        if (tensors != 1) return "is to be cut, and is no tensor but " + std::to_string(tensors);
        const auto rank = static_cast<std::size_t>(shapes_->rank(token->value, 0));
        return "is to be cut along dimension " + std::to_string(token->dim) + ", and has " + std::to_string(rank) +
               (rank == 1 ? " dimension" : " dimensions");
    }
    /// Names the first region that lists v.
    [[nodiscard]] std::string first_region_of(const vertex_type& v) const {
        for (std::size_t r = 0; r < regions_.size(); ++r)
            for (const vertex_type& u : regions_[r].candidates)
                if (u == v) return ": also of region " + std::to_string(r);
        return {};
    }

    G view_;
    const M* model_;
    const S* shapes_;
    const L* labels_;
    std::span<const chunk_region<vertex_type>> regions_;
    std::span<const token_dimension<value_t<G>>> tokens_;
};

}  // namespace stretto

#endif
