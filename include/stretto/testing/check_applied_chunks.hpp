// Checks that chunking works on an author's IR from end to end. Programs are planned, verified, applied in place,
// verified again and, if operations can be computed, run before and after. check_chunk_model and check_rewriter find
// the same faults closer to their cause, so run them first; this check finds faults that appear only in combination.
#ifndef STRETTO_TESTING_CHECK_APPLIED_CHUNKS_HPP
#define STRETTO_TESTING_CHECK_APPLIED_CHUNKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/chunk_relation.hpp"
#include "stretto/testing/detail/host_program.hpp"
#include "stretto/testing/detail/random_plans.hpp"
#include "stretto/testing/detail/sample_source.hpp"
#include "stretto/testing/detail/slicing_checker.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/recording_rewriter.hpp"
#include "stretto/transform/verify_chunks.hpp"

namespace stretto {

/// Counts of what was tried and found correct.
struct applied_chunks_summary {
    std::size_t plans = 0;       ///< plans that chunk something
    std::size_t operations = 0;  ///< operations chunked, in all plans together
    std::size_t clones = 0, splits = 0, concats = 0, sums = 0, slices = 0;
    std::size_t compared = 0;  ///< values that outputs read, found equal when computed before and after
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return plans == 0 ? "no plan chunks anything"
               : compared == 0
                   ? "no output was computed before and after: there is no evaluate, or it computes no program whole"
                   : "";
    }
};

struct applied_chunks_options {
    std::size_t most = 24;  ///< plans that are made
    std::uint64_t seed = 1;
    double tolerance = 1e-9;  ///< relative: chunks add in a different order
};

/// Each plan cuts one input of the program along one dimension, and divides all operations, as one region, into two to
/// four chunks; operations that cannot be chunked stay whole. The check requires that verify_chunks and verify_applied
/// find nothing wrong, that the view keeps its promises afterwards, and that outputs read the same values. `make` and
/// the members of its result are those of check_rewriter, but `chunks()` and all verbs of chunking_rewriter are
/// required. The result is deterministic. O(most (V + E)) calls.
template <class Make>
[[nodiscard]] expected<applied_chunks_summary, finding> check_applied_chunks(Make make,
                                                                             applied_chunks_options options = {}) {
    using IR = decltype(make());
    applied_chunks_summary summary;
    detail::sample_source pick(options.seed);
    for (std::size_t round = 0; round < options.most; ++round) {
        IR ir = make();
        const auto g = ir.view();
        using G = detail::view_of<IR>;
        using V = vertex_t<G>;
        const auto model = ir.model();
        const auto plan = detail::random_plan(ir, pick, round);
        if (plan.empty()) continue;
        const auto failed = [&](const char* rule, const char* hint, std::string detail) {
            return unexpected(finding{.rule = rule, .hint = hint, .detail = std::move(detail)});
        };
        if (const auto verified = verify_chunks(plan, g, model, ir.chunks()); !verified)
            return failed("plan", "verify_chunks finds something wrong with a plan of plan_chunks",
                          std::string(hint(verified.error()[0].broken)));
        const auto is_chunked = [&](V v) {
            return std::any_of(plan.operations.begin(), plan.operations.end(),
                               [&](const auto& operation) { return operation.vertex == v; });
        };
        std::vector<std::pair<V, std::vector<host_value>>> made_up;
        // Computes the program as it is now, and appends the values that outputs read to `seen`. Inputs are made up,
        // and so are results that `evaluate` does not compute, and they are the same the second time. If an operation
        // that reads something was made up, or one that runs in chunks, whose parts would not be parts of the whole,
        // the two programs cannot be compared, and `seen` stays empty.
        const auto run = [&](auto& of, std::vector<host_value>& seen) {
            using evaluate_type = detail::evaluate_of<IR, V>;
            const auto evaluate = [&](V v, std::span<const host_value> in, const chunk_part& part) {
                for (const auto& [vertex, values] : made_up)
                    if (vertex == v) return values;
                return evaluate_type{&of}(v, in, part);
            };
            const auto chunks = of.chunks();
            const G now = of.view();
            detail::host_program<G, decltype(of.chunks()), decltype(evaluate)> program(now, chunks, evaluate, 1 << 16);
            detail::sample_source contents(options.seed);
            if (finding f = program.compute(contents); *f.rule) return f;
            bool computed = true;
            std::size_t v = 0;
            for (V vertex : now.vertices()) {
                const op_kind kind = of.model().kind(vertex);
                const bool is_given = kind == op_kind::input || kind == op_kind::output ||
                                      (program.operands[v].empty() && !is_chunked(vertex));
                computed = computed && (is_given || program.results[v].empty() || !program.is_made_up[v]);
                if (kind == op_kind::output)
                    for (std::uint32_t x : program.operands[v]) seen.push_back(program.values[x]);
                if (program.is_made_up[v] && !program.results[v].empty()) {
                    std::vector<host_value>& values = made_up.emplace_back(vertex, std::vector<host_value>()).second;
                    for (std::uint32_t x : program.results[v]) values.push_back(program.values[x]);
                }
                ++v;
            }
            if (!computed) seen.clear();
            return finding{};
        };
        std::vector<host_value> before, after;
        if (finding f = run(ir, before); *f.rule) return unexpected(std::move(f));

        auto rewriter = ir.rewriter();
        chunk_recording<G> recording(g, plan);
        auto recorder = recording.rewriter(rewriter);
        apply_chunks(plan, g, recorder);
        if constexpr (requires { ir.changed(); }) ir.changed();
        const auto applied = recording.verify(ir.view());
        if (!applied)
            return failed("applied", "verify_applied finds something wrong with what the rewriter has made",
                          std::string(hint(applied.error()[0].broken)));
        if (auto graph = check_graph(ir.view()); !graph) return unexpected(std::move(graph).error());
        if (finding f = run(ir, after); *f.rule) return unexpected(std::move(f));
        if (!before.empty() && !after.empty()) {
            // An output is compared as a value that one chunk has whole.
            const chunk_interval all[] = {{0, 1}};
            const chunk_relation relation(
                1, all, [](std::uint32_t) -> const known_rows* { return nullptr; }, options.tolerance,
                options.tolerance);
            for (std::size_t k = 0; k < before.size(); ++k) {
                const std::vector<chunk_state> same(before[k].is_number() ? 1 : before[k].tensors.size(),
                                                    {chunk_state::kind::whole});
                const std::string wrong =
                    k < after.size() ? relation.check(before[k], std::span(&after[k], 1), same) : "it is gone";
                if (!wrong.empty())
                    return failed("value", "an output reads another value when the program runs in chunks",
                                  "value " + std::to_string(k) + ": " + wrong);
                ++summary.compared;
            }
        }
        ++summary.plans;
        const chunk_counts counts = plan.counts();
        summary.operations += counts.chunked;
        summary.clones += counts.clones;
        summary.splits += counts.splits;
        summary.concats += counts.concats;
        summary.sums += counts.sums;
        summary.slices += counts.slice_writes;
    }
    return summary;
}

}  // namespace stretto

#endif
