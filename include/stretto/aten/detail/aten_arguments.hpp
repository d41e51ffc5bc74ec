// Reads the positional and named arguments of a PyTorch operation and converts them to what the chunk rules take. The
// decoders (aten_decode.hpp) and argument_spelling.hpp use it. The same argument may be positional in one program and
// named in the next, so every reader takes both its position and its name; a position beyond all others (SIZE_MAX)
// stands for arguments that can only be named.
#ifndef STRETTO_ATEN_DETAIL_ATEN_ARGUMENTS_HPP
#define STRETTO_ATEN_DETAIL_ATEN_ARGUMENTS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/rule_operands.hpp"

namespace stretto::detail::aten {

using argument_form = tensor_argument::form;

/// Returns whether two lists of arguments are equal. Real numbers are compared bit by bit, so this is an equivalence
/// for NaNs too. An argument of the form `other` is equal to none, because its contents are not known. O(arguments).
[[nodiscard]] inline bool same_arguments(std::span<const tensor_argument> a, std::span<const tensor_argument> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const tensor_argument &x = a[k], &y = b[k];
        if (x.what != y.what || x.what == argument_form::other || x.integer != y.integer || x.text != y.text ||
            std::bit_cast<std::uint64_t>(x.real) != std::bit_cast<std::uint64_t>(y.real) ||
            !same_arguments(x.items, y.items))
            return false;
    }
    return true;
}
/// Returns whether two lists have the same names in the same order, with equal arguments.
[[nodiscard]] inline bool same_arguments(std::span<const named_tensor_argument> a,
                                         std::span<const named_tensor_argument> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k)
        if (a[k].name != b[k].name || !same_arguments(std::span(&a[k].value, 1), std::span(&b[k].value, 1)))
            return false;
    return true;
}

/// The arguments of one operation. They point into the program. Readers never fail: an argument that is missing or has
/// the wrong form reads as the operator's default, or as a value that makes the rule refuse.
struct aten_arguments {
    std::span<const tensor_argument> positional;
    std::span<const named_tensor_argument> named;

    /// Returns the argument at a position or with a name; a `none` if it is left out.
    [[nodiscard]] const tensor_argument& argument(std::size_t position, std::string_view name_of) const {
        static constexpr tensor_argument left_out{};
        if (position < positional.size()) return positional[position];
        for (const named_tensor_argument& a : named)
            if (a.name == name_of) return a.value;
        return left_out;
    }
    /// Returns an integer or a truth value; `otherwise` if the argument is anything else, such as an operand.
    [[nodiscard]] std::int64_t integer(std::size_t position, std::string_view name_of, std::int64_t otherwise) const {
        const tensor_argument& a = argument(position, name_of);
        return a.what == argument_form::integer || a.what == argument_form::truth ? a.integer : otherwise;
    }
    /// Returns whether an argument is there and true.
    [[nodiscard]] bool truth(std::size_t position, std::string_view name_of) const {
        return integer(position, name_of, 0) != 0;
    }

    /// Returns the number of the operand that an argument refers to; no_operand if it is not an operand.
    [[nodiscard]] static std::size_t operand(const tensor_argument& a) {
        return a.what == argument_form::operand ? static_cast<std::size_t>(a.integer) : chunk_rules::no_operand;
    }
    [[nodiscard]] std::size_t operand(std::size_t position, std::string_view name_of) const {
        return operand(argument(position, name_of));
    }
    /// Returns a number that is an integer constant, an operand, or something that rules do not know.
    [[nodiscard]] static chunk_rules::rule_number number(const tensor_argument& a) {
        if (a.what == argument_form::integer) return chunk_rules::rule_number::constant(a.integer);
        return {operand(a), 0, false};
    }
    [[nodiscard]] chunk_rules::rule_number number(std::size_t position, std::string_view name_of) const {
        return number(argument(position, name_of));
    }
    /// Returns the items of a list as numbers.
    [[nodiscard]] std::vector<chunk_rules::rule_number> numbers(std::size_t position, std::string_view name_of) const {
        std::vector<chunk_rules::rule_number> all;
        for (const tensor_argument& a : argument(position, name_of).items) all.push_back(number(a));
        return all;
    }

    /// Returns, for each extent in the list, the operand that gives it, or no_operand; the result is empty if all are
    /// constants.
    [[nodiscard]] std::vector<std::size_t> sizes(std::size_t position, std::string_view name_of) const {
        const std::span<const tensor_argument> items = argument(position, name_of).items;
        std::vector<std::size_t> all;
        for (std::size_t j = 0; j < items.size(); ++j) {
            if (items[j].what != argument_form::operand) continue;
            all.resize(items.size(), chunk_rules::no_operand);
            all[j] = operand(items[j]);
        }
        return all;
    }
    /// Returns the operands that index dimensions, or no_operand for a dimension without an index. An item that is
    /// neither an operand nor left out reads as an operand that does not exist.
    [[nodiscard]] std::vector<std::size_t> indices(std::size_t position, std::string_view name_of) const {
        std::vector<std::size_t> all;
        for (const tensor_argument& a : argument(position, name_of).items)
            // A number or a text as an index must not look as if it were left out, which would leave the dimension
            // whole.
            all.push_back(a.what == argument_form::none      ? chunk_rules::no_operand
                          : a.what == argument_form::operand ? operand(a)
                                                             : chunk_rules::no_operand - 1);
        return all;
    }
    /// Reads a dimension, or a list of them, into `all`. An item that is not an integer reads as a dimension that no
    /// tensor has. Returns false if there are more dimensions than a rule can hold.
    [[nodiscard]] bool dims(std::size_t position, std::string_view name_of, chunk_rules::dim_list& all) const {
        const tensor_argument& a = argument(position, name_of);
        if (a.items.size() >= chunk_rules::dim_list::capacity) return false;
        if (a.what == argument_form::integer) all.push_back(a.integer);
        for (const tensor_argument& item : a.items)
            all.push_back(item.what == argument_form::integer ? item.integer : INT64_MAX);
        return true;
    }
};

}  // namespace stretto::detail::aten

#endif
