#include "stretto/transform/chunk_rules/rule_operands.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace stretto::chunk_rules;

TEST_CASE("dimensions are counted from the last if they are negative") {
    CHECK(wrapped(-1, 3) == 2);
    CHECK(wrapped(2, 3) == 2);
    CHECK(wrapped(3, 3) == -1);
    CHECK(wrapped(-4, 3) == -1);
    CHECK(wrapped(-1, 0) == 0);
}

TEST_CASE("a list of dimensions finds them however they are counted") {
    dim_list dims = {-1, 0};
    CHECK(dims.size() == 2);
    CHECK(place_of(dims, 2, 3) == 0);
    CHECK(place_of(dims, 0, 3) == 1);
    CHECK(place_of(dims, 1, 3) == 2);
    dims.push_back(1'000'000'000'000);
    CHECK(wrapped(dims[2], 60) == -1);
}

TEST_CASE("numbers are constants or operands") {
    CHECK(rule_number::constant(3).is_constant);
    CHECK(rule_number::constant(3).operand == no_operand);
    CHECK(rule_number::of_operand(2).operand == 2);
    CHECK_FALSE(rule_number{}.is_constant);
}

TEST_CASE("the first operand that is named and not there is kept, with the part that names it") {
    operand_names names(2);
    names.add("x", 1).add("sizes", std::vector<std::size_t>{0, no_operand, 1}).add("end", no_operand);
    names.add("right", rule_number::constant(7)).add("left", rule_number{});
    CHECK_FALSE(names.is_missing());
    CHECK(names.missing() == no_operand);
    names.add("terms", std::vector<rule_number>{rule_number::of_operand(1), rule_number::of_operand(3)})
        .add("index", 2);
    CHECK(names.is_missing());
    CHECK(names.part() == "terms");
    CHECK(names.missing() == 3);
    CHECK(names.operands() == 2);
}
