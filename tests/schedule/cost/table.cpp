#include "stretto/schedule/cost/table.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using defect = table_error::defect;

namespace {

static_assert(collective_cost_model<collective_table>);

const std::vector<cost_point> three = {{{0}, {100}}, {{10}, {200}}, {{40}, {201}}};

cost_curve curve(group_id group, collective_kind kind, std::vector<cost_point> points) {
    return {group, kind, std::move(points)};
}

table_error refused(std::vector<cost_curve> curves) {
    const auto result = collective_table::make(std::move(curves));
    REQUIRE(!result.has_value());
    return result.error();
}

}  // namespace

TEST_CASE("constant, linear, last slope, rounded up") {
    const auto at = [](std::int64_t b) { return interpolate(three, {b}).count; };
    CHECK(at(0) == 100);
    CHECK(at(10) == 200);
    CHECK(at(5) == 150);
    CHECK(at(40) == 201);
    CHECK(at(11) == 201);  // 200.03
    CHECK(at(70) == 202);
    CHECK(at(71) == 203);  // 202.03
    CHECK(interpolate(std::vector<cost_point>{{{10}, {5}}, {{20}, {7}}}, {3}).count == 5);
    CHECK(interpolate(std::vector<cost_point>{{{10}, {5}}}, {1000}).count == 5);
}

TEST_CASE("a falling last slope ends at zero, a steep one at the longest duration") {
    CHECK(interpolate(std::vector<cost_point>{{{0}, {10}}, {{10}, {5}}}, {15}).count == 3);  // 2.5
    CHECK(interpolate(std::vector<cost_point>{{{0}, {10}}, {{10}, {5}}}, {30}).count == 0);
    CHECK(interpolate(std::vector<cost_point>{{{0}, {0}}, {{1}, {INT64_MAX}}}, {INT64_MAX}) == longest_duration);
}

TEST_CASE("gigabytes times seconds do not overflow") {
    const std::vector<cost_point> slow = {{{0}, {0}}, {{std::int64_t{1} << 40}, {std::int64_t{1} << 50}}};
    CHECK(interpolate(slow, {std::int64_t{1} << 39}).count == std::int64_t{1} << 49);
    CHECK(interpolate(slow, {(std::int64_t{1} << 39) + 1}).count == (std::int64_t{1} << 49) + 1024);
}

TEST_CASE("a table finds the curve of a collective on a group") {
    const auto table = collective_table::make({curve(7, collective_kind::all_reduce, {{{0}, {1}}}),
                                               curve(2, collective_kind::all_to_all, {{{0}, {2}}}),
                                               curve(2, collective_kind::all_gather, {{{0}, {3}}, {{10}, {13}}})});
    REQUIRE(table.has_value());
    CHECK(table->duration(collective_kind::all_reduce, {5}, {.size = 4, .id = 7}).count == 1);
    CHECK(table->duration(collective_kind::all_to_all, {5}, {.size = 4, .id = 2}).count == 2);
    CHECK(table->duration(collective_kind::all_gather, {5}, {.size = 4, .id = 2}).count == 8);
    CHECK(table->contains(collective_kind::all_gather, 2));
    CHECK(!table->contains(collective_kind::reduce_scatter, 2));
    CHECK(!table->contains(collective_kind::all_gather, 7));
    CHECK(table->points(collective_kind::all_gather, 3).empty());
    REQUIRE(table->curves().size() == 3);
    CHECK(table->curves()[0].kind == collective_kind::all_gather);
    CHECK(table->curves()[2].group == 7);
}

TEST_CASE("defective tables are refused with the place") {
    constexpr auto ag = collective_kind::all_gather;
    const cost_curve good = curve(0, ag, three);
    CHECK(refused({good, curve(1, ag, {})}) == table_error{defect::no_points, 1, 0});
    CHECK(refused({curve(0, ag, {{{-1}, {0}}})}) == table_error{defect::negative_payload, 0, 0});
    CHECK(refused({curve(0, ag, {{{1}, {0}}, {{2}, {-1}}})}) == table_error{defect::negative_time, 0, 1});
    CHECK(refused({curve(0, ag, {{{1}, {0}}, {{1}, {3}}})}) == table_error{defect::not_ascending, 0, 1});
    CHECK(refused({curve(0, ag, {{{1}, {0}}, {{3}, {1}}, {{2}, {3}}})}) == table_error{defect::not_ascending, 0, 2});
    CHECK(refused({good, curve(1, ag, three), good}) == table_error{defect::duplicate_curve, 2, 0});
    CHECK(collective_table::make({}).has_value());
}

TEST_CASE("interpolation is the least integer that is not below the exact value") {
    stretto_check(
        "interpolate against rational arithmetic", 500,
        [](std::vector<std::uint16_t> steps, std::uint16_t first, std::uint32_t at) {
            std::vector<cost_point> points = {{{first % 64}, {1000}}};
            for (const std::uint16_t s : steps)
                points.push_back({points.back().payload + bytes{1 + s % 97},
                                  nanoseconds{std::max<std::int64_t>(0, points.back().time.count + s % 1009 - 300)}});
            const std::int64_t b = at % (2 * points.back().payload.count + 10);
            const std::int64_t got = interpolate(points, {b}).count;
            std::size_t i = 1;
            while (i + 1 < points.size() && points[i].payload.count < b) ++i;
            if (points.size() == 1 || b <= points[0].payload.count) {
                RC_ASSERT(got == 1000);
                return;
            }
            // y0 + (y1 - y0) (b - x0) / (x1 - x0), with the denominator multiplied out.
            const std::int64_t run = (points[i].payload - points[i - 1].payload).count;
            const std::int64_t exact_times_run =
                points[i - 1].time.count * run +
                (points[i].time - points[i - 1].time).count * (b - points[i - 1].payload.count);
            RC_ASSERT(got >= 0);
            RC_ASSERT(got * run >= exact_times_run);
            RC_ASSERT(got == 0 || (got - 1) * run < exact_times_run);
        });
}

TEST_CASE("a tabulated model answers like the model at powers of two, for every group") {
    struct quadratic {
        nanoseconds duration(collective_kind kind, bytes payload, const process_group& group) const {
            return {payload.count * payload.count * group.size + static_cast<std::int64_t>(kind)};
        }
    };
    const std::array<process_group, 2> groups = {process_group{.size = 4, .id = 3}, process_group{.size = 2, .id = 0}};
    const auto table = tabulate(quadratic{}, groups, {1000});
    REQUIRE(table.has_value());
    for (const process_group& group : groups)
        for (const collective_kind kind : all_collective_kinds) {
            CHECK(table->points(kind, group.id).back().payload == bytes{1024});
            for (const std::int64_t size : {0, 1, 2, 64, 1024})
                CHECK(table->duration(kind, {size}, group) == quadratic{}.duration(kind, {size}, group));
        }
    const std::array<process_group, 2> twice = {groups[0], groups[0]};
    CHECK(!tabulate(quadratic{}, twice, {1000}).has_value());
}
