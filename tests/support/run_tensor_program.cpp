#include "support/run_tensor_program.hpp"

namespace support {

stretto::expected<stretto::aten::interpretation, stretto::aten::interpretation_failure> run_tensor_program(
    const tensor_program& p, const stretto::aten::interpreter_options& options) {
    return p.run(options);
}

}  // namespace support
