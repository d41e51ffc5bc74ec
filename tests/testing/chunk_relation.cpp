#include "stretto/testing/chunk_relation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace stretto;
using kind = chunk_state::kind;

namespace {

const std::vector<chunk_interval> chunks = {{0, 1}, {1, 2}};  // of three tokens
const known_rows third_first{{{2}, {0, 1}}};                  // order 7
const known_rows alike{{{0}, {0, 0}}, true};                  // order 8

host_value vector_of(std::vector<double> elements) {
    const auto n = static_cast<std::int64_t>(elements.size());
    return {{{{n}, std::move(elements)}}, 0};
}
host_value number(double n) { return {{}, n}; }

std::string check(const host_value& whole, const std::vector<host_value>& parts,
                  const std::vector<chunk_state>& states) {
    const chunk_relation relation(3, chunks, [](std::uint32_t order) -> const known_rows* {
        return order == 7 ? &third_first : order == 8 ? &alike : nullptr;
    });
    return relation.check(whole, parts, states);
}

}  // namespace

TEST_CASE("whole: the same in every chunk") {
    CHECK(check(vector_of({1, 2}), {vector_of({1, 2}), vector_of({1, 2})}, {{kind::whole}}) == "");
    CHECK(check(vector_of({1, 2}), {vector_of({1, 2}), vector_of({1, 3})}, {{kind::whole}}) ==
          "component 0: not the same in every chunk");
    CHECK(check(number(4), {number(4), number(4)}, {{kind::whole}}) == "");
    CHECK(check(number(4), {number(4), number(0)}, {{kind::whole}}) == "not the same in every chunk");
}

TEST_CASE("sliced: one behind the other, each an exact share") {
    const host_value whole = vector_of({1, 2, 3, 4, 5, 6});
    const chunk_state sliced{kind::sliced, 0};
    CHECK(check(whole, {vector_of({1, 2}), vector_of({3, 4, 5, 6})}, {sliced}) == "");
    CHECK(check(whole, {vector_of({1, 2}), vector_of({4, 3, 5, 6})}, {sliced}) ==
          "component 0: a row of a part is not that of the whole");
    CHECK(check(whole, {vector_of({1, 2, 3}), vector_of({4, 5, 6})}, {sliced}) ==
          "component 0: a part is no exact share");
    CHECK(check(vector_of({1, 2, 3, 4}), {vector_of({1}), vector_of({2, 3, 4})}, {sliced}) ==
          "component 0: an extent that is no multiple of the tokens");
    CHECK(check(whole, {vector_of({1, 2}), vector_of({3, 4, 5, 6})}, {{kind::sliced, 1}}) ==
          "component 0: cut along a dimension that there is not");
    CHECK(check(whole, {number(1), vector_of({3, 4, 5, 6})}, {sliced}) == "a part has another number of tensors");
    // Row numbers of a chunk start from 0 in every chunk: two rows a token.
    CHECK(check(vector_of({0, 1, 2, 3, 4, 5}), {vector_of({0, 1}), vector_of({0, 1, 2, 3})}, {{kind::sliced, 0, 2}}) ==
          "");
    CHECK(check(vector_of({0, 1, 2, 3, 4, 5}), {vector_of({0, 1}), vector_of({0, 1, 2, 3})}, {{kind::sliced, 0, 1}}) !=
          "");
}

TEST_CASE("addend: the parts sum") {
    CHECK(check(vector_of({1, 2}), {vector_of({1, -1}), vector_of({0, 3})}, {{kind::addend}}) == "");
    CHECK(check(vector_of({1, 2}), {vector_of({1, -1}), vector_of({0, 4})}, {{kind::addend}}) ==
          "component 0: the parts do not sum to the whole");
    CHECK(check(vector_of({1, 2}), {vector_of({1}), vector_of({0, 4})}, {{kind::addend}}) ==
          "component 0: a part has another shape");
    CHECK(check(number(6), {number(2), number(4)}, {{kind::addend, -1, 2}}) == "");
    CHECK(check(number(6), {number(3), number(3)}, {{kind::addend, -1, 2}}) == "not an exact share");
    CHECK(check(number(6), {number(3), number(4)}, {{kind::addend}}) == "the parts do not sum to the whole");
    CHECK(check(number(6), {number(2), number(4)}, {{kind::sliced, 0}}) ==
          "a number has no rows that chunks could share out");
    CHECK(check(number(6), {number(2), number(4)}, {{kind::permuted, 0}}) ==
          "a number has no rows that chunks could share out");
    CHECK(check(number(6), {number(2), number(9)}, {{kind::opaque, -1}}) == "");
}

TEST_CASE("permuted: each row once, and in a known order where it belongs") {
    const host_value whole = vector_of({4, 5, 6});
    CHECK(check(whole, {vector_of({5}), vector_of({6, 4})}, {{kind::permuted, 0, 0, 3}}) == "");
    CHECK(check(whole, {vector_of({5}), vector_of({5, 4})}, {{kind::permuted, 0, 0, 3}}) ==
          "the parts do not have the rows of the whole, each once");
    CHECK(check(whole, {vector_of({5}), vector_of({6})}, {{kind::permuted, 0, 0, 3}}) != "");
    CHECK(check(whole, {vector_of({5, 6}), vector_of({4, 4})}, {{kind::permuted, 0, 0, 3}}) ==
          "component 0: the parts have more rows than the whole");
    CHECK(check(whole, {vector_of({6}), vector_of({4, 5})}, {{kind::permuted, 0, 0, 7}}) == "");
    CHECK(check(whole, {vector_of({6}), vector_of({5, 4})}, {{kind::permuted, 0, 0, 7}}) ==
          "component 0: a row of a part is not that of the whole");
    CHECK(check(vector_of({9, 9, 9}), {vector_of({9}), vector_of({9, 9})}, {{kind::permuted, 0, 0, 8}}) == "");
    CHECK(check(vector_of({9, 9, 9}), {vector_of({9, 9}), vector_of({9})}, {{kind::permuted, 0, 0, 8}}) ==
          "component 0: a part has another number of rows");
    // Integers that number rows in order 7.
    CHECK(check(vector_of({0, 1, 2}), {vector_of({}), vector_of({0, 1, 0})}, {{kind::permuted, 0, 0, 3, 7}}) ==
          "the parts do not have the rows of the whole, each once");
    CHECK(check(vector_of({0, 1, 2}), {vector_of({0}), vector_of({1, 0})}, {{kind::permuted, 0, 0, 3, 7}}) == "");
    CHECK(check(vector_of({0, 1, 2}), {vector_of({1}), vector_of({1, 0})}, {{kind::permuted, 0, 0, 3, 7}}) ==
          "component 0: numbers a row that is not there");
}

TEST_CASE("rows of two components in one order go together; without an order each goes by itself") {
    const host_value whole{{{{3}, {4, 5, 6}}, {{3}, {1, 2, 3}}}, 0};
    const host_value first{{{{1}, {5}}, {{1}, {2}}}, 0};
    const host_value second{{{{2}, {6, 4}}, {{2}, {1, 3}}}, 0};
    const chunk_state named{kind::permuted, 0, 0, 3}, unnamed{kind::permuted, 0};
    CHECK(check(whole, {first, second}, {unnamed, unnamed}) == "");
    CHECK(check(whole, {first, second}, {named, named}) == "the parts do not have the rows of the whole, each once");
}

TEST_CASE("opaque: nothing but the share of rows") {
    CHECK(check(vector_of({1, 2, 3}), {vector_of({7, 8}), vector_of({9})}, {{kind::opaque, 0}}) == "");
    CHECK(check(vector_of({1, 2, 3}), {vector_of({7, 8}), vector_of({9})}, {{kind::opaque, 0, 0, 7}}) ==
          "component 0: a part has another number of rows");
    CHECK(check(vector_of({1, 2, 3}), {vector_of({7}), vector_of({9})}, {{kind::opaque, 0}}) != "");
    CHECK(check(vector_of({1, 2, 3}), {number(7), vector_of({9})}, {{kind::unset}}) == "a state that nobody has set");
}

TEST_CASE("what is no number is equal to what is no number") {
    const double none = std::nan("");
    CHECK(check(vector_of({none}), {vector_of({none}), vector_of({none})}, {{kind::whole}}) == "");
    CHECK(same_number(1, 1 + 1e-10, 1e-9));
    CHECK_FALSE(same_number(1, 1.1, 1e-9));
}

TEST_CASE("rows of host tensors") {
    const host_tensor t{{2, 3}, {1, 2, 3, 4, 5, 6}};
    CHECK(rows_of(t, 1) == std::vector<std::vector<double>>{{1, 4}, {2, 5}, {3, 6}});
    const std::int64_t places[] = {2, 0};
    CHECK(take_rows(t, 1, places).elements == std::vector<double>{3, 1, 6, 4});
    const host_tensor parts[] = {{{2, 1}, {1, 4}}, {{2, 2}, {2, 3, 5, 6}}};
    CHECK(join_rows(parts, 1) == t);
}
