// Chooses the tokens along which to cut a step: those of a symbol in the shapes of its inputs, or those that it
// exchanges. A search over chunk counts needs tokens to begin with, and a captured step does not name them. Tokens are
// suitable if chunks along them can hide exchanges, which trial plans show.
#ifndef STRETTO_TUNE_CHOOSE_TOKENS_HPP
#define STRETTO_TUNE_CHOOSE_TOKENS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/tune/chunk_source.hpp"
#include "stretto/tune/detail/chunk_trials.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto {

/// Returns whether at least one of these vertices runs per chunk if every operation that can be cut is cut in two along
/// these tokens. A vertex that runs once for all chunks does not count. Returns false if the view is not a task graph
/// or if no such plan exists. Precondition: the graph lists these vertices and the values of the tokens. Makes one plan
/// (plan_chunks).
template <dependence_graph G, op_model<G> M, chunk_model_source<G> C>
    requires dataflow_graph<G>
[[nodiscard]] bool any_in_chunks(G g, const M& ops, const C& chunks, token_rows<value_t<G>> tokens,
                                 std::span<const vertex_t<G>> vertices) {
    const auto step = numbered_step<G>::read(g, ops);
    if (!step) return false;
    chunk_region<std::uint32_t> everything{{}, equal_chunks(tokens.rows, 2)};
    for (std::uint32_t v = 0; v < step->table().size(); ++v) {
        const op_kind kind = step->table().operations[v].kind;
        if (kind != op_kind::input && kind != op_kind::output) everything.candidates.push_back(v);
    }
    const detail::chunk_planner<G, C> planner(*step, chunks, tokens.dimensions);
    const auto plan = planner.plan(std::span(&everything, 1), false);
    if (!plan) return false;
    std::vector<char> wanted(step->table().size(), false);
    for (const vertex_t<G>& v : vertices) wanted[step->number(v)] = true;
    return std::any_of(plan->operations.begin(), plan->operations.end(),
                       [&](const chunked_operation<std::uint32_t>& o) { return wanted[o.vertex] && !o.once; });
}

/// Returns the tokens along which to cut a step, or nothing if it has neither symbols nor exchanges. The first of these
/// that applies is chosen:
///   - the first symbol, which occurs in most shapes, if the step has no exchanges or if one of them then runs per
///     chunk. Not every symbol qualifies: the sequence length of a batch, for example, is a symbol that cuts no
///     exchange;
///   - the tokens that the step exchanges, named "tokens", if an exchange then runs per chunk or if there are no
///     symbols. Their number is the smallest number of rows of an exchange; another exchange takes part if its number
///     of rows is a multiple of this;
///   - otherwise the first symbol.
/// Preconditions: `symbols` are sorted by descending frequency, each with `name`, `value` (its rows) and `dimensions`
/// (token_dimensions of the view); `exchanges` each have `dispatch` (a vertex), `tokens` (a token_dimension) and
/// positive `rows`. Makes at most two plans.
template <dependence_graph G, op_model<G> M, chunk_model_source<G> C, class Symbol, class Exchange>
    requires dataflow_graph<G>
[[nodiscard]] std::optional<Symbol> choose_tokens(G g, const M& ops, const C& chunks, std::vector<Symbol> symbols,
                                                  const std::vector<Exchange>& exchanges) {
    std::vector<vertex_t<G>> dispatches;
    for (const Exchange& e : exchanges) dispatches.push_back(e.dispatch);
    const auto cuts_exchanges = [&](const Symbol& s) {
        return any_in_chunks(g, ops, chunks, token_rows<value_t<G>>{s.value, s.dimensions},
                             std::span<const vertex_t<G>>(dispatches));
    };
    if (!symbols.empty() && (exchanges.empty() || cuts_exchanges(symbols[0]))) return std::move(symbols.front());
    if (exchanges.empty()) return std::nullopt;
    Symbol tokens{"tokens", INT64_MAX, {}};
    for (const Exchange& e : exchanges) tokens.value = std::min(tokens.value, e.rows);
    for (const Exchange& e : exchanges)
        if (e.rows % tokens.value == 0) tokens.dimensions.push_back(e.tokens);
    if (!symbols.empty() && !cuts_exchanges(tokens)) return std::move(symbols.front());
    return tokens;
}

}  // namespace stretto

#endif
