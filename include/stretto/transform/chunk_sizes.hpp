// The number of rows in each chunk, and the positions of a chunk in a tensor that is split.
#ifndef STRETTO_TRANSFORM_CHUNK_SIZES_HPP
#define STRETTO_TRANSFORM_CHUNK_SIZES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"

namespace stretto {

/// Returns the number of rows of each chunk. Chunks are equal, except that the first ones take one row more each if the
/// division leaves a remainder: 7 rows in 3 chunks give 3, 2, 2. If there are more chunks than rows, the last chunks
/// are empty. O(chunks). Preconditions: rows >= 0, chunks >= 1.
[[nodiscard]] inline std::vector<std::int64_t> equal_chunks(std::int64_t rows, std::size_t chunks) {
    STRETTO_ASSERT(rows >= 0 && chunks >= 1, "rows are shared out among at least one chunk");
    std::vector<std::int64_t> sizes;
    sizes.reserve(chunks);
    const std::int64_t k = static_cast<std::int64_t>(chunks);
    for (std::int64_t c = 0; c < k; ++c) sizes.push_back(rows / k + (c < rows % k ? 1 : 0));
    return sizes;
}

/// The half-open range [from, to) of positions along a dimension.
struct slice_place {
    std::int64_t from = 0;
    std::int64_t to = 0;
    friend constexpr bool operator==(slice_place, slice_place) = default;
};

/// Returns the positions of part k along a dimension of the given extent that is split into chunks of these sizes, in
/// rows. A row may cover several positions. O(chunks). Preconditions: the sum of the sizes is positive and divides the
/// extent; k < sizes.size().
[[nodiscard]] constexpr slice_place place_of_slice(std::int64_t extent, std::span<const std::int64_t> sizes,
                                                   std::size_t k) {
    std::int64_t rows = 0, first = 0;
    for (std::size_t chunk = 0; chunk < sizes.size(); ++chunk) {
        if (chunk == k) first = rows;
        rows += sizes[chunk];
    }
    STRETTO_ASSERT(k < sizes.size() && rows > 0, "a slice is one of the chunks of some rows");
    const std::int64_t unit = extent / rows;
    return {first * unit, (first + sizes[k]) * unit};
}

}  // namespace stretto

#endif
