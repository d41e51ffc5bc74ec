// The number of rows in each chunk, and where the rows of a chunk are in what is cut.
#ifndef STRETTO_TRANSFORM_CHUNK_SIZES_HPP
#define STRETTO_TRANSFORM_CHUNK_SIZES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/config.hpp"

namespace stretto {

/// Rows per chunk: equal except for a remainder that the first chunks share, such as 3, 2, 2 for 7 rows in 3 chunks.
/// With more chunks than rows the last ones are empty. O(chunks). Preconditions: rows >= 0, chunks >= 1.
[[nodiscard]] inline std::vector<std::int64_t> equal_chunks(std::int64_t rows, std::size_t chunks) {
    STRETTO_ASSERT(rows >= 0 && chunks >= 1, "rows are shared out among at least one chunk");
    std::vector<std::int64_t> sizes;
    sizes.reserve(chunks);
    const std::int64_t k = static_cast<std::int64_t>(chunks);
    for (std::int64_t c = 0; c < k; ++c) sizes.push_back(rows / k + (c < rows % k ? 1 : 0));
    return sizes;
}

/// A part of a dimension: the positions from, from + 1, ..., to - 1.
struct slice_place {
    std::int64_t from = 0;
    std::int64_t to = 0;
    friend constexpr bool operator==(slice_place, slice_place) = default;
};

/// The place of part k along a dimension of the given extent that is cut into chunks with these rows. A row may be
/// several positions: the sum of the sizes divides the extent. O(chunks). Preconditions: that sum is positive, and k is
/// a chunk.
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
