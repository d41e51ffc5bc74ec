#include "stretto/tune/contention_range.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

namespace {

std::vector<std::vector<nanoseconds>> table(std::vector<std::vector<std::int64_t>> rows) {
    std::vector<std::vector<nanoseconds>> made;
    for (const auto& row : rows) {
        made.emplace_back();
        for (const std::int64_t ns : row) made.back().push_back({ns});
    }
    return made;
}

}  // namespace

TEST_CASE("points of a range: the bounds as they are, and thousandths between them") {
    const auto points = contention_points({1, 1}, {3, 2}, 5);
    REQUIRE(points.size() == 5);
    CHECK(points[0] == contention{1, 1});
    CHECK(points[1] == contention{1125, 1000});
    CHECK(points[2] == contention{1250, 1000});
    CHECK(points[3] == contention{1375, 1000});
    CHECK(points[4] == contention{3, 2});
    CHECK(contention_points({7, 3}, {7, 3}, 2) == std::vector<contention>{{7, 3}, {7, 3}});
    for (const contention c : contention_points({4, 3}, {5, 3}, 4)) CHECK(c.valid());
}

TEST_CASE("the steadiest plan is neither the best at one end nor at the other") {
    const auto plans = table({{100, 200}, {110, 160}, {140, 150}});
    const auto found = steadiest_of(plans);
    REQUIRE(found);
    CHECK(found->plan == 1);  // 1.33 at worst, 1.10 and 1.40
    CHECK(found->point == 0);
    CHECK(found->makespan.count == 110);
    CHECK(found->best.count == 100);
    CHECK(found->worst_ratio() == doctest::Approx(1.1));
    CHECK(steadiest_of(table({{5, 5}, {5, 5}}))->plan == 0);
    CHECK(steadiest_of(table({{0, 0}}))->worst_ratio() == 1);
    CHECK_FALSE(steadiest_of({}));
}

TEST_CASE("property: no other plan has a smaller worst ratio") {
    stretto_check("steadiest", 2000, [] {
        const auto plans = *rc::gen::inRange<std::size_t>(1, 6), points = *rc::gen::inRange<std::size_t>(1, 5);
        std::vector<std::vector<nanoseconds>> makespans(plans);
        for (auto& row : makespans)
            for (std::size_t k = 0; k < points; ++k) row.push_back({*rc::gen::inRange<std::int64_t>(1, 30)});
        const auto worst_of = [&](std::size_t p) {
            double worst = 1;
            for (std::size_t k = 0; k < points; ++k)
                for (const auto& other : makespans)
                    worst = std::max(worst,
                                     static_cast<double>(makespans[p][k].count) / static_cast<double>(other[k].count));
            return worst;
        };
        const auto found = steadiest_of(makespans);
        RC_ASSERT(found.has_value());
        RC_ASSERT(found->worst_ratio() == worst_of(found->plan));
        for (std::size_t p = 0; p < plans; ++p)
            RC_ASSERT((p < found->plan ? worst_of(p) > found->worst_ratio() : worst_of(p) >= found->worst_ratio()));
    });
}
