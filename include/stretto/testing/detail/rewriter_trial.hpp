// The common part of all checks of a rewriter: a fresh program, its description before and after each verb, and a
// summary of what was tried.
#ifndef STRETTO_TESTING_DETAIL_REWRITER_TRIAL_HPP
#define STRETTO_TESTING_DETAIL_REWRITER_TRIAL_HPP

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/detail/program_copy.hpp"
#include "stretto/testing/detail/sample_source.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// A fresh program that is about to be rewritten, and its description before.
template <class Make>
class rewriter_trial {
public:
    using IR = decltype(std::declval<Make&>()());
    using G = std::remove_cvref_t<decltype(std::declval<IR&>().view())>;
    using M = std::remove_cvref_t<decltype(std::declval<IR&>().model())>;
    using R = std::remove_cvref_t<decltype(std::declval<IR&>().rewriter())>;
    using V = vertex_t<G>;
    using X = value_t<G>;

    explicit rewriter_trial(Make& make)
        : ir(make()), model(ir.model()), rewriter(ir.rewriter()), now(copy_program(ir.view(), model)) {}

    IR ir;
    M model;
    R rewriter;
    program_copy<G> now;   ///< the program as it was at the last look
    program_copy<G> made;  ///< the operations that the verb had made at the last look

    /// The position of an operation in the program at the last look; finding::none if it is not there.
    [[nodiscard]] std::size_t position(const V& v) const {
        for (std::size_t k = 0; k < now.size(); ++k)
            if (now[k].vertex == v) return k;
        return finding::none;
    }
    /// The position of the operation that makes a value; finding::none if none does.
    [[nodiscard]] std::size_t producer(const X& x) const {
        for (std::size_t k = 0; k < now.size(); ++k)
            for (const X& y : now[k].results)
                if (x == y) return k;
        return finding::none;
    }

    /// Examines the program after `verb`. It must now be `expected`, with all new operations directly before the one at
    /// position `at` of it. If that is a wait directly behind its start, they may also stand before the start: in an IR
    /// whose collectives are synchronous, both are halves of one operation, and nothing can stand between them.
    [[nodiscard]] finding look(const char* verb, const program_copy<G>& expected, std::size_t at,
                               bool topological = true) {
        // An operation that a faulty verb has removed must not be asked for its number; match_rewritten reports it as
        // missing below.
        std::vector<V> there;
        for (const V& v : ir.view().vertices()) there.push_back(v);
        for (std::size_t k = 0; k < expected.size(); ++k)
            if (std::find(there.begin(), there.end(), expected[k].vertex) != there.end() &&
                ir.view().index(expected[k].vertex) != expected[k].index)
                return {.rule = "index-kept",
                        .hint =
                            "index(v) of an operation that was there has changed before changed(); plans find "
                            "operations by it while they are applied",
                        .vertex = k,
                        .verb = verb};
        // Only now may the IR renumber its operations.
        if constexpr (requires { ir.changed(); }) ir.changed();
        const G g = ir.view();
        if (auto checked = check_graph(g, {.program_order_is_topological = topological}); !checked) {
            finding f = std::move(checked).error();
            f.verb = verb;
            return f;
        }
        program_copy<G> after = copy_program(g, model);
        finding f = match_rewritten(verb, now, expected, at, after, made);
        if (*f.rule && at > 0 && at < expected.size() && expected[at].kind == op_kind::wait &&
            expected[at].launch == expected[at - 1].vertex &&
            !*match_rewritten(verb, now, expected, at - 1, after, made).rule)
            f = {};
        now = std::move(after);
        return f;
    }
    /// The same after a verb that only makes operations, so that everything else must be as it was.
    [[nodiscard]] finding look(const char* verb, std::size_t at) {
        const program_copy<G> expected = now;
        return look(verb, expected, at);
    }
};

/// The base of checkers of verbs: how programs are made, the options, the counts and the random choices.
template <class Make, class Options, class Summary>
class verb_checker {
public:
    verb_checker(Make& make, const Options& options, Summary& summary)
        : make_(make), options_(options), summary_(summary), pick_(options.seed) {}

protected:
    using trial = rewriter_trial<Make>;
    using IR = typename trial::IR;
    using G = typename trial::G;
    using R = typename trial::R;
    using V = typename trial::V;
    using X = typename trial::X;
    using operation = operation_copy<G>;

    /// The number of operations, or values, on which each verb is tried.
    [[nodiscard]] std::size_t most() const { return options_.most == 0 ? 1 : options_.most; }
    [[nodiscard]] static finding broken(const trial& t, const operation& at, const char* verb, const char* rule,
                                        const char* hint) {
        return {.rule = rule, .hint = hint, .vertex = t.position(at.vertex), .verb = verb};
    }

    Make& make_;
    const Options& options_;
    Summary& summary_;
    sample_source pick_;
};

}  // namespace stretto::detail

#endif
