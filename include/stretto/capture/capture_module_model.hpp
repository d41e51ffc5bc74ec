// The modules to which the nodes of a captured step belong, from their fields `fqn` and `direction`. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_MODULE_MODEL_HPP
#define STRETTO_CAPTURE_CAPTURE_MODULE_MODEL_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/transform/step_modules.hpp"

namespace stretto {

/// Paths and directions of the nodes of a capture, which must outlive the model. Each call takes O(length of the
/// field).
struct capture_module_model {
    const capture* step;

    /// The field `fqn`; empty if the node has none, or if it is not a string.
    [[nodiscard]] std::string path(std::uint32_t v) const { return text(v, "fqn"); }
    [[nodiscard]] pass_direction direction(std::uint32_t v) const {
        const std::string said = text(v, "direction");
        return said == "forward"    ? pass_direction::forward
               : said == "backward" ? pass_direction::backward
                                    : pass_direction::both;
    }

private:
    /// A string without escapes is copied from between its quotes; one with escapes is rare, and is decoded.
    [[nodiscard]] std::string text(std::uint32_t v, std::string_view key) const {
        const std::optional<std::string_view> found = step->field(v, key);
        if (!found) return {};
        if (found->size() >= 2 && (*found)[0] == '"' && found->find('\\') == std::string_view::npos)
            return std::string(found->substr(1, found->size() - 2));
        return capture_fields(*step).text(v, key).value_or(std::string());
    }
};

static_assert(module_model<capture_module_model, capture_view>);

/// The modules of a captured step, which must outlive them. Missing values of `fqn` or `direction` are inferred.
using capture_modules = step_modules<capture_view>;

[[nodiscard]] inline capture_modules modules_of(const capture& step) {
    return {capture_view{&step}, capture_op_model{&step}, capture_module_model{&step}};
}

}  // namespace stretto

#endif
