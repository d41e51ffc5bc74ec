// Finds the captured steps beside the checkout and reads them as plain graphs.
#ifndef STRETTO_BENCH_SUPPORT_CAPTURED_STEPS_HPP
#define STRETTO_BENCH_SUPPORT_CAPTURED_STEPS_HPP

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_view.hpp"
#include "support/graph_families.hpp"
#include "support/step_files.hpp"

namespace bench {

struct named_graph {
    std::string name;
    plain_graph graph;
};

/// The steps in `examples/graphs`, and in `../shared/graphs` beside the checkout if that exists, by folder and name,
/// without what other systems have made of them. A file that cannot be read ends the program.
[[nodiscard]] inline std::vector<named_graph> captured_steps(const std::filesystem::path& checkout) {
    std::vector<named_graph> steps;
    for (const auto& folder : {checkout / "examples/graphs", checkout / "../shared/graphs"}) {
        for (const std::string& file : steps_in(folder)) {
            const auto step = stretto::read_capture(file);
            if (!step) {
                std::fprintf(stderr, "%s\n", step.error().message().c_str());
                std::exit(1);
            }
            steps.push_back({std::string(step->name()), plain_graph_of(stretto::capture_view{&*step})});
        }
    }
    return steps;
}

}  // namespace bench

#endif
