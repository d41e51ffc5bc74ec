#include "stretto/schedule/human_units.hpp"

#include <doctest/doctest.h>

using namespace stretto;

TEST_CASE("times and amounts are as people read them") {
    CHECK(human(nanoseconds{0}) == "0 ns");
    CHECK(human(nanoseconds{999}) == "999 ns");
    CHECK(human(nanoseconds{41'500}) == "41.50 us");
    CHECK(human(nanoseconds{999'499}) == "999.5 us");
    CHECK(human(nanoseconds{999'500}) == "1.00 ms");
    CHECK(human(nanoseconds{1'170'000}) == "1.17 ms");
    CHECK(human(nanoseconds{613'740'000}) == "613.7 ms");
    CHECK(human(nanoseconds{2'644'475'264}) == "2644 ms");
    CHECK(human(nanoseconds{12'000'000'000}) == "12.00 s");
    CHECK(human(nanoseconds{-5}) == "-5 ns");
    CHECK(human(bytes{1023}) == "1023 B");
    CHECK(human(bytes{1536}) == "1.50 KiB");
    CHECK(human(bytes{4'722'132'992}) == "4.40 GiB");
    CHECK(human(unlimited_bytes) == "unlimited");
    CHECK(with_commas(7) == "7");
    CHECK(with_commas(999) == "999");
    CHECK(with_commas(27'576) == "27,576");
    CHECK(with_commas(1'000'000) == "1,000,000");
}
