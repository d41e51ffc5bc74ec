// tensor_program::run, compiled once: the interpreter takes half as long to compile as what it checks.
#ifndef STRETTO_TESTS_SUPPORT_RUN_TENSOR_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_RUN_TENSOR_PROGRAM_HPP

#include "aten/tensor_program.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/core/expected.hpp"

namespace support {

stretto::expected<stretto::aten::interpretation, stretto::aten::interpretation_failure> run_tensor_program(
    const tensor_program& p, const stretto::aten::interpreter_options& options);

}  // namespace support

#endif
