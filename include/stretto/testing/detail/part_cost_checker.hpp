// The rules of check_part_costs. A function returns a finding without a rule if nothing is wrong.
//
// What a clone really costs is unknown, so only what every cost must satisfy is checked: the same question has the same
// answer, more rows do not cost less, the part that has all rows costs what the operation does, and no payload or
// memory is lost between two parts. Times may grow when work is cut, and usually do.
#ifndef STRETTO_TESTING_DETAIL_PART_COST_CHECKER_HPP
#define STRETTO_TESTING_DETAIL_PART_COST_CHECKER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/units.hpp"
#include "stretto/testing/detail/accepted_cuts.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto::detail {

/// The checks of one model of costs. `Summary` counts what was asked.
template <class G, class M, class C, class P, class Summary>
class part_cost_checker {
public:
    using V = vertex_t<G>;
    using X = value_t<G>;

    part_cost_checker(const G& g, const M& model, const C& chunks, const P& costs)
        : g_(g), model_(model), chunks_(chunks), costs_(costs) {}

    [[nodiscard]] const Summary& summary() const { return summary_; }

    /// Asks about every operation that is neither input nor output; the first finding ends the check.
    finding check() {
        for (V v : g_.vertices()) {
            const op_kind kind = model_.kind(v);
            if (kind != op_kind::input && kind != op_kind::output) {
                finding f = check_clones(v, kind);
                for (X x : g_.results(v))
                    if (!*f.rule) f = check_joins(x);
                if (*f.rule) return f;
            }
            ++here_;
        }
        return {};
    }

private:
    /// The cost of one clone; storages are those of the results, in order.
    struct answer {
        nanoseconds duration;
        bytes payload;
        std::vector<bytes> allocated;
        friend bool operator==(const answer&, const answer&) = default;
    };

    /// A finding about the operation that is asked about.
    [[nodiscard]] finding broken(const char* rule, const char* hint, std::string detail = {}) const {
        return {.rule = rule, .hint = hint, .vertex = here_, .detail = std::move(detail)};
    }

    /// Asks about v in every way of cutting that the chunk model accepts.
    finding check_clones(V v, op_kind kind) {
        std::vector<X> operands, results;
        for (X x : g_.operands(v)) operands.push_back(x);
        for (X x : g_.results(v)) results.push_back(x);
        finding f;
        bool any = false;
        accepted_cuts<G, C>(chunks_, v, operands, results).for_each([&](const accepted_cut& way) {
            any = true;
            f = check_way(v, kind, way, results);
            return *f.rule != '\0';
        });
        summary_.operations += any;
        return f;
    }

    /// Asks for the parts with no row, one, half of them, all but one and all, and for the rest beside one row.
    finding check_way(V v, op_kind kind, const accepted_cut& way, const std::vector<X>& results) {
        const std::int64_t all = way.tokens;
        answer less{{}, {}, std::vector<bytes>(results.size())}, first, rest;
        for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{1}, all / 2, all - 1, all}) {
            const answer own = ask(v, way, {0, rows}, results.size());
            const std::string asked = std::to_string(rows) + " of " + std::to_string(all) + " rows";
            if (!(ask(v, way, {0, rows}, results.size()) == own))
                return broken("stable", "of_clone answers differently when asked again", asked);
            for (bytes b : own.allocated)
                if (b.count < 0)
                    return broken("allocated", "of_clone does not say what a result allocates, or says less than none",
                                  asked);
            if (own.duration.count < 0 || (kind == op_kind::start && own.payload.count < 0))
                return broken("negative", "a clone costs less than nothing; has a product left 64 bits?", asked);
            bool grows = own.duration >= less.duration && (kind != op_kind::start || own.payload >= less.payload);
            for (std::size_t k = 0; k < results.size(); ++k) grows = grows && own.allocated[k] >= less.allocated[k];
            if (!grows) return broken("monotone", "a part with more rows costs less than one with fewer", asked);
            if (rows == 1) first = own;
            less = own;
        }
        rest = ask(v, way, {1, all - 1}, results.size());
        // Now `less` is the clone that has all rows.
        if (kind == op_kind::start && !(less.payload == payload_of<G>(model_, v)))
            return broken("whole-payload", "the clone that has all rows does not send what the operation sends");
        if (kind == op_kind::start && rest.payload < less.payload - first.payload)
            return broken("lost-payload", "two parts together send less than the whole");
        if (kind != op_kind::start && less.duration < duration_of<G>(model_, v))
            return broken("whole-duration", "the clone that has all rows takes less time than the operation does");
        for (std::size_t k = 0; k < results.size(); ++k) {
            if (!(less.allocated[k] == allocation_of<G>(model_, results[k])))
                return broken("whole-bytes", "the clone that has all rows does not allocate what the operation does");
            if (rest.allocated[k] < less.allocated[k] - first.allocated[k])
                return broken("lost-bytes", "two parts together allocate less than the whole");
        }
        return {};
    }

    /// What a clone of v with these rows costs. Allocations are set to -1 before the call, so that an answer that omits
    /// one is noticed.
    [[nodiscard]] answer ask(V v, const accepted_cut& way, chunk_interval rows, std::size_t results) {
        ++summary_.clones;
        answer own{{}, {}, std::vector<bytes>(results, bytes{-1})};
        const chunk_part part{0, 2, way.tokens, rows, way.operands, way.results, 0};
        const clone_cost cost = costs_.of_clone(v, part, std::span<bytes>(own.allocated));
        own.duration = cost.duration;
        own.payload = cost.payload;
        return own;
    }

    /// Checks the costs of combining the parts of x, and of the memory into which slices are written.
    finding check_joins(X x) {
        // Both are asked before either is asked again, so that a model that repeats its latest answer is detected.
        const std::array<join_cost, 2> said = {costs_.of_concat(x), costs_.of_sum(x)},
                                       again = {costs_.of_concat(x), costs_.of_sum(x)};
        for (std::size_t k = 0; k < said.size(); ++k) {
            const join_cost &a = said[k], &b = again[k];
            if (a.kind != b.kind || !(a.duration == b.duration) || !(a.allocation == b.allocation))
                return broken("stable", "of_concat or of_sum answers differently when asked again");
            if (a.kind != op_kind::compute && a.kind != op_kind::view)
                return broken("join-kind", "what puts parts together is a kernel or a view");
            if (a.kind == op_kind::view && a.duration.count != 0)
                return broken("join-view", "a view that puts parts together takes no time; a kernel does");
            if (a.duration.count < 0 || a.allocation.count < 0)
                return broken("negative", "what puts parts together costs less than nothing");
        }
        if (costs_.of_empty(x).count < 0) return broken("negative", "memory for slices takes less than no bytes");
        if (!(costs_.of_empty(x) == costs_.of_empty(x)))
            return broken("stable", "of_empty answers differently when asked again");
        summary_.joins += 3;
        return chunks_.components_of(x) == 1 ? check_slices(x) : finding{};
    }

    /// Checks that writing a slice of more rows takes no less time, along every dimension.
    finding check_slices(X x) {
        for (std::size_t d = 0; d < chunks_.rank(x, 0); ++d) {
            const std::int64_t extent = chunks_.extent(x, 0, d);
            if (extent < 2) continue;
            nanoseconds less;
            for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{1}, extent / 2, extent}) {
                const std::array<std::int64_t, 2> sizes = {extent - rows, rows};
                const nanoseconds time = costs_.of_slice_write(x, d, sizes, 1);
                ++summary_.slices;
                if (time.count < 0) return broken("negative", "writing a slice takes less than no time");
                if (time < less) return broken("monotone", "writing more rows takes less time than writing fewer");
                if (!(costs_.of_slice_write(x, d, sizes, 1) == time))
                    return broken("stable", "of_slice_write answers differently when asked again");
                less = time;
            }
        }
        return {};
    }

    G g_;
    M model_;
    C chunks_;
    P costs_;
    Summary summary_;
    std::size_t here_ = 0;
};

}  // namespace stretto::detail

#endif
