// The rules of check_rewriter that need extents: split, concat, sum and slices, each tried on the results of the
// previous verb. row_clone_checker.hpp has the rules for clones of rows.
#ifndef STRETTO_TESTING_DETAIL_SLICING_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_SLICING_CHECKER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/detail/accepted_cuts.hpp"
#include "stretto/testing/detail/made_values.hpp"
#include "stretto/testing/detail/row_clone_checker.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// The checks of one rewriter. If the IR has no chunk model, or the rewriter lacks the verbs, check() finds nothing.
template <class Make, class Options, class Summary>
class slicing_checker : made_values_checker<Make, Options, Summary> {
    using base = made_values_checker<Make, Options, Summary>;
    using base::broken, base::check_join, base::check_made, base::check_value, base::is_made, base::make_, base::most,
        base::options_, base::pick_, base::shapes, base::share_memory, base::summary_;
    using typename base::account, typename base::operation, typename base::trial;
    using typename base::G, typename base::IR, typename base::R, typename base::X;
    using M = typename trial::M;

public:
    using base::base;

    /// Tries the verbs on values and operations that are spread evenly over the program, about `most()` of each.
    [[nodiscard]] finding check() {
        if constexpr (chunked_ir<IR> && slicing_rewriter<R, G> && cloning_rewriter<R, G>) {
            trial first(make_);
            std::vector<std::array<std::size_t, 3>> cuts;  // operation, result, dimension
            std::vector<std::size_t> inner;
            for (std::size_t k = 0; k < first.now.size(); ++k) {
                const operation& o = first.now[k];
                if (o.kind == op_kind::output) continue;
                if (o.kind != op_kind::input) inner.push_back(k);
                if (o.kind == op_kind::start) continue;  // its result is cut after its wait
                for (std::size_t i = 0; i < o.results.size(); ++i)
                    if (shapes(first).components_of(o.results[i]) == 1)
                        for (std::size_t d = 0; d < shapes(first).rank(o.results[i], 0); ++d)
                            if (shapes(first).extent(o.results[i], 0, d) > 1) cuts.push_back({k, i, d});
            }
            for (std::size_t k = 0; k < cuts.size(); k += cuts.size() / most() + 1)
                if (finding f = try_split(cuts[k][0], cuts[k][1], cuts[k][2]); *f.rule) return f;
            for (std::size_t k = 0; k < inner.size(); k += inner.size() / most() + 1) {
                finding f = try_sum(inner[k]);
                if (!*f.rule) f = row_clone_checker<Make, Options, Summary>(make_, options_, summary_).check(inner[k]);
                if (*f.rule) return f;
            }
        }
        return {};
    }

private:
    // A trial is one fresh program. It is checked after every verb, so that a finding names the first faulty verb, and
    // not a later one that was affected by it.
    using shape = std::vector<std::int64_t>;

    /// The extents of a value of one tensor according to the chunk model, which knows what verbs have made as well.
    [[nodiscard]] static shape shape_of(trial& t, const X& x) {
        shape all;
        for (std::size_t d = 0; d < shapes(t).rank(x, 0); ++d) all.push_back(shapes(t).extent(x, 0, d));
        return all;
    }
    /// A value of one tensor is cut into parts before its first reader; the parts are concatenated, and written slice
    /// by slice.
    [[nodiscard]] finding try_split(std::size_t p, std::size_t result, std::size_t dim) {
        trial t(make_);
        const X x = t.now[p].results[result];
        std::size_t at = p + 1;
        while (at < t.now.size() &&
               std::find(t.now[at].operands.begin(), t.now[at].operands.end(), x) == t.now[at].operands.end())
            ++at;
        if (at == t.now.size()) return {};
        // Contents are numbered, so that a part from a wrong place, or along a wrong dimension, has wrong elements.
        const operation reader = t.now[at];
        const shape whole = shape_of(t, x);
        const std::int64_t extent = whole[dim];
        // Sizes are given as a ratio, so an even extent is cut in units of two.
        const std::int64_t unit = extent % 2 == 0 && extent > 2 ? 2 : 1, n = extent / unit;
        // Where sizes differ, parts in a wrong order have wrong extents.
        std::vector<std::int64_t> sizes = {1, n - 1};
        if (n > 3) sizes = {1, 2, n - 3};
        host_value contents{{{whole, {}}}, 0};
        for (std::int64_t k = 0; k < elements_of(whole); ++k)
            contents.tensors[0].elements.push_back(static_cast<double>(k));
        account values;
        values.known.emplace_back(x, contents);

        t.rewriter.insert_before(reader.vertex);
        std::vector<X> parts;
        for (X part : t.rewriter.split(x, dim, std::span<const std::int64_t>(sizes))) parts.push_back(part);
        ++summary_.splits;
        if (finding f = t.look("split", t.position(reader.vertex)); *f.rule) return f;
        if (finding f = check_made(t, reader, "split", {x}); *f.rule) return f;
        if (parts.size() != sizes.size())
            return broken(t, reader, "split", "parts", "split gives one part per size, in their order");
        values.compute(t);
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (std::count(parts.begin(), parts.end(), parts[k]) != 1 || !is_made(t, parts[k]))
                return broken(t, reader, "split", "parts", "every part is a value of its own that split has made");
            shape expected = whole;
            expected[dim] = sizes[k] * unit;
            if (shapes(t).components_of(parts[k]) != 1 || shape_of(t, parts[k]) != expected)
                return broken(t, reader, "split", "part-extent",
                              "extents of the parts are in the ratio of the sizes, the others are as they were");
            const std::int64_t first = unit * (k == 0 ? 0 : k == 1 ? 1 : 3);
            if (finding f =
                    check_value(t, reader, "split", values, parts[k], slice(contents, dim, first, expected[dim]));
                *f.rule)
                return f;
            if (members_of<G, M>().aliases && !share_memory(t, parts[k], x))
                return broken(t, reader, "split", "part-aliases",
                              "a part shares the memory of the value that is cut; the op model's aliases(x) say so");
        }
        if (finding f = try_concat(t, reader, parts, dim, contents, values); *f.rule) return f;
        if constexpr (slice_writing_rewriter<R, G>)
            return try_slices(t, reader, x, parts, dim, sizes, contents, values);
        return {};
    }

    /// Concatenates the parts; the result must equal the value.
    [[nodiscard]] finding try_concat(trial& t, const operation& reader, const std::vector<X>& parts, std::size_t dim,
                                     const host_value& contents, account& values) {
        t.rewriter.insert_before(reader.vertex);
        const X joined = t.rewriter.concat(std::span<const X>(parts), dim);
        ++summary_.concats;
        if (finding f = t.look("concat", t.position(reader.vertex)); *f.rule) return f;
        if (finding f = check_join(t, reader, "concat", parts, joined); *f.rule) return f;
        if (shapes(t).components_of(joined) != 1 || shape_of(t, joined) != contents.tensors[0].shape)
            return broken(t, reader, "concat", "extent", "a concatenation has the sum of the extents of its parts");
        values.compute(t);
        return check_value(t, reader, "concat", values, joined, contents);
    }

    /// Makes memory like x and writes each part to its place; then the memory must have the contents of x. A write may
    /// give the memory a new name or keep the old one. In the second case nothing can be computed, because one name
    /// then has several contents, so only effects and aliases are checked.
    [[nodiscard]] finding try_slices(trial& t, const operation& reader, const X& x, const std::vector<X>& parts,
                                     std::size_t dim, const std::vector<std::int64_t>& sizes,
                                     const host_value& contents, account& values) {
        t.rewriter.insert_before(reader.vertex);
        X memory = t.rewriter.empty_like(x, parts[0]);
        if (finding f = t.look("empty_like", t.position(reader.vertex)); *f.rule) return f;
        if (!is_made(t, memory) || shapes(t).components_of(memory) != 1 ||
            shape_of(t, memory) != contents.tensors[0].shape)
            return broken(t, reader, "empty_like", "extent", "memory for a value has its extents");
        host_value zeros = contents;
        zeros.tensors[0].elements.assign(contents.tensors[0].elements.size(), 0);
        values.known.emplace_back(memory, zeros);
        // New memory may hold anything, and every element is written before it is read. Zeros are assumed, because
        // `evaluate` needs some contents.
        bool is_named = true;  // whether each write gives the memory a new name, which can be computed
        for (std::size_t k = 0; k < parts.size(); ++k) {
            t.rewriter.insert_before(reader.vertex);
            const X written = t.rewriter.slice_write(memory, parts[k], dim, std::span<const std::int64_t>(sizes), k);
            ++summary_.slice_writes;
            if (finding f = t.look("slice_write", t.position(reader.vertex)); *f.rule) return f;
            if (finding f = check_made(t, reader, "slice_write", {memory, parts[k]}); *f.rule) return f;
            bool writes = false;
            for (const operation& o : t.made)
                for (const X& effect : o.effects) writes = writes || share_memory(t, effect, memory);
            if (!writes)
                return broken(t, reader, "slice_write", "effects",
                              "slice_write writes the memory that it is given; the op model's effects(v) say so");
            if (!share_memory(t, written, memory))
                return broken(t, reader, "slice_write", "aliases",
                              "slice_write gives the memory that it is given, or a new name of it");
            values.compute(t);
            is_named = is_named && !(written == memory);
            memory = written;
        }
        return is_named ? check_value(t, reader, "slice_write", values, memory, contents) : finding{};
    }

    /// Makes three copies of an operation and sums each of its results.
    [[nodiscard]] finding try_sum(std::size_t p) {
        trial t(make_);
        const operation o = t.now[p];
        if (o.kind != op_kind::compute || !o.effects.empty() || o.results.empty()) return {};
        const std::vector<chunk_state> operands = whole_states(shapes(t), o.operands),
                                       results = whole_states(shapes(t), o.results);
        std::vector<std::vector<X>> copies(3);
        t.rewriter.insert_before(o.vertex);
        for (std::vector<X>& copy : copies)
            for (X x : t.rewriter.clone(o.vertex, std::span<const X>(o.operands),
                                        chunk_part{0, 1, 1, {0, 1}, operands, results, 0}))
                copy.push_back(x);
        if (finding f = t.look("clone", t.position(o.vertex)); *f.rule) return f;
        for (std::size_t k = 0; k < o.results.size(); ++k) {
            // Numbers are summed as well, such as counts of which every chunk has its share; they have no tensors.
            const std::size_t components = shapes(t).components_of(o.results[k]);
            if (components > 1) continue;
            const shape whole = components == 0 ? shape() : shape_of(t, o.results[k]);
            // Three parts are summed, because two would not show whether parts after the second are added.
            const std::vector<X> parts = {copies[0][k], copies[1][k], copies[2][k]};
            host_value total;
            if (components == 1)
                total.tensors = {{whole, std::vector<double>(static_cast<std::size_t>(elements_of(whole)), 0)}};
            account values;
            for (const X& part : parts) {
                host_value own = total;  // of the same shape
                if (components == 0) total.number += own.number = pick_.small();
                else
                    for (std::size_t i = 0; i < own.tensors[0].elements.size(); ++i) {
                        own.tensors[0].elements[i] = pick_.small();
                        total.tensors[0].elements[i] += own.tensors[0].elements[i];
                    }
                values.known.emplace_back(part, own);
            }
            t.rewriter.insert_before(o.vertex);
            const X sum = t.rewriter.sum(std::span<const X>(parts));
            ++summary_.sums;
            if (finding f = t.look("sum", t.position(o.vertex)); *f.rule) return f;
            if (finding f = check_join(t, o, "sum", parts, sum); *f.rule) return f;
            if (shapes(t).components_of(sum) != components || (components == 1 && shape_of(t, sum) != whole))
                return broken(t, o, "sum", "extent", "a sum has the extents of its parts, and a sum of numbers is one");
            values.compute(t);
            if (finding f = check_value(t, o, "sum", values, sum, total); *f.rule) return f;
        }
        return {};
    }

    /// `count` rows of a value of one tensor, from row `first` on along `dim`.
    [[nodiscard]] static host_value slice(const host_value& x, std::size_t dim, std::int64_t first,
                                          std::int64_t count) {
        std::vector<std::int64_t> places;
        for (std::int64_t k = 0; k < count; ++k) places.push_back(first + k);
        return {{take_rows(x.tensors[0], dim, places)}, 0};
    }
};

}  // namespace stretto::detail

#endif
