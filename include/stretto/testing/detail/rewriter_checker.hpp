// The rules of check_rewriter that need no extents: clone, replace_uses, erase, move_before. slicing_checker.hpp has
// the rules of the other verbs. Every verb is tried on a fresh program, because a faulty one may damage the program.
#ifndef STRETTO_TESTING_DETAIL_REWRITER_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_REWRITER_CHECKER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/detail/program_copy.hpp"
#include "stretto/testing/detail/rewriter_trial.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// The checks of one rewriter. `Make` makes a fresh IR at every call; two calls must make the same program.
template <class Make, class Options, class Summary>
class rewriter_checker : verb_checker<Make, Options, Summary> {
    using base = verb_checker<Make, Options, Summary>;
    using base::make_, base::most, base::options_, base::pick_, base::summary_;
    using typename base::G, typename base::R, typename base::V, typename base::X, typename base::operation,
        typename base::trial;

public:
    using base::base;

    /// Tries the verbs on operations that are spread evenly over the program, at most about `options.most` of them, and
    /// moves random operations. The first finding ends the check.
    [[nodiscard]] finding check() {
        trial first(make_), second(make_);
        if (!same(first, second))
            return {.rule = "fresh", .hint = "two calls of the callable do not make the same program"};
        std::vector<std::size_t> inner;
        for (std::size_t k = 0; k < first.now.size(); ++k)
            if (first.now[k].kind != op_kind::input && first.now[k].kind != op_kind::output) inner.push_back(k);
        const std::size_t step = inner.size() / most() + 1;
        for (std::size_t k = 0; k < inner.size(); k += step) {
            finding f;
            if constexpr (cloning_rewriter<R, G>) f = try_clone(with_start(first, inner[k]));
            if constexpr (use_rewriter<R, G>)
                if (!*f.rule) f = try_replace(inner[k]);
            if (*f.rule) return f;
        }
        // Inputs are not moved: arguments of a block need not have a position among its operations.
        std::vector<std::size_t> movable;
        for (std::size_t k = 0; k < first.now.size(); ++k)
            if (first.now[k].kind != op_kind::input) movable.push_back(k);
        if constexpr (ordering_rewriter<R, G>)
            for (std::size_t k = 0; k < options_.most && movable.size() > 1; ++k) {
                const std::size_t from = pick_.below(movable.size());
                std::size_t to = pick_.below(movable.size() - 1);
                to += to >= from;
                if (finding f = try_move(movable[from], movable[to]); *f.rule) return f;
            }
        return {};
    }

private:
    /// Whether both programs have the same shape; handles may differ.
    [[nodiscard]] static bool same(const trial& a, const trial& b) {
        if (a.now.size() != b.now.size()) return false;
        for (std::size_t k = 0; k < a.now.size(); ++k) {
            const operation &o = a.now[k], &p = b.now[k];
            if (o.kind != p.kind || o.operands.size() != p.operands.size() || o.results.size() != p.results.size())
                return false;
            for (std::size_t i = 0; i < o.operands.size(); ++i)
                if (a.producer(o.operands[i]) != b.producer(p.operands[i])) return false;
        }
        return true;
    }

    /// The start that the operation at position p waits for, if it reads what that has in flight; p otherwise. A plan
    /// never gives a wait a second reader of the same start, and an IR in which both are one operation cannot make one.
    [[nodiscard]] static std::size_t with_start(const trial& t, std::size_t p) {
        const std::size_t start = t.now[p].kind == op_kind::wait ? t.position(t.now[p].launch) : finding::none;
        if (start == finding::none) return p;
        for (const X& x : t.now[p].operands)
            if (t.producer(x) == start) return start;
        return p;
    }

    /// Clones the operation at position p three times, and then one of its readers, which must read the results of the
    /// first clone.
    [[nodiscard]] finding try_clone(std::size_t p) {
        trial t(make_);
        const operation original = t.now[p];
        std::vector<X> made;
        if (finding f = clone_whole(t, original, original.operands, original, made); *f.rule) return f;
        const operation copy = t.made[0];

        // Two clones are made at one place: the second must come after the first.
        std::vector<X> first = call_clone(t, original, original.operands), second;
        for (X x : t.rewriter.clone(original.vertex, std::span<const X>(original.operands), whole_part(original)))
            second.push_back(x);
        summary_.clones += 2;
        finding f = t.look("clone", t.position(original.vertex));
        if (*f.rule) return f;
        if (t.made.size() != 2 || (!first.empty() && t.made[0].results != first) ||
            (!second.empty() && t.made[1].results != second))
            return {.rule = "call-order",
                    .hint = "what is made later at one place stands behind what was made before",
                    .vertex = t.position(original.vertex),
                    .verb = "clone"};

        // A reader is made to read the copy.
        for (std::size_t k = t.position(original.vertex) + 1; k < t.now.size(); ++k) {
            const operation reader = t.now[k];
            if (reader.kind == op_kind::output || reader.kind == op_kind::input) continue;
            // A wait that reads the copy of its start waits for that copy: the op model must say so of the clone.
            std::vector<X> operands = reader.operands;
            for (std::size_t i = 0; i < original.results.size(); ++i)
                std::replace(operands.begin(), operands.end(), original.results[i], copy.results[i]);
            if (operands == reader.operands) continue;
            operation expected = reader;
            if (reader.kind == op_kind::wait && reader.launch == original.vertex) expected.launch = copy.vertex;
            return clone_whole(t, reader, operands, expected, made);
        }
        return {};
    }

    /// A part that consists of all rows, with the states in `states_`. The chunk model may be missing, so the number of
    /// components is unknown, and there are more states than needed.
    [[nodiscard]] chunk_part whole_part(const operation& o) {
        const chunk_state whole{chunk_state::kind::whole};
        states_.assign(64 * (o.operands.size() + o.results.size() + 1), whole);  // more than there are components
        return {0, 1, 1, {0, 1}, states_, states_, 0};
    }
    /// Makes a clone of all rows before its original; returns its results.
    [[nodiscard]] std::vector<X> call_clone(trial& t, const operation& o, const std::vector<X>& operands) {
        t.rewriter.insert_before(o.vertex);
        std::vector<X> made;
        for (X x : t.rewriter.clone(o.vertex, std::span<const X>(operands), whole_part(o))) made.push_back(x);
        return made;
    }

    /// Makes a clone that reads `operands`, and checks everything that the models say about it: kind, collective and
    /// launch must be those of `expected`; effects and aliases those of the original, with operands and results in
    /// place of its own. `made` gets the results.
    [[nodiscard]] finding clone_whole(trial& t, const operation& o, const std::vector<X>& operands,
                                      const operation& expected, std::vector<X>& made) {
        made = call_clone(t, o, operands);
        ++summary_.clones;
        if (finding f = t.look("clone", t.position(o.vertex)); *f.rule) return f;
        const auto broken = [&](const char* rule, const char* hint) {
            return finding{.rule = rule, .hint = hint, .vertex = t.position(o.vertex), .verb = "clone"};
        };
        if (t.made.size() != 1) return broken("one-operation", "a clone is one operation");
        const operation& c = t.made[0];
        if (c.results != made) return broken("clone-results", "clone gives the results of the clone, in order");
        if (c.results.size() != o.results.size())
            return broken("clone-results", "a clone has as many results as the original");
        if (c.operands != operands)
            return broken("clone-operands", "a clone reads exactly the operands that it is given");
        if (c.kind != expected.kind) return broken("clone-kind", "a clone is of the kind of the original");
        if (c.collective != expected.collective || c.group != expected.group)
            return broken("clone-collective", "a clone of a start is the same collective in the same group");
        if (c.kind == op_kind::wait && !(c.launch == (expected.launch == expected.vertex ? c.vertex : expected.launch)))
            return broken("clone-launch", "a clone of a wait waits for the start whose result it is given");
        // References to operands and results of the original become references to those of the clone.
        const auto translate = [&](std::vector<X> all) {
            for (X& x : all)
                for (std::size_t k = 0; k < o.operands.size() + o.results.size(); ++k) {
                    const bool read = k < o.operands.size();
                    const std::size_t i = read ? k : k - o.operands.size();
                    if (!(x == (read ? o.operands[i] : o.results[i]))) continue;
                    x = read ? operands[i] : c.results[i];
                    break;
                }
            return all;
        };
        if (c.effects != translate(o.effects))
            return broken("clone-effects", "a clone writes in place what stands for what the original writes");
        for (std::size_t k = 0; k < c.results.size(); ++k) {
            if (c.aliases[k] != translate(o.aliases[k]))
                return broken("clone-aliases", "results of a clone alias what stands for what the original's alias");
            if (c.sizes[k] != o.sizes[k])
                return broken("clone-bytes", "a clone of all rows has storage of the size of the original's");
        }
        return {};
    }

    /// The readers of an operation are made to read an earlier value instead, one by one; then nothing reads it, and it
    /// is erased.
    [[nodiscard]] finding try_replace(std::size_t p) {
        trial t(make_);
        const operation original = t.now[p];
        if (original.kind != op_kind::compute && original.kind != op_kind::view) return {};
        const X* to = nullptr;
        // Any earlier value will do, except one in flight, which only its wait may read.
        for (std::size_t k = 0; k < p; ++k)
            if (!t.now[k].results.empty() && t.now[k].kind != op_kind::start) to = &t.now[k].results[0];
        if (to == nullptr) return {};
        const X earlier = *to;
        for (const X& x : original.results) {
            for (std::size_t k = 0; k < t.now.size(); ++k) {
                const operation reader = t.now[k];
                if (std::find(reader.operands.begin(), reader.operands.end(), x) == reader.operands.end()) continue;
                t.rewriter.replace_uses(reader.vertex, x, earlier);
                ++summary_.replaced_uses;
                program_copy<G> expected = t.now;
                std::replace(expected[k].operands.begin(), expected[k].operands.end(), x, earlier);
                std::replace(expected[k].effects.begin(), expected[k].effects.end(), x, earlier);
                if (finding f = t.look("replace_uses", expected, finding::none); *f.rule) return f;
            }
        }
        if constexpr (erasing_rewriter<R, G>) {
            for (const operation& o : t.now)  // something may still name it without reading it
                for (const X& x : original.results) {
                    if (std::find(o.effects.begin(), o.effects.end(), x) != o.effects.end()) return {};
                    for (const std::vector<X>& aliases : o.aliases)
                        if (std::find(aliases.begin(), aliases.end(), x) != aliases.end()) return {};
                }
            program_copy<G> expected = t.now;
            expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(p));
            t.rewriter.erase(original.vertex);
            ++summary_.erased;
            return t.look("erase", expected, finding::none);
        }
        return {};
    }

    /// Moves one operation before another. The result need not be in topological order: only a transform knows where an
    /// operation may go.
    [[nodiscard]] finding try_move(std::size_t from, std::size_t to) {
        trial t(make_);
        t.rewriter.move_before(t.now[from].vertex, t.now[to].vertex);
        ++summary_.moved;
        program_copy<G> expected = t.now;
        const operation moved = expected[from];
        expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(from));
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(to > from ? to - 1 : to), moved);
        for (std::size_t k = 0; k < expected.size(); ++k)  // an IR may number its operations in program order
            expected[k].index = t.ir.view().index(expected[k].vertex);
        return t.look("move_before", expected, finding::none, false);
    }

    /// The states of the part that was made last. Parts refer to states, and outlive the function that makes them.
    std::vector<chunk_state> states_;
};

}  // namespace stretto::detail

#endif
