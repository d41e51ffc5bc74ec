// Two forms of a captured step, run on the same inputs and compared.
#ifndef STRETTO_TESTS_SUPPORT_COMPARE_RUNS_HPP
#define STRETTO_TESTS_SUPPORT_COMPARE_RUNS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "stretto/aten/interpretation.hpp"
#include "stretto/aten/interpreter.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"

namespace support {

/// Inputs by name, with a value for each rank, so that two forms of a step get the same ones.
using named_inputs = std::map<std::string, std::vector<stretto::aten::interpreted_value>, std::less<>>;

named_inputs make_named_inputs(const stretto::capture& step, const stretto::capture_tensors& tensors, std::size_t ranks,
                               std::uint64_t seed);

/// Ends the test case if the step cannot be run.
stretto::aten::interpretation run_named(const stretto::capture& step, const stretto::capture_tensors& tensors,
                                        const stretto::aten::interpreter_options& options, const named_inputs& inputs,
                                        const std::vector<std::uint32_t>* order = nullptr);

struct agreement {
    std::size_t entries = 0;
    std::size_t bitwise = 0;
    double worst = 0;  ///< largest difference over the largest element, of the others
    std::string where;
};

/// Compares outputs, and what was written to inputs. It checks that shapes are the same, and everything that is not a
/// float.
agreement compare_runs(const stretto::aten::interpretation& a, const stretto::aten::interpretation& b);

}  // namespace support

#endif
