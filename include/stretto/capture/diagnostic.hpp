// A fault of a file, reported as a compiler does: place, cause and hint on one line.
//
//     step.json.gz: node 17 (all_gather_3): inputs: reads node 99, which comes later; every node may only read ...
#ifndef STRETTO_CAPTURE_DIAGNOSTIC_HPP
#define STRETTO_CAPTURE_DIAGNOSTIC_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/core/language.hpp"

namespace stretto {

/// Returns text from a file as it may appear in a message: control characters and non-ASCII bytes become '?', and text
/// beyond `limit` characters is cut and marked with "...".
inline std::string printable(std::string_view text, std::size_t limit = 80) {
    std::string shown(text.substr(0, limit));
    for (char& c : shown)
        if (c < ' ' || c > '~') c = '?';
    if (text.size() > limit) shown += "...";
    return shown;
}

/// The one reason why a file was refused. Empty parts are omitted from the message.
struct diagnostic {
    std::string file;                   ///< as the caller named it; "-" is standard input
    std::optional<std::uint64_t> byte;  ///< offset into the decompressed text, if a syntax error has one
    std::optional<std::uint32_t> node;  ///< position of the node in the list of nodes
    std::string node_name;              ///< the name of that node, if it is already known
    std::string field;                  ///< the member at fault, such as "inputs" or "costs.collectives"
    std::string cause;
    std::string hint;

    /// Returns the whole diagnostic on one line, without a newline, whatever bytes the file contains.
    [[nodiscard]] std::string message() const {
        std::string line;
        const auto add = [&line](const std::string& part) {
            if (!line.empty() && !part.empty()) line += ": ";
            line += part;
        };
        add(file == "-" ? "<stdin>" : printable(file, 4096));
        if (byte) add("byte " + std::to_string(*byte));
        if (node) add("node " + std::to_string(*node) + (node_name.empty() ? "" : " (" + printable(node_name) + ")"));
        add(printable(field));
        add(cause);
        if (!hint.empty()) line += "; " + hint;
        return line;
    }

    friend bool operator==(const diagnostic&, const diagnostic&) = default;
};

}  // namespace stretto

#endif
