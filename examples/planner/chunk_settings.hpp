// What --chunk says: 4, auto, or so many chunks for modules, such as layers.*.moe:backward=2.
#ifndef STRETTO_PLANNER_CHUNK_SETTINGS_HPP
#define STRETTO_PLANNER_CHUNK_SETTINGS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/capture/capture_tokens.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/tune/search_chunks.hpp"

namespace planner {

struct chunk_setting {
    std::string text;     ///< as it was written
    std::string pattern;  ///< empty: everything
    stretto::pass_direction direction = stretto::pass_direction::both;
    std::vector<std::int64_t> amounts;  ///< one: so many equal chunks; several: rows per chunk
};

/// In which chunks a step is to run; by default whole.
struct chunking {
    bool choose = false;                       ///< any, as is best within the memory limit
    std::vector<chunk_setting> settings = {};  ///< of several that name an operation the last one counts
    stretto::recombining how = stretto::recombining::either;

    [[nodiscard]] bool wanted() const { return choose || !settings.empty(); }
};

/// Settings with commas between them; or what is wrong.
stretto::expected<chunking, std::string> parse_chunks(const std::string& text);

/// The settings in rows of these tokens; or what is wrong.
stretto::expected<std::vector<stretto::module_chunks>, std::string> in_rows(
    const std::vector<chunk_setting>& settings, const stretto::capture_token_symbol& tokens);

/// Settings as --chunk takes them.
std::string spelled(const std::vector<stretto::module_chunks>& settings);

}  // namespace planner

#endif
