#include "stretto/aten/argument_spelling.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using detail::aten::spelled;

namespace {

using form = tensor_argument::form;
using extents = std::vector<std::int64_t>;

constexpr std::int64_t tokens = 4;
constexpr chunk_interval second_half{2, 2};

tensor_argument integer(std::int64_t n) { return {form::integer, n, 0, {}, {}}; }
tensor_argument operand(std::int64_t k) { return {form::operand, k, 0, {}, {}}; }
tensor_argument list(const std::vector<tensor_argument>& items) { return {form::list, 0, 0, {}, items}; }

/// An operation with one result, and operands that are numbers in these states.
struct spelling {
    std::string_view name = "aten.view.default";
    extents shape;
    chunk_state result;
    std::vector<chunk_state> numbers = {};
    argument_store store = {};

    chunk_arguments of(spelled what, const std::vector<tensor_argument>& positional,
                       const std::vector<named_tensor_argument>& named = {}, chunk_interval chunk = second_half) {
        std::vector<chunk_rules::call_operand> operands;
        for (std::size_t k = 0; k < numbers.size(); ++k) operands.push_back({k, 0, static_cast<std::int64_t>(k)});
        const std::vector<tensor_type> types(numbers.size());
        const tensor_type made{shape, element_type::f32};
        row_orders orders;
        const detail::aten::aten_arguments arguments{positional, named};
        const chunk_rules::chunk_call call{.name = name,
                                           .tokens = tokens,
                                           .operands = operands,
                                           .types = types,
                                           .states = numbers,
                                           .result_types = std::span(&made, 1),
                                           .results = std::span(&result, 1),
                                           .orders = &orders,
                                           .history = {}};
        return detail::aten::argument_speller(arguments, call, chunk, store).spell(what);
    }
};

extents integers(const tensor_argument& a) {
    extents all;
    for (const tensor_argument& item : a.items) all.push_back(item.integer);
    return all;
}

constexpr chunk_state whole{};
constexpr chunk_state addend = chunk_rules::a_sum;
constexpr chunk_state sliced_at(int dim) { return {chunk_state::kind::sliced, static_cast<std::int8_t>(dim), 0, 0, 0}; }
constexpr chunk_state permuted_at(int dim) {
    return {chunk_state::kind::permuted, static_cast<std::int8_t>(dim), 0, 1, 0};
}

}  // namespace

TEST_CASE("the extent of the cut dimension becomes that of the part") {
    spelling s{.shape = {8, 3}, .result = sliced_at(0)};
    const std::vector<tensor_argument> items = {integer(8), integer(3)}, given = {operand(0), list(items)};
    const chunk_arguments out = s.of(spelled::sizes_second, given);
    CHECK(integers(out.positional[1]) == extents{4, 3});
    CHECK(out.positional[0].what == form::operand);
    CHECK(integers(given[1]) == extents{8, 3});  // the original is as it was
    REQUIRE(s.store.extents().size() == 1);
    CHECK(s.store.extents()[0].dim == 0);
    CHECK(s.store.extents()[0].argument == &out.positional[1].items[0]);
}

TEST_CASE("sizes may be named, and may be the first argument") {
    spelling s{.shape = {8}, .result = sliced_at(0)};
    const std::vector<tensor_argument> items = {integer(8)};
    for (const std::string_view name : {"size", "shape", "input_sizes"}) {
        const std::vector<named_tensor_argument> named = {{name, list(items)}};
        CHECK(integers(s.of(spelled::sizes_second, {operand(0)}, named).named[0].value) == extents{4});
    }
    CHECK(integers(s.of(spelled::sizes_first, {list(items)}).positional[0]) == extents{4});
    const std::vector<tensor_argument> given = {list(items)};
    const chunk_arguments untouched = s.of(spelled::nothing, given);
    CHECK(integers(untouched.positional[0]) == extents{8});
}

TEST_CASE("only the operand knows how many rows an order of its own has: -1, which is no extent") {
    spelling s{.shape = {8, 3}, .result = permuted_at(0)};
    const std::vector<tensor_argument> items = {integer(8), integer(3)};
    CHECK(integers(s.of(spelled::sizes_second, {operand(0), list(items)}).positional[1]) == extents{-1, 3});
    CHECK(s.store.extents().empty());
}

TEST_CASE("sizes and strides that the operand has as well are left out of a part") {
    const std::vector<tensor_argument> sizes = {integer(8), integer(3)}, strides = {integer(3), integer(1)};
    const std::vector<tensor_argument> given = {operand(0), {form::text, 0, 0, "cuda", {}}, list(sizes), list(strides)};
    for (const chunk_state& s : {sliced_at(0), sliced_at(1), permuted_at(0)}) {
        spelling cut{.shape = {8, 3}, .result = s};
        const chunk_arguments out = cut.of(spelled::layout, given);
        REQUIRE(out.positional.size() == 4);
        CHECK(out.positional[2].what == form::none);
        CHECK(out.positional[3].what == form::none);
        CHECK(out.positional[0].what == form::operand);
        const std::vector<named_tensor_argument> named = {{"original_size", list(sizes)}};
        CHECK(cut.of(spelled::layout, {operand(0)}, named).named[0].value.what == form::none);
    }
    spelling uncut{.shape = {8, 3}, .result = whole};
    CHECK(integers(uncut.of(spelled::layout, given).positional[2]) == extents{8, 3});
}

TEST_CASE("an open extent beside the cut one is written out, but not where it means the operand's") {
    spelling s{.shape = {8, 3}, .result = sliced_at(0)};
    const std::vector<tensor_argument> items = {integer(8), integer(-1)};
    CHECK(integers(s.of(spelled::sizes_second, {operand(0), list(items)}).positional[1]) == extents{4, 3});
    s.name = "aten.expand.default";
    CHECK(integers(s.of(spelled::sizes_second, {operand(0), list(items)}).positional[1]) == extents{4, -1});
    const std::vector<tensor_argument> open = {integer(-1), integer(3)};
    CHECK(integers(s.of(spelled::sizes_second, {operand(0), list(open)}).positional[1]) == extents{-1, 3});
}

TEST_CASE("a number of the chunk stays, one that all chunks share is replaced") {
    const std::vector<tensor_argument> items = {operand(0), integer(3)};
    spelling own{.shape = {8, 3}, .result = sliced_at(0), .numbers = {addend}};
    CHECK(own.of(spelled::sizes_second, {operand(0), list(items)}).positional[1].items[0].what == form::operand);
    spelling shared{.shape = {8, 3}, .result = sliced_at(0), .numbers = {whole}};
    const tensor_argument written = shared.of(spelled::sizes_second, {operand(0), list(items)}).positional[1].items[0];
    CHECK(written.what == form::integer);
    CHECK(written.integer == 4);
}

TEST_CASE("what is not cut, or is not a list of all extents, stays as it is") {
    const std::vector<tensor_argument> items = {integer(8), integer(3)}, fewer = {integer(24)};
    spelling s{.shape = {8, 3}, .result = addend};
    CHECK(integers(s.of(spelled::sizes_second, {operand(0), list(items)}).positional[1]) == extents{8, 3});
    s.result = sliced_at(0);
    CHECK(integers(s.of(spelled::sizes_second, {operand(0), list(fewer)}).positional[1]) == extents{24});
    CHECK(s.of(spelled::sizes_second, {operand(0)}).positional.size() == 1);
    CHECK(s.store.extents().empty());
}

TEST_CASE("the exact end of all rows becomes that of the part, and an end behind it stays") {
    spelling s{.name = "aten.slice.Tensor", .shape = {8, 3}, .result = sliced_at(0)};
    const auto end = [&](std::int64_t dim, std::int64_t last) {
        return s.of(spelled::slice_end, {operand(0), integer(dim), integer(0), integer(last)}).positional[3].integer;
    };
    CHECK(end(0, 8) == 4);
    CHECK(end(-2, 8) == 4);
    CHECK(end(0, INT64_MAX) == INT64_MAX);
    CHECK(end(1, 3) == 3);
    CHECK(end(1, 8) == 8);
}

TEST_CASE("constant amounts of an exchange become the chunk's share, others stay") {
    spelling s{.name = "_c10d_functional.all_to_all_single.default", .shape = {8}, .result = permuted_at(0)};
    s.numbers = {addend};
    const std::vector<tensor_argument> received = {integer(4), integer(8)}, sent = {operand(0), operand(0)};
    const std::vector<tensor_argument> given = {operand(0), list(received), list(sent)};
    const chunk_arguments out = s.of(spelled::amounts, given);
    CHECK(integers(out.positional[1]) == extents{2, 4});
    CHECK(out.positional[2].items[0].what == form::operand);
    REQUIRE(s.store.extents().size() == 2);
    CHECK(s.store.extents()[0].dim == -1);
    s.result = sliced_at(1);
    CHECK(integers(s.of(spelled::amounts, {operand(0), list(received), list(sent)}).positional[1]) == extents{4, 8});
}

TEST_CASE("a number of rows that all chunks share is left out, one of the chunk is not") {
    const auto left = [](chunk_state state, tensor_argument total) {
        spelling s{.name = "aten.repeat_interleave.Tensor", .shape = {8}, .result = permuted_at(0)};
        s.numbers = {state, state};
        const std::vector<named_tensor_argument> named = {{"output_size", total}};
        return s.of(spelled::output_size, {operand(0)}, named).named[0].value.what;
    };
    CHECK(left(addend, integer(8)) == form::none);
    CHECK(left(whole, operand(1)) == form::none);
    CHECK(left(addend, operand(1)) == form::operand);
}

TEST_CASE("the parts of all chunks have together what the whole has, and lists stay where they are") {
    stretto_check("any chunks", 200, [] {
        const auto rows_per_token = *rc::gen::inRange<std::int64_t>(1, 5);
        const auto dim = *rc::gen::inRange<int>(0, 3);
        extents shape = {3, 5, 7};
        shape[static_cast<std::size_t>(dim)] = rows_per_token * tokens;
        std::vector<tensor_argument> items;
        for (std::int64_t n : shape) items.push_back(integer(n));
        const std::vector<tensor_argument> given = {operand(0), list(items)};
        spelling s{.shape = shape, .result = sliced_at(dim)};
        std::vector<chunk_arguments> made;
        for (std::int64_t first = 0; first < tokens;) {
            const auto count = *rc::gen::inRange<std::int64_t>(1, tokens - first + 1);
            made.push_back(s.of(spelled::sizes_second, given, {}, {first, count}));
            first += count;
        }
        std::int64_t sum = 0;
        for (const chunk_arguments& a : made) {
            extents own = integers(a.positional[1]);
            sum += std::exchange(own[static_cast<std::size_t>(dim)], shape[static_cast<std::size_t>(dim)]);
            RC_ASSERT(own == shape);
        }
        RC_ASSERT(sum == shape[static_cast<std::size_t>(dim)]);
        RC_ASSERT(s.store.extents().size() == made.size());
    });
}
