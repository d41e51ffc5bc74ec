#include "stretto/transform/chunk_rules/scattered_reductions.hpp"

#include "support/rule_test.hpp"

namespace {

using by = reduction::by;
/// Everything was made of zeros.
constexpr call_history zeros{.all_zero = [](const void*, std::size_t) { return true; }};

}  // namespace

TEST_CASE("where chunks may meet only sums are combined") {
    rule_call c;
    c.history = zeros;
    const auto into_zeros = [&] {
        c.tensor({10, 3}).tensor({8}, sliced(0), element_type::i64).tensor({8, 3}, sliced(0)).makes({10, 3});
    };
    into_zeros();
    CHECK(c.gives(combine_rows{}) == addend);
    into_zeros();
    CHECK(c.gives(combine_rows{.with_base = false}) == addend);
    into_zeros();
    CHECK(c.refuses(combine_rows{.how = by::mean}) == "op divides by how many entries of a chunk meet in a place");
    CHECK(c.verdict.inherent);
    into_zeros();
    CHECK(c.refuses(combine_rows{.how = by::other}) == "op combines entries of different chunks other than by a sum");
    c.history = {};
    into_zeros();  // which are not known to be zeros now, and that is not what matters
    CHECK(c.refuses(combine_rows{.how = by::other}) == "op combines entries of different chunks other than by a sum");
}

TEST_CASE("a sum keeps its share in places that only another chunk writes") {
    rule_call c;
    const auto into_sum = [&] {
        c.tensor({10, 3}, addend).tensor({8}, sliced(0), element_type::i64).tensor({8, 3}, sliced(0)).makes({10, 3});
    };
    into_sum();
    CHECK(c.gives(combine_rows{}) == addend);
    into_sum();
    CHECK_FALSE(c.refuses(combine_rows{.with_base = false}).empty());
}

TEST_CASE("rows of the chunk are combined in whatever way") {
    rule_call c;
    for (by how : {by::sum, by::mean, by::other})
        for (bool with_base : {false, true}) {
            const combine_rows rows{.how = how, .with_base = with_base};
            CHECK(c.tensor({4, 3}, sliced(0))
                      .tensor({8}, sliced(0, 1), element_type::i64)
                      .tensor({8, 3}, sliced(0))
                      .makes({4, 3})
                      .gives(rows) == sliced(0));
            const combine_elements elements{.dim = 1, .how = how, .with_base = with_base};
            CHECK(c.tensor({8, 5}, sliced(0))
                      .tensor({8, 2}, sliced(0), element_type::i64)
                      .tensor({8, 2}, sliced(0))
                      .makes({8, 5})
                      .gives(elements) == sliced(0));
        }
}

TEST_CASE("sums that meet in the same places in every chunk have sums and means, but no extremes") {
    rule_call c;
    const auto sums = [&](element_type e) {
        c.tensor({10, 3}, addend, e).tensor({8}, whole, element_type::i64).tensor({8, 3}, addend, e).makes({10, 3}, e);
    };
    sums(element_type::f32);
    CHECK(c.gives(combine_rows{.how = by::mean, .with_base = false}) == addend);
    sums(element_type::i64);
    CHECK(c.gives(combine_rows{}) == addend);
    sums(element_type::i64);
    CHECK_FALSE(c.refuses(combine_rows{.how = by::mean}).empty());  // it is rounded
    sums(element_type::f32);
    CHECK_FALSE(c.refuses(combine_rows{.how = by::other}).empty());
}
