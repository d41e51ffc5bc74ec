#include "support/chunk_step.hpp"

namespace support {

stretto::expected<stretto::chunked_capture, stretto::diagnostic> chunk_step(
    const stretto::capture& step, const stretto::capture_tensors& tensors,
    std::span<const stretto::capture_chunk_region> regions, std::span<const stretto::capture_token_dimension> tokens,
    stretto::chunk_options options, std::string_view symbol) {
    return stretto::chunk_capture(step, tensors, regions, tokens, options, symbol);
}

}  // namespace support
