#include "stretto/transform/chunk_rules/all_kinds.hpp"

#include <doctest/doctest.h>

#include <cstddef>

#include "stretto/transform/chunk_rules/any_rule.hpp"

namespace {

template <class... Kinds>
constexpr bool are_kinds() {
    using namespace stretto::chunk_rules;
    return ((rule_kind<Kinds> && sizeof(Kinds) <= any_rule::capacity) && ...);
}

template <class... Kinds>
int remembered() {
    using namespace stretto::chunk_rules;
    return ((any_rule(Kinds{}).template as<Kinds>() != nullptr ? 1 : 0) + ...);
}

/// How many kinds name, as they stand, an operand that an operation with so many does not have.
template <class... Kinds>
int missing(std::size_t operands) {
    using namespace stretto::chunk_rules;
    return ((any_rule(Kinds{}).missing_operand(operands).is_missing() ? 1 : 0) + ...);
}

/// The kinds in the table of docs/algorithms/chunk-states.md and those that have no row of their own.
template <template <class...> class F>
using all =
    F<stretto::chunk_rules::attention, stretto::chunk_rules::refused, stretto::chunk_rules::unknown,
      stretto::chunk_rules::elementwise, stretto::chunk_rules::copy, stretto::chunk_rules::cast,
      stretto::chunk_rules::arithmetic, stretto::chunk_rules::copy_into, stretto::chunk_rules::exchange,
      stretto::chunk_rules::other_collective, stretto::chunk_rules::aligned_collective, stretto::chunk_rules::fill,
      stretto::chunk_rules::fill_beside, stretto::chunk_rules::fill_like, stretto::chunk_rules::iota,
      stretto::chunk_rules::concat, stretto::chunk_rules::stack, stretto::chunk_rules::component,
      stretto::chunk_rules::reshape, stretto::chunk_rules::expand, stretto::chunk_rules::transpose,
      stretto::chunk_rules::permute, stretto::chunk_rules::reverse_dimensions, stretto::chunk_rules::unsqueeze,
      stretto::chunk_rules::squeeze, stretto::chunk_rules::select, stretto::chunk_rules::unbind,
      stretto::chunk_rules::split, stretto::chunk_rules::slice, stretto::chunk_rules::flip,
      stretto::chunk_rules::regroup_last, stretto::chunk_rules::repeat, stretto::chunk_rules::look_up,
      stretto::chunk_rules::look_up_elements, stretto::chunk_rules::gather, stretto::chunk_rules::repeat_by_counts,
      stretto::chunk_rules::class_loss, stretto::chunk_rules::class_loss_gradient, stretto::chunk_rules::normalization,
      stretto::chunk_rules::read_extent, stretto::chunk_rules::read_size, stretto::chunk_rules::read_element,
      stretto::chunk_rules::hold_number, stretto::chunk_rules::number_arithmetic, stretto::chunk_rules::compare_number,
      stretto::chunk_rules::assertion, stretto::chunk_rules::put_slice, stretto::chunk_rules::slice_gradient,
      stretto::chunk_rules::matrix_product, stretto::chunk_rules::biased_product, stretto::chunk_rules::grouped_product,
      stretto::chunk_rules::reduction, stretto::chunk_rules::along_dimension, stretto::chunk_rules::running_sum,
      stretto::chunk_rules::histogram, stretto::chunk_rules::put_rows, stretto::chunk_rules::put_elements,
      stretto::chunk_rules::scatter, stretto::chunk_rules::add_expanded_rows, stretto::chunk_rules::look_up_gradient,
      stretto::chunk_rules::sort>;

template <class... Kinds>
struct kinds {
    static constexpr bool fit = are_kinds<Kinds...>();
    static constexpr int count = sizeof...(Kinds);
    static int known() { return remembered<Kinds...>(); }
    static int without(std::size_t operands) { return missing<Kinds...>(operands); }
};

}  // namespace

TEST_CASE("one include has every kind, and a rule holds each of them and knows it again") {
    static_assert(all<kinds>::fit);
    CHECK(all<kinds>::known() == all<kinds>::count);
}

TEST_CASE("the operands that a kind names as it stands are its first three") {
    CHECK(all<kinds>::without(3) == 0);
    CHECK(all<kinds>::without(2) == 7);   // from scatters, products of three, and the gradient of a loss
    CHECK(all<kinds>::without(1) == 16);  // from two operands on
    CHECK(all<kinds>::without(0) == 47);
}
