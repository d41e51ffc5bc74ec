// What --chunk says: 4, auto, or so many chunks for modules, such as layers.*.moe:backward=2.
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

/// In which chunks a step is to run; by default whole.
struct chunking {
    bool choose = false;                                ///< any, as is best within the memory limit
    std::vector<stretto::chunk_setting> settings = {};  ///< of several that name an operation the last one counts
    stretto::recombining how = stretto::recombining::either;

    [[nodiscard]] bool wanted() const { return choose || !settings.empty(); }
};

/// "auto", or settings with commas between them; or what is wrong.
stretto::expected<chunking, std::string> parse_chunks(const std::string& text);

/// The settings in rows of these tokens; or what is wrong.
stretto::expected<std::vector<stretto::module_chunks>, std::string> in_rows(
    const std::vector<stretto::chunk_setting>& settings, const stretto::capture_token_symbol& tokens);

}  // namespace planner

#endif
