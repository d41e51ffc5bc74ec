// Finds the regions of a step by the modules of its model: "layers.*.moe", forward, backward, or both.
#ifndef STRETTO_TRANSFORM_MODULE_REGIONS_HPP
#define STRETTO_TRANSFORM_MODULE_REGIONS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/vertex_map.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/module_pattern.hpp"
#include "stretto/transform/step_modules.hpp"

namespace stretto {

/// The operations of one module and its submodules, in one direction.
template <handle V>
struct module_region {
    std::string module;
    pass_direction direction = pass_direction::both;
    std::vector<V> vertices;  ///< in program order
};

/// Returns the regions that a pattern names: one for each module and each direction in which it has operations. The
/// pattern is "layers.3", "layers.0-26" or "layers.*", for example, as module_pattern.hpp describes. A module is one
/// region, regardless of how often it runs and what it contains. Regions are in the order of the first operations of
/// their modules, except that the backward region of a module comes right after its forward region. `direction` may
/// restrict the result to forward or backward. Operations of unknown direction are in no region. Takes O(V) time; each
/// path is matched once, and compared with the named modules.
template <class G>
[[nodiscard]] std::vector<module_region<vertex_t<G>>> module_regions(const step_modules<G>& modules,
                                                                     std::string_view pattern,
                                                                     pass_direction direction = pass_direction::both) {
    using region = module_region<vertex_t<G>>;
    std::vector<region> found;
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> pair_of(modules.paths().size(),
                                     none);  // by path: its forward region; the backward region follows it
    for (std::size_t p = 1; p < modules.paths().size(); ++p) {
        const std::string_view root = matched_module(modules.paths()[p], pattern);
        if (root.empty()) continue;
        std::size_t r = 0;
        while (r < found.size() && found[r].module != root) r += 2;
        if (r == found.size()) {
            found.push_back({std::string(root), pass_direction::forward, {}});
            found.push_back({std::string(root), pass_direction::backward, {}});
        }
        pair_of[p] = r;
    }
    for (vertex_t<G> v : modules.graph().vertices()) {
        const std::size_t r = pair_of[modules.path_number(v)];
        const pass_direction way = modules.direction(v);
        if (r == none || way == pass_direction::both) continue;
        if (direction != pass_direction::both && direction != way) continue;
        found[r + (way == pass_direction::backward ? 1 : 0)].vertices.push_back(v);
    }
    std::vector<region> kept;
    for (region& r : found)
        if (!r.vertices.empty()) kept.push_back(std::move(r));
    return kept;
}

/// The sizes of the chunks in which the operations that a pattern names are to run.
struct module_chunks {
    std::string pattern;  ///< as in module_pattern.hpp; if empty, all operations, including those without a module
    pass_direction direction = pass_direction::both;
    std::vector<std::int64_t> sizes;  ///< rows per chunk; a single entry means that the operations stay whole
};

/// Returns the regions for plan_chunks that the settings describe. If several settings name an operation, the last one
/// applies. Operations with equal sizes form one region, so that backward operations read the parts that forward
/// operations have produced, and a layer reads the parts of the layer before it. Operations that stay whole are in no
/// region. The error is the position of the first setting that names no operation. O(settings * (paths + V)).
template <class G>
[[nodiscard]] expected<std::vector<chunk_region<vertex_t<G>>>, std::size_t> regions_in_chunks(
    const step_modules<G>& modules, std::span<const module_chunks> settings) {
    using vertex_type = vertex_t<G>;
    constexpr std::uint32_t none = UINT32_MAX;
    const G g = modules.graph();
    vertex_map<G, std::uint32_t> setting_of(g, none);
    for (std::uint32_t s = 0; s < settings.size(); ++s) {
        const module_chunks& setting = settings[s];
        std::vector<char> named;  // by path
        for (const std::string& path : modules.paths())
            named.push_back(setting.pattern.empty() || !matched_module(path, setting.pattern).empty());
        bool any = false;
        for (vertex_type v : g.vertices()) {
            if (!modules.is_operation(v) || !named[modules.path_number(v)]) continue;
            if (setting.direction != pass_direction::both && setting.direction != modules.direction(v)) continue;
            setting_of[v] = s;
            any = true;
        }
        if (!any) return unexpected(std::size_t{s});
    }
    std::vector<chunk_region<vertex_type>> regions;
    std::vector<std::uint32_t> region_of(settings.size(), none);
    for (vertex_type v : g.vertices()) {
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
