// A captured step in chunks, in one call: planned, verified, and written as a capture by the conventions of
// stretto-graph for chunked plans. Needs simdjson.
#ifndef STRETTO_INTEROP_CHUNK_CAPTURE_HPP
#define STRETTO_INTEROP_CHUNK_CAPTURE_HPP

#include <cstdint>
#include <span>
#include <utility>

#include "stretto/core/expected.hpp"
#include "stretto/interop/capture.hpp"
#include "stretto/interop/capture_chunker.hpp"
#include "stretto/interop/capture_tensors.hpp"
#include "stretto/interop/capture_view.hpp"
#include "stretto/interop/detail/chunk_reasons.hpp"
#include "stretto/interop/diagnostic.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"

namespace stretto {

using capture_chunk_plan = chunk_plan<std::uint32_t, std::uint32_t>;
using capture_chunk_region = chunk_region<std::uint32_t>;
using capture_token_dimension = token_dimension<std::uint32_t>;

/// A step in chunks, and what was done to it.
struct chunked_capture {
    capture_chunk_plan plan;
    capture step;
};

/// Plans, verifies and carries out: plan_chunks, verify_chunks with a model that has not seen the step before,
/// apply_chunks. `tokens`: the dimensions that a region cuts what it reads along, such as those of a token_symbol.
/// Fails with the node, the cause and a hint if a region, its sizes or a token dimension make no sense, has no node
/// that a token reaches, or cannot be chunked; nothing is made then. Deterministic. Time: that of the calls, and
/// O(length of the text) of what comes out.
[[nodiscard]] inline expected<chunked_capture, diagnostic> chunk_capture(
    const capture& step, const capture_tensors& tensors, std::span<const capture_chunk_region> regions,
    std::span<const capture_token_dimension> tokens, chunk_options options = {}) {
    const capture_view view{&step};
    const capture_op_model ops{&step};
    const detail::chunk_reasons reasons(step, tensors, regions, tokens);
    if (auto fault = reasons.of_regions()) return unexpected(*std::move(fault));

    aten_ledger ledger;
    const capture_chunk_model model(view, {&step, &tensors}, ledger);
    auto plan = plan_chunks(view, ops, model, regions, tokens, options);
    if (!plan) return unexpected(reasons.of(plan.error()));
    aten_ledger second_ledger;
    const auto verified = verify_chunks(*plan, view, ops, capture_chunk_model(view, {&step, &tensors}, second_ledger));
    if (!verified) return unexpected(reasons.of(verified.error()[0]));
    capture_chunker chunker(step, tensors, model);
    apply_chunks(*plan, view, chunker);
    auto made = chunker.build();
    if (!made) return unexpected(std::move(made).error());
    return chunked_capture{*std::move(plan), *std::move(made)};
}

}  // namespace stretto

#endif
