#include "stretto/transform/chunk_rules/layout.hpp"

#include "support/rule_test.hpp"

TEST_CASE("what has no elements is reshaped without blocks") {
    rule_call c;
    CHECK_FALSE(c.tensor({0, 8, 3}, sliced(1)).makes({8, 0}).refuses(reshape{}).empty());
}

TEST_CASE("a reshape merges the cut dimension with inner ones and splits off whole tokens") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({24}).gives(reshape{}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({4, 2, 3}).gives(reshape{}) == sliced(0));
    CHECK(c.tensor({2, 8}, sliced(1)).makes({2, 4, 2}).gives(reshape{}) == sliced(1));
    CHECK_FALSE(c.tensor({8}, sliced(0)).makes({2, 4}).refuses(reshape{}).empty());
}

TEST_CASE("merged with outer dimensions, rows lie in blocks, until a reshape tells the blocks apart") {
    rule_call c;
    const auto merged = [&](std::vector<std::int64_t> from, int dim, std::vector<std::int64_t> to) {
        return c.tensor(std::move(from), sliced(dim)).makes(std::move(to)).gives(reshape{});
    };
    const chunk_state rows = merged({3, 8, 5}, 1, {24, 5});
    CHECK(rows == permuted(0, c.orders.in_blocks(3, 2)));
    CHECK(merged({3, 8, 5, 7}, 1, {24, 35}) == rows);  // the same blocks, whatever lies inside
    CHECK(merged({3, 4, 2}, 1, {24}) == rows);         // inner dimensions merge into rows of the tokens
    CHECK(merged({6, 4, 5}, 1, {24, 5}) != rows);      // six blocks of one row for each token
    CHECK(merged({2, 3, 8}, 2, {2, 24}) == moved_to(rows, 1));
    const auto parted = [&](std::vector<std::int64_t> from, chunk_state s, std::vector<std::int64_t> to) {
        return c.tensor(std::move(from), s).makes(std::move(to)).gives(reshape{});
    };
    CHECK(parted({24, 5}, rows, {3, 8, 5}) == sliced(1));
    CHECK(parted({24, 5}, rows, {3, 4, 2, 5}) == sliced(1));
    CHECK(parted({2, 24}, moved_to(rows, 1), {6, 8}) == sliced(1));
    CHECK(parted({24, 5}, rows, {24, 5, 1}) == rows);
    CHECK_FALSE(c.tensor({24, 5}, rows).makes({6, 4, 5}).refuses(reshape{}).empty());
    CHECK_FALSE(c.tensor({24}, permuted(0, c.orders.name(row_orders::origin::sorted, 0, 0, {1})))
                    .makes({3, 8})
                    .refuses(reshape{})
                    .empty());
    CHECK_FALSE(c.tensor({3, 8}, sliced(1, 2)).makes({24}).refuses(reshape{}).empty());  // numbers of rows
}

TEST_CASE("a number of the chunk says how many rows a reshape makes, if it counts them") {
    rule_call c;
    chunk_state share = addend;
    share.positions = 2;
    const reshape by_number{.x = 0, .sizes = {1, no_operand}};
    CHECK(c.tensor({24}, sliced(0)).number(share).makes({8, 3}).gives(by_number) == sliced(0));
    share.positions = 3;
    CHECK_FALSE(c.tensor({24}, sliced(0)).number(share).makes({8, 3}).refuses(by_number).empty());
}

TEST_CASE("views follow the cut dimension") {
    rule_call c;
    CHECK(c.tensor({1, 8}, sliced(1)).makes({2, 8}).gives(expand{}) == sliced(1));
    CHECK(c.tensor({8}, sliced(0)).makes({2, 8}).gives(expand{}) == sliced(1));
    CHECK(c.tensor({2, 8, 3}, sliced(1)).makes({2, 3, 8}).gives(transpose{}) == sliced(2));
    CHECK(c.tensor({2, 8, 3}, sliced(1)).makes({8, 3, 2}).gives(permute{.dims = {1, 2, 0}}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({3, 8}).gives(reverse_dimensions{}) == sliced(1));
    CHECK(c.tensor({8, 3, 2}, sliced(0)).makes({2, 3, 8}).gives(reverse_dimensions{}) == sliced(2));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({1, 8, 3}).gives(unsqueeze{.dim = 0}) == sliced(1));
    CHECK(c.tensor({1, 8, 1}, sliced(1)).makes({8}).gives(squeeze{.dims = {0, -1}}) == sliced(0));
    CHECK(c.tensor({3, 8}, sliced(1)).makes({8}).gives(chunk_rules::select{.dim = 0, .index = 2}) == sliced(0));
    CHECK(c.tensor({3, 8}, sliced(1)).makes({8}).gives(unbind{.dim = 0}) == sliced(0));
    CHECK(c.tensor({8, 6}, sliced(0)).makes({8, 2}).gives(split{.dim = 1}) == sliced(0));
    CHECK(c.tensor({8, 2}, sliced(0)).makes({8}).gives(regroup_last{}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({2, 8, 6}).gives(repeat{.times = {2, 1, 2}}) == sliced(1));
}

TEST_CASE("views along the cut dimension are refused") {
    rule_call c;
    const std::string along = "op works along the dimension that is chunked";
    CHECK(c.tensor({8}, sliced(0)).makes({1}).refuses(squeeze{.dims = {0}}) == along);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({3}).refuses(chunk_rules::select{.dim = 0}) == along);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({4, 3}).refuses(split{.dim = 0}) == along);
    CHECK(c.tensor({8, 3}, sliced(0)).makes({16, 3}).refuses(repeat{.times = {2, 1}}) == along);
}

TEST_CASE("rows in blocks are split into these blocks, each with the rows of the tokens") {
    rule_call c;
    const auto blocks = permuted(0, c.orders.in_blocks(3, 2));
    CHECK(c.tensor({24, 3}, blocks).makes({8, 3}).makes({8, 3}).makes({8, 3}).gives(split{}) == sliced(0));
    CHECK(c.results[2] == sliced(0));
    CHECK(c.tensor({3, 24}, permuted(1, blocks.order)).makes({3, 8}).gives(split{.dim = -1}) == sliced(1));
    CHECK_FALSE(c.tensor({24, 3}, blocks).makes({12, 3}).makes({12, 3}).refuses(split{}).empty());
    CHECK_FALSE(c.tensor({24, 3}, blocks).makes({8, 3}).makes({16, 3}).refuses(split{}).empty());
    // The extent of the pieces may be a number: of the chunk's rows in a block, or one that clones spell instead.
    const split by_number{.sizes = {1}};
    chunk_state rows{chunk_state::kind::addend, -1, 2, 0, 0};
    CHECK(c.tensor({24, 3}, blocks).number(rows).makes({8, 3}).gives(by_number) == sliced(0));
    CHECK(c.tensor({24, 3}, blocks).number().makes({8, 3}).gives(by_number) == sliced(0));
    rows.positions = 1;
    CHECK_FALSE(c.tensor({24, 3}, blocks).number(rows).makes({8, 3}).refuses(by_number).empty());
}

TEST_CASE("a slice is along another dimension, or of all rows") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 1}).gives(slice{.dim = 1, .last = 1}) == sliced(0));
    CHECK(c.tensor({8, 3}, sliced(0)).makes({8, 3}).gives(slice{.dim = 0, .last = 8}) == sliced(0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({7, 3}).refuses(slice{.dim = 0, .last = 7}).empty());
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).makes({8, 3}).refuses(slice{.dim = 0, .first = slice::unknown}).empty());
}

TEST_CASE("rows that are reversed twice are in the order that they were in") {
    rule_call c;
    const chunk_state once = c.tensor({8}, sliced(0)).makes({8}).gives(flip{.dims = {0}});
    CHECK(once.what == chunk_kind::permuted);
    CHECK(c.tensor({8}, once).makes({8}).gives(flip{.dims = {0}}) == sliced(0));
    CHECK(c.tensor({8, 2}, sliced(0)).makes({8, 2}).gives(flip{.dims = {1}}) == sliced(0));
}
