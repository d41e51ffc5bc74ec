// Inputs of chunk searches beyond the models of a program: the source of its chunk model, and its tokens.
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

/// A chunk_model of the view, or a callable without arguments that returns one. A callable is called once per trial. It
/// serves models that cache answers, so that no trial depends on earlier ones.
template <class C, class G>
concept chunk_model_source =
    chunk_model<C, G> || (std::is_invocable_v<const C&> && chunk_model<std::invoke_result_t<const C&>, G>);

/// The values to cut, which have `rows` rows in all regions. Precondition: the extent of each dimension is a multiple
/// of `rows`.
template <handle X>
struct token_rows {
    std::int64_t rows = 0;
    std::span<const token_dimension<X>> dimensions;  ///< must outlive the search
};

}  // namespace stretto

#endif
