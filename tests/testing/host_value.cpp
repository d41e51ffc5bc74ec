#include "stretto/testing/host_value.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

namespace {

using extents = std::vector<std::int64_t>;

/// Elements 0, 1, 2, ...: each tells where it was.
host_tensor counted(extents shape) {
    host_tensor t{shape, {}, element_type::f32};
    for (std::int64_t k = 0; k < elements_of(shape); ++k) t.elements.push_back(static_cast<double>(k));
    return t;
}

struct shaped {
    extents shape;
    std::size_t dim;
};
shaped any_shape() {
    const auto rank = *rc::gen::inRange<std::size_t>(1, 5);
    extents shape;
    for (std::size_t d = 0; d < rank; ++d) shape.push_back(*rc::gen::inRange<std::int64_t>(0, 5));
    return {shape, *rc::gen::inRange<std::size_t>(0, rank)};
}

/// The place of an element that has these coordinates.
std::size_t place(const extents& shape, const extents& at) {
    std::int64_t k = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) k = k * shape[d] + at[d];
    return static_cast<std::size_t>(k);
}
/// Calls f(coordinates) for every element.
template <class F>
void for_each_place(const extents& shape, F f) {
    if (elements_of(shape) == 0) return;
    extents at(shape.size(), 0);
    while (true) {
        f(at);
        std::size_t d = shape.size();
        while (d > 0 && ++at[d - 1] == shape[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

}  // namespace

TEST_CASE("a tensor without dimensions has one element, one with an extent of zero none") {
    CHECK(elements_of({}) == 1);
    CHECK(elements_of(extents{2, 3}) == 6);
    CHECK(elements_of(extents{2, 0, 3}) == 0);
    CHECK(host_value{}.is_number());
    CHECK(!host_value{{host_tensor{}}, 0}.is_number());
    CHECK(!(host_value{{}, 1} == host_value{{}, 2}));
    CHECK(!(counted({2, 3}) == counted({3, 2})));
}

TEST_CASE("rows are taken along a dimension, in any order and more than once") {
    const host_tensor t = counted({2, 3});
    CHECK(take_rows(t, 1, extents{2, 0, 0}).elements == std::vector<double>{2, 0, 0, 5, 3, 3});
    CHECK(take_rows(t, 0, extents{1}).elements == std::vector<double>{3, 4, 5});
    const host_tensor none = take_rows(t, 0, extents{});
    CHECK(none.shape == extents{0, 3});
    CHECK(none.elements.empty());
}

TEST_CASE("rows of the outer and of an inner dimension") {
    const host_tensor t = counted({2, 2, 2});
    CHECK(rows_of(t, 0) == std::vector<std::vector<double>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
    CHECK(rows_of(t, 1) == std::vector<std::vector<double>>{{0, 1, 4, 5}, {2, 3, 6, 7}});
    CHECK(rows_of(counted({0, 3}), 0).empty());
}

TEST_CASE("every element of the rows taken comes from its place") {
    stretto_check("against coordinates", 300, [] {
        const shaped s = any_shape();
        const host_tensor t = counted(s.shape);
        const std::int64_t rows = s.shape[s.dim];
        extents places;
        if (rows > 0) places = *rc::gen::container<extents>(rc::gen::inRange<std::int64_t>(0, rows));
        const host_tensor made = take_rows(t, s.dim, places);
        extents shape = s.shape;
        shape[s.dim] = static_cast<std::int64_t>(places.size());
        RC_ASSERT(made.shape == shape);
        RC_ASSERT(made.element == t.element);
        RC_ASSERT(static_cast<std::int64_t>(made.elements.size()) == elements_of(shape));
        for_each_place(shape, [&](const extents& at) {
            extents from = at;
            from[s.dim] = places[static_cast<std::size_t>(at[s.dim])];
            RC_ASSERT(made.elements[place(shape, at)] == t.elements[place(s.shape, from)]);
        });
    });
}

TEST_CASE("what is cut into rows and joined is what it was") {
    stretto_check("cut anywhere", 300, [] {
        const shaped s = any_shape();
        const host_tensor t = counted(s.shape);
        std::vector<host_tensor> parts;
        for (std::int64_t first = 0; first < s.shape[s.dim] || parts.empty();) {
            const auto count = *rc::gen::inRange<std::int64_t>(0, s.shape[s.dim] - first + 1);
            extents places;
            for (std::int64_t k = 0; k < count; ++k) places.push_back(first + k);
            parts.push_back(take_rows(t, s.dim, places));
            first += count;
            if (parts.size() > 12) {  // the rest at once
                places.clear();
                for (; first < s.shape[s.dim]; ++first) places.push_back(first);
                parts.push_back(take_rows(t, s.dim, places));
            }
        }
        RC_ASSERT(join_rows(parts, s.dim) == t);
        std::vector<std::vector<double>> rows;
        for (const host_tensor& part : parts)
            for (std::vector<double>& row : rows_of(part, s.dim)) rows.push_back(row);
        RC_ASSERT(rows == rows_of(t, s.dim));
    });
}
