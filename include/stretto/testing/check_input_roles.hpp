// Checks the promises of an input role model that a compiler cannot check. It takes two lines in the test of an
// adapter:
//
//     const auto roles = stretto::check_input_roles(view, my_model, my_roles);
//     if (!roles) FAIL(roles.error().message());
#ifndef STRETTO_TESTING_CHECK_INPUT_ROLES_HPP
#define STRETTO_TESTING_CHECK_INPUT_ROLES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/input_role_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct input_role_summary {
    std::size_t inputs = 0;      ///< results of inputs
    std::size_t parameters = 0;  ///< of these, parameters
    std::size_t unknown = 0;     ///< of these, those whose role is `other`
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const { return inputs == 0 ? "the program has no input" : ""; }
    friend bool operator==(const input_role_summary&, const input_role_summary&) = default;
};

/// Checks that roles are enumerators and repeatable, that every parameter has a place of its own in the registration
/// order, and that nothing else has one. Deterministic. O(V + parameters²).
template <vertex_list_graph G, op_model<G> M, input_role_model<G> R>
    requires dataflow_graph<G>
[[nodiscard]] expected<input_role_summary, finding> check_input_roles(G g, const M& ops, const R& roles) {
    input_role_summary summary;
    std::vector<std::uint32_t> places;
    std::size_t here = 0;
    for (const vertex_t<G> v : g.vertices()) {
        const auto broken = [&](const char* rule, const char* hint) {
            return unexpected(finding{.rule = rule, .hint = hint, .vertex = here});
        };
        if (ops.kind(v) == op_kind::input)
            for (const value_t<G> x : g.results(v)) {
                const input_role role = roles.role(x);
                const std::uint32_t place = roles.place(x);
                if (role > input_role::other) return broken("input-role", "the role is none of the enumerators");
                if (roles.role(x) != role || static_cast<std::uint32_t>(roles.place(x)) != place)
                    return broken("stable", "role or place come out differently when asked again");
                if (role == input_role::parameter && place == no_place)
                    return broken("place", "a parameter has no place in the registration order");
                if (role != input_role::parameter && place != no_place)
                    return broken("place", "something that is no parameter has a place in the registration order");
                if (role == input_role::parameter) {
                    if (std::find(places.begin(), places.end(), place) != places.end())
                        return broken("place", "two parameters have the same place in the registration order");
                    places.push_back(place);
                }
                ++summary.inputs;
                summary.parameters += role == input_role::parameter;
                summary.unknown += role == input_role::other;
            }
        ++here;
    }
    return summary;
}

}  // namespace stretto

#endif
