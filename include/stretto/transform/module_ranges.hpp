// Shortens settings of modules: "layers.0-26.moe" replaces one line per layer.
#ifndef STRETTO_TRANSFORM_MODULE_RANGES_HPP
#define STRETTO_TRANSFORM_MODULE_RANGES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/module_model.hpp"
#include "stretto/transform/module_pattern.hpp"
#include "stretto/transform/module_regions.hpp"

namespace stretto {

namespace detail {

/// A pattern, split around its first numeric component: the text before it, the number, and the text after it.
struct numbered_pattern {
    std::string_view before, behind;
    std::int64_t number = -1;  ///< -1 if no component is a number

    /// Splits a pattern. The result refers to its text.
    [[nodiscard]] static numbered_pattern of(std::string_view pattern) {
        for (std::size_t i = 0; i < pattern.size();) {
            const std::size_t end = std::min(pattern.find('.', i), pattern.size());
            const std::string_view component = pattern.substr(i, end - i);
            const std::int64_t n = plain_number_in(component);
            if (n >= 0) return {pattern.substr(0, i), pattern.substr(end), n};
            i = end + 1;
        }
        return {pattern, {}, -1};
    }
    /// Whether two patterns differ at most in their numbers.
    [[nodiscard]] bool is_like(const numbered_pattern& other) const {
        return number >= 0 && other.number >= 0 && before == other.before && behind == other.behind;
    }
};

}  // namespace detail

/// Returns equivalent settings for regions_in_chunks in shorter form. Consecutive settings with the same direction and
/// chunks that differ in a single number, such as "layers.3.moe", "layers.4.moe" and "layers.5.moe", become one setting
/// with a range, "layers.3-5.moe". The chunks of every operation stay the same. Deterministic. O(settings²) at most.
[[nodiscard]] inline std::vector<module_chunks> in_ranges(std::span<const module_chunks> settings) {
    std::vector<module_chunks> all;
    for (std::size_t i = 0; i < settings.size();) {
        // A run of similar settings, no two of which apply to the same operation, so their order does not matter.
        const auto first = detail::numbered_pattern::of(settings[i].pattern);
        std::vector<std::pair<std::int64_t, std::size_t>> run;  // number, setting
        for (std::size_t j = i; j < settings.size(); ++j) {
            const auto next = detail::numbered_pattern::of(settings[j].pattern);
            const bool meets = std::any_of(run.begin(), run.end(), [&](const auto& other) {
                const pass_direction a = settings[other.second].direction, b = settings[j].direction;
                return other.first == next.number && (a == b || a == pass_direction::both || b == pass_direction::both);
            });
            if (!first.is_like(next) || meets) break;
            run.emplace_back(next.number, j);
        }
        if (run.empty()) {
            all.push_back(settings[i++]);
            continue;
        }
        i += run.size();
        // Of the run, the settings with equal chunks and directions are combined; consecutive numbers become one range.
        std::vector<char> done(run.size(), false);
        for (std::size_t k = 0; k < run.size(); ++k) {
            if (done[k]) continue;
            const module_chunks& like = settings[run[k].second];
            std::vector<std::int64_t> numbers;
            for (std::size_t j = k; j < run.size(); ++j) {
                const module_chunks& other = settings[run[j].second];
                if (done[j] || other.direction != like.direction || other.sizes != like.sizes) continue;
                done[j] = true;
                numbers.push_back(run[j].first);
            }
            std::sort(numbers.begin(), numbers.end());
            for (std::size_t from = 0, to = 0; from < numbers.size(); from = to) {
                while (to < numbers.size() && numbers[to] - numbers[from] == static_cast<std::int64_t>(to - from)) ++to;
                module_chunks made = like;
                made.pattern = std::string(first.before) + std::to_string(numbers[from]);
                if (to - from > 1) made.pattern += "-" + std::to_string(numbers[to - 1]);
                made.pattern += first.behind;
                all.push_back(std::move(made));
            }
        }
    }
    return all;
}

}  // namespace stretto

#endif
