#include "stretto/capture/detail/plan_prices.hpp"

#include <doctest/doctest.h>

#include "stretto/capture/element_names.hpp"

using stretto::detail::width_of;

TEST_CASE("elements are as wide as their types") {
    for (std::string_view name : stretto::detail::element_names)
        CHECK(width_of(name) == stretto::size_of(stretto::element_type_of(name)));
    CHECK(width_of("c128") == 16);
    CHECK(width_of("i16") == 2);
    CHECK(width_of("u64") == 8);
    CHECK(width_of("f8_e4m3") == 1);
}
