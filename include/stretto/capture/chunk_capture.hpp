// Runs regions of a captured step in chunks, in one call: the change is planned, verified, and written as a capture by
// the conventions of stretto-graph for chunked plans. Needs simdjson.
#ifndef STRETTO_CAPTURE_CHUNK_CAPTURE_HPP
#define STRETTO_CAPTURE_CHUNK_CAPTURE_HPP

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_chunker.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/chunk_reasons.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_causes.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"

namespace stretto {

using capture_chunk_plan = chunk_plan<std::uint32_t, std::uint32_t>;
using capture_chunk_region = chunk_region<std::uint32_t>;
using capture_token_dimension = token_dimension<std::uint32_t>;

/// An operation that reads rows of chunks and does not run per chunk.
struct kept_operation {
    chunk_error<std::uint32_t> why;
    diagnostic in_words;  ///< the same reason as a message
};

/// An operation that stays whole for a reason of its own, and the operations that stay whole because of it.
struct kept_cause {
    chunk_cause<std::uint32_t> cause;
    diagnostic in_words;  ///< its reason as a message
};

/// A step in chunks, and a record of what was done to it.
struct chunked_capture {
    capture_chunk_plan plan;
    capture step;
    std::vector<kept_operation> kept_whole;  ///< in program order
    std::vector<kept_cause> causes;          ///< one for each reason of its own, in program order
};

/// Plans, verifies and carries out: plan_chunks, verify_chunks with a model that has not seen the step before, then
/// apply_chunks. `tokens` are the dimensions along which a region cuts what it reads, such as those of a token_symbol.
/// It fails, without changing anything, with the node, the cause and a hint, if a region, its sizes or a token
/// dimension are invalid, or if a region has no node that depends on a token or cannot be chunked. Deterministic. Time:
/// that of the calls, plus O(length of the resulting text).
///
/// If `symbol` is given, the extents of parts follow that symbol of the step, such as the token_symbol from which
/// `tokens` come; the rows of every region must add up to its value. Otherwise they are numbers. Equal chunks
/// (equal_chunks) stay equal for other values: of s tokens, chunk c of k has (s + k - 1 - c)//k rows. Of other sizes
/// all are fixed except the last, which has the rest. Arguments refer to numbers that are computed from an input. The
/// assumptions are written down as guards: no chunk is empty, and the symbol has its recorded value if an extent that
/// has to be cut does not follow it. So concretise_capture with the values of all symbols gives the same result as for
/// the step with numbers, and with other values a step in chunks for those, or fails on a guard. It is assumed that the
/// states of values do not depend on the number of tokens, as aten_chunk_model says; a plan is verified for one number.
[[nodiscard]] inline expected<chunked_capture, diagnostic> chunk_capture(
    const capture& step, const capture_tensors& tensors, std::span<const capture_chunk_region> regions,
    std::span<const capture_token_dimension> tokens, chunk_options options = {}, std::string_view symbol = {}) {
    const capture_view view{&step};
    const capture_op_model ops{&step};
    const detail::chunk_reasons reasons(step, tensors, regions, tokens);
    if (auto fault = reasons.of_regions()) return unexpected(*std::move(fault));

    const capture_value_numbers numbers = value_numbers_of(step, tensors);
    row_orders ledger;
    const capture_chunk_model model(view, {&step, &tensors}, ledger, &numbers);
    auto plan = plan_chunks(view, ops, model, regions, tokens, options);
    if (!plan) return unexpected(reasons.of(plan.error()));
    row_orders second_ledger;
    const capture_chunk_model second_model(view, {&step, &tensors}, second_ledger, &numbers);
    const auto verified = verify_chunks(*plan, view, ops, second_model);
    if (!verified) return unexpected(reasons.of(verified.error()[0]));
    capture_chunker chunker(step, tensors, model);
    if (!symbol.empty())
        if (auto fault = chunker.keep_symbol(symbol, *plan)) return unexpected(*std::move(fault));
    apply_chunks(*plan, view, chunker);
    auto made = chunker.build();
    if (!made) return unexpected(std::move(made).error());
    std::vector<kept_operation> kept_whole;
    for (const refused_operation<std::uint32_t>& r : plan->refused)
        if (r.why.why != chunk_reason::only_sums) kept_whole.push_back({r.why, reasons.of(r.why)});
    std::vector<kept_cause> causes;
    for (chunk_cause<std::uint32_t>& c : chunk_causes(*plan, view, ops, regions)) {
        diagnostic in_words = reasons.of(c.why);
        causes.push_back({std::move(c), std::move(in_words)});
    }
    return chunked_capture{*std::move(plan), *std::move(made), std::move(kept_whole), std::move(causes)};
}

}  // namespace stretto

#endif
