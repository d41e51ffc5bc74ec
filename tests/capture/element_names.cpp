#include "stretto/capture/element_names.hpp"

#include <doctest/doctest.h>

using namespace stretto;

TEST_CASE("an element type that nobody has heard of is `other`") {
    CHECK(element_type_of("bf16") == element_type::bf16);
    CHECK(element_type_of("c128") == element_type::c128);
    CHECK(element_type_of("f8_e4m3") == element_type::other);
    CHECK(name_of(element_type::boolean) == "bool");
    CHECK(name_of(element_type::other) == "other");
    for (int k = 0; k < static_cast<int>(element_type::other); ++k)
        CHECK(element_type_of(name_of(static_cast<element_type>(k))) == static_cast<element_type>(k));
}
