// The tensor program in a capture: operators, arguments and shapes, parsed once for the whole step. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_TENSORS_HPP
#define STRETTO_CAPTURE_CAPTURE_TENSORS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/json_walk.hpp"
#include "stretto/capture/detail/stable_arrays.hpp"
#include "stretto/capture/element_names.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto {

/// Owns the data to which a tensor_model of one capture refers. O(length of the text) time and space.
class capture_tensors {
public:
    /// Fails if arguments or outputs do not follow the format, such as a shape with a negative extent or with more
    /// symbolic extents than extents, or "%7" in a node that reads six; and if a node has more than 2^57 elements, so
    /// that no size in bytes overflows.
    [[nodiscard]] static expected<capture_tensors, diagnostic> read(const capture& step) {
        capture_tensors all(step.size());
        reader r{all, step, {}, {}};
        for (std::uint32_t v = 0; v < step.size(); ++v)
            if (!r.read(v)) return unexpected(std::move(r.json.failure));
        return all;
    }
    /// Reads only shapes and element types, of every node separately, for the check of a file in which some may be
    /// wrong. A malformed node has no outputs, and `is_read` returns false for it.
    [[nodiscard]] static capture_tensors read_outputs(const capture& step) {
        capture_tensors all(step.size());
        reader r{all, step, {}, {}};
        for (std::uint32_t v = 0; v < step.size(); ++v) all.nodes_[v].is_read = r.read_outputs(v);
        return all;
    }
    [[nodiscard]] bool is_read(std::uint32_t v) const { return nodes_[v].is_read; }

    [[nodiscard]] std::span<const tensor_argument> arguments(std::uint32_t v) const { return nodes_[v].positional; }
    [[nodiscard]] std::span<const named_tensor_argument> named_arguments(std::uint32_t v) const {
        return nodes_[v].named;
    }
    [[nodiscard]] std::span<const tensor_type> components(std::uint32_t v) const { return nodes_[v].outputs; }

    /// Whether component c of the results of v has an extent that is an expression.
    [[nodiscard]] bool is_symbolic(std::uint32_t v, std::size_t c) const {
        return c < nodes_[v].symbolic.size() && !nodes_[v].symbolic[c].empty();
    }
    /// An extent as an expression such as "64*u0"; empty if it is a number, as "2048" is.
    [[nodiscard]] std::string_view symbolic_extent(std::uint32_t v, std::size_t c, std::size_t dim) const {
        return is_symbolic(v, c) ? nodes_[v].symbolic[c][dim] : std::string_view();
    }
    /// The file's name for the element type, whether or not it is known.
    [[nodiscard]] std::string_view element_name(std::uint32_t v, std::size_t c) const {
        const node& n = nodes_[v];
        return c < n.unknown.size() && !n.unknown[c].empty() ? n.unknown[c] : name_of(n.outputs[c].element);
    }

private:
    explicit capture_tensors(std::size_t nodes) : nodes_(nodes) {}

    using expressions = std::span<const std::string_view>;  // by dimension, empty for a number; none: all are numbers

    struct node {
        std::span<const tensor_argument> positional;
        std::span<const named_tensor_argument> named;
        std::span<const tensor_type> outputs;
        std::span<const expressions> symbolic;      // by component; none if all extents are numbers
        std::span<const std::string_view> unknown;  // by component: the name of its element type; none if all are known
        bool is_read = true;
    };

    struct reader {
        capture_tensors& all;
        const capture& step;
        detail::json_walk json;
        std::string buffer;
        static constexpr double most_elements = 144'115'188'075'855'872;  // 2^57, of up to 16 bytes each
        std::size_t operands = 0;                                         // of the current node
        std::vector<tensor_type> outputs = {};
        std::vector<expressions> symbolic = {};
        std::vector<std::string_view> unknown = {};
        std::vector<std::int64_t> shape = {};  // of the current tensor
        std::vector<std::string_view> extents = {};

        bool read_outputs(std::uint32_t v) {
            node& n = all.nodes_[v];
            json.node = v;
            json.node_name = step.name(v);
            outputs.clear();
            symbolic.clear();
            unknown.clear();
            double elements = 0;
            json.field = "outputs";
            if (!open(step.outputs(v), [&](detail::od::value x) {
                    return json.array(x, [&](detail::od::value tensor) {
                        outputs.emplace_back();
                        return read_type(tensor, outputs.back()) && add_elements(outputs.back(), elements);
                    });
                }))
                return false;
            n.outputs = keep(all.types_, outputs);
            if (!symbolic.empty()) symbolic.resize(outputs.size());
            if (!unknown.empty()) unknown.resize(outputs.size());
            n.symbolic = keep(all.symbolic_, symbolic);
            n.unknown = keep(all.names_, unknown);
            return true;
        }

        bool read(std::uint32_t v) {
            if (!read_outputs(v)) return false;
            node& n = all.nodes_[v];
            operands = step.inputs(v).size();
            json.field = "args";
            if (const auto text = step.field(v, "args"); text && *text != "null") {
                if (!open(*text, [&](detail::od::value x) { return read_list(x, n.positional); })) return false;
            } else {
                const std::span<tensor_argument> own = all.arguments_.make(operands);
                for (std::size_t k = 0; k < operands; ++k) {
                    own[k].what = tensor_argument::form::operand;
                    own[k].integer = static_cast<std::int64_t>(k);
                }
                n.positional = own;
            }
            json.field = "kwargs";
            const auto text = step.field(v, "kwargs");
            if (!text || *text == "null") return true;
            std::vector<named_tensor_argument> named;
            const bool whole = open(*text, [&](detail::od::value x) {
                return json.object(x, [&](std::string_view key, detail::od::value member) {
                    named.push_back({copy(key), {}});
                    return read_argument(member, named.back().value);
                });
            });
            n.named = keep(all.named_, named);
            return whole;
        }

        template <class F>
        bool open(std::string_view text, F each) {
            buffer.assign("[").append(text).append("]");
            const std::size_t length = buffer.size();
            buffer.append(simdjson::SIMDJSON_PADDING, ' ');
            return json.open(buffer, length) && json.root_array(each);
        }

        template <class T, class Items>
        std::span<const T> keep(detail::stable_arrays<T>& where, const Items& what) {
            const std::span<T> kept = where.make(what.size());
            for (std::size_t k = 0; k < what.size(); ++k) kept[k] = what[k];
            return kept;
        }
        std::string_view copy(std::string_view text) {
            const std::span<const char> kept = keep(all.texts_, text);
            return {kept.data(), kept.size()};
        }

        bool read_type(detail::od::value v, tensor_type& type) {
            shape.clear();
            extents.clear();
            bool has_symbols = false;
            const bool whole = json.object(v, [&](std::string_view key, detail::od::value member) {
                std::string_view s;
                if (key == "dtype") return json.text(member, s) && (read_element(s, type), true);
                if (key == "symbolic")
                    return json.array(member, [&](detail::od::value extent) {
                        extents.emplace_back();
                        if (!json.is_text(extent)) return json.any(extent, s);
                        if (!json.text(extent, s)) return false;
                        if (extent_expression::has_symbols(s)) extents.back() = copy(s), has_symbols = true;
                        return true;
                    });
                if (key != "shape") return json.any(member, s);
                return json.array(member, [&](detail::od::value n) {
                    shape.push_back(0);
                    return json.amount(n, shape.back());
                });
            });
            if (!whole) return false;
            if (!extents.empty() && extents.size() != shape.size())
                return json.fail("has a tensor of " + std::to_string(shape.size()) +
                                     " extents, and symbolic ones for " + std::to_string(extents.size()),
                                 "symbolic has every extent of shape, as an expression or a number");
            type.shape = keep(all.extents_, shape);
            if (has_symbols) {
                symbolic.resize(outputs.size());
                symbolic.back() = keep(all.names_, extents);
            }
            return true;
        }
        void read_element(std::string_view name, tensor_type& type) {
            type.element = element_type_of(name);
            if (type.element != element_type::other) return;
            unknown.resize(outputs.size());
            unknown.back() = copy(name);
        }

        /// Keeps products of extents, in any order and for any element size, far below the range of 64 bits.
        bool add_elements(const tensor_type& type, double& elements) {
            double own = 1;
            for (std::int64_t extent : type.shape) own *= static_cast<double>(extent > 0 ? extent : 1);
            return (elements += own) <= most_elements ||
                   json.fail("have more than 2^57 elements", "extents of 0 count as 1 here");
        }

        bool read_list(detail::od::value v, std::span<const tensor_argument>& items) {
            std::vector<tensor_argument> own;
            const bool whole = json.array(v, [&](detail::od::value item) {
                own.emplace_back();
                return read_argument(item, own.back());
            });
            items = keep(all.arguments_, own);
            return whole;
        }

        bool read_argument(detail::od::value v, tensor_argument& a) {
            using form = tensor_argument::form;
            const std::string_view token = detail::without_space_behind(v.raw_json_token());
            std::string_view s;
            switch (token.empty() ? '\0' : token[0]) {
                case '[':
                    a.what = form::list;
                    return read_list(v, a.items);
                case '"':
                    return json.text(v, s) && read_text(s, a);
                case 't':
                case 'f':
                    a = {form::truth, token[0] == 't', 0, {}, {}};
                    return json.any(v, s);
                case 'n':
                    return json.any(v, s);
                case '{':
                    a.what = form::other;
                    return json.any(v, s);
                default:
                    break;
            }
            if (token.find_first_of(".eE") == std::string_view::npos) {
                a.what = form::integer;
                return json.whole_number(v, a.integer);
            }
            a.what = form::real;
            return json.real_number(v, a.real);
        }

        bool read_text(std::string_view s, tensor_argument& a) {
            const bool digits = s.size() > 1 && s.find_first_not_of("0123456789", 1) == std::string_view::npos;
            if (!digits || s[0] != '%') {
                a = {tensor_argument::form::text, 0, 0, copy(s), {}};
                return true;
            }
            a.what = tensor_argument::form::operand;
            for (char c : s.substr(1))  // it stops growing once it is too large
                if (a.integer < static_cast<std::int64_t>(operands)) a.integer = a.integer * 10 + (c - '0');
            return a.integer < static_cast<std::int64_t>(operands) ||
                   json.fail("names an input that the node does not have", "%0 is the first of inputs");
        }
    };

    std::vector<node> nodes_;
    detail::stable_arrays<std::int64_t> extents_;
    detail::stable_arrays<tensor_type> types_;
    detail::stable_arrays<tensor_argument> arguments_;
    detail::stable_arrays<named_tensor_argument> named_;
    detail::stable_arrays<char> texts_;
    detail::stable_arrays<std::string_view> names_;
    detail::stable_arrays<expressions> symbolic_;
};

/// Operators, arguments and shapes of a capture, for `capture_view`. Both pointees must outlive the model.
struct capture_tensor_model {
    const capture* step;
    const capture_tensors* tensors;

    [[nodiscard]] std::string_view operation(std::uint32_t v) const noexcept { return step->op(v); }
    [[nodiscard]] std::span<const tensor_argument> arguments(std::uint32_t v) const { return tensors->arguments(v); }
    [[nodiscard]] std::span<const named_tensor_argument> named_arguments(std::uint32_t v) const {
        return tensors->named_arguments(v);
    }
    [[nodiscard]] std::span<const tensor_type> components(std::uint32_t x) const { return tensors->components(x); }
    [[nodiscard]] std::string_view symbolic_extent(std::uint32_t x, std::size_t component, std::size_t dim) const {
        return tensors->symbolic_extent(x, component, dim);
    }
};

static_assert(tensor_model<capture_tensor_model, capture_view>);

}  // namespace stretto

#endif
