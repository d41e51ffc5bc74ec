// Reads the collectives of a capture as calls. With these, its op model can tell a bucketer, a check of issue orders,
// or a backend what every start requests. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_CALLS_HPP
#define STRETTO_CAPTURE_CAPTURE_CALLS_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/aten/collective_calls.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/core/collective_call.hpp"

namespace stretto {

/// Returns the calls of all starts of a capture, from their operators, arguments and shapes. The logical id of a start
/// is the 64-bit FNV-1a hash of its name; that of a clone is the hash of the name of its original (field `origin`). The
/// chunk is the one that the file states, or 0. Ids are therefore the same before and after chunking, and on all ranks
/// whose programs give their nodes the same names. O(V + text of starts).
[[nodiscard]] inline aten::collective_calls read_calls(const capture& step, const capture_tensors& tensors) {
    capture_fields fields(step);
    return aten::collective_calls::read(
        capture_view{&step}, capture_op_model{&step}, capture_tensor_model{&step, &tensors}, [&](std::uint32_t v) {
            const std::string name = fields.text(v, "origin").value_or(std::string(step.name(v)));
            const std::uint64_t id = detail::hash_of(name);
            const std::int64_t chunk = fields.whole_number(v, "chunk").value_or(0);
            return aten::collective_calls::identity{id == 0 ? 1 : id, static_cast<std::uint32_t>(chunk)};
        });
}

/// A capture_op_model that knows the calls of its starts. Capture and calls must outlive the model.
struct capture_call_model : capture_op_model {
    const aten::collective_calls* calls;

    [[nodiscard]] collective_call call(std::uint32_t v) const { return calls->at(v); }
};

static_assert(calling_op_model<capture_call_model, capture_view>);

}  // namespace stretto

#endif
