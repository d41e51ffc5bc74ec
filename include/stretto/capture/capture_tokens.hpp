// Finds the tokens of a captured step: adapts functions of transform/ that work on any graph. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_TOKENS_HPP
#define STRETTO_CAPTURE_CAPTURE_TOKENS_HPP

#include <cstdint>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/aten/collective_calls.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_calls.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/transform/token_exchanges.hpp"
#include "stretto/transform/token_symbols.hpp"

namespace stretto {

using capture_token_symbol = token_symbol<std::uint32_t>;
using capture_token_exchange = token_exchange<std::uint32_t, std::uint32_t>;

/// Calls token_symbols() for a captured step and its own symbols.
[[nodiscard]] inline std::vector<capture_token_symbol> token_symbols(const capture& step,
                                                                     const capture_tensors& tensors) {
    return token_symbols(capture_view{&step}, capture_op_model{&step}, capture_tensor_model{&step, &tensors},
                         step.symbols());
}

/// Calls token_exchanges() for a captured step in program order, with the split sizes that its arguments state.
[[nodiscard]] inline std::vector<capture_token_exchange> token_exchanges(const capture& step,
                                                                         const capture_tensors& tensors) {
    const auto order = topological_sort(capture_view{&step});  // the nodes of a capture are in topological order
    const aten::collective_calls calls = read_calls(step, tensors);
    return token_exchanges(capture_view{&step}, *order, capture_call_model{{&step}, &calls},
                           capture_tensor_model{&step, &tensors});
}

}  // namespace stretto

#endif
