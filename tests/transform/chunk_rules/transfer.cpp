#include "stretto/transform/chunk_rules/transfer.hpp"

#include "support/rule_test.hpp"

namespace {

constexpr chunk_state opaque_rows{chunk_kind::opaque, 0, 0, 0, 0};

}  // namespace

TEST_CASE("a transfer keeps everything, whatever it keeps alive, and spells its extents in rows of its operand") {
    rule_call c;
    for (const chunk_state& s : {sliced(0), sliced(0, 2), addend, whole, opaque_rows})
        for (const chunk_state& kept : {sliced(1), addend, whole, opaque_rows})
            CHECK(c.tensor({8}, s).tensor({3, 8}, kept).makes({8}).gives(transfer{}) == s);
    const transfer spelled{.x = 0, .sizes = {1, no_operand}};
    const chunk_state rows{chunk_kind::addend, -1, 2, 0, 0}, others{chunk_kind::addend, -1, 1, 0, 0};
    CHECK(c.tensor({8, 3}, sliced(0)).number(rows).makes({8, 3}).gives(spelled) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).number().makes({8, 3}).gives(spelled) == sliced(0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).number(others).makes({8, 3}).refuses(spelled).empty());
    CHECK_FALSE(c.tensor({8, 3}, sliced(1)).number(rows).makes({8, 3}).refuses(spelled).empty());
    CHECK_FALSE(c.tensor({8, 3}).number(rows).makes({8, 3}).refuses(spelled).empty());
    CHECK_FALSE(c.number(rows).makes({8}).refuses(transfer{}).empty());
}
