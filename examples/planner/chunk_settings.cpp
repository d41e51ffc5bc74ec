#include "chunk_settings.hpp"

#include <cstdint>
#include <utility>

#include "stretto/transform/module_pattern.hpp"

namespace planner {

using stretto::expected;
using stretto::unexpected;

expected<chunking, std::string> parse_chunks(const std::string& text) {
    chunking all;
    if (text == "auto") {
        all.choose = true;
        return all;
    }
    auto settings = stretto::parse_chunk_settings(text);
    if (settings) {
        all.settings = *std::move(settings);
        return all;
    }
    const auto& [piece, why] = settings.error();
    const std::string named = "--chunk " + piece + ": ";
    if (piece == "auto") return unexpected(named + "chooses everything; it stands alone");
    switch (why) {
        case stretto::chunk_setting_error::cause::no_module:
            return unexpected(named +
                              "names no module; write layers.3, layers.*.moe, layers.3:forward or :backward before the "
                              "=, and \\ before any of , = : \\ or a blank in a name");
        case stretto::chunk_setting_error::cause::no_amount:
            return unexpected(named +
                              "has no number of chunks behind the =; write 2, 3, ... or rows per chunk such as 1+3");
        case stretto::chunk_setting_error::cause::no_number:
            break;
    }
    return unexpected(named + "is no number of chunks; write 2, 3, ..., auto, or MODULE=2");
}

expected<std::vector<stretto::module_chunks>, std::string> in_rows(const std::vector<stretto::chunk_setting>& settings,
                                                                   const stretto::capture_token_symbol& tokens) {
    auto made = stretto::in_rows(settings, tokens.value);
    if (made) return *std::move(made);
    const stretto::chunk_setting& s = settings[made.error()];
    const std::string named = "--chunk " + s.text + ": ", extent = tokens.name + " is " + std::to_string(tokens.value);
    if (s.amounts.size() == 1)
        return unexpected(named + extent + ": too few rows for " + std::to_string(s.amounts[0]) + " chunks");
    std::int64_t rows = 0;
    for (std::int64_t size : s.amounts) rows += size;
    return unexpected(named + "has " + std::to_string(rows) + " rows, and " + extent + "; rows per chunk add up to it");
}

}  // namespace planner
