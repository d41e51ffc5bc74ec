#include "stretto/transform/chunk_rules/blocks.hpp"

#include "support/rule_test.hpp"

TEST_CASE("attention is cut along the batch") {
    rule_call c;
    const auto batch = [&](chunk_state q, chunk_state k) -> rule_call& {
        return c.tensor({8, 2, 5, 3}, q).tensor({8, 2, 5, 3}, k).makes({8, 2, 5, 3}).makes({2});
    };
    CHECK(batch(sliced(0), sliced(0)).gives(attention{}) == sliced(0));
    CHECK(c.results[1] == whole);
    CHECK(batch(sliced(0), whole).wants(attention{}) == std::pair(1, 0));
    CHECK_FALSE(batch(sliced(2), sliced(2)).refuses(attention{}).empty());
    CHECK_FALSE(batch(sliced(0), sliced(0)).refuses(attention{.drops = true}).empty());
}

TEST_CASE("what has no rule is refused, by its name or with a reason of the dialect") {
    rule_call c;
    CHECK(c.tensor({8}, sliced(0)).makes({8}).refuses(unknown{}) == "no rule for op");
    CHECK(c.tensor({8}, sliced(0)).makes({8}).refuses(refused{.why = "asks an oracle"}) == "op asks an oracle");
}
