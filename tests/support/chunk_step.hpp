// stretto::chunk_capture, compiled once: it takes longer to compile than what tests it.
#ifndef STRETTO_TESTS_SUPPORT_CHUNK_STEP_HPP
#define STRETTO_TESTS_SUPPORT_CHUNK_STEP_HPP

#include <span>
#include <string_view>

#include "stretto/capture/chunk_capture.hpp"
#include "stretto/core/expected.hpp"

namespace support {

stretto::expected<stretto::chunked_capture, stretto::diagnostic> chunk_step(
    const stretto::capture& step, const stretto::capture_tensors& tensors,
    std::span<const stretto::capture_chunk_region> regions, std::span<const stretto::capture_token_dimension> tokens,
    stretto::chunk_options options = {}, std::string_view symbol = {});

}  // namespace support

#endif
