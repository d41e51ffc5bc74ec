// Why a captured step cannot be chunked as asked, in words: which node, what about it, and what helps.
#ifndef STRETTO_CAPTURE_DETAIL_CHUNK_REASONS_HPP
#define STRETTO_CAPTURE_DETAIL_CHUNK_REASONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/verify_rules.hpp"

namespace stretto::detail {

class chunk_reasons {
public:
    using node_id = std::uint32_t;

    chunk_reasons(const capture& step, const capture_tensors& tensors, std::span<const chunk_region<node_id>> regions,
                  std::span<const token_dimension<node_id>> tokens)
        : step_(&step), tensors_(&tensors), regions_(regions), tokens_(tokens) {}

    [[nodiscard]] diagnostic of(const chunk_error<node_id>& e) const {
        using why = chunk_error<node_id>::reason;
        switch (e.why) {
            case why::no_regions:
                return about_step("no region to chunk is given", "a region is a set of nodes, and rows per chunk");
            case why::no_sizes:
                return about_region(e.region, "is to run in chunks, and none of them has any rows",
                                    "rows per chunk add up to the tokens; one chunk of all of them changes nothing");
            case why::negative_size:
                return about_region(e.region, "is to run in chunks of " + sizes(e.region) + " rows",
                                    "a chunk has no rows or more");
            case why::extent_indivisible:
                return about(e.region, e.vertex,
                             token_rows(e.vertex) + ", and the chunks of the region " + have(e.region),
                             "rows per chunk add up to the tokens, or to a number that divides them");
            case why::dim_out_of_range:
                return about(no_region, e.vertex, missing_dimension(e.vertex),
                             "tokens lie along a dimension of one tensor, counted from 0");
            case why::overlapping:
                return about(e.region, e.vertex, "is a node of two regions" + first_region_of(e.vertex),
                             "give every node to one region; what has equal chunks may be one region");
            case why::not_in_graph:
                return about(e.region, e.vertex,
                             "there is no node of that number: the step has " + std::to_string(step_->size()) +
                                 (step_->size() == 1 ? " node" : " nodes"),
                             "nodes are numbered from 0 in program order");
            case why::nothing_reached:
                return about_region(e.region, "has no node that a token reaches, so there is nothing to cut",
                                    "chunks are cut along the token dimensions of what the region reads");
            case why::refused:
                return about(e.region, e.vertex, "cannot run per chunk: " + printable(e.detail, 300),
                             "leave it out of the region, or let what cannot be cut stay whole");
            case why::only_sums:
                return about(e.region, e.vertex, "runs once, on sums over the chunks: " + printable(e.detail, 300),
                             "nothing that it reads is in rows");
            case why::unknown_live_out:
                return about(e.region, e.vertex,
                             "is read outside of the region by " + called(e.other) +
                                 ", and nothing is known to make its parts whole again",
                             "take the reader into the region, or leave this node out");
            case why::written_outside:
                return about(e.region, e.vertex, "is written in place outside of the region by " + called(e.other),
                             "take the write into the region, or leave this node out");
            case why::read_between_writes:
                return about(e.region, e.vertex,
                             "is read outside of the region by " + called(e.other) +
                                 " before the region has written it for the last time",
                             "take the reader into the region, or leave the writes out");
            case why::not_convex:
                return about(
                    e.region, e.path[1], "lies on a path that leaves the region and enters it again: " + shown(e.path),
                    "take what lies between into the region, or give what comes behind it a region of its own");
            case why::result_unset:
                return about(
                    e.region, e.vertex,
                    "can run per chunk, and no rule says what its result " + std::to_string(e.component) + " is then",
                    "this is a defect of stretto: please report the step");
            case why::left_in_flight:
                break;
        }
        const bool wait = e.other < step_->size() && step_->launch_of(e.other) == e.vertex;
        return about(e.region, e.vertex,
                     wait ? "is a collective that must be chunked together with its wait " + called(e.other)
                          : "is a collective, and " + called(e.other) + ", outside, reads it before it has arrived",
                     wait ? "take both into the region, or neither" : "read what the wait gives");
    }

    [[nodiscard]] diagnostic of(const chunk_violation<node_id>& v) const {
        std::string cause = "the plan of its chunks breaks a rule: " + std::string(hint(v.broken));
        if (v.other != v.vertex && v.other < step_->size()) cause += " (" + called(v.other) + ")";
        if (!v.detail.empty()) cause += ": " + printable(v.detail, 300);
        return about(no_region, v.vertex, std::move(cause), "this is a defect of stretto: please report the step");
    }

    [[nodiscard]] diagnostic of(const task_graph_error& e) const {
        return about_step("in chunks has times or bytes that do not add up, at its task " + std::to_string(e.task),
                          "times and bytes of a step may add up to 2^62 at most");
    }
    /// What plan_chunks takes for regions that do nothing.
    [[nodiscard]] std::optional<diagnostic> of_regions() const {
        for (std::uint32_t r = 0; r < regions_.size(); ++r)
            if (regions_[r].candidates.empty())
                return about_region(r, "has no nodes", "a region is a set of nodes, and rows per chunk");
        return std::nullopt;
    }

private:
    [[nodiscard]] diagnostic about_region(std::uint32_t region, std::string cause, std::string hint) const {
        diagnostic d = about_step(std::move(cause), std::move(hint));
        const auto& nodes = regions_[region].candidates;
        d.field = "region " + std::to_string(region) + (nodes.empty() ? "" : " (from " + called(nodes[0]) + ")");
        return d;
    }

    static constexpr std::uint32_t no_region = UINT32_MAX;

    [[nodiscard]] static diagnostic about_step(std::string cause, std::string hint) {
        diagnostic d;
        d.cause = std::move(cause);
        d.hint = std::move(hint);
        return d;
    }
    [[nodiscard]] diagnostic about(std::uint32_t region, node_id v, std::string cause, std::string hint) const {
        diagnostic d = about_step(std::move(cause), std::move(hint));
        d.node = v;
        if (v < step_->size()) d.node_name = step_->name(v);
        if (regions_.size() > 1 && region != no_region) d.field = "region " + std::to_string(region);
        return d;
    }

    [[nodiscard]] std::string called(node_id v) const {
        return v < step_->size() ? printable(step_->name(v)) : "node " + std::to_string(v);
    }
    /// Both ends, and what lies between if it is not long.
    [[nodiscard]] std::string shown(std::span<const node_id> path) const {
        std::string text = called(path[0]);
        for (std::size_t k = 1; k < path.size(); ++k)
            if (k < 3 || k + 2 > path.size()) text += " -> " + called(path[k]);
            else if (k == 3) text += " -> (" + std::to_string(path.size() - 4) + " more)";
        return text;
    }
    [[nodiscard]] std::string sizes(std::uint32_t region) const {
        std::string text;
        for (std::int64_t size : regions_[region].sizes) text += (text.empty() ? "" : " + ") + std::to_string(size);
        return text;
    }
    [[nodiscard]] std::string have(std::uint32_t region) const {
        std::int64_t rows = 0;
        for (std::int64_t size : regions_[region].sizes) rows += size;
        return "have " + sizes(region) + (regions_[region].sizes.size() > 1 ? " = " + std::to_string(rows) : "");
    }
    [[nodiscard]] std::size_t token_dim(node_id v) const {
        std::size_t dim = 0;
        for (const token_dimension<node_id>& t : tokens_)
            if (t.value == v) dim = t.dim;
        return dim;
    }
    [[nodiscard]] std::string token_rows(node_id v) const {
        const std::size_t dim = token_dim(v);
        return "has " + std::to_string(tensors_->components(v)[0].shape[dim]) + " rows of tokens along dimension " +
               std::to_string(dim);
    }
    [[nodiscard]] std::string missing_dimension(node_id v) const {
        const std::size_t made = tensors_->components(v).size();
        if (made != 1) return "is to be cut, and is no tensor but " + std::to_string(made);
        const std::size_t rank = tensors_->components(v)[0].shape.size();
        return "is to be cut along dimension " + std::to_string(token_dim(v)) + ", and has " + std::to_string(rank) +
               (rank == 1 ? " dimension" : " dimensions");
    }
    [[nodiscard]] std::string first_region_of(node_id v) const {
        for (std::size_t r = 0; r < regions_.size(); ++r) {
            const auto& nodes = regions_[r].candidates;
            if (std::find(nodes.begin(), nodes.end(), v) != nodes.end()) return ": also of region " + std::to_string(r);
        }
        return {};
    }

    const capture* step_;
    const capture_tensors* tensors_;
    std::span<const chunk_region<node_id>> regions_;
    std::span<const token_dimension<node_id>> tokens_;
};

}  // namespace stretto::detail

#endif
