// Examines what a verb of a rewriter has made: whether it reads what it was given, and what it computes.
//
// A verb may make one operation or several, and of any operators; the check does not know them. It only requires that
// what is made reads the given values and nothing else, and lets the author's `evaluate` compute it, if there is one,
// on contents that are known.
#ifndef STRETTO_TESTING_DETAIL_MADE_VALUES_HPP
#define STRETTO_TESTING_DETAIL_MADE_VALUES_HPP

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/detail/accepted_cuts.hpp"
#include "stretto/testing/detail/rewriter_trial.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// An IR that has a chunk model.
template <class IR>
concept chunked_ir = requires(IR& ir) { ir.chunks(); };

/// Calls `ir.evaluate` as check_chunk_model does; returns nothing if the IR has none.
template <class IR, class V>
struct evaluate_of {
    IR* ir;
    std::vector<host_value> operator()(V v, std::span<const host_value> in, const chunk_part& part) const {
        if constexpr (requires { std::vector<host_value>(ir->evaluate(v, in, part)); })
            return ir->evaluate(v, in, part);
        else if constexpr (requires { std::vector<host_value>(ir->evaluate(v, in)); }) return ir->evaluate(v, in);
        else return {};
    }
};

/// The base of checkers of verbs on IRs with extents.
template <class Make, class Options, class Summary>
class made_values_checker : protected verb_checker<Make, Options, Summary> {
protected:
    using base = verb_checker<Make, Options, Summary>;
    using base::base, base::broken, base::summary_;
    using typename base::G, typename base::IR, typename base::V, typename base::X, typename base::operation,
        typename base::trial;

    /// The contents of values, as far as they can be computed.
    struct account {
        std::vector<std::pair<X, host_value>> known;

        /// The contents of a value; null if they are not known.
        [[nodiscard]] const host_value* find(const X& x) const {
            for (const auto& [y, value] : known)
                if (x == y) return &value;
            return nullptr;
        }
        /// Computes what the last verb has made, as far as its operands are known.
        void compute(trial& t) {
            for (const operation& o : t.made) {
                std::vector<host_value> own;
                bool all = !o.operands.empty() && !o.results.empty();
                for (const X& x : o.operands) {
                    const host_value* own_value = find(x);
                    all = all && own_value != nullptr;
                    if (all) own.push_back(*own_value);
                }
                if (!all) continue;
                const std::vector<chunk_state> operands = whole_states(t.ir.chunks(), o.operands),
                                               results = whole_states(t.ir.chunks(), o.results);
                const chunk_part everything{0, 1, 1, {0, 1}, operands, results, 0};
                const std::vector<host_value> made = evaluate_of<IR, V>{&t.ir}(o.vertex, own, everything);
                for (std::size_t k = 0; k < made.size() && k < o.results.size(); ++k)
                    known.emplace_back(o.results[k], made[k]);
            }
        }
    };

    /// The chunk model of the program in its present state, which gives the extents of what verbs have made as well.
    [[nodiscard]] static auto shapes(trial& t) { return t.ir.chunks(); }
    /// Whether a value is a result of what the last verb has made.
    [[nodiscard]] static bool is_made(const trial& t, const X& x) {
        for (const operation& o : t.made)
            if (std::find(o.results.begin(), o.results.end(), x) != o.results.end()) return true;
        return false;
    }
    /// What a verb has made must compute, must read only what it was given and what it has made, and must read all that
    /// it was given.
    [[nodiscard]] static finding check_made(trial& t, const operation& at, const char* verb,
                                            const std::vector<X>& given) {
        std::vector<char> is_read(given.size(), false);
        for (const operation& o : t.made) {
            if (o.kind != op_kind::compute && o.kind != op_kind::view)
                return broken(t, at, verb, "kind", "what splits and joins values computes, or is a view");
            for (const X& x : o.operands) {
                const auto k = static_cast<std::size_t>(std::find(given.begin(), given.end(), x) - given.begin());
                if (k < given.size()) is_read[k] = true;
                else if (!is_made(t, x))
                    return broken(t, at, verb, "reads", "the verb reads a value that it was not given");
            }
        }
        for (char r : is_read)
            if (!r) return broken(t, at, verb, "reads", "the verb does not read a value that it was given");
        return {};
    }
    /// The same for a verb that joins parts into one value. A join may be a tree of operations: its leaves, from left
    /// to right, must be the parts, each once. O(operations made^2).
    [[nodiscard]] static finding check_join(trial& t, const operation& at, const char* verb,
                                            const std::vector<X>& parts, const X& joined) {
        if (finding f = check_made(t, at, verb, parts); *f.rule) return f;
        if (!is_made(t, joined)) return broken(t, at, verb, "made", "the result is a value that the verb has made");
        std::vector<X> in_order, open = {joined};
        while (!open.empty()) {
            const X x = open.back();
            open.pop_back();
            const auto made = std::find_if(t.made.begin(), t.made.end(), [&](const operation& o) {
                return std::find(o.results.begin(), o.results.end(), x) != o.results.end();
            });
            if (made == t.made.end()) in_order.push_back(x);
            else open.insert(open.end(), made->operands.rbegin(), made->operands.rend());
        }
        if (in_order != parts) return broken(t, at, verb, "parts-order", "parts are read in their order, each once");
        return {};
    }
    /// Whether one is a view of the other, or both are views of a third, through any number of views between.
    [[nodiscard]] static bool share_memory(trial& t, const X& x, const X& y) {
        const auto storages = [&](const X& of) {
            std::vector<X> all = {of};
            for (std::size_t k = 0; k < all.size(); ++k)
                for_each_alias<G>(t.model, all[k], [&](X z) {
                    if (std::find(all.begin(), all.end(), z) == all.end()) all.push_back(z);
                });
            return all;
        };
        const std::vector<X> mine = storages(x), others = storages(y);
        return std::any_of(mine.begin(), mine.end(),
                           [&](const X& z) { return std::find(others.begin(), others.end(), z) != others.end(); });
    }

    /// Compares the contents of x with what they should be, exactly: contents are small integers, so that no order of
    /// summation may round. Finds nothing if they could not be computed.
    [[nodiscard]] finding check_value(trial& t, const operation& at, const char* verb, const account& values,
                                      const X& x, const host_value& expected) {
        const host_value* found = values.find(x);
        if (found == nullptr) return {};
        ++summary_.computed;
        bool same = found->tensors.size() == expected.tensors.size();
        for (std::size_t k = 0; same && k < expected.tensors.size(); ++k)
            same = found->tensors[k].shape == expected.tensors[k].shape &&
                   found->tensors[k].elements == expected.tensors[k].elements;
        if (same && (!expected.is_number() || found->number == expected.number)) return {};
        return broken(t, at, verb, "value", "what the verb has made does not compute what it should");
    }
};

}  // namespace stretto::detail

#endif
