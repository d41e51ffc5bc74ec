// The rules of check_rewriter that need extents: split, concat, sum, slices, and clones of the rows of a chunk.
//
// Longer than 300 lines: the verbs are tried on each other's results, with one account of values.
#ifndef STRETTO_TESTING_DETAIL_SLICING_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_SLICING_CHECKER_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/chunk_relation.hpp"
#include "stretto/testing/detail/host_program.hpp"
#include "stretto/testing/detail/rewriter_checker.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// An IR that has a chunk model.
template <class IR>
concept chunked_ir = requires(IR& ir) { ir.chunks(); };

/// Calls `ir.evaluate` in the way of check_chunk_model; computes nothing if there is none.
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

template <class Make, class Options, class Summary>
class slicing_checker {
    using trial = rewriter_trial<Make>;
    using IR = typename trial::IR;
    using G = typename trial::G;
    using R = typename trial::R;
    using V = typename trial::V;
    using X = typename trial::X;
    using operation = operation_copy<G>;

public:
    slicing_checker(Make& make, const Options& options, Summary& summary)
        : make_(make), options_(options), summary_(summary), pick_(options.seed) {}

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
            for (std::size_t k = 0; k < cuts.size(); k += cuts.size() / some() + 1)
                if (finding f = try_split(cuts[k][0], cuts[k][1], cuts[k][2]); *f.rule) return f;
            for (std::size_t k = 0; k < inner.size(); k += inner.size() / some() + 1) {
                finding f = try_sum(inner[k]);
                if (!*f.rule) f = try_rows(inner[k]);
                if (*f.rule) return f;
            }
        }
        return {};
    }

private:
    using shape = std::vector<std::int64_t>;
    /// The contents of values, as far as they can be computed.
    struct account {
        std::vector<std::pair<X, host_value>> known;
        [[nodiscard]] const host_value* find(const X& x) const {
            for (const auto& [y, value] : known)
                if (x == y) return &value;
            return nullptr;
        }
    };

    [[nodiscard]] std::size_t some() const { return options_.most == 0 ? 1 : options_.most; }
    [[nodiscard]] static auto shapes(trial& t) { return t.ir.chunks(); }
    [[nodiscard]] static shape shape_of(trial& t, const X& x) {
        shape all;
        for (std::size_t d = 0; d < shapes(t).rank(x, 0); ++d) all.push_back(shapes(t).extent(x, 0, d));
        return all;
    }
    [[nodiscard]] static finding broken(trial& t, const operation& at, const char* verb, const char* rule,
                                        const char* hint) {
        return {.rule = rule, .hint = hint, .vertex = t.position(at.vertex), .verb = verb};
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
        const operation reader = t.now[at];
        const shape whole = shape_of(t, x);
        const std::int64_t extent = whole[dim];
        // Sizes are given as a ratio, so an even extent is cut in units of two.
        const std::int64_t unit = extent % 2 == 0 && extent > 2 ? 2 : 1, n = extent / unit;
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
        compute(t, values);
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
        }
        if (finding f = try_concat(t, reader, parts, dim, contents, values); *f.rule) return f;
        if constexpr (slice_writing_rewriter<R, G>)
            return try_slices(t, reader, x, parts, dim, sizes, contents, values);
        return {};
    }

    [[nodiscard]] finding try_concat(trial& t, const operation& reader, const std::vector<X>& parts, std::size_t dim,
                                     const host_value& contents, account& values) {
        t.rewriter.insert_before(reader.vertex);
        const X joined = t.rewriter.concat(std::span<const X>(parts), dim);
        ++summary_.concats;
        if (finding f = t.look("concat", t.position(reader.vertex)); *f.rule) return f;
        if (finding f = check_join(t, reader, "concat", parts, joined); *f.rule) return f;
        if (shapes(t).components_of(joined) != 1 || shape_of(t, joined) != contents.tensors[0].shape)
            return broken(t, reader, "concat", "extent", "a concatenation has the sum of the extents of its parts");
        compute(t, values);
        return check_value(t, reader, "concat", values, joined, contents);
    }

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
            compute(t, values);
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
        const std::vector<chunk_state> operands = whole_states(t, o.operands), results = whole_states(t, o.results);
        std::vector<std::vector<X>> copies(3);
        t.rewriter.insert_before(o.vertex);
        for (std::vector<X>& copy : copies)
            for (X x : t.rewriter.clone(o.vertex, std::span<const X>(o.operands),
                                        chunk_part{0, 1, 1, {0, 1}, operands, results, 0}))
                copy.push_back(x);
        if (finding f = t.look("clone", t.position(o.vertex)); *f.rule) return f;
        for (std::size_t k = 0; k < o.results.size(); ++k) {
            if (shapes(t).components_of(o.results[k]) != 1) continue;
            const shape whole = shape_of(t, o.results[k]);
            const std::vector<X> parts = {copies[0][k], copies[1][k], copies[2][k]};
            host_value total{{{whole, std::vector<double>(static_cast<std::size_t>(elements_of(whole)), 0)}}, 0};
            account values;
            for (const X& part : parts) {
                host_value own = total;
                for (std::size_t i = 0; i < own.tensors[0].elements.size(); ++i)
                    own.tensors[0].elements[i] = pick_.small();
                values.known.emplace_back(part, own);
            }
            for (const auto& [part, own] : values.known)
                for (std::size_t i = 0; i < own.tensors[0].elements.size(); ++i)
                    total.tensors[0].elements[i] += own.tensors[0].elements[i];
            t.rewriter.insert_before(o.vertex);
            const X sum = t.rewriter.sum(std::span<const X>(parts));
            ++summary_.sums;
            if (finding f = t.look("sum", t.position(o.vertex)); *f.rule) return f;
            if (finding f = check_join(t, o, "sum", parts, sum); *f.rule) return f;
            if (shapes(t).components_of(sum) != 1 || shape_of(t, sum) != whole)
                return broken(t, o, "sum", "extent", "a sum has the extents of its parts");
            compute(t, values);
            if (finding f = check_value(t, o, "sum", values, sum, total); *f.rule) return f;
        }
        return {};
    }

    /// Makes clones for two chunks, in the first way of cutting operands that the model accepts.
    [[nodiscard]] finding try_rows(std::size_t p) {
        trial t(make_);
        const operation o = t.now[p];
        const auto chunks = shapes(t);
        using evaluate_type = evaluate_of<IR, V>;
        evaluate_type evaluate{&t.ir};
        for (std::size_t k = 0; k < o.operands.size(); ++k) {
            if (chunks.components_of(o.operands[k]) != 1) continue;
            for (std::size_t d = 0; d < chunks.rank(o.operands[k], 0); ++d) {
                std::int64_t tokens = chunks.extent(o.operands[k], 0, d);
                if (tokens < 2) continue;
                if (tokens % 2 == 0 && tokens > 2) tokens /= 2;  // two rows per token
                std::vector<chunk_state> operands = whole_states(t, o.operands), results = whole_states(t, o.results);
                std::vector<std::size_t> dims(o.operands.size(), finding::none);
                cut(t, o, operands, dims, k, d);
                chunk_verdict verdict;
                for (std::size_t round = 0; round <= o.operands.size(); ++round) {
                    for (chunk_state& s : results) s = {chunk_state::kind::unset};
                    verdict = chunks.combine_rule(o.vertex, tokens, operands, results);
                    if (verdict.possible || verdict.wanted < 0 || verdict.wanted_dim < 0) break;
                    const std::size_t wanted = operand_of(t, o, static_cast<std::size_t>(verdict.wanted));
                    const auto dim = static_cast<std::size_t>(verdict.wanted_dim);
                    if (wanted == finding::none || chunks.components_of(o.operands[wanted]) != 1 ||
                        dim >= chunks.rank(o.operands[wanted], 0) ||
                        chunks.extent(o.operands[wanted], 0, dim) % tokens != 0)
                        break;
                    cut(t, o, operands, dims, wanted, dim);
                }
                if (!verdict.possible || verdict.chain) continue;
                host_program<G, decltype(t.ir.chunks()), evaluate_type> program(t.ir.view(), chunks, evaluate, 1 << 16);
                if (finding f = program.compute(pick_); *f.rule) return f;
                return clone_rows(t, o, tokens, operands, results, dims, program);
            }
        }
        return {};
    }

    template <class Program>
    [[nodiscard]] finding clone_rows(trial& t, const operation& o, std::int64_t tokens,
                                     const std::vector<chunk_state>& operands, const std::vector<chunk_state>& results,
                                     const std::vector<std::size_t>& dims, const Program& program) {
        const std::vector<std::int64_t> sizes = {1, tokens - 1};
        const std::vector<chunk_interval> intervals = {{0, 1}, {1, tokens - 1}};
        account values;
        for (const X& x : o.operands)
            if (const std::uint32_t k = program.number(t.ir.view(), x); program.is_known[k])
                values.known.emplace_back(x, program.values[k]);
        std::vector<host_value> wholes;
        for (const X& x : o.results) {
            const std::uint32_t k = program.number(t.ir.view(), x);
            wholes.push_back(program.is_known[k] && !program.is_made_up[program.producer[k]] ? program.values[k]
                                                                                             : host_value{});
        }
        std::vector<std::vector<X>> parts(o.operands.size());
        for (std::size_t k = 0; k < o.operands.size(); ++k) {
            std::size_t same = 0;
            while (!(o.operands[same] == o.operands[k])) ++same;
            if (same < k || dims[k] == finding::none) {
                parts[k] = same < k ? parts[same] : std::vector<X>(2, o.operands[k]);
                continue;
            }
            t.rewriter.insert_before(o.vertex);
            for (X part : t.rewriter.split(o.operands[k], dims[k], std::span<const std::int64_t>(sizes)))
                parts[k].push_back(part);
            if (finding f = t.look("split", t.position(o.vertex)); *f.rule) return f;
            compute(t, values);
        }
        std::vector<std::vector<X>> made(2);
        for (std::uint32_t c = 0; c < 2; ++c) {
            std::vector<X> own;
            for (const std::vector<X>& part : parts) own.push_back(part[c]);
            t.rewriter.insert_before(o.vertex);
            const chunk_part part{c, 2, tokens, intervals[c], operands, results, 0};
            for (X x : t.rewriter.clone(o.vertex, std::span<const X>(own), part)) made[c].push_back(x);
            ++summary_.row_clones;
            if (finding f = t.look("clone", t.position(o.vertex)); *f.rule) return f;
            if (t.made.size() != 1 || t.made[0].operands != own || t.made[0].results != made[c] ||
                made[c].size() != o.results.size())
                return broken(t, o, "clone", "clone-operands",
                              "a clone is one operation that reads exactly the operands that it is given, and has as "
                              "many results as the original");
            compute(t, values);  // a clone is an operation like any other, with extents of its own
        }
        std::size_t first = 0;
        for (std::size_t k = 0; k < o.results.size(); ++k) {
            const std::size_t n = shapes(t).components_of(o.results[k]);
            for (std::uint32_t c = 0; c < 2; ++c) {
                if (shapes(t).components_of(made[c][k]) != n)
                    return broken(t, o, "clone", "part-extent", "a result of a clone has other components");
                for (std::size_t i = 0; i < n; ++i) {
                    const chunk_state& s = results[first + i];
                    const std::size_t rank = shapes(t).rank(o.results[k], i);
                    bool same = shapes(t).rank(made[c][k], i) == rank;
                    for (std::size_t d = 0; same && d < rank; ++d) {
                        std::int64_t extent = shapes(t).extent(o.results[k], i, d);
                        if (s.dim == static_cast<std::int8_t>(d)) {
                            if (s.what != chunk_state::kind::sliced) continue;  // only the program knows its rows
                            extent = share_of(extent, tokens, intervals[c]);
                        }
                        same = shapes(t).extent(made[c][k], i, d) == extent;
                    }
                    if (!same)
                        return broken(t, o, "clone", "part-extent",
                                      "results of a clone have the extents of its part, as the states say");
                }
            }
            const host_value *a = values.find(made[0][k]), *b = values.find(made[1][k]);
            if (a != nullptr && b != nullptr && !(wholes[k] == host_value{})) {
                const std::array<host_value, 2> own = {*a, *b};
                const chunk_relation relation(tokens, intervals,
                                              [](std::uint32_t) -> const known_rows* { return nullptr; });
                const std::string wrong =
                    relation.check(wholes[k], own, std::span(results).subspan(first, n == 0 ? 1 : n));
                ++summary_.computed;
                if (!wrong.empty()) {
                    finding f = broken(t, o, "clone", "value", "clones for the chunks do not compute the parts");
                    f.detail = wrong;
                    return f;
                }
            }
            first += n == 0 ? 1 : n;
        }
        return {};
    }

    [[nodiscard]] static std::vector<chunk_state> whole_states(trial& t, const std::vector<X>& values) {
        std::size_t n = 0;
        for (const X& x : values) n += std::max<std::size_t>(1, shapes(t).components_of(x));
        const chunk_state whole{chunk_state::kind::whole};
        return std::vector<chunk_state>(n, whole);
    }
    /// The operand to which a component belongs.
    [[nodiscard]] static std::size_t operand_of(trial& t, const operation& o, std::size_t component) {
        for (std::size_t k = 0; k < o.operands.size(); ++k) {
            const std::size_t n = std::max<std::size_t>(1, shapes(t).components_of(o.operands[k]));
            if (component < n) return k;
            component -= n;
        }
        return finding::none;
    }
    /// Makes operand k sliced wherever it is read.
    static void cut(trial& t, const operation& o, std::vector<chunk_state>& states, std::vector<std::size_t>& dims,
                    std::size_t k, std::size_t dim) {
        std::size_t first = 0;
        for (std::size_t i = 0; i < o.operands.size(); ++i) {
            if (o.operands[i] == o.operands[k]) {
                dims[i] = dim;
                states[first] = {chunk_state::kind::sliced, static_cast<std::int8_t>(dim)};
            }
            first += std::max<std::size_t>(1, shapes(t).components_of(o.operands[i]));
        }
    }

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
    /// Whether one is a view of the other, or both are views of a third.
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

    /// Computes what the verb has made, as far as possible.
    void compute(trial& t, account& values) {
        for (const operation& o : t.made) {
            std::vector<host_value> own;
            bool all = !o.operands.empty() && !o.results.empty();
            for (const X& x : o.operands) {
                const host_value* known = values.find(x);
                all = all && known != nullptr;
                if (all) own.push_back(*known);
            }
            if (!all) continue;
            const std::vector<chunk_state> operands = whole_states(t, o.operands), results = whole_states(t, o.results);
            const chunk_part everything{0, 1, 1, {0, 1}, operands, results, 0};
            const std::vector<host_value> made = evaluate_of<IR, V>{&t.ir}(o.vertex, own, everything);
            for (std::size_t k = 0; k < made.size() && k < o.results.size(); ++k)
                values.known.emplace_back(o.results[k], made[k]);
        }
    }
    [[nodiscard]] static host_value slice(const host_value& x, std::size_t dim, std::int64_t first,
                                          std::int64_t count) {
        std::vector<std::int64_t> places;
        for (std::int64_t k = 0; k < count; ++k) places.push_back(first + k);
        return {{take_rows(x.tensors[0], dim, places)}, 0};
    }
    [[nodiscard]] finding check_value(trial& t, const operation& at, const char* verb, const account& values,
                                      const X& x, const host_value& expected) {
        const host_value* found = values.find(x);
        if (found == nullptr) return {};
        ++summary_.computed;
        if (found->tensors.size() == 1 && found->tensors[0].shape == expected.tensors[0].shape &&
            found->tensors[0].elements == expected.tensors[0].elements)
            return {};
        return broken(t, at, verb, "value", "what the verb has made does not compute what it should");
    }

    Make& make_;
    const Options& options_;
    Summary& summary_;
    sample_source pick_;
};

}  // namespace stretto::detail

#endif
