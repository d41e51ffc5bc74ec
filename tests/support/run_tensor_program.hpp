// tensor_program::run, compiled once: the interpreter takes half as long to compile as what it checks.
#ifndef STRETTO_TESTS_SUPPORT_RUN_TENSOR_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_RUN_TENSOR_PROGRAM_HPP

#include "stretto/core/expected.hpp"
#include "stretto/testing/interpretation.hpp"
#include "testing/tensor_program.hpp"

namespace support {

stretto::expected<stretto::testing::interpretation, stretto::testing::interpretation_failure> run_tensor_program(
    const tensor_program& p, const stretto::testing::interpreter_options& options);

}  // namespace support

#endif
