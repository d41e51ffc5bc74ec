#include "stretto/transform/chunk_rules/any_rule.hpp"

#include <utility>
#include <vector>

#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/exchanges.hpp"
#include "stretto/transform/chunk_rules/products.hpp"
#include "stretto/transform/chunk_rules/scattered_reductions.hpp"
#include "support/rule_test.hpp"

namespace {

/// A kind that an author brings along.
struct doubles_rows {
    chunk_verdict verdict(const chunk_call& c) const { return c.give(sliced(0, 14)); }
};
static_assert(rule_kind<doubles_rows> && rule_kind<exchange> && !rule_kind<int>);

}  // namespace

TEST_CASE("a rule is a kind with its members, and can be copied, moved and assigned") {
    rule_call c;
    any_rule r = exchange{.x = 3, .received = {rule_number::constant(5)}};
    any_rule second = r;
    any_rule third = std::move(r);
    REQUIRE(second.as<exchange>() != nullptr);
    CHECK(second.as<exchange>()->received == std::vector{rule_number::constant(5)});
    CHECK(third.as<exchange>()->x == 3);
    CHECK(third.as<copy>() == nullptr);
    third = copy{.x = 1};
    CHECK(third.as<exchange>() == nullptr);
    CHECK(third.as<copy>()->x == 1);
    second = third;
    CHECK(second.as<copy>()->x == 1);
    CHECK(any_rule().as<unknown>() != nullptr);
    CHECK(c.tensor({8}, sliced(0)).makes({8}).gives(doubles_rows{}) == sliced(0, 14));
}

TEST_CASE("only rows of the chunk are written in place") {
    rule_call c;
    const any_rule zero = any_rule(elementwise{}).in_place();
    CHECK(zero.writes() == 0);
    CHECK(zero.in_place(2).writes() == 2);
    CHECK(c.tensor({8}, sliced(0)).makes({8}).gives(zero) == sliced(0));
    CHECK(c.tensor({8}).tensor({8}, sliced(0)).makes({8}).refuses(zero) ==
          "op writes rows of one chunk into a value that all chunks share");
    CHECK(c.tensor({8}, sliced(0)).makes({8}).refuses(zero.in_place(any_rule::every_operand)) ==
          "op may write in place into any of its operands");
}

TEST_CASE("what all chunks share may have sums added to it, one chunk after the other") {
    rule_call c;
    CHECK(c.tensor({3}).tensor({3}, addend).makes({3}).gives(any_rule(arithmetic{}).in_place()) == whole);
    CHECK(c.verdict.chain);
    const arithmetic minus{.what = arithmetic::op::subtract};
    CHECK_FALSE(c.tensor({3}).tensor({3}, addend).makes({3}).refuses(any_rule(minus).in_place()).empty());
}

TEST_CASE(
    "rows may be added where indices say to what all chunks share, whatever is there, one chunk after the other") {
    rule_call c;
    const auto into_shared = [&](chunk_state index, chunk_state source) {
        c.tensor({10, 3}).tensor({8}, index, element_type::i64).tensor({8, 3}, source).makes({10, 3});
    };
    for (const any_rule& adds : {any_rule(put_rows{.adds = true}), any_rule(put_elements{.indices = {1}, .adds = true}),
                                 any_rule(add_expanded_rows{}), any_rule(combine_rows{})}) {
        into_shared(sliced(0), sliced(0));
        CHECK(c.gives(adds.in_place()) == whole);
        CHECK(c.verdict.chain);
        into_shared(sliced(0, 2), sliced(0));  // numbers of rows say nothing about what all chunks share
        CHECK_FALSE(c.refuses(adds.in_place()).empty());
    }
    into_shared(whole, addend);
    CHECK(c.gives(any_rule(put_rows{.adds = true}).in_place()) == whole);
    for (const any_rule& other :
         {any_rule(put_rows{}), any_rule(combine_rows{.with_base = false}),
          any_rule(combine_rows{.how = reduction::by::mean}), any_rule(combine_rows{.how = reduction::by::other})}) {
        into_shared(sliced(0), sliced(0));
        CHECK_FALSE(c.refuses(other.in_place()).empty());
        into_shared(whole, addend);
        CHECK_FALSE(c.refuses(other.in_place()).empty());
    }
}

TEST_CASE("numbers of rows are not moved in place") {
    rule_call c;
    const arithmetic twice{.what = arithmetic::op::multiply, .right = rule_number::constant(2)};
    CHECK(c.tensor({8}, sliced(0, 2)).makes({8}).gives(twice) == sliced(0, 4));
    CHECK_FALSE(c.tensor({8}, sliced(0, 2)).makes({8}).refuses(any_rule(twice).in_place()).empty());
}

TEST_CASE("what is written in place becomes row numbers only if nothing else reads it") {
    rule_call c;
    const any_rule writes = any_rule(doubles_rows{}).in_place();
    CHECK(c.tensor({8}, sliced(0, 14)).makes({8}).gives(writes) == sliced(0, 14));
    CHECK(c.tensor({8}, sliced(0)).makes({8}).refuses(writes) ==
          "op writes other row numbers than the ones that other readers of the buffer rely on");
    c.history.read_here_only = [](const void*, std::size_t) { return true; };
    CHECK(c.tensor({8}, sliced(0)).makes({8}).gives(writes) == sliced(0, 14));
}

TEST_CASE("nothing but shares is added to what all chunks share") {
    rule_call c;
    const any_rule with_constants = any_rule(arithmetic{.has_constants = true}).in_place();
    CHECK_FALSE(c.tensor({3}).tensor({3}, addend).makes({3}).refuses(with_constants).empty());
    const any_rule plus = any_rule(arithmetic{.scaled = true}).in_place();
    CHECK(c.tensor({3}).tensor({3}, addend).number().makes({3}).gives(plus) == whole);
    CHECK_FALSE(c.tensor({3}).tensor({3}, addend).number(addend).makes({3}).refuses(plus).empty());
}

namespace {

/// A kind of an author's own, one that names operands and one that does not say.
struct own_kind {
    std::size_t first = 4;
    chunk_verdict verdict(const chunk_call& c) const { return c.give({}); }
    void name_operands(operand_names& to) const { to.add("first", first); }
};
template <class T>
struct silent_kind {
    chunk_verdict verdict(const chunk_call& c) const { return c.give({}); }
};

}  // namespace

TEST_CASE("a rule knows what its kind is called, and which operands it names that are not there") {
    CHECK(any_rule().kind_name() == "unknown");
    CHECK(any_rule(matrix_product{}).kind_name() == "matrix_product");
    CHECK(any_rule(own_kind{}).kind_name() == "own_kind");
    CHECK(any_rule(silent_kind<std::vector<own_kind>>{}).kind_name().starts_with("silent_kind<"));
    CHECK_FALSE(any_rule(silent_kind<int>{}).missing_operand(0).is_missing());
    CHECK_FALSE(any_rule(own_kind{}).missing_operand(5).is_missing());
    CHECK(any_rule(own_kind{}).missing_operand(4).missing() == 4);
    CHECK(any_rule(matrix_product{}).missing_operand(1).part() == "right");
    CHECK(any_rule(biased_product{}).missing_operand(2).missing() == 2);
    // What is written in place is an operand too, unless it may be any of them.
    CHECK(any_rule(elementwise{}).in_place(2).missing_operand(2).part() == "in_place");
    CHECK_FALSE(any_rule(elementwise{}).in_place(any_rule::every_operand).missing_operand(1).is_missing());
}
