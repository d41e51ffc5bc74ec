// Runs all checks that an adapter must pass, in one call on the author's own IR:
//
//     const stretto::conformance c = stretto::run_conformance([] { return my_ir(...); });
//     std::puts(c.text().c_str());                    // what was checked, what was not and why
//     if (!c) FAIL(c.first.message());
//
// The callable makes the same program each time, as an object with these members:
//
//     view()          required: a dependence_graph, and a dataflow_graph for all checks but the first
//     model()         an op_model
//     tensors()       a tensor_model
//     chunks()        a chunk_model
//     evaluate(...)   computes one operation on host_values; see testing/check_chunk_model.hpp
//     part_costs()    a part_cost_model
//     rewriter()      see testing/check_rewriter.hpp
//     changed()       called after a rewriter has worked
//
// A check whose members are missing is reported as skipped. A check that has nothing to compare proves nothing, and is
// reported as unproved, not as passed. An IR may be given instead of a callable; then no check that rewrites it runs.
#ifndef STRETTO_TESTING_RUN_CONFORMANCE_HPP
#define STRETTO_TESTING_RUN_CONFORMANCE_HPP

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/check_applied_chunks.hpp"
#include "stretto/testing/check_applied_costs.hpp"
#include "stretto/testing/check_chunk_model.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/check_part_costs.hpp"
#include "stretto/testing/check_rewriter.hpp"
#include "stretto/testing/check_tensor_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// One of the checks of run_conformance.
struct conformance_check {
    enum class outcome {
        passed,
        skipped,   ///< the IR lacks the members, and so makes no claim to check
        unproved,  ///< the members exist, but the program gave nothing to check them by
        failed
    };
    std::string name;
    outcome what = outcome::passed;
    std::string detail;  ///< what was counted, what is missing, why nothing was proved, or the finding
};

/// The result of all checks on an IR. It converts to true if no check has failed and none was left unproved; skipped
/// checks do not count.
struct conformance {
    std::vector<conformance_check> checks;  ///< in the order in which they run; the first failure is the last
    finding first;  ///< the finding of the failed check; otherwise the rule "unproved", with the first reason for it
    /// Operations for which no verdict of the chunk model was proved: the parts of the IR that went unchecked, and why.
    std::vector<unaccepted_operation> unaccepted = {};

    explicit operator bool() const { return !failed() && unproved().empty(); }
    /// Whether a check has found something. For an IR that cannot compute, test this instead of the conversion to bool.
    [[nodiscard]] bool failed() const {
        return !checks.empty() && checks.back().what == conformance_check::outcome::failed;
    }
    /// The checks that had nothing to check, each with the reason: "name: reason".
    [[nodiscard]] std::vector<std::string> unproved() const {
        std::vector<std::string> all;
        for (const conformance_check& c : checks)
            if (c.what == conformance_check::outcome::unproved) all.push_back(c.name + ": " + c.detail);
        return all;
    }
    /// Whether the check of that name ran and was passed.
    [[nodiscard]] bool passed(const char* name) const {
        for (const conformance_check& c : checks)
            if (c.name == name) return c.what == conformance_check::outcome::passed;
        return false;
    }
    /// One line per check, and then one for each unaccepted operation.
    [[nodiscard]] std::string text() const {
        static constexpr const char* words[] = {"passed  ", "skipped ", "UNPROVED", "FAILED  "};
        std::string all;
        for (const conformance_check& c : checks)
            all += std::string(words[static_cast<std::size_t>(c.what)]) + "  " + c.name + ": " + c.detail + "\n";
        for (const unaccepted_operation& o : unaccepted)
            all += "unaccepted  vertex " + std::to_string(o.vertex) + ": " + o.why + "\n";
        return all;
    }
};

/// The options of the individual checks.
struct conformance_options {
    check_options graph = {};
    chunk_model_options chunk_model = {};
    rewriter_options rewriter = {};
    applied_chunks_options applied = {};
    applied_costs_options applied_costs = {};
};

namespace detail {

/// Why a check that counts tensors has proved nothing; empty if it has proved something.
[[nodiscard]] inline const char* unproved_by(std::size_t tensors) { return tensors == 0 ? "there is no tensor" : ""; }
template <class Summary>
[[nodiscard]] const char* unproved_by(const Summary& summary) {
    return summary.unproved();
}

/// Runs the checks one after the other until one fails.
class conformance_run {
public:
    conformance result;

    /// Records that a check cannot run, unless one has failed before.
    void skip(const char* name, const char* why) {
        if (!result.failed()) result.checks.push_back({name, conformance_check::outcome::skipped, why});
    }
    /// Runs `check()`, which returns an expected; `count(summary)` returns a text with the counts.
    template <class Check, class Count>
    void run(const char* name, Check check, Count count) {
        if (result.failed()) return;
        auto made = check();
        if (made) {
            const char* unproved = unproved_by(*made);
            if (*unproved) {
                if (!*result.first.rule) result.first = {.rule = "unproved", .hint = unproved, .detail = name};
                result.checks.push_back(
                    {name, conformance_check::outcome::unproved, std::string(unproved) + " (" + count(*made) + ")"});
            } else result.checks.push_back({name, conformance_check::outcome::passed, count(*made)});
            return;
        }
        result.first = std::move(made).error();
        result.checks.push_back({name, conformance_check::outcome::failed, result.first.message()});
    }
};

/// "3 vertices, 2 edges".
[[nodiscard]] inline std::string counted(std::initializer_list<std::pair<std::size_t, const char*>> all) {
    std::string text;
    for (const auto& [n, what] : all) text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + what;
    return text;
}

/// Runs the checks that rewrite nothing.
template <class IR>
void conform_as_it_is(IR& ir, const conformance_options& options, conformance_run& checks) {
    using G = std::remove_cvref_t<decltype(ir.view())>;
    checks.run(
        "view", [&] { return check_graph(ir.view(), options.graph); },
        [](const graph_summary& s) {
            return counted({{s.vertices, "vertices"}, {s.edges, "edges"}, {s.values, "values"}});
        });
    constexpr bool models = dataflow_graph<G> && requires { ir.model(); };
    if constexpr (models)
        checks.run(
            "op model", [&] { return check_op_model(ir.view(), ir.model()); },
            [](const model_summary& s) {
                return counted({{s.inputs, "inputs"},
                                {s.computes + s.views, "operations"},
                                {s.starts, "starts"},
                                {s.waits, "waits"},
                                {s.outputs, "outputs"}});
            });
    else checks.skip("op model", "there is no model(), or the view is no dataflow_graph");
    if constexpr (models && requires { ir.tensors(); })
        checks.run(
            "tensor model", [&] { return check_tensor_model(ir.view(), ir.model(), ir.tensors()); },
            [](const tensor_summary& s) {
                return counted({{s.operations, "names"}, {s.tensors, "tensors"}, {s.numbers, "numbers"}});
            });
    else checks.skip("tensor model", "there is no tensors()");
    if constexpr (models && requires { ir.tensors(); } && requires { ir.chunks(); })
        checks.run(
            "chunk shapes", [&] { return check_chunk_shapes(ir.view(), ir.chunks(), ir.tensors()); },
            [](std::size_t n) { return counted({{n, "tensors"}}); });
    else checks.skip("chunk shapes", "tensors() and chunks() are not both there");
    using V = vertex_t<G>;
    constexpr bool computes = requires(V v, std::span<const host_value> in) {
        ir.evaluate(v, in);
    } || requires(V v, std::span<const host_value> in, const chunk_part& part) { ir.evaluate(v, in, part); };
    if constexpr (models && computes && requires { ir.chunks(); })
        checks.run(
            "chunk model",
            [&] {
                return check_chunk_model(ir.view(), ir.model(), ir.chunks(), evaluate_of<IR, V>{&ir},
                                         options.chunk_model);
            },
            [&](const chunk_model_summary& s) {
                checks.result.unaccepted = s.unaccepted;
                return counted({{s.asked, "questions"},
                                {s.accepted, "accepted and true"},
                                {s.refused, "refused"},
                                {s.not_computed, "not computed"}}) +
                       "; " + counted({{s.never_accepted, "operations of"}, {s.operations, "never accepted"}});
            });
    else checks.skip("chunk model", "chunks() and evaluate(v, operands) are not both there");
    if constexpr (models && requires { ir.chunks(); } && requires { ir.part_costs(); })
        checks.run(
            "part costs", [&] { return check_part_costs(ir.view(), ir.model(), ir.chunks(), ir.part_costs()); },
            [](const part_cost_summary& s) {
                return counted(
                    {{s.operations, "operations"}, {s.clones, "clones"}, {s.joins, "joins"}, {s.slices, "slices"}});
            });
    else checks.skip("part costs", "chunks() and part_costs() are not both there");
}

/// Runs the checks that rewrite fresh programs.
template <class Make>
void conform_rewritten(Make& make, const conformance_options& options, conformance_run& checks) {
    using IR = decltype(make());
    constexpr bool models = dataflow_graph<view_of<IR>> && requires(IR& ir) {
        ir.model();
        ir.rewriter();
    };
    if constexpr (models)
        checks.run(
            "rewriter", [&] { return check_rewriter(make, options.rewriter); },
            [](const rewriter_summary& s) {
                return counted({{s.clones + s.row_clones, "clones"},
                                {s.splits, "splits"},
                                {s.concats, "concats"},
                                {s.sums, "sums"},
                                {s.slice_writes, "slices"},
                                {s.replaced_uses, "uses"},
                                {s.erased, "erased"},
                                {s.moved, "moved"},
                                {s.computed, "values compared"}});
            });
    else checks.skip("rewriter", "model() and rewriter() are not both there, or the view is no dataflow_graph");
    constexpr bool chunking = [] {
        if constexpr (models && chunked_ir<IR>) {
            using trial = rewriter_trial<Make>;
            return chunking_rewriter<typename trial::R, typename trial::G>;
        } else {
            return false;
        }
    }();
    if constexpr (chunking)
        checks.run(
            "chunks applied", [&] { return check_applied_chunks(make, options.applied); },
            [](const applied_chunks_summary& s) {
                return counted({{s.plans, "plans"},
                                {s.operations, "operations"},
                                {s.clones, "clones"},
                                {s.compared, "outputs compared"}});
            });
    else checks.skip("chunks applied", "chunks() and the verbs of a chunking_rewriter are not both there");
    if constexpr (chunking && requires(IR& ir) { ir.part_costs(); })
        checks.run(
            "applied costs", [&] { return check_applied_costs(make, options.applied_costs); },
            [](const applied_costs_summary& s) {
                return counted({{s.plans, "plans"}, {s.clones, "clones"}, {s.of_unknown_rows, "of unknown rows"}});
            });
    else checks.skip("applied costs", "part_costs(), chunks() and the verbs of a chunking_rewriter are not all there");
}

}  // namespace detail

/// Runs check_graph, check_op_model, check_tensor_model, check_chunk_shapes, check_chunk_model, check_part_costs,
/// check_rewriter, check_applied_chunks and check_applied_costs in this order, as far as the IR has the members that
/// they need, until one fails. If the program gives a check nothing to compare, that check is unproved, and the others
/// still run. The result is deterministic. Use a program with few rows and many kinds of operations.
template <class Make>
    requires requires(Make make) { make().view(); }
[[nodiscard]] conformance run_conformance(Make make, const conformance_options& options = {}) {
    detail::conformance_run checks;
    {
        auto ir = make();
        detail::conform_as_it_is(ir, options, checks);
    }
    detail::conform_rewritten(make, options, checks);
    return std::move(checks.result);
}

/// The same for an IR that already exists, without the checks that rewrite it.
template <class IR>
    requires requires(IR& ir) { ir.view(); }
[[nodiscard]] conformance run_conformance(IR& ir, const conformance_options& options = {}) {
    detail::conformance_run checks;
    detail::conform_as_it_is(ir, options, checks);
    checks.skip("rewriter", "an IR was given, not what makes one");
    checks.skip("chunks applied", "an IR was given, not what makes one");
    checks.skip("applied costs", "an IR was given, not what makes one");
    return std::move(checks.result);
}

}  // namespace stretto

#endif
