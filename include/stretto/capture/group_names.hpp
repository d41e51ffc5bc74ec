// Readable names for the process groups of a captured step. Captures name groups by numbers, as frameworks do, and may
// describe them: {"name": "69", "size": 64, "desc": "mesh_ep"}. Needs simdjson.
#ifndef STRETTO_CAPTURE_GROUP_NAMES_HPP
#define STRETTO_CAPTURE_GROUP_NAMES_HPP

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/capture.hpp"

namespace stretto {

/// Returns a name for each group, by its id: its description if it has one, otherwise its name, with "group" before it
/// if that is a number. Groups to which this gives the same name have their own names appended: "mesh (1)" and "mesh
/// (2)". No two names of a capture are equal unless a description or a name imitates such a suffix. O(groups squared).
[[nodiscard]] inline std::vector<std::string> names_of_groups(const capture& step) {
    std::vector<std::string> names;
    for (const capture_group& g : step.groups()) {
        simdjson::dom::parser parser;
        std::string_view described;
        const simdjson::padded_string members("{" + g.fields + "}");
        if (parser.parse(members)["desc"].get(described) == simdjson::SUCCESS && !described.empty())
            names.emplace_back(described);
        else if (g.name.find_first_not_of("0123456789") == std::string::npos) names.push_back("group " + g.name);
        else names.push_back(g.name);
    }
    const std::vector<std::string> plain = names;
    for (std::size_t k = 0; k < names.size(); ++k)
        if (std::count(plain.begin(), plain.end(), plain[k]) > 1) names[k] += " (" + step.groups()[k].name + ")";
    return names;
}

}  // namespace stretto

#endif
