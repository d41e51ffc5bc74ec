#include "chunk_settings.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "stretto/transform/chunk_sizes.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::pass_direction;
using stretto::unexpected;

constexpr std::string_view forward = ":forward", backward = ":backward";

std::vector<std::string_view> pieces(std::string_view text, char between) {
    std::vector<std::string_view> found;
    for (std::size_t i = 0;;) {
        const std::size_t end = std::min(text.find(between, i), text.size());
        found.push_back(text.substr(i, end - i));
        if (end == text.size()) return found;
        i = end + 1;
    }
}

bool is_pattern(std::string_view text) {
    for (std::string_view component : pieces(text, '.'))
        if (component.empty() || component.find_first_of(" \t=:") != std::string_view::npos) return false;
    return true;
}

/// "4" or "1+3"; empty if it is neither.
std::vector<std::int64_t> amounts_in(std::string_view text) {
    std::vector<std::int64_t> amounts;
    for (std::string_view piece : pieces(text, '+')) {
        std::int64_t n = 0;
        const auto [end, error] = std::from_chars(piece.data(), piece.data() + piece.size(), n);
        if (error != std::errc{} || end != piece.data() + piece.size() || n < 1 || n > (std::int64_t{1} << 40))
            return {};
        amounts.push_back(n);
    }
    if (amounts.size() == 1 && amounts[0] > 1000) return {};
    return amounts;
}

}  // namespace

expected<chunking, std::string> parse_chunks(const std::string& text) {
    chunking all;
    for (std::string_view piece : pieces(text, ',')) {
        const std::string named = "--chunk " + std::string(piece) + ": ";
        if (piece == "auto") {
            if (text != "auto") return unexpected(named + "chooses everything; it stands alone");
            all.choose = true;
            return all;
        }
        chunk_setting s{std::string(piece), {}, pass_direction::both, {}};
        const std::size_t equals = piece.find('=');
        std::string_view name;
        if (equals != std::string_view::npos) {
            name = piece.substr(0, equals);
            if (name.ends_with(forward)) s.direction = pass_direction::forward;
            if (name.ends_with(backward)) s.direction = pass_direction::backward;
            if (s.direction != pass_direction::both) name = name.substr(0, name.rfind(':'));
            if ((!name.empty() && !is_pattern(name)) || (name.empty() && s.direction == pass_direction::both))
                return unexpected(named +
                                  "names no module; write layers.3, layers.*.moe, layers.3:forward or "
                                  ":backward before the =");
        }
        s.pattern = name;
        s.amounts = amounts_in(equals == std::string_view::npos ? piece : piece.substr(equals + 1));
        if (s.amounts.empty())
            return unexpected(named + (equals == std::string_view::npos
                                           ? "is no number of chunks; write 2, 3, ..., auto, or MODULE=2"
                                           : "has no number of chunks behind the =; write 2, 3, ... or rows per "
                                             "chunk such as 1+3"));
        all.settings.push_back(std::move(s));
    }
    return all;
}

expected<std::vector<stretto::module_chunks>, std::string> in_rows(const std::vector<chunk_setting>& settings,
                                                                   const stretto::capture_token_symbol& tokens) {
    std::vector<stretto::module_chunks> all;
    for (const chunk_setting& s : settings) {
        const std::string named = "--chunk " + s.text + ": ",
                          extent = tokens.name + " is " + std::to_string(tokens.value);
        stretto::module_chunks m{s.pattern, s.direction, s.amounts};
        if (s.amounts.size() == 1) {
            if (s.amounts[0] > tokens.value)
                return unexpected(named + extent + ": too few rows for " + std::to_string(s.amounts[0]) + " chunks");
            m.sizes = stretto::equal_chunks(tokens.value, static_cast<std::size_t>(s.amounts[0]));
        }
        std::int64_t rows = 0;
        for (std::int64_t size : m.sizes) rows += size;
        if (rows != tokens.value)
            return unexpected(named + "has " + std::to_string(rows) + " rows, and " + extent +
                              "; rows per chunk add up to it");
        all.push_back(std::move(m));
    }
    return all;
}

std::string spelled(const std::vector<stretto::module_chunks>& settings) {
    std::string text;
    for (const stretto::module_chunks& s : settings) {
        if (!text.empty()) text += ',';
        text += s.pattern;
        if (s.direction == pass_direction::forward) text += forward;
        if (s.direction == pass_direction::backward) text += backward;
        if (!s.pattern.empty() || s.direction != pass_direction::both) text += '=';
        std::int64_t rows = 0;
        for (std::int64_t size : s.sizes) rows += size;
        if (s.sizes == stretto::equal_chunks(rows, s.sizes.size())) {
            text += std::to_string(s.sizes.size());
            continue;
        }
        for (std::size_t k = 0; k < s.sizes.size(); ++k) text += (k == 0 ? "" : "+") + std::to_string(s.sizes[k]);
    }
    return text;
}

}  // namespace planner
