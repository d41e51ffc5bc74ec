// Explains, as a diagnostic, why a captured step cannot be chunked as requested. The words come from
// transform/explain_chunks.hpp; this header adds the place in the file, and makes texts of the file printable.
#ifndef STRETTO_CAPTURE_DETAIL_CHUNK_REASONS_HPP
#define STRETTO_CAPTURE_DETAIL_CHUNK_REASONS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/explain_chunks.hpp"
#include "stretto/transform/verify_rules.hpp"

namespace stretto::detail {

/// The names of a capture in printable form, and its shapes.
struct printable_capture {
    const capture* step;
    const capture_tensors* tensors;

    [[nodiscard]] std::string name(std::uint32_t v) const {
        return v < step->size() ? printable(step->name(v)) : "node " + std::to_string(v);
    }
    [[nodiscard]] std::size_t components_of(std::uint32_t x) const { return tensors->components(x).size(); }
    [[nodiscard]] std::size_t rank(std::uint32_t x, std::size_t c) const {
        return tensors->components(x)[c].shape.size();
    }
    [[nodiscard]] std::int64_t extent(std::uint32_t x, std::size_t c, std::size_t dim) const {
        return tensors->components(x)[c].shape[dim];
    }
};

/// Makes diagnostics for one request. Everything that it is constructed with must outlive it; the diagnostics own their
/// texts.
class chunk_reasons {
public:
    using node_id = std::uint32_t;

    chunk_reasons(const capture& step, const capture_tensors& tensors, std::span<const chunk_region<node_id>> regions,
                  std::span<const token_dimension<node_id>> tokens)
        : named_{&step, &tensors}, regions_(regions), tokens_(tokens) {}

    /// Returns why a request was refused. A request may contain the number of a node that does not exist. That node has
    /// no name, so it gets a message of its own.
    [[nodiscard]] diagnostic of(chunk_error<node_id> e) const {
        e.detail = printable(e.detail, 300);
        explanation words = explain(e);
        if (e.why == chunk_reason::not_in_graph) {
            const std::size_t size = named_.step->size();
            words.cause = "there is no node of that number: the step has " + std::to_string(size) +
                          (size == 1 ? " node" : " nodes");
            words.hint = "nodes are numbered from 0 in program order";
        }
        return diagnostic_of(std::move(words));
    }

    /// Returns which rule a plan breaks.
    [[nodiscard]] diagnostic of(chunk_violation<node_id> v) const {
        v.detail = printable(v.detail, 300);
        return diagnostic_of(explain(v));
    }

    /// Returns a fault if a region has no nodes. plan_chunks accepts such a region as one that does nothing.
    [[nodiscard]] std::optional<diagnostic> of_regions() const {
        for (std::uint32_t r = 0; r < regions_.size(); ++r)
            if (regions_[r].candidates.empty()) {
                diagnostic d = about_step("has no nodes", "a region is a set of nodes, and rows per chunk");
                d.field = "region " + std::to_string(r);
                return d;
            }
        return std::nullopt;
    }

private:
    using explanation = chunk_explanation<node_id>;

    template <class E>
    [[nodiscard]] explanation explain(const E& e) const {
        const capture_op_model model{named_.step};
        return chunk_explainer(capture_view{named_.step}, model, named_, named_, regions_, tokens_).explain(e);
    }
    [[nodiscard]] static diagnostic about_step(std::string cause, std::string hint) {
        diagnostic d;
        d.cause = std::move(cause);
        d.hint = std::move(hint);
        return d;
    }
    [[nodiscard]] diagnostic diagnostic_of(explanation words) const {
        diagnostic d = about_step(std::move(words.cause), std::move(words.hint));
        if (words.about == explanation::subject::region) {
            const auto& nodes = regions_[words.region].candidates;
            d.field = "region " + std::to_string(words.region);
            if (!nodes.empty()) d.field += " (from " + named_.name(nodes[0]) + ")";
        }
        if (words.about == explanation::subject::vertex) {
            d.node = words.vertex;
            if (words.vertex < named_.step->size()) d.node_name = named_.step->name(words.vertex);
            if (regions_.size() > 1 && words.region != explanation::no_region)
                d.field = "region " + std::to_string(words.region);
        }
        return d;
    }

    printable_capture named_;
    std::span<const chunk_region<node_id>> regions_;
    std::span<const token_dimension<node_id>> tokens_;
};

}  // namespace stretto::detail

#endif
