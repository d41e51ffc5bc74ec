// Says to which modules the nodes of a captured step belong, from their fields `fqn` and `direction`. Needs simdjson.
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

/// The module_model of a capture, which must outlive the model: the paths and directions that the file states. Each
/// call takes time linear in the field.
struct capture_module_model {
    const capture* step;

    /// Returns the field `fqn`; empty if the node has none, or if it is not a string.
    [[nodiscard]] std::string path(std::uint32_t v) const { return text(v, "fqn"); }
    /// Returns the direction that the field `direction` states: `both` if it is missing, or neither "forward" nor
    /// "backward".
    [[nodiscard]] pass_direction direction(std::uint32_t v) const {
        const std::string said = text(v, "direction");
        return said == "forward"    ? pass_direction::forward
               : said == "backward" ? pass_direction::backward
                                    : pass_direction::both;
    }

private:
    /// Returns a field that is a string, without its quotes. One with escapes is rare, and is decoded; any other is
    /// copied.
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

/// Returns the modules of all nodes of a step.
[[nodiscard]] inline capture_modules modules_of(const capture& step) {
    return {capture_view{&step}, capture_op_model{&step}, capture_module_model{&step}};
}

}  // namespace stretto

#endif
