// A captured step written down in the IR of tensor_ir.hpp: what is found in one must be found in the other.
#ifndef STRETTO_TESTS_SUPPORT_MIRROR_STEP_HPP
#define STRETTO_TESTS_SUPPORT_MIRROR_STEP_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/capture/capture_calls.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "support/tensor_ir.hpp"

namespace support {

/// Operation k is node k; its only result is what the node produces.
inline tensor_program mirror_of(const stretto::capture& step, const stretto::capture_tensors& tensors) {
    const stretto::aten::collective_calls calls = stretto::read_calls(step, tensors);
    tensor_program p;
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        std::vector<tensor_value*> operands;
        for (std::uint32_t u : step.inputs(v)) operands.push_back(p.ops[u]->result());
        tensor_op* const o = p.add(std::string(step.name(v)), step.kind(v), operands);
        o->collective = step.collective(v);
        if (o->kind == stretto::op_kind::start) {
            const stretto::collective_call call = calls.at(v);
            o->input_sizes.assign(call.input_sizes.begin(), call.input_sizes.end());
            o->output_sizes.assign(call.output_sizes.begin(), call.output_sizes.end());
        }
        tensor_value& made = tensor_program::add_result(o);
        for (std::size_t c = 0; c < tensors.components(v).size(); ++c) {
            const stretto::tensor_type& type = tensors.components(v)[c];
            std::vector<std::string> extents;
            for (std::size_t d = 0; d < type.shape.size(); ++d) extents.emplace_back(tensors.symbolic_extent(v, c, d));
            made.add({type.shape.begin(), type.shape.end()}, type.element, extents);
        }
    }
    return p;
}

}  // namespace support

#endif
