// What the interpreter holds for a value of a program on one rank, and how messages spell it.
#ifndef STRETTO_ATEN_DETAIL_INTERPRETED_VALUE_HPP
#define STRETTO_ATEN_DETAIL_INTERPRETED_VALUE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/aten/tensor.hpp"

namespace stretto::aten {

/// A number of the program. `what` says whether it is an integer, a truth value or a float.
struct number {
    element_class what = element_class::integer;
    std::int64_t integer = 0;
    double real = 0;  ///< the same number as a float; of a float, `integer` is rounded towards zero

    [[nodiscard]] static number of(std::int64_t x) { return {element_class::integer, x, static_cast<double>(x)}; }
    [[nodiscard]] static number of(double x) { return {element_class::real, detail::truncated(x), x}; }
    [[nodiscard]] static number of(bool x) { return {element_class::truth, x, x ? 1.0 : 0.0}; }
    friend bool operator==(const number&, const number&) = default;
};

/// A value on one rank: a number, or the tensors of which it consists. A value that is neither, such as None, holds no
/// tensors.
struct interpreted_value {
    std::vector<tensor> tensors;
    /// For each member of a tuple, which of `tensors` it is, or no_tensor: with it, getitem finds a member by the index
    /// that the program uses although some members are not tensors. Empty if all members are tensors.
    std::vector<std::size_t> places;
    static constexpr std::size_t no_tensor = static_cast<std::size_t>(-1);
    bool is_number = false;
    number scalar;
    /// True from the launch of the collective that makes the value to its wait: its shape may be read, but not its
    /// data.
    bool in_flight = false;

    /// A storage that this collective still reads, and how often it had been written when the collective was launched.
    /// If it has been written since, the program is wrong.
    struct guarded {
        storage_handle storage;
        std::uint64_t writes = 0;
    };
    std::vector<guarded> reads;
};

namespace detail {

/// These functions return the texts by which messages name a number, a shape, and the type of a tensor.
[[nodiscard]] inline std::string text_of(std::int64_t x) { return std::to_string(x); }
[[nodiscard]] inline std::string text_of(std::span<const std::int64_t> list) {
    std::string text = "[";
    for (std::size_t k = 0; k < list.size(); ++k) text += (k ? ", " : "") + text_of(list[k]);
    return text + "]";
}
[[nodiscard]] inline std::string text_of(const tensor& t) {
    constexpr const char* names[] = {"f16", "bf16", "f32",  "f64", "i8",   "u8",   "i16",
                                     "i32", "i64",  "bool", "c64", "c128", "other"};
    return names[static_cast<std::size_t>(t.element())] + text_of(t.shape());
}

}  // namespace detail
}  // namespace stretto::aten

#endif
