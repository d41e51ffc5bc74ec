#include "support/example_step.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <utility>

#include "support/read_step.hpp"

namespace support {

example_step example_step::at(const std::string& path) {
    auto step = read_capture(path);
    REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
    auto tensors = read_tensors(*step);
    REQUIRE_MESSAGE(tensors, (tensors ? std::string() : tensors.error().message()));
    return {*std::move(step), *std::move(tensors)};
}

example_step moe_ep_step() {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    REQUIRE_MESSAGE(graphs != nullptr, "ctest says where examples/graphs is");
    return example_step::at(std::string(graphs) + "/moe_ep_step.json.gz");
}

}  // namespace support
