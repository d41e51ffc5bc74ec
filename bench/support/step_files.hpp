// Which captured steps a benchmark takes.
#ifndef STRETTO_BENCH_SUPPORT_STEP_FILES_HPP
#define STRETTO_BENCH_SUPPORT_STEP_FILES_HPP

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace bench {

/// The steps in a folder, by name, without what other systems have made of them; none if there is no such folder.
[[nodiscard]] inline std::vector<std::string> steps_in(const std::filesystem::path& folder) {
    std::error_code ignored;
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(".json.gz") && std::count(name.begin(), name.end(), '.') == 2)
            found.push_back(entry.path().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

struct step_arguments {
    bool smoke = false;  ///< runs only for a moment, to show that it is alive
    std::vector<std::string> paths;
};

/// Reads `[--smoke] [STEP.json.gz...]`. If no step is named, it takes those in `examples/graphs` of the checkout and,
/// unless it runs only for a moment, those in `../shared/graphs` beside it. Anything else ends the program with its
/// usage and status 2.
[[nodiscard]] inline step_arguments read_step_arguments(int argc, char** argv, const std::filesystem::path& checkout) {
    step_arguments given;
    for (int k = 1; k < argc; ++k) {
        if (std::strcmp(argv[k], "--smoke") == 0) {
            given.smoke = true;
        } else if (argv[k][0] == '-') {
            std::fprintf(stderr, "usage: %s [--smoke] [STEP.json.gz...]\n", argv[0]);
            std::exit(2);
        } else {
            given.paths.emplace_back(argv[k]);
        }
    }
    if (!given.paths.empty()) return given;
    given.paths = steps_in(checkout / "examples/graphs");
    if (given.smoke) return given;
    const std::vector<std::string> beside = steps_in(checkout.parent_path() / "shared/graphs");
    given.paths.insert(given.paths.end(), beside.begin(), beside.end());
    return given;
}

}  // namespace bench

#endif
