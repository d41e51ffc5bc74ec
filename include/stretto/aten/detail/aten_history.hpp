// What a program says about where a value comes from, beyond the operands of one operation: what aten_history asks.
#ifndef STRETTO_ATEN_DETAIL_ATEN_HISTORY_HPP
#define STRETTO_ATEN_DETAIL_ATEN_HISTORY_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/aten/detail/aten_call.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::detail::aten {

/// Walks from a value to what it was copied, viewed or summed from. Small; copied like the view and the model in it.
template <dataflow_graph G, tensor_model<G> T>
    requires indexed_graph<G>
class program_history {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    program_history(G view, T tensors) : view_(view), tensors_(tensors) {}

    /// Of a value: no other has it.
    [[nodiscard]] std::int64_t key(value_type x) const {
        const vertex_type p = view_.producer(x);
        std::int64_t place = 0;
        for (value_type y : view_.results(p)) {
            if (y == x) break;
            ++place;
        }
        return static_cast<std::int64_t>(view_.index(p)) * 256 + place;
    }

    /// Whether x was made of zeros, and nobody writes into it in place.
    [[nodiscard]] bool is_zero(value_type x) const {
        static constexpr std::string_view zeros[] = {"aten.new_zeros.default", "aten.zeros.default",
                                                     "aten.zeros_like.default"};
        do {
            if (is_written(x)) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) { return one_of(name, arranged); }));
        const vertex_type p = view_.producer(x);
        const std::string_view name = tensors_.operation(p);
        if (one_of(name, zeros)) return true;
        const std::span<const tensor_argument> arguments = tensors_.arguments(p);
        const std::size_t filled_with = name == "aten.full.default" ? 1 : name == "aten.new_full.default" ? 2 : 0;
        if (filled_with == 0 || arguments.size() <= filled_with) return false;
        const tensor_argument& a = arguments[filled_with];
        return (a.what == tensor_argument::form::integer && a.integer == 0) ||
               (a.what == tensor_argument::form::real && !(a.real < 0) && !(a.real > 0));
    }

    /// Whether x holds integers, whatever its type.
    [[nodiscard]] bool holds_integers(value_type x) const {
        do {
            const element_type e = components(x).empty() ? element_type::other : components(x)[0].element;
            if (is_integral(e) || e == element_type::boolean) return true;
            if (is_written(x)) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) {
            return one_of(name, arranged) || name == "aten.sum.default" || name == "aten.sum.dim_IntList";
        }));
        return tensors_.operation(view_.producer(x)) == "aten.histc.default";
    }

    /// Whether x was made by arange from 0 in steps of 1, and nobody writes into it in place.
    [[nodiscard]] bool is_ascending(value_type x) const {
        if (!copied_from(x)) return false;
        const vertex_type p = view_.producer(x);
        const std::string_view name = tensors_.operation(p);
        const std::span<const tensor_argument> a = tensors_.arguments(p);
        const auto is = [&](std::size_t k, std::int64_t n) {
            return k < a.size() && a[k].what == tensor_argument::form::integer && a[k].integer == n;
        };
        if (name == "aten.arange.default") return true;
        return (name == "aten.arange.start" || name == "aten.arange.start_step") && is(0, 0) &&
               (a.size() < 3 || is(2, 1));
    }

    /// Whether x, and whatever it is a view of, has one reader.
    [[nodiscard]] bool has_one_reader(value_type x) const {
        do {
            std::size_t readers = 0;
            for ([[maybe_unused]] vertex_type reader : view_.consumers(x)) ++readers;
            if (readers > 1) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) { return one_of(name, arranged); }));
        return true;
    }

    /// The value that x, a count or a tensor of counts, was read from: see aten_history.
    [[nodiscard]] std::int64_t counted(value_type x, std::int64_t& place) const {
        static constexpr std::string_view read[] = {"_c10d_functional.wait_tensor.default",
                                                    "aten._local_scalar_dense.default",
                                                    "aten._to_copy.default",
                                                    "aten.alias.default",
                                                    "aten.clone.default",
                                                    "aten.reshape.default",
                                                    "aten.view.default",
                                                    "prims.convert_element_type.default",
                                                    "prims.device_put.default"};
        place = -1;
        while (step_back(x, [&](std::string_view name, vertex_type p) {
            const std::span<const tensor_argument> arguments = tensors_.arguments(p);
            if (name == "getitem" || name == "aten.select.int") {
                const std::size_t which = name == "getitem" ? 1 : 2;
                if (arguments.size() <= which || place >= 0) return false;
                for (value_type from : view_.operands(p))
                    if (name == "getitem" && tensors_.operation(view_.producer(from)) != "aten.unbind.int")
                        return false;
                place = arguments[which].integer;
                return true;
            }
            if (name == "aten.unbind.int") return arguments.size() < 2 || arguments[1].integer == 0;
            if (name == "aten.sum.dim_IntList") return inner_sum(p);
            return one_of(name, read);
        })) {
        }
        return key(x);
    }

    /// What holds the counts of groups: see aten_history.
    [[nodiscard]] std::int64_t groups(value_type x, bool ends) const {
        if (!copied_from(x) || components(x)[0].shape.size() != 1) return -1;
        const vertex_type p = view_.producer(x);
        const std::string_view name = tensors_.operation(p);
        const std::span<const tensor_argument> arguments = tensors_.arguments(p);
        const bool first_dim = arguments.size() < 2 || arguments[1].integer == 0;
        std::int64_t operand = 0;
        if (ends) {
            if (name != "aten.cumsum.default" || !first_dim) return -1;
        } else if (name == "aten.cat.default" && first_dim && !arguments.empty() && !arguments[0].items.empty()) {
            operand = arguments[0].items[0].integer;
        } else {
            return key(x);
        }
        for (value_type y : view_.operands(p))
            if (operand-- == 0) return copied_from(y) ? key(y) : -1;
        return -1;
    }

private:
    [[nodiscard]] std::span<const tensor_type> components(value_type x) const { return tensors_.components(x); }

    /// The operand that v is a copy or a view of, if v is an operator that `passes`; false otherwise.
    template <class Passes>
    [[nodiscard]] bool step_back(value_type& x, Passes passes) const {
        const vertex_type p = view_.producer(x);
        if (!passes(tensors_.operation(p), p)) return false;
        for (value_type y : view_.operands(p)) {
            x = y;
            return true;
        }
        return false;
    }

    /// Goes back to what x has the elements of, in the same order. False if somebody writes into any of it in place.
    [[nodiscard]] bool copied_from(value_type& x) const {
        static constexpr std::string_view copies[] = {"aten._to_copy.default",
                                                      "aten.alias.default",
                                                      "aten.clone.default",
                                                      "aten.reshape.default",
                                                      "aten.view.default",
                                                      "prims.convert_element_type.default",
                                                      "_c10d_functional.wait_tensor.default"};
        do {
            if (components(x).size() != 1 || is_written(x)) return false;
        } while (step_back(x, [](std::string_view name, vertex_type) { return one_of(name, copies); }));
        return true;
    }

    [[nodiscard]] static bool one_of(std::string_view name, std::span<const std::string_view> names) {
        for (std::string_view n : names)
            if (n == name) return true;
        return false;
    }

    static constexpr std::string_view arranged[] = {
        "aten._to_copy.default", "aten.alias.default",     "aten.clone.default", "aten.expand.default",
        "aten.permute.default",  "aten.reshape.default",   "aten.slice.Tensor",  "aten.t.default",
        "aten.transpose.int",    "aten.unsqueeze.default", "aten.view.default",  "prims.convert_element_type.default"};

    /// Whether v, an operator in place, may write x: it writes its first argument.
    [[nodiscard]] bool may_write(vertex_type v, value_type x) const {
        const std::span<const tensor_argument> arguments = tensors_.arguments(v);
        if (arguments.empty() || arguments[0].what != tensor_argument::form::operand) return true;
        std::int64_t k = 0;
        for (value_type y : view_.operands(v))
            if (y == x) return k == arguments[0].integer;
            else ++k;
        return true;
    }
    /// Whether somebody writes into x in place, or into something that is made of x as it is.
    [[nodiscard]] bool is_written(value_type x, bool and_views = true) const {
        for (vertex_type reader : view_.consumers(x)) {
            const std::string_view name = tensors_.operation(reader);
            const std::size_t at = name.rfind('.');
            if (at != std::string_view::npos && at > 0 && name[at - 1] == '_' && may_write(reader, x)) return true;
            if (!and_views || !one_of(name, arranged)) continue;
            for (value_type y : view_.results(reader))
                if (is_written(y, false)) return true;
        }
        return false;
    }

    /// Whether p sums over its innermost dimensions, and not over all.
    [[nodiscard]] bool inner_sum(vertex_type p) const {
        const std::span<const tensor_argument> arguments = tensors_.arguments(p);
        if (arguments.size() < 2) return false;
        for (value_type x : view_.operands(p)) {
            const std::size_t rank = components(x)[0].shape.size();
            std::uint64_t gone = 0;
            for (const tensor_argument& a : arguments[1].items) {
                const std::int64_t d = wrapped(a.integer, rank);
                if (d >= 0) gone |= std::uint64_t{1} << d;
            }
            if (gone == 0 || (gone & 1) != 0) return false;
            const std::uint64_t outer_end = gone & (~gone + 1);
            return gone == (std::uint64_t{1} << rank) - outer_end;
        }
        return false;
    }

    G view_;
    T tensors_;
};

}  // namespace stretto::detail::aten

#endif
