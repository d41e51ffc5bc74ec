// The rule of check_rewriter for clones of the rows of a chunk: they have the extents of their parts and compute them.
//
// Every chunked program depends on clones for chunks, and these are easy to get almost right: an argument that contains
// the extent of the whole goes unnoticed until the program runs. Therefore an operation is actually cut, with the
// rewriter's own splits as operands, and the parts of its results are compared with the whole.
#ifndef STRETTO_TESTING_DETAIL_ROW_CLONE_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_ROW_CLONE_CHECKER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/chunk_relation.hpp"
#include "stretto/testing/detail/accepted_cuts.hpp"
#include "stretto/testing/detail/host_program.hpp"
#include "stretto/testing/detail/made_values.hpp"
#include "stretto/testing/finding.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// The check of one operation at a time. Precondition: the IR has a chunk model and a rewriter that slices and clones.
template <class Make, class Options, class Summary>
class row_clone_checker : made_values_checker<Make, Options, Summary> {
    using base = made_values_checker<Make, Options, Summary>;
    using base::broken, base::make_, base::pick_, base::shapes, base::summary_;
    using typename base::account, typename base::operation, typename base::trial;
    using typename base::G, typename base::IR, typename base::V, typename base::X;

public:
    using base::base;

    /// Makes clones for two chunks, in the first way of cutting operands that the model accepts.
    [[nodiscard]] finding check(std::size_t p) {
        trial t(make_);
        const operation o = t.now[p];
        const auto chunks = shapes(t);
        using evaluate_type = evaluate_of<IR, V>;
        evaluate_type evaluate{&t.ir};
        finding f;
        accepted_cuts<G, decltype(t.ir.chunks())>(chunks, o.vertex, o.operands, o.results)
            .for_each([&](const accepted_cut& way) {
                host_program<G, decltype(t.ir.chunks()), evaluate_type> program(t.ir.view(), chunks, evaluate, 1 << 16);
                f = program.compute(pick_);
                if (!*f.rule) f = clone_rows(t, o, way, program);
                return true;
            });
        return f;
    }

private:
    /// Cuts the operands into a part of one token and a part of the others, whose sizes mostly differ, so that mixing
    /// them up shows; makes both clones, and compares extents and contents of their results with what the states in
    /// `way` say.
    template <class Program>
    [[nodiscard]] finding clone_rows(trial& t, const operation& o, const accepted_cut& way, const Program& program) {
        const auto& [tokens, operands, results, dims] = way;
        const std::vector<std::int64_t> sizes = {1, tokens - 1};
        const std::vector<chunk_interval> intervals = {{0, 1}, {1, tokens - 1}};
        account values;
        for (const X& x : o.operands)
            if (const std::uint32_t k = program.number(t.ir.view(), x); program.is_known[k])
                values.known.emplace_back(x, program.values[k]);
        std::vector<host_value> wholes;
        for (const X& x : o.results) {
            // Contents that were made up have nothing to do with the operands, so there is nothing to compare with.
            const std::uint32_t k = program.number(t.ir.view(), x);
            wholes.push_back(program.is_known[k] && !program.is_made_up[program.producer[k]] ? program.values[k]
                                                                                             : host_value{});
        }
        // An operand that is read twice is cut once, as apply_chunks does it. What stays whole is both parts of itself.
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
            if (parts[k].size() != sizes.size())
                return broken(t, o, "split", "parts", "split gives one part per size, in their order");
            values.compute(t);
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
            values.compute(t);  // a clone is an operation like any other, with extents of its own
        }
        // States are listed by component, and a value without components has one state all the same.
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
};

}  // namespace stretto::detail

#endif
