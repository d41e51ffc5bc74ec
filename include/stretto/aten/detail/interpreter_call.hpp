// One execution of one operator on one rank: its arguments in the form that the operator needs, and its results or the
// cause of a failure. Every operator of the interpreter is a function of such a call. After a failure every read yields
// a harmless value, so an operator needs to check only once whether the call has failed.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETER_CALL_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETER_CALL_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreted_value.hpp"
#include "stretto/aten/tensor.hpp"
#include "stretto/core/tensor_model.hpp"

namespace stretto::aten {

namespace detail {

/// A tensor, or a number where a tensor may stand.
struct mixed_operand {
    tensor value;
    bool wrapped = false;  ///< it was a number, so it affects the type of a result only if its class is higher
};

/// Returns whether a tensor of the value has an element of a storage in common with one of the others. O(elements of
/// those that share a storage).
[[nodiscard]] inline bool overlaps(const interpreted_value& v, std::span<const tensor> others) {
    const auto for_each_place = [](const tensor& t, auto f) {
        for_each_slot(t.shape(), t.strides(), t.offset(), [&](std::int64_t slot) {
            f(static_cast<std::size_t>(slot));
            if (t.is_complex()) f(static_cast<std::size_t>(slot) + 1);
        });
    };
    bool met = false;
    for (const tensor& other : others)
        for (const tensor& t : v.tensors) {
            if (!(t.storage() == other.storage())) continue;
            std::vector<bool> taken(t.storage()->reals.size() + t.storage()->integers.size());
            for_each_place(other, [&](std::size_t k) { taken[k] = true; });
            for_each_place(t, [&](std::size_t k) { met = met || taken[k]; });
        }
    return met;
}

/// The call of one operator. Every reader of arguments takes the position of the argument and its name. Except for
/// `text`, a reader makes the call fail if the argument has the wrong form.
class operator_call {
public:
    using form = tensor_argument::form;

    std::string_view operation;
    std::span<const tensor_argument> positional;
    std::span<const named_tensor_argument> named;
    std::span<const interpreted_value* const> operands;
    bool only_shapes = false;           ///< the operator reads no data, so its operands may be in flight
    bool only_views = false;            ///< the results are views, so operands may share memory with `in_flight`
    bool balanced_routing = false;      ///< see interpreter_options
    std::span<const tensor> in_flight;  ///< what collectives in flight on this rank write in place
    interpreted_value result;
    std::string cause;  ///< why the call has failed; empty if it has not
    std::string hint;

    [[nodiscard]] bool failed() const noexcept { return !cause.empty(); }
    /// Makes the call fail. Only the first reason is kept.
    void fail(std::string why, std::string advice = {}) {
        if (failed()) return;
        cause = std::move(why);
        hint = std::move(advice);
    }
    /// Adds a tensor to the results, or makes a number the result.
    void give(tensor t) { result.tensors.push_back(std::move(t)); }
    /// Adds the next member of a tuple some of whose members may not be tensors: the tensor, or None.
    void give_member(tensor t) {
        result.places.push_back(result.tensors.size());
        give(std::move(t));
    }
    void give_none() { result.places.push_back(interpreted_value::no_tensor); }
    void give(number n) {
        result.is_number = true;
        result.scalar = n;
    }

    /// Returns the argument at position k or with that name; null if it is left out. An operand that holds neither a
    /// number nor a tensor counts as left out, because it represents a None that an operator returned, such as a
    /// gradient that was not requested. An argument that can only be named is read with a position that no positional
    /// argument has: SIZE_MAX, or the number of positional ones.
    [[nodiscard]] const tensor_argument* find(std::size_t k, std::string_view name) const {
        const tensor_argument* found = nullptr;
        if (k < positional.size()) found = &positional[k];
        for (const named_tensor_argument& a : named)
            if (!found && a.name == name) found = &a.value;
        if (!found || found->what == form::none) return nullptr;
        if (found->what != form::operand) return found;
        const interpreted_value& v = of(*found);
        return v.is_number || !v.tensors.empty() ? found : nullptr;
    }
    [[nodiscard]] bool has(std::size_t k, std::string_view name) const { return find(k, name) != nullptr; }
    /// Returns whether an argument is a number of the program or is spelt as one.
    [[nodiscard]] bool is_number(const tensor_argument& a) const {
        return a.what == form::operand ? of(a).is_number
                                       : a.what == form::integer || a.what == form::real || a.what == form::truth ||
                                             (a.what == form::text && a.text.ends_with("inf"));
    }

    /// Returns the tensor of an operand that consists of exactly one. The call fails if the operand is in flight and
    /// the operator reads data.
    [[nodiscard]] tensor input(std::size_t k, std::string_view name) {
        const tensor_argument* a = find(k, name);
        if (!a || a->what != form::operand || of(*a).tensors.size() != 1) {
            fail("argument " + std::string(name) + " is no tensor");
            return {};
        }
        return readable(of(*a)).tensors[0];
    }
    /// Returns the tensors of a list, or of an operand that is a tuple.
    [[nodiscard]] std::vector<tensor> inputs(std::size_t k, std::string_view name) {
        std::vector<tensor> all;
        const tensor_argument* a = find(k, name);
        if (a && a->what == form::operand) return readable(of(*a)).tensors;
        if (!a || a->what != form::list) {
            fail("argument " + std::string(name) + " is no list of tensors");
            return all;
        }
        for (const tensor_argument& item : a->items) {
            if (item.what != form::operand || of(item).tensors.size() != 1) {
                fail("argument " + std::string(name) + " holds something else than tensors");
                return all;
            }
            all.push_back(readable(of(item)).tensors[0]);
        }
        return all;
    }
    /// Returns a tensor or a number. A number becomes a tensor without dimensions, of the element type that its class
    /// has by default.
    [[nodiscard]] mixed_operand input_or_number(std::size_t k, std::string_view name) {
        const tensor_argument* a = find(k, name);
        if (!a || !is_number(*a)) return {input(k, name), false};
        // As in the framework: True is a bool, an integer an i64, and a float an f32, its default float type.
        const number n = number_of(*a);
        constexpr element_type defaults[] = {element_type::boolean, element_type::i64, element_type::f32};
        const element_type e = defaults[static_cast<std::size_t>(n.what)];
        if (n.what == element_class::real) return {tensor::of(e, {}, {n.real}), true};
        return {tensor::of_integers(e, {}, {n.integer}), true};
    }

    /// Returns a number, which may also be given as a tensor with one element. Without `otherwise`, the call fails if
    /// the argument is left out; this holds for `integer` too.
    [[nodiscard]] number scalar(std::size_t k, std::string_view name, number otherwise) {
        const tensor_argument* a = find(k, name);
        if (!a) return otherwise;
        if (is_number(*a)) return number_of(*a);
        if (a->what == form::operand && of(*a).tensors.size() == 1 && of(*a).tensors[0].elements() == 1) {
            const tensor& t = readable(of(*a)).tensors[0];
            return t.integral() ? number::of(t.values<std::int64_t>()[0]) : number::of(t.values<double>()[0]);
        }
        fail("argument " + std::string(name) + " is no number");
        return otherwise;
    }
    [[nodiscard]] number scalar(std::size_t k, std::string_view name) {
        if (!has(k, name)) fail("argument " + std::string(name) + " is missing");
        return scalar(k, name, number{});
    }
    [[nodiscard]] std::int64_t integer(std::size_t k, std::string_view name, std::int64_t otherwise) {
        const number n = scalar(k, name, number::of(otherwise));
        // The framework never rounds a float to obtain an index or an extent.
        if (n.what == element_class::real) fail("argument " + std::string(name) + " is a float, not an integer");
        return n.integer;
    }
    [[nodiscard]] std::int64_t integer(std::size_t k, std::string_view name) {
        if (!has(k, name)) fail("argument " + std::string(name) + " is missing");
        return integer(k, name, 0);
    }
    [[nodiscard]] double real(std::size_t k, std::string_view name, double otherwise) {
        return scalar(k, name, number::of(otherwise)).real;
    }
    /// Returns a truth value; an integer that is not 0 counts as true.
    [[nodiscard]] bool truth(std::size_t k, std::string_view name, bool otherwise) {
        return scalar(k, name, number::of(otherwise)).integer != 0;
    }
    /// Returns the text of an argument; `otherwise` if it is left out or is not a text. This reader never makes the
    /// call fail, because texts only choose among variants.
    [[nodiscard]] std::string_view text(std::size_t k, std::string_view name, std::string_view otherwise) const {
        const tensor_argument* a = find(k, name);
        return a && a->what == form::text ? a->text : otherwise;
    }
    /// Returns a list of integers, or one integer as a list of one; an empty list if the argument is left out. As for
    /// `integer`, a float makes the call fail.
    [[nodiscard]] extents integers(std::size_t k, std::string_view name) {
        extents all;
        const tensor_argument* a = find(k, name);
        if (!a) return all;
        const auto add = [&](const tensor_argument& item) {
            if (is_number(item) && number_of(item).what != element_class::real) all.push_back(number_of(item).integer);
            else fail("argument " + std::string(name) + " holds something else than integers");
        };
        if (a->what == form::list)
            for (const tensor_argument& item : a->items) add(item);
        else add(*a);
        return all;
    }
    /// Returns an element type, which the program spells by name; `otherwise` if it is left out.
    [[nodiscard]] element_type element(std::size_t k, std::string_view name, element_type otherwise) {
        const std::string_view spelt = text(k, name, "");
        if (spelt.empty()) return otherwise;
        constexpr std::string_view names[] = {"f16", "bf16", "f32", "f64",  "i8",  "u8",
                                              "i16", "i32",  "i64", "bool", "c64", "c128"};
        for (std::size_t e = 0; e < 12; ++e)
            if (names[e] == spelt) return static_cast<element_type>(e);
        fail("argument " + std::string(name) + " is \"" + std::string(spelt) + "\", which is no element type");
        return otherwise;
    }

    /// Returns a dimension of a tensor, counted from the end if it is negative. A tensor without dimensions is treated
    /// as if it had one.
    [[nodiscard]] std::size_t wrapped(std::int64_t dim, std::size_t rank) {
        const auto r = static_cast<std::int64_t>(rank == 0 ? 1 : rank);
        if (dim >= -r && dim < r) return static_cast<std::size_t>(dim < 0 ? dim + r : dim);
        fail("dimension " + text_of(dim) + " of a tensor that has " + std::to_string(rank));
        return 0;
    }

    /// Returns the value of an operand on this rank. Precondition: the argument has the form of an operand, whose
    /// integer is the position among the operands of the node, and not the number of a value.
    [[nodiscard]] const interpreted_value& of(const tensor_argument& a) const {
        return *operands[static_cast<std::size_t>(a.integer)];
    }
    /// Returns the number that an argument is. Precondition: is_number(a). The format spells infinities as the texts
    /// "inf" and "-inf", since JSON has no numbers for them.
    [[nodiscard]] number number_of(const tensor_argument& a) const {
        switch (a.what) {
            case form::operand:
                return of(a).scalar;
            case form::real:
                return number::of(a.real);
            case form::truth:
                return number::of(a.integer != 0);
            case form::text:
                return number::of(a.text.starts_with('-') ? -std::numeric_limits<double>::infinity()
                                                          : std::numeric_limits<double>::infinity());
            default:
                return number::of(a.integer);
        }
    }

private:
    /// Returns the value after checking that its data has arrived, which also holds for a tensor into whose storage a
    /// collective writes. Shapes are known as soon as a collective is launched, so operators that read only shapes may
    /// run while it is in flight.
    const interpreted_value& readable(const interpreted_value& v) {
        if (only_shapes) return v;
        if (v.in_flight || (!only_views && overlaps(v, in_flight)))
            fail("reads the data of a collective in flight",
                 "read the result of its wait; before that, only its shape");
        return v;
    }
};

/// Calls f(T{}) where T is the type in which arithmetic of a class is done. An operator is written once, as a generic
/// function of T; truth values are computed as integers 0 and 1.
template <class F>
void in_class(element_class c, F f) {
    if (c <= element_class::integer) f(std::int64_t{});
    else if (c == element_class::real) f(double{});
    else f(complex_number{});
}

/// An operator. Families of operators are tables of these.
struct operator_entry {
    std::string_view base;       ///< "aten.add"
    std::string_view overloads;  ///< "Tensor Scalar"; empty if the base is the whole name
    void (*run)(operator_call&);
    enum class trait : std::uint8_t {
        none,
        has_in_place_form,  ///< "aten.add_" writes the result into the first operand
        only_shapes         ///< it reads no data
    };
    trait special = trait::none;
};

}  // namespace detail
}  // namespace stretto::aten

#endif
