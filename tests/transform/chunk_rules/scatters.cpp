#include "stretto/transform/chunk_rules/scatters.hpp"

#include "support/rule_test.hpp"

namespace {
/// Everything was made of zeros.
constexpr call_history zeros{.all_zero = [](const void*, std::size_t) { return true; }};
}  // namespace

TEST_CASE("rows added into zeros are a sum over chunks") {
    rule_call c;
    const put_rows add{.adds = true};
    CHECK_FALSE(c.tensor({10, 3}).tensor({8}, sliced(0)).tensor({8, 3}, sliced(0)).makes({10, 3}).refuses(add).empty());
    c.history = zeros;
    CHECK(c.tensor({10, 3}).tensor({8}, sliced(0)).tensor({8, 3}, sliced(0)).makes({10, 3}).gives(add) == addend);
    CHECK(c.tensor({10, 3}).tensor({8}, sliced(0)).tensor({8, 3}).makes({10, 3}).wants(add) == std::pair(2, 0));
    CHECK_FALSE(
        c.tensor({10, 3}).tensor({8}, sliced(0)).tensor({8, 3}, sliced(0)).makes({10, 3}).refuses(put_rows{}).empty());
}

TEST_CASE("numbers of rows write into the value whose rows they number") {
    rule_call c;
    const put_elements put{.indices = {1}, .values = 2, .adds = true};
    CHECK(c.tensor({4, 3}, sliced(0)).tensor({8}, sliced(0, 1)).tensor({8, 3}, sliced(0)).makes({4, 3}).gives(put) ==
          sliced(0));
    CHECK(c.tensor({4, 3}).tensor({8}, sliced(0, 1)).tensor({8, 3}, sliced(0)).makes({4, 3}).wants(put) ==
          std::pair(0, 0));
    CHECK(c.tensor({4, 3}, sliced(0))
              .tensor({8, 3}, sliced(0, 1))
              .tensor({8, 3}, sliced(0))
              .makes({4, 3})
              .gives(add_expanded_rows{}) == sliced(0));
}

TEST_CASE("a scatter keeps rows along other dimensions than its own") {
    rule_call c;
    const chunk_rules::scatter along{.dim = 1};
    CHECK(c.tensor({8, 5}, sliced(0)).tensor({8, 2}, sliced(0)).tensor({8, 2}, sliced(0)).makes({8, 5}).gives(along) ==
          sliced(0));
    CHECK(c.tensor({8, 5}).tensor({8, 2}, sliced(0)).tensor({8, 2}, sliced(0)).makes({8, 5}).wants(along) ==
          std::pair(0, 0));
    const chunk_rules::scatter constant{.source = no_operand, .dim = 1};
    CHECK(c.tensor({8, 5}, sliced(0)).tensor({8, 2}, sliced(0)).makes({8, 5}).gives(constant) == sliced(0));
}

TEST_CASE("the gradient of a table is a sum over what was looked up") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8}, sliced(0)).makes({10, 3}).gives(look_up_gradient{}) == addend);
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8}).makes({10, 3}).wants(look_up_gradient{}) == std::pair(1, 0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0))
                    .tensor({8}, sliced(0))
                    .makes({10, 3})
                    .refuses(look_up_gradient{.scales_by_count = true})
                    .empty());
}
