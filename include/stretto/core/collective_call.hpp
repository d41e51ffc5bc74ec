// The call that a start makes on its process group, as a value. It contains everything that decides whether two
// collectives may become one, whether ranks that issue them agree, and what a backend has to call. The group itself is
// `group(v)` of the op model (core/op_model.hpp), which also gives the calls of starts.
#ifndef STRETTO_CORE_COLLECTIVE_CALL_HPP
#define STRETTO_CORE_COLLECTIVE_CALL_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/element_type.hpp"
#include "stretto/core/language.hpp"

namespace stretto {

/// What a collective does with the data of the ranks.
enum class collective_kind : std::uint8_t {
    all_gather,
    reduce_scatter,
    all_reduce,
    all_to_all,
    other
};

/// How a collective combines the contributions of the ranks.
enum class reduction_kind : std::uint8_t {
    none,  ///< it only moves data
    sum,
    average,
    max,
    min,
    product,
    unknown,  ///< it reduces in a way that the model does not describe; two such calls need not be alike
};

/// How many rows go to one rank of an all-to-all, or come from it.
struct split_size {
    enum class form : std::uint8_t {
        given,     ///< `value` rows
        measured,  ///< known only when the step runs: operand `value` of the start holds the number
        symbolic,  ///< a symbolic extent: `value` is its position in a list of the caller's, or -1
    };
    form what = form::given;
    std::int64_t value = 0;

    friend constexpr bool operator==(const split_size&, const split_size&) = default;
};

/// The call that a start makes. Its spans live as long as the model that returned it.
struct collective_call {
    collective_kind kind = collective_kind::other;
    reduction_kind reduction = reduction_kind::unknown;
    element_type element = element_type::other;  ///< the element type that is sent; `other` if unknown
    /// For an all-to-all, the rows that this rank sends to each rank and receives from each, in the order of the group.
    /// They are empty for equal shares, and for every other collective.
    std::span<const split_size> input_sizes = {};
    std::span<const split_size> output_sizes = {};
    /// Identifies this collective in the program: the id is the same on every rank, and before and after a transform; 0
    /// means none. The parts of one collective have the same id and differ in `chunk`.
    std::uint64_t logical_id = 0;
    std::uint32_t chunk = 0;

    /// Calls are equal if every member is; split sizes are compared one by one.
    friend constexpr bool operator==(const collective_call& a, const collective_call& b) noexcept {
        return a.kind == b.kind && a.reduction == b.reduction && a.element == b.element &&
               a.logical_id == b.logical_id && a.chunk == b.chunk && same(a.input_sizes, b.input_sizes) &&
               same(a.output_sizes, b.output_sizes);
    }

private:
    static constexpr bool same(std::span<const split_size> a, std::span<const split_size> b) noexcept {
        if (a.size() != b.size()) return false;
        for (std::size_t k = 0; k < a.size(); ++k)
            if (!(a[k] == b[k])) return false;
        return true;
    }
};

/// Whether a collective of this kind reduces data. `other` counts as reducing, because nothing is known about it.
[[nodiscard]] constexpr bool reduces(collective_kind kind) noexcept {
    return kind != collective_kind::all_gather && kind != collective_kind::all_to_all;
}

}  // namespace stretto

#endif
