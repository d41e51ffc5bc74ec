// The interpreter on captured steps, compiled once: it takes longer to compile than what tests it.
#ifndef STRETTO_TESTS_SUPPORT_RUN_STEP_HPP
#define STRETTO_TESTS_SUPPORT_RUN_STEP_HPP

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/interop/capture.hpp"
#include "stretto/interop/capture_tensors.hpp"
#include "stretto/testing/interpretation.hpp"
#include "stretto/testing/interpreter.hpp"

namespace support {

/// What an input is: a value for each rank.
using step_inputs = std::function<std::span<const stretto::testing::interpreted_value>(std::uint32_t)>;

/// stretto::testing::interpret_in_order; without an order, interpret.
stretto::expected<stretto::testing::interpretation, stretto::testing::interpretation_failure> run_step(
    const stretto::capture& step, const stretto::capture_tensors& tensors, const step_inputs& input_of,
    const stretto::testing::interpreter_options& options, const std::vector<std::uint32_t>* order = nullptr);

/// stretto::testing::make_inputs.
std::vector<std::vector<stretto::testing::interpreted_value>> make_step_inputs(
    const stretto::capture& step, const stretto::capture_tensors& tensors,
    const stretto::testing::input_options& options);

}  // namespace support

#endif
