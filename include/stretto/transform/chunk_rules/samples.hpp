// The rule kind of operations that process each sample of a batch independently: convolutions, group normalization, and
// their gradients. They mix all positions within a sample, so only dimension 0, the sample dimension, may be cut.
// Operands that belong to no sample (weights, biases) are shared by all samples, and their gradients are sums over
// samples.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_SAMPLES_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_SAMPLES_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/transform/chunk_rules/chunk_call.hpp"
#include "stretto/transform/chunk_rules/detail/rows.hpp"

namespace stretto::chunk_rules {

/// Computes results for each sample independently. Operands in `batched` have samples along dimension 0 and must be cut
/// alike there; all others must be whole. The first `own` results have samples along dimension 0 too; the others are
/// sums over samples. A sum over chunks passes if it is operand `linear_in` and nothing is cut. O(operands).
struct by_sample {
    static constexpr std::size_t all_results = SIZE_MAX;

    std::vector<std::size_t> batched = {0};  ///< the operands that have samples along dimension 0
    std::size_t own = all_results;           ///< the number of leading results that have samples
    std::size_t linear_in = no_operand;      ///< the operand in which all results are linear
    rule_number samples = {};                ///< the number of samples, if the operation takes it as an argument

    [[nodiscard]] chunk_verdict verdict(const chunk_call& c) const;
    void name_operands(operand_names& to) const {
        to.add("batched", batched).add("linear_in", linear_in).add("samples", samples);
    }
};

namespace detail {

inline constexpr std::string_view needs_whole_samples =
    "works along the dimension that is chunked: chunk it along the samples of the batch";

/// Returns whether the number of samples that the operation takes as an argument, if any, can be that of a chunk whose
/// samples are `rows`. A constant, or a number that all chunks share, can be replaced by the exact share of sliced
/// rows; a number of the chunk must count these rows.
inline bool samples_counted(const chunk_call& c, const by_sample& b, const chunk_state& rows) {
    const std::size_t k = b.samples.operand;
    if (k >= c.operands.size() || is_whole(c.state(k)))
        return rows.what == chunk_kind::sliced || (k >= c.operands.size() && !b.samples.is_constant);
    const chunk_state& n = c.state(k);
    if (!is_addend(n)) return false;
    if (rows.what == chunk_kind::sliced) return c.has_rows(c.extent(b.batched[0], 0), n.positions);
    return c.orders->rows_of(n.order) != 0 && c.orders->rows_of(n.order) == c.orders->rows_of(rows.order);
}

}  // namespace detail

inline chunk_verdict by_sample::verdict(const chunk_call& c) const {
    chunk_verdict v;
    if (!detail::only_values(c, v)) return v;
    const auto has_samples = [&](std::size_t k) {
        for (std::size_t b : batched)
            if (b == k) return true;
        return false;
    };
    std::size_t addends = 0, cut = 0, first_cut = no_operand;
    chunk_state rows;
    for (std::size_t k = 0; k < c.operands.size(); ++k) {
        const chunk_state& s = c.state(k);
        if (c.is_number(k)) {
            if (!is_whole(s) && k != samples.operand) return c.refuse(detail::chunk_number);
            continue;
        }
        addends += is_addend(s);
        if (!is_cut(s)) continue;
        ++cut;
        if (!has_samples(k)) return c.refuse("has rows of the chunk where all samples share an operand");
        if (s.dim != 0) return c.refuse_itself(detail::needs_whole_samples);
        if (first_cut == no_operand) rows = c.state(first_cut = k);
        else if (!detail::join_rows(c, rows, s)) return c.refuse(detail::no_such_rows);
    }
    if (addends != 0) {
        if (cut != 0) return c.refuse(detail::sum_meets_rows);
        if (addends != 1 || !c.is_tensor(linear_in) || !is_addend(c.state(linear_in)))
            return c.refuse(detail::not_linear);
        if (c.is_number(samples.operand) && !is_whole(c.state(samples.operand))) return c.refuse(detail::chunk_number);
        return c.give(a_sum);
    }
    if (cut == 0) return c.refuse(detail::chunk_number);  // only a number differs between chunks
    for (std::size_t k : batched)
        if (c.is_tensor(k) && is_whole(c.state(k))) return c.want(k, 0, rows);
    if (!detail::samples_counted(c, *this, rows))
        return c.refuse("is told a number of samples that is not that of the chunk");
    for (std::size_t j = 0; j < c.results.size(); ++j) c.results[j] = j < own ? rows : a_sum;
    return {};
}

}  // namespace stretto::chunk_rules

#endif
