#include "support/run_step.hpp"

#include <string_view>

#include "stretto/capture/capture_view.hpp"

using namespace stretto;

namespace support {
namespace {

/// A capture_tensor_model that knows the names of its vertices, for the messages of the interpreter.
struct named_tensor_model : capture_tensor_model {
    [[nodiscard]] std::string_view name(std::uint32_t v) const noexcept { return step->name(v); }
};

}  // namespace

expected<aten::interpretation, aten::interpretation_failure> run_step(const capture& step,
                                                                      const capture_tensors& tensors,
                                                                      const step_inputs& input_of,
                                                                      const aten::interpreter_options& options,
                                                                      const std::vector<std::uint32_t>* order) {
    const capture_view view{&step};
    const capture_op_model ops{&step};
    const named_tensor_model model{{&step, &tensors}};
    return order ? aten::interpret_in_order(view, *order, ops, model, input_of, options)
                 : aten::interpret(view, ops, model, input_of, options);
}

std::vector<std::vector<aten::interpreted_value>> make_step_inputs(const capture& step, const capture_tensors& tensors,
                                                                   const aten::input_options& options) {
    return aten::make_inputs(capture_view{&step}, capture_op_model{&step}, capture_tensor_model{&step, &tensors},
                             options);
}

}  // namespace support
