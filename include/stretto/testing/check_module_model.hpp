// Checks the promises of a module model that a compiler cannot check. It takes two lines in the test of an adapter:
//
//     const auto modules = stretto::check_module_model(view, my_modules);
//     if (!modules) FAIL(modules.error().message());
#ifndef STRETTO_TESTING_CHECK_MODULE_MODEL_HPP
#define STRETTO_TESTING_CHECK_MODULE_MODEL_HPP

#include <cstddef>
#include <string>
#include <string_view>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct module_summary {
    std::size_t paths = 0;     ///< vertices with a path
    std::size_t forward = 0;   ///< vertices whose direction is forward
    std::size_t backward = 0;  ///< vertices whose direction is backward
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return paths + forward + backward == 0 ? "no operation says its module or direction" : "";
    }
    friend bool operator==(const module_summary&, const module_summary&) = default;
};

/// Checks that no path has an empty component ("layers..3", a dot at an end), because patterns match components and
/// could never name such a vertex; that directions are enumerators; and that answers are repeatable. Deterministic. O(V
/// + length of the paths).
template <vertex_list_graph G, module_model<G> M>
[[nodiscard]] expected<module_summary, finding> check_module_model(G g, M modules) {
    module_summary summary;
    std::size_t here = 0;
    for (const vertex_t<G> v : g.vertices()) {
        const auto broken = [&](const char* rule, const char* hint) {
            return unexpected(finding{.rule = rule, .hint = hint, .vertex = here});
        };
        decltype(auto) said = modules.path(v);  // may own its text
        const std::string path{std::string_view(said)};
        const pass_direction direction = modules.direction(v);
        if (path.starts_with('.') || path.ends_with('.') || path.find("..") != std::string::npos)
            return broken("module-path", "a component of the path is empty; components have one dot between them");
        if (direction > pass_direction::both) return broken("direction", "a direction is none of the enumerators");
        decltype(auto) again = modules.path(v);
        if (std::string_view(again) != path || modules.direction(v) != direction)
            return broken("stable", "path or direction come out differently when asked again");
        summary.paths += !path.empty();
        summary.forward += direction == pass_direction::forward;
        summary.backward += direction == pass_direction::backward;
        ++here;
    }
    return summary;
}

}  // namespace stretto

#endif
