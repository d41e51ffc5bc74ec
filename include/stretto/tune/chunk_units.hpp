// The units that each get a number of chunks of their own in a search: repeated parts of a model, such as its layers,
// and the modules around their exchanges, with separate units for forward and backward.
#ifndef STRETTO_TUNE_CHUNK_UNITS_HPP
#define STRETTO_TUNE_CHUNK_UNITS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/module_pattern.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/step_modules.hpp"

namespace stretto {

/// A part of the model, or a module around exchanges without the nested modules that are units themselves, in one
/// direction.
struct chunk_unit {
    std::string module;  ///< empty for operations outside of all modules
    pass_direction direction = pass_direction::both;
    std::size_t depth = 0;   ///< nesting depth of the module within its part; 0 for the part itself
    std::uint32_t part = 0;  ///< units of one part share a number, from 0 in program order
};

/// A module path that operations of a unit have: that of the unit's module, or of a module nested in it.
struct chunk_unit_path {
    std::string path;
    std::uint32_t unit = 0;
};

/// The units of a program, in program order of their first operations.
struct chunk_units {
    static constexpr std::uint32_t none = UINT32_MAX;

    std::vector<std::uint32_t> unit_of;  ///< by position of the vertex in program order; none for inputs and outputs
    std::vector<chunk_unit> units;
    std::vector<chunk_unit_path> paths;  ///< by which settings name operations; each path of a unit once
    std::uint32_t parts = 0;

    [[nodiscard]] std::size_t size() const noexcept { return units.size(); }
};

/// Returns the part of the model that contains a module: a repeated module, whose name is a number ("layers.3" for
/// "layers.3.moe.router"), or the outermost module if none is repeated. The result is a prefix of `path`. O(length).
[[nodiscard]] inline std::string_view part_of_model(std::string_view path) {
    for (std::size_t i = 0; i < path.size();) {
        const std::size_t end = std::min(path.find('.', i), path.size());
        const std::string_view component = path.substr(i, end - i);
        if (!component.empty() && component.find_first_not_of("0123456789") == std::string_view::npos)
            return path.substr(0, end);
        i = end + 1;
    }
    return path.substr(0, path.find('.'));
}

namespace detail {

/// Returns whether a module is repeated: whether the last component of a nested path is a number, as in "layers.3". An
/// outermost module is never repeated.
[[nodiscard]] inline bool is_repeated_module(std::string_view module) {
    const std::size_t dot = module.rfind('.');
    return dot != std::string_view::npos && module.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
}

/// Returns the path of the enclosing module. Precondition: the module is nested in one.
[[nodiscard]] inline std::string_view outer_module(std::string_view module) {
    return module.substr(0, module.rfind('.'));
}

/// Returns the nesting depth of a module within its part: 0 for the part itself.
[[nodiscard]] inline std::size_t depth_in_part(std::string_view module) {
    const std::string_view below = module.substr(part_of_model(module).size());
    return static_cast<std::size_t>(std::count(below.begin(), below.end(), '.'));
}

/// The order of a set of strings; it allows lookups by string_view without a copy.
struct module_order {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a < b; }
};

/// Returns the pattern of all modules that differ from this one only in the number of their part, such as
/// "layers.*.moe" for "layers.3.moe"; the exact pattern if the part is not repeated.
template <class = void>
[[nodiscard]] std::string pattern_of_module(std::string_view module) {
    const std::string_view part = part_of_model(module);
    if (!is_repeated_module(part)) return exact_pattern(module);
    return exact_pattern(part.substr(0, part.rfind('.'))) + ".*" + exact_pattern(module.substr(part.size()));
}

}  // namespace detail

/// Returns the units of a program by its modules. Modules inside of a part become units of their own if they contain an
/// all-to-all: cutting only the operations around it may pay where cutting the whole part does not. `modules` should
/// know every operation that frameworks insert, as step_modules does. O(V * length of a path), plus a map lookup per
/// vertex.
template <dataflow_graph G, op_model<G> M, module_model<G> Modules>
[[nodiscard]] chunk_units units_by_module(G g, const M& ops, const Modules& modules) {
    std::set<std::string, detail::module_order> around;
    for (vertex_t<G> v : g.vertices()) {
        if (ops.kind(v) != op_kind::start || collective_of<G>(ops, v) != collective_kind::all_to_all) continue;
        decltype(auto) path = modules.path(v);  // may own its text
        for (std::string_view m = path; detail::depth_in_part(m) > 0; m = detail::outer_module(m)) around.emplace(m);
    }
    chunk_units all;
    std::map<std::pair<std::string, pass_direction>, std::uint32_t> known;
    std::map<std::string, std::uint32_t> parts;
    std::set<std::pair<std::string, std::uint32_t>> paths;
    for (vertex_t<G> v : g.vertices()) {
        all.unit_of.push_back(chunk_units::none);
        if (ops.kind(v) == op_kind::input || ops.kind(v) == op_kind::output) continue;
        decltype(auto) path = modules.path(v);
        std::string_view m = path;
        const std::string_view part = part_of_model(m);
        while (m.size() > part.size() && !around.contains(m)) m = detail::outer_module(m);
        chunk_unit u{std::string(m), modules.direction(v), detail::depth_in_part(m), 0};
        const auto [at, is_new] =
            known.emplace(std::pair(u.module, u.direction), static_cast<std::uint32_t>(all.units.size()));
        all.unit_of.back() = at->second;
        if (const auto [known_path, is_new_path] = paths.emplace(std::string(path), at->second); is_new_path)
            all.paths.push_back({known_path->first, at->second});
        if (!is_new) continue;
        u.part = parts.emplace(std::string(part), static_cast<std::uint32_t>(parts.size())).first->second;
        all.units.push_back(std::move(u));
    }
    all.parts = static_cast<std::uint32_t>(parts.size());
    return all;
}

namespace detail {

/// Writes a choice of chunks for units as a few readable settings. A later setting overrides an earlier one, so common
/// values come first and cover many modules, and exceptions follow.
///
/// Modules are ordered so that a module follows those that contain it, and the setting of a single module never names a
/// path that belongs only to an earlier module. A setting for many modules may do so. It is left out if it would change
/// the number of an earlier unit; each of its modules then gets a setting of its own.
class unit_settings {
public:
    unit_settings(const chunk_units& all, std::span<const std::size_t> chunks, std::int64_t rows)
        : units_(all.units),
          chunks_(chunks),
          rows_(rows),
          most_(*std::max_element(chunks.begin(), chunks.end())),
          paths_of_(all.size()) {
        for (std::uint32_t u = 0; u < units_.size(); ++u) {
            const auto [at, is_new] = number_.emplace(units_[u].module, static_cast<std::uint32_t>(modules_.size()));
            if (is_new) modules_.push_back(units_[u].module);
            module_of_.push_back(at->second);
        }
        for (const chunk_unit_path& p : all.paths) {
            paths_of_[p.unit].push_back(path_.size());
            path_.push_back({p.path, p.unit, 1});
        }
    }

    /// Returns the settings. Precondition: called once.
    [[nodiscard]] std::vector<module_chunks> write() {
        const auto every = units_that([](std::size_t) { return true; });
        std::size_t rest = most_frequent(every);
        std::vector<std::size_t> nameless;  // can be set with everything alone, or everything in one direction
        for (std::size_t u : every)
            if (units_[u].module.empty()) nameless.push_back(u);
        for (std::size_t u : nameless) rest = chunks_[u];
        for (std::size_t u : nameless)
            if (units_[u].direction == pass_direction::both) rest = chunks_[u];
        add("", pass_direction::both, rest);
        for (std::size_t u : nameless)
            if (differs(u)) add("", units_[u].direction, chunks_[u]);

        // Modules whose paths differ only in a number get one common setting, if that is safe, before the exceptions.
        std::vector<std::size_t> order(modules_.size()), place_of(modules_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto place = [&](std::size_t m) {
            const std::string& module = modules_[m];
            const auto inside = std::count(module.begin(), module.end(), '.');
            return std::tuple(is_repeated_module(part_of_model(module)), inside, pattern_of_module(module), m);
        };
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
        for (std::size_t k = 0; k < order.size(); ++k) place_of[order[k]] = k;
        std::set<std::string> met;
        for (std::size_t m : order) {
            if (modules_[m].empty()) continue;
            const std::string pattern = pattern_of_module(modules_[m]);
            if (is_repeated_module(part_of_model(modules_[m])) && met.insert(pattern).second) {
                const auto alike =
                    units_that([&](std::size_t u) { return pattern_of_module(units_[u].module) == pattern; });
                const std::size_t k = most_frequent(alike);
                const bool earlier_ones_stay = std::none_of(path_.begin(), path_.end(), [&](const settled_path& p) {
                    return place_of[module_of_[p.unit]] < place_of[m] && k != p.chunks && names(pattern, p);
                });
                if (earlier_ones_stay &&
                    std::any_of(alike.begin(), alike.end(), [&](std::size_t u) { return !paths_have(u, k); }))
                    add(pattern, pass_direction::both, k);
            }
            write_module(m);
        }
        return std::move(all_);
    }

private:
    /// A path, and its number of chunks under the settings so far.
    struct settled_path {
        std::string_view path;
        std::uint32_t unit;
        std::size_t chunks;
    };

    /// Adds the settings of a module if the settings so far give one of its units another number.
    void write_module(std::size_t m) {
        const auto own = units_that([&](std::size_t u) { return module_of_[u] == m; });
        if (std::none_of(own.begin(), own.end(), [&](std::size_t u) { return differs(u); })) return;
        const std::string pattern = exact_pattern(modules_[m]);
        const auto as_the_first = [&](std::size_t u) { return chunks_[u] == chunks_[own[0]]; };
        if (std::all_of(own.begin(), own.end(), as_the_first)) {
            add(pattern, pass_direction::both, chunks_[own[0]]);
            return;
        }
        for (bool known : {false, true})  // a unit of unknown direction can only be set with both others
            for (std::size_t u : own)
                if (known == (units_[u].direction != pass_direction::both) && differs(u))
                    add(pattern, units_[u].direction, chunks_[u]);
    }
    /// Adds a setting, and applies it to the numbers of the paths that it names.
    void add(const std::string& pattern, pass_direction way, std::size_t k) {
        all_.push_back({pattern, way, equal_chunks(rows_, k)});
        for (settled_path& p : path_)
            if (names(pattern, p) && (way == pass_direction::both || way == units_[p.unit].direction)) p.chunks = k;
    }
    [[nodiscard]] static bool names(std::string_view pattern, const settled_path& p) {
        return pattern.empty() || !matched_module(p.path, pattern).empty();
    }
    /// Returns whether the settings so far give k chunks to every path of a unit.
    [[nodiscard]] bool paths_have(std::size_t u, std::size_t k) const {
        return std::all_of(paths_of_[u].begin(), paths_of_[u].end(),
                           [&](std::size_t p) { return path_[p].chunks == k; });
    }
    [[nodiscard]] bool differs(std::size_t u) const { return !paths_have(u, chunks_[u]); }
    /// Returns the units for which is(u) is true.
    template <class Is>
    [[nodiscard]] std::vector<std::size_t> units_that(Is is) const {
        std::vector<std::size_t> found;
        for (std::size_t u = 0; u < units_.size(); ++u)
            if (is(u)) found.push_back(u);
        return found;
    }
    /// Returns the most frequent number of chunks among the units; the smallest of equally frequent ones.
    [[nodiscard]] std::size_t most_frequent(const std::vector<std::size_t>& units) const {
        std::vector<std::size_t> times(most_ + 1, 0);
        for (std::size_t u : units) ++times[chunks_[u]];
        return static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    }

    std::span<const chunk_unit> units_;
    std::span<const std::size_t> chunks_;
    std::int64_t rows_;
    std::size_t most_;
    std::map<std::string, std::uint32_t> number_;
    std::vector<std::string> modules_;  // in the order of the units
    std::vector<std::size_t> module_of_;
    std::vector<settled_path> path_;
    std::vector<std::vector<std::size_t>> paths_of_;  // by unit, positions of path_
    std::vector<module_chunks> all_;
};

}  // namespace detail

/// Returns a choice of chunks as settings for regions_in_chunks, in which the last setting that names an operation
/// counts. The most frequent number comes first, for everything; exceptions follow, inner modules after outer ones.
/// Every operation gets the chunks of its unit if the units come from units_by_module with the same modules.
/// Preconditions: `chunks` holds the number of chunks of each unit, at least 1; `rows` is the number of rows that they
/// share. Returns no settings if there are no units. O(units squared + settings * paths).
[[nodiscard]] inline std::vector<module_chunks> settings_of(const chunk_units& units,
                                                            std::span<const std::size_t> chunks, std::int64_t rows) {
    if (units.units.empty()) return {};
    return detail::unit_settings(units, chunks, rows).write();
}

}  // namespace stretto

#endif
