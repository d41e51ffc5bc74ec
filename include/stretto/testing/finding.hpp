// A finding: the promise of a view or a model that is broken, the place, and the usual cause.
#ifndef STRETTO_TESTING_FINDING_HPP
#define STRETTO_TESTING_FINDING_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "stretto/core/language.hpp"

namespace stretto {

/// A broken rule, or no finding if `rule` is empty. Vertices are named by their positions in vertices(), because their
/// numbers may be what is wrong.
struct finding {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    const char* rule = "";                ///< short and stable: "mirror", "acyclic", ...
    const char* hint = "";                ///< one sentence: what is wrong, and the usual cause
    std::size_t vertex = none;            ///< where
    std::size_t other = none;             ///< the second vertex concerned, if there is one
    std::vector<std::size_t> cycle = {};  ///< for "acyclic": each depends on the one before, the first on the last
    const char* verb = "";                ///< for a rewriter: the verb after which the rule no longer holds
    std::string detail = {};              ///< the case on which the rule was tried, if the vertex does not determine it

    /// The finding on one line, without a newline.
    [[nodiscard]] std::string message() const {
        std::string text = rule;
        if (*verb) text += std::string(" after ") + verb;
        if (vertex != none) text += ": vertex " + std::to_string(vertex);
        if (other != none) text += ", vertex " + std::to_string(other);
        text += ": ";
        text += hint;
        for (std::size_t i = 0; i < cycle.size(); ++i) text += (i ? " -> " : ": ") + std::to_string(cycle[i]);
        if (!detail.empty()) text += "; " + detail;
        return text;
    }
};

}  // namespace stretto

#endif
