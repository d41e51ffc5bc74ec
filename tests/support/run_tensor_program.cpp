#include "support/run_tensor_program.hpp"

namespace support {

stretto::expected<stretto::testing::interpretation, stretto::testing::interpretation_failure> run_tensor_program(
    const tensor_program& p, const stretto::testing::interpreter_options& options) {
    return p.run(options);
}

}  // namespace support
