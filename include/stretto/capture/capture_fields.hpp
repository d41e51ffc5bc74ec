// Parses the uninterpreted fields of a capture on demand: shapes, module paths, provenance. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_FIELDS_HPP
#define STRETTO_CAPTURE_CAPTURE_FIELDS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/detail/json_walk.hpp"

namespace stretto {

/// One tensor that a node produces.
struct capture_tensor {
    std::vector<std::int64_t> shape;
    std::string dtype;                  ///< "f32", "bf16", "i64", ...
    std::vector<std::string> symbolic;  ///< one for each extent, such as "64*u0"; empty if all are numbers
    friend bool operator==(const capture_tensor&, const capture_tensor&) = default;
};

/// Reads fields of one capture, which must outlive it. It keeps its buffers between calls, so use one object for many
/// nodes. A field that is missing, or of another type than requested, yields nothing. Every call takes time linear in
/// the text of the field.
class capture_fields {
public:
    explicit capture_fields(const capture& step) : step_(&step) {}

    /// Returns a field that is a string, such as fqn, direction, origin, region or role.
    std::optional<std::string> text(std::uint32_t v, std::string_view key) {
        std::optional<std::string> found;
        read(step_->field(v, key), [&](detail::od::value x) {
            std::string_view s;
            if (!json_.text(x, s)) return false;
            found = s;
            return true;
        });
        return found;
    }
    /// Returns a field that is an integer, such as chunk.
    std::optional<std::int64_t> whole_number(std::uint32_t v, std::string_view key) {
        std::optional<std::int64_t> found;
        read(step_->field(v, key), [&](detail::od::value x) {
            std::int64_t n = 0;
            if (!json_.whole_number(x, n)) return false;
            found = n;
            return true;
        });
        return found;
    }
    /// Returns a field that is a list of strings, such as members, absorbs or binds. Numbers in it become their
    /// spelling.
    std::optional<std::vector<std::string>> texts(std::uint32_t v, std::string_view key) {
        std::vector<std::string> found;
        const bool whole = read(step_->field(v, key), [&](detail::od::value list) { return read_texts(list, found); });
        if (!whole) return std::nullopt;
        return found;
    }
    /// Returns the tensors that v produces; empty for a node whose `outputs` is not a list of tensors.
    std::vector<capture_tensor> outputs(std::uint32_t v) { return tensors_in(step_->outputs(v)); }
    /// Returns the tensors in a text of that form; empty if it is not a list of tensors.
    std::vector<capture_tensor> tensors_in(std::string_view text) {
        std::vector<capture_tensor> found;
        const bool whole = read(text, [&](detail::od::value list) {
            return json_.array(list, [&](detail::od::value tensor) {
                found.emplace_back();
                return read_tensor(tensor, found.back());
            });
        });
        if (!whole) found.clear();
        return found;
    }

private:
    /// Calls each(value) for the value in a text. Returns whether there is a text, it is JSON, and `each` returned
    /// true.
    template <class F>
    bool read(std::optional<std::string_view> text, F each) {
        if (!text) return false;
        buffer_.assign("[").append(*text).append("]");  // a list of one: documents that are scalars need other calls
        const std::size_t length = buffer_.size();
        buffer_.append(simdjson::SIMDJSON_PADDING, ' ');
        return json_.open(buffer_, length) && json_.root_array(each);
    }
    bool read_tensor(detail::od::value v, capture_tensor& tensor) {
        return json_.object(v, [&](std::string_view key, detail::od::value member) {
            std::string_view s;
            if (key == "dtype") return json_.text(member, s) && (tensor.dtype = s, true);
            if (key == "symbolic") return read_texts(member, tensor.symbolic);
            if (key != "shape") return json_.any(member, s);
            return json_.array(member, [&](detail::od::value n) {
                tensor.shape.push_back(0);
                return json_.amount(n, tensor.shape.back());
            });
        });
    }
    /// Reads strings as they are, and other elements (numeric extents) as they are spelt.
    bool read_texts(detail::od::value list, std::vector<std::string>& texts) {
        return json_.array(list, [&](detail::od::value x) {
            std::string_view s;
            const bool whole = json_.is_text(x) ? json_.text(x, s) : json_.any(x, s);
            texts.emplace_back(s);
            return whole;
        });
    }

    const capture* step_;
    detail::json_walk json_;
    std::string buffer_;
};

}  // namespace stretto

#endif
