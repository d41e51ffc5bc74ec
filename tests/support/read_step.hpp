// The reader as a tool, for tests of something else: compiled once, where each of them would spend half of its compile
// time on simdjson.
#ifndef STRETTO_TESTS_SUPPORT_READ_STEP_HPP
#define STRETTO_TESTS_SUPPORT_READ_STEP_HPP

#include <string>
#include <string_view>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"

namespace support {

/// stretto::parse_capture and stretto::read_capture, with their default limits.
stretto::expected<stretto::capture, stretto::diagnostic> parse_capture(std::string text, std::string_view file_name);
stretto::expected<stretto::capture, stretto::diagnostic> read_capture(const std::string& path);
/// stretto::capture_tensors::read.
stretto::expected<stretto::capture_tensors, stretto::diagnostic> read_tensors(const stretto::capture& step);

}  // namespace support

#endif
