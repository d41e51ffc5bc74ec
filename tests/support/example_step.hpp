// Captured steps with their tensors, read once and for all tests of a file alike.
#ifndef STRETTO_TESTS_SUPPORT_EXAMPLE_STEP_HPP
#define STRETTO_TESTS_SUPPORT_EXAMPLE_STEP_HPP

#include <string>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"

namespace support {

struct example_step {
    stretto::capture step;
    stretto::capture_tensors tensors;

    /// A file that must be there. Ends the test case if it is not.
    static example_step at(const std::string& path);
};

/// The mixture-of-experts step of examples/graphs: 256 x 128 tokens, 11 expert layers, forward and backward.
example_step moe_ep_step();

}  // namespace support

#endif
