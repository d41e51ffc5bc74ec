#include "stretto/capture/detail/plan_prices.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/element_names.hpp"

using stretto::detail::price_of_collective;
using stretto::detail::price_of_moving;
using stretto::detail::time_of_price;
using stretto::detail::width_of;

TEST_CASE("elements are as wide as their types") {
    for (std::string_view name : stretto::detail::element_names)
        CHECK(width_of(name) == stretto::size_of(stretto::element_type_of(name)));
    CHECK(width_of("c128") == 16);
    CHECK(width_of("i16") == 2);
    CHECK(width_of("u64") == 8);
    CHECK(width_of("f8_e4m3") == 1);
}

TEST_CASE("a price that no step has room for is cut off") {
    stretto::capture_costs slow;
    slow.memory_bytes_per_second = 1e-300;
    CHECK(time_of_price(price_of_moving(slow, {1'000'000'000})).count == std::int64_t{1} << 50);
    CHECK(time_of_price(1e300 * 1e300).count == std::int64_t{1} << 50);
    CHECK(time_of_price(12.9).count == 12);
}

TEST_CASE("a table whose last slope falls gives no price below 0") {
    stretto::capture_builder b("step");
    const stretto::group_id group = b.add_group({"ranks", 2, "", {}, stretto::no_group});
    stretto::capture_costs costs;
    costs.collectives.push_back({"ranks", stretto::collective_kind::all_gather, {{{0}, {1000}}, {{100}, {400}}}});
    b.set_costs(costs);
    const auto step = std::move(b).build();
    REQUIRE(step);
    const auto price = [&](std::int64_t payload) {
        return price_of_collective(*step, group, stretto::collective_kind::all_gather, {payload});
    };
    CHECK(price(50) == 700);
    CHECK(price(150) == 100);
    CHECK(price(200) == 0);
    CHECK_FALSE(price_of_collective(*step, group, stretto::collective_kind::all_reduce, {50}));
}
