// Recognises kernels that convert their operand to another element type. A pack can do that while it copies, so a
// bucket may absorb them, and a split may write them anew.
#ifndef STRETTO_CAPTURE_DETAIL_CASTS_HPP
#define STRETTO_CAPTURE_DETAIL_CASTS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/detail/same_json.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto::detail {

/// Returns whether the format lets a pack absorb a kernel of this operator.
inline bool is_cast(std::string_view op) {
    return op.find("convert_element_type") != std::string_view::npos || op.find("_to_copy") != std::string_view::npos;
}

/// Returns whether v is a cast whose call says nothing but its element type, which is that of its result. Then it
/// computes what any other such cast of the same value computes. `element` is the element type of its result, as the
/// file calls it.
inline bool only_converts(const capture& step, std::uint32_t v, std::string_view element) {
    if (step.kind(v) != op_kind::compute || step.inputs(v).size() != 1 || !step.writes(v).empty()) return false;
    const auto says = [&](std::string_view key, std::string_view before, std::string_view behind) {
        std::string due(before);
        append_quoted(due, element);
        return same_json(step.field(v, key), due.append(behind));
    };
    const auto says_nothing = [&](std::string_view key) {
        const auto text = step.field(v, key);
        return !text || *text == "null" || same_json(text, key == "args" ? R"(["%0"])" : "{}");
    };
    if (step.op(v) == "prims.convert_element_type.default")
        return says("args", "[\"%0\",", "]") && says_nothing("kwargs");
    return step.op(v) == "aten._to_copy.default" && says_nothing("args") && says("kwargs", "{\"dtype\":", "}");
}

}  // namespace stretto::detail

#endif
