// Parses the tensor program in a capture: operators, arguments and shapes, once for the whole step. Needs simdjson.
//
// Longer than 300 lines: the parser and the tables that it fills are one idea.
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

/// Owns the data to which a tensor_model of one capture refers. Spans and texts are valid as long as this object.
/// O(length of the text) time and space.
class capture_tensors {
public:
    /// Parses all nodes. Fails at the first node whose arguments or outputs do not follow the format, such as a shape
    /// with a negative extent, a list `symbolic` of another length than the shape, or "%7" in a node that reads six
    /// nodes. Also fails if a node has more than 2^57 elements, so that no size in bytes overflows.
    [[nodiscard]] static expected<capture_tensors, diagnostic> read(const capture& step) {
        capture_tensors all(step.size());
        reader r{all, step, {}, {}};
        for (std::uint32_t v = 0; v < step.size(); ++v)
            if (!r.read(v)) return unexpected(std::move(r.json.failure));
        return all;
    }
    /// Parses only shapes and element types. A node whose outputs are malformed does not stop the call: it has no
    /// outputs, and `is_read` returns false for it. The check of a plan needs this, because a plan may be wrong in
    /// places.
    [[nodiscard]] static capture_tensors read_outputs(const capture& step) {
        capture_tensors all(step.size());
        reader r{all, step, {}, {}};
        for (std::uint32_t v = 0; v < step.size(); ++v) all.nodes_[v].is_read = r.read_outputs(v);
        return all;
    }
    /// Returns whether the outputs of v could be parsed. It is always true after read().
    [[nodiscard]] bool is_read(std::uint32_t v) const { return nodes_[v].is_read; }

    /// Return the arguments and the results of v. If the file states no `args`, the arguments are the inputs, in order.
    /// After read_outputs(), only results are known.
    [[nodiscard]] std::span<const tensor_argument> arguments(std::uint32_t v) const { return nodes_[v].positional; }
    [[nodiscard]] std::span<const named_tensor_argument> named_arguments(std::uint32_t v) const {
        return nodes_[v].named;
    }
    [[nodiscard]] std::span<const tensor_type> components(std::uint32_t v) const { return nodes_[v].outputs; }

    /// Returns whether component c of the results of v has an extent that is an expression.
    [[nodiscard]] bool is_symbolic(std::uint32_t v, std::size_t c) const {
        return c < nodes_[v].symbolic.size() && !nodes_[v].symbolic[c].empty();
    }
    /// Returns an extent as an expression such as "64*u0", or an empty text if it is a number, even one in quotes.
    /// Precondition: the component has that dimension.
    [[nodiscard]] std::string_view symbolic_extent(std::uint32_t v, std::size_t c, std::size_t dim) const {
        return is_symbolic(v, c) ? nodes_[v].symbolic[c][dim] : std::string_view();
    }
    /// Returns the file's name for the element type of component c, whether or not the library knows that type.
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

    /// Parses one node after the other into `all`. The vectors are scratch memory, reused for every node.
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

        /// Parses the outputs of node v. Returns false if they are malformed; `json` then holds the failure.
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

        /// Parses outputs and arguments of node v. Returns false if they are malformed.
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

        /// Calls each(value) for the value in a field. It parses the value as the only element of a list, because
        /// simdjson has other calls for a document that is a scalar.
        template <class F>
        bool open(std::string_view text, F each) {
            buffer.assign("[").append(text).append("]");
            const std::size_t length = buffer.size();
            buffer.append(simdjson::SIMDJSON_PADDING, ' ');
            return json.open(buffer, length) && json.root_array(each);
        }

        /// Copies items into `where`, so that spans of them live as long as `all`.
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

        /// Reads one tensor. A number in `symbolic` is ignored; the extent in `shape` counts.
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

        /// Fails if the node has more than 2^57 elements, so that products of extents, in any order and for any element
        /// size, stay within 64 bits.
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

        /// Reads one argument. Its first character tells what it is.
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

        /// Reads a text: "%k" is operand k, everything else is text.
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

/// The tensor_model of a capture for `capture_view`: its operators, arguments and shapes. Both pointees must outlive
/// the model.
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
