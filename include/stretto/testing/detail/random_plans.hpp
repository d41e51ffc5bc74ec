// Random chunk plans of an author's program, with which the checks of applied chunks begin.
#ifndef STRETTO_TESTING_DETAIL_RANDOM_PLANS_HPP
#define STRETTO_TESTING_DETAIL_RANDOM_PLANS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/detail/sample_source.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/plan_chunks.hpp"

namespace stretto::detail {

/// The view of an IR.
template <class IR>
using view_of = std::remove_cvref_t<decltype(std::declval<IR&>().view())>;

/// A plan that cuts one input of the program along one dimension, and divides all operations, as one region, into two
/// to four chunks; operations that cannot be chunked stay whole. It is empty if there is nothing to cut, or if
/// plan_chunks refuses what was chosen. Every second round writes slices.
template <class IR>
[[nodiscard]] chunk_plan<vertex_t<view_of<IR>>, value_t<view_of<IR>>> random_plan(IR& ir, sample_source& pick,
                                                                                  std::size_t round) {
    using V = vertex_t<view_of<IR>>;
    using X = value_t<view_of<IR>>;
    const auto g = ir.view();
    const auto model = ir.model();
    std::vector<token_dimension<X>> places;
    chunk_region<V> region;
    for (V v : g.vertices()) {
        if (model.kind(v) != op_kind::input && model.kind(v) != op_kind::output) region.candidates.push_back(v);
        if (model.kind(v) != op_kind::input) continue;
        for (X x : g.results(v))
            if (ir.chunks().components_of(x) == 1)
                for (std::size_t d = 0; d < ir.chunks().rank(x, 0); ++d)
                    if (ir.chunks().extent(x, 0, d) > 1) places.push_back({x, d});
    }
    if (places.empty()) return {};
    const token_dimension<X> tokens = places[pick.below(places.size())];
    const std::int64_t rows = pick.divisor(ir.chunks().extent(tokens.value, 0, tokens.dim));
    if (rows == 0) return {};
    for (const chunk_interval& chunk : pick.chunks(rows)) region.sizes.push_back(chunk.count);
    // Every third round has a last chunk of one row.
    if (round % 3 == 2 && region.sizes.back() > 1) {
        --region.sizes.back();
        region.sizes.push_back(1);
    }
    auto plan = plan_chunks(g, model, ir.chunks(), std::span<const chunk_region<V>>(&region, 1),
                            std::span<const token_dimension<X>>(&tokens, 1), {.skip_refused = true});
    if (!plan) return {};
    if (round % 2 == 1) choose_slices(*plan, [](const auto&) { return true; });
    return *std::move(plan);
}

}  // namespace stretto::detail

#endif
