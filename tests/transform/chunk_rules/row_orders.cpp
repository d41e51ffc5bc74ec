#include "stretto/transform/chunk_rules/row_orders.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace stretto;
using origin = row_orders::origin;

TEST_CASE("an order is known by how it came about") {
    row_orders orders;
    const std::uint32_t natural = orders.natural(2);
    CHECK(orders.natural(2) == natural);
    CHECK(orders.natural(3) != natural);
    const std::uint32_t sorted = orders.name(origin::sorted, natural, natural, {7});
    CHECK(orders.name(origin::sorted, natural, natural, {7}) == sorted);
    CHECK(orders.name(origin::sorted, natural, natural, {8}) != sorted);
    CHECK(orders.rows_of(sorted) == natural);
    CHECK(orders.all_alike(orders.alike(natural)));
    CHECK_FALSE(orders.knows(0));
}

TEST_CASE("runs may be taken for rows that lie in the same groups") {
    row_orders orders;
    const std::uint32_t rows = orders.name(origin::exchanged, 0, 0, {1});
    const std::uint32_t runs = orders.name(origin::runs, 0, rows, {2});
    CHECK_FALSE(orders.may_be_taken_for(runs, rows));
    orders.note_groups(runs, 9);
    orders.note_groups(rows, 9);
    CHECK(orders.may_be_taken_for(runs, rows));
    CHECK(orders.may_be_taken_for(runs, orders.placed(runs)));
    CHECK(orders.placed(rows) == rows);
}

TEST_CASE("what was said stays where it is") {
    row_orders orders;
    const std::string_view first = orders.say("op", "cannot");
    std::vector<std::string> names;
    for (int k = 0; k < 1000; ++k) names.push_back("op" + std::to_string(k));
    for (const std::string& name : names) orders.say(name, "cannot");
    CHECK(first == "op cannot");
    CHECK(orders.say("op", "cannot").data() == first.data());
    CHECK(orders.say("", "cannot") == "cannot");
}
