// What searches over chunks take beside the models of a program: where its chunk model comes from, and its tokens.
#ifndef STRETTO_TUNE_CHUNK_SOURCE_HPP
#define STRETTO_TUNE_CHUNK_SOURCE_HPP

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto {

/// A chunk_model of the view, or a callable without arguments that gives one. A callable is asked once for every trial:
/// it is for models that remember what they were asked, so that no trial depends on the ones before.
template <class C, class G>
concept chunk_model_source =
    chunk_model<C, G> || (std::is_invocable_v<const C&> && chunk_model<std::invoke_result_t<const C&>, G>);

/// What is cut: values of so many rows, in all regions. The extent of each dimension is a multiple of `rows`.
template <handle X>
struct token_rows {
    std::int64_t rows = 0;
    std::span<const token_dimension<X>> dimensions;  ///< must outlive the search
};

}  // namespace stretto

#endif
