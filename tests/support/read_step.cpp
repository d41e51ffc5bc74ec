#include "support/read_step.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "stretto/capture/capture_reader.hpp"

namespace support {

stretto::expected<stretto::capture, stretto::diagnostic> parse_capture(std::string text, std::string_view file_name) {
    return stretto::parse_capture(std::move(text), file_name);
}

stretto::expected<stretto::capture, stretto::diagnostic> read_capture(const std::string& path) {
    return stretto::read_capture(path);
}

stretto::expected<stretto::capture_tensors, stretto::diagnostic> read_tensors(const stretto::capture& step) {
    return stretto::capture_tensors::read(step);
}

}  // namespace support
