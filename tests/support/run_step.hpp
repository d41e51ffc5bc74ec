// The interpreter on captured steps, compiled once: it takes longer to compile than what tests it.
#ifndef STRETTO_TESTS_SUPPORT_RUN_STEP_HPP
#define STRETTO_TESTS_SUPPORT_RUN_STEP_HPP

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stretto/aten/interpretation.hpp"
#include "stretto/aten/interpreter.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/core/expected.hpp"

namespace support {

/// What an input is: a value for each rank.
using step_inputs = std::function<std::span<const stretto::aten::interpreted_value>(std::uint32_t)>;

/// stretto::aten::interpret_in_order; without an order, interpret.
stretto::expected<stretto::aten::interpretation, stretto::aten::interpretation_failure> run_step(
    const stretto::capture& step, const stretto::capture_tensors& tensors, const step_inputs& input_of,
    const stretto::aten::interpreter_options& options, const std::vector<std::uint32_t>* order = nullptr);

/// stretto::aten::make_inputs.
std::vector<std::vector<stretto::aten::interpreted_value>> make_step_inputs(
    const stretto::capture& step, const stretto::capture_tensors& tensors, const stretto::aten::input_options& options);

}  // namespace support

#endif
