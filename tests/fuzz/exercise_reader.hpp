// What must hold for every sequence of bytes that somebody calls a captured step.
#ifndef STRETTO_TESTS_FUZZ_EXERCISE_READER_HPP
#define STRETTO_TESTS_FUZZ_EXERCISE_READER_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/capture_writer.hpp"

namespace support {

/// Reads the bytes, gzipped or not, and says what broke: nothing, if they are refused in one printable line, or
/// accepted, kept by writing and reading, and sound as a graph.
inline std::string broken_promise(std::string_view bytes_read) {
    using namespace stretto;
    const file_limits limits{.max_bytes = std::uint64_t{1} << 26};
    std::string text(bytes_read);
    if (is_gzip(text)) {
        expected<std::string, diagnostic> unpacked = gunzip(text, "f", limits);
        if (!unpacked) return unpacked.error().message().starts_with("f: ") ? "" : "a diagnostic without its file";
        text = *std::move(unpacked);
    }
    const auto c = stretto::parse_capture(text, "f", {.file = limits});
    if (!c) {
        const std::string said = c.error().message();
        for (char letter : said)
            if (letter < ' ' || letter > '~') return "a diagnostic with unprintable letters";
        if (!said.starts_with("f: ") || c.error().cause.empty()) return "a diagnostic without file or cause";
        return said.size() > 500 ? "a diagnostic that nobody reads to its end" : "";
    }
    const auto again = stretto::parse_capture(to_json(*c), "f");
    if (!again) return "what was written is refused: " + again.error().message();
    if (*again != *c) return "what was written reads differently";
    capture_fields fields(*c);
    for (std::uint32_t v = 0; v < c->size(); ++v) {
        for (std::uint32_t u : c->inputs(v))
            if (u >= v) return "a node reads a later one";
        if (c->outputs(v).size() > 2 && c->outputs(v).find('{') != std::string_view::npos && fields.outputs(v).empty())
            return "outputs that were accepted cannot be taken apart";
        if (c->launch_of(v).value_or(0) > v) return "a wait waits for a later start";
    }
    return "";
}

}  // namespace support

#endif
