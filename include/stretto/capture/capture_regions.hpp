// The modules of the model that a captured step belongs to, and regions of a step by module: layers.*.moe, forward,
// backward, or both. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_REGIONS_HPP
#define STRETTO_CAPTURE_CAPTURE_REGIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto {

enum class capture_direction : std::uint8_t {
    forward,
    backward,
    both  ///< of a node: it does not say
};

/// What a module path and a pattern for its beginning have in common: "layers.3" of "layers.3.moe.router" and
/// "layers.*", where * is one component; empty if the path begins otherwise. An empty component matches nothing.
/// A part of `path`. O(length).
[[nodiscard]] inline std::string_view matched_module(std::string_view path, std::string_view pattern) noexcept {
    std::size_t i = 0, j = 0;
    while (true) {
        const std::size_t end = std::min(path.find('.', i), path.size());
        const std::size_t pattern_end = std::min(pattern.find('.', j), pattern.size());
        const std::string_view wanted = pattern.substr(j, pattern_end - j), own = path.substr(i, end - i);
        if (own.empty() || wanted.empty() || (wanted != "*" && wanted != own)) return {};
        if (pattern_end == pattern.size()) return path.substr(0, end);
        if (end == path.size()) return {};
        i = end + 1;
        j = pattern_end + 1;
    }
}

namespace detail {

/// The module that both lie in: "layers.3" of "layers.3.ffn" and "layers.3.moe".
[[nodiscard]] inline std::string_view common_module(std::string_view a, std::string_view b) noexcept {
    std::size_t same = 0, boundary = 0;
    for (;; ++same) {
        const bool a_ends = same == a.size() || a[same] == '.', b_ends = same == b.size() || b[same] == '.';
        if (a_ends && b_ends) boundary = same;
        if (same == a.size() || same == b.size() || a[same] != b[same]) return a.substr(0, boundary);
    }
}

}  // namespace detail

/// Module path and direction of every node, as its fields `fqn` and `direction` say. Frameworks leave out those of
/// operations that they insert themselves, such as additions of gradients: one that has no path lies in the smallest
/// module in which all nodes lie that it reads, inputs of the step aside; likewise its direction. O(nodes and edges,
/// and length of the paths).
class capture_modules {
public:
    explicit capture_modules(const capture& step) : module_(step.size(), 0), paths_{std::string()} {
        direction_.assign(step.size(), capture_direction::both);
        capture_fields fields(step);
        std::map<std::string, std::uint32_t, std::less<>> known = {{std::string(), 0}};
        const auto number = [&](const std::string& path) {
            const auto found = known.find(path);
            if (found != known.end()) return found->second;
            paths_.emplace_back(path);
            return known.emplace(path, static_cast<std::uint32_t>(paths_.size() - 1)).first->second;
        };
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            if (step.kind(v) == op_kind::input || step.kind(v) == op_kind::output) continue;
            std::optional<std::string_view> of_operands;
            std::optional<capture_direction> way;
            for (std::uint32_t u : step.inputs(v)) {
                if (step.kind(u) == op_kind::input) continue;
                of_operands = of_operands ? detail::common_module(*of_operands, path(u)) : path(u);
                way = !way || *way == direction_[u] ? direction_[u] : capture_direction::both;
            }
            const auto own = plain_text(step, fields, v, "fqn"), direction = plain_text(step, fields, v, "direction");
            const std::string module = own ? *own : std::string(of_operands.value_or(""));
            module_[v] = number(module);
            direction_[v] = !direction                 ? way.value_or(capture_direction::both)
                            : *direction == "forward"  ? capture_direction::forward
                            : *direction == "backward" ? capture_direction::backward
                                                       : capture_direction::both;
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return module_.size(); }
    /// Such as "layers.3.moe"; empty if it is not known, and of inputs and the output of the step.
    [[nodiscard]] std::string_view path(std::uint32_t v) const { return paths_[module_[v]]; }
    [[nodiscard]] capture_direction direction(std::uint32_t v) const { return direction_[v]; }

    /// Paths that occur, numbered in program order of their first nodes; number 0 is the empty path.
    [[nodiscard]] std::span<const std::string> paths() const noexcept { return paths_; }
    [[nodiscard]] std::uint32_t path_number(std::uint32_t v) const { return module_[v]; }

private:
    /// Without JSON, where it has no escapes.
    static std::optional<std::string> plain_text(const capture& step, capture_fields& fields, std::uint32_t v,
                                                 std::string_view key) {
        const auto text = step.field(v, key);
        if (!text) return std::nullopt;
        if (text->size() >= 2 && (*text)[0] == '"' && text->find('\\') == std::string_view::npos)
            return std::string(text->substr(1, text->size() - 2));
        return fields.text(v, key);
    }

    std::vector<std::uint32_t> module_;
    std::vector<std::string> paths_;
    std::vector<capture_direction> direction_;
};

/// The nodes of one module, its submodules among them, in one direction.
struct module_region {
    std::string module;
    capture_direction direction = capture_direction::both;
    std::vector<std::uint32_t> nodes;  ///< in program order
};

/// A region for each module that the pattern names and each direction that it has nodes of: "layers.3", or "layers.*",
/// where * stands for one component. However often a module runs, and whatever it contains, it is one region. In
/// program order of first nodes, but backward stands behind the forward of its module. `direction`: forward or backward
/// alone. Nodes that know no direction are in none of them. O(nodes), and matching every path once.
[[nodiscard]] inline std::vector<module_region> capture_regions(const capture_modules& modules,
                                                                std::string_view pattern,
                                                                capture_direction direction = capture_direction::both) {
    std::vector<module_region> found;
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> pair_of(modules.paths().size(), none);  // of forward, backward
    for (std::size_t p = 1; p < modules.paths().size(); ++p) {
        const std::string_view root = matched_module(modules.paths()[p], pattern);
        if (root.empty()) continue;
        std::size_t r = 0;
        while (r < found.size() && found[r].module != root) r += 2;
        if (r == found.size()) {
            found.push_back({std::string(root), capture_direction::forward, {}});
            found.push_back({std::string(root), capture_direction::backward, {}});
        }
        pair_of[p] = r;
    }
    for (std::uint32_t v = 0; v < modules.size(); ++v) {
        const std::size_t r = pair_of[modules.path_number(v)];
        const capture_direction way = modules.direction(v);
        if (r == none || way == capture_direction::both) continue;
        if (direction != capture_direction::both && direction != way) continue;
        found[r + (way == capture_direction::backward ? 1 : 0)].nodes.push_back(v);
    }
    std::vector<module_region> kept;
    for (module_region& r : found)
        if (!r.nodes.empty()) kept.push_back(std::move(r));
    return kept;
}

/// In which chunks the nodes that a pattern names are to run.
struct module_chunks {
    std::string pattern;  ///< empty: all nodes, with a module or without
    capture_direction direction = capture_direction::both;
    std::vector<std::int64_t> sizes;  ///< rows per chunk; a single one: whole
};

/// Regions for chunk_capture: of several settings that name a node the last one counts, and nodes with equal sizes are
/// one region, so that backward reads the parts that forward has left, and a layer those of the layer before. What runs
/// whole is in no region. Fails with the position of the first setting that names no node.
/// O(settings times paths, and nodes).
[[nodiscard]] inline expected<std::vector<chunk_region<std::uint32_t>>, std::size_t> regions_in_chunks(
    const capture& step, const capture_modules& modules, std::span<const module_chunks> settings) {
    constexpr std::uint32_t none = UINT32_MAX;
    std::vector<std::uint32_t> setting_of(step.size(), none);
    for (std::uint32_t s = 0; s < settings.size(); ++s) {
        const module_chunks& setting = settings[s];
        std::vector<char> named;
        for (const std::string& path : modules.paths())
            named.push_back(setting.pattern.empty() || !matched_module(path, setting.pattern).empty());
        bool any = false;
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            if (step.kind(v) == op_kind::input || step.kind(v) == op_kind::output) continue;
            if (!named[modules.path_number(v)]) continue;
            if (setting.direction != capture_direction::both && setting.direction != modules.direction(v)) continue;
            setting_of[v] = s;
            any = true;
        }
        if (!any) return unexpected(std::size_t{s});
    }
    std::vector<chunk_region<std::uint32_t>> regions;
    std::vector<std::uint32_t> region_of(settings.size(), none);
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        const std::uint32_t s = setting_of[v];
        if (s == none || settings[s].sizes.size() <= 1) continue;
        std::uint32_t& r = region_of[s];
        if (r == none)
            for (r = 0; r < regions.size() && regions[r].sizes != settings[s].sizes;) ++r;
        if (r == regions.size()) regions.push_back({{}, settings[s].sizes});
        regions[r].candidates.push_back(v);
    }
    return regions;
}

}  // namespace stretto

#endif
