// Reads what --chunk requests: a number of chunks, "auto", or numbers for modules, such as layers.*.moe:backward=2.
#ifndef STRETTO_PLANNER_CHUNK_SETTINGS_HPP
#define STRETTO_PLANNER_CHUNK_SETTINGS_HPP

#include <string>
#include <vector>

#include "stretto/capture/capture_tokens.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/chunk_settings_text.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/tune/search_chunks.hpp"

namespace planner {

/// The chunks in which a step is to run. By default, it runs whole.
struct chunking {
    bool choose = false;                                ///< choose those that are best within the memory limit
    std::vector<stretto::chunk_setting> settings = {};  ///< the last one that names an operation counts for it
    stretto::recombining how = stretto::recombining::either;

    [[nodiscard]] bool wanted() const { return choose || !settings.empty(); }
};

/// Parses "auto", or settings with commas between them. The error says what is wrong.
stretto::expected<chunking, std::string> parse_chunks(const std::string& text);

/// Converts settings to rows of these tokens. The error says what is wrong.
stretto::expected<std::vector<stretto::module_chunks>, std::string> in_rows(
    const std::vector<stretto::chunk_setting>& settings, const stretto::capture_token_symbol& tokens);

}  // namespace planner

#endif
