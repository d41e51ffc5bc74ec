#include "stretto/schedule/cost/monotone_hull.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <cstdint>
#include <vector>

#include "stretto/schedule/cost/nccl_autoparallel.hpp"
#include "support/prop.hpp"

using namespace stretto;

namespace {

struct listed {
    std::vector<std::int64_t> times;
    nanoseconds duration(collective_kind, bytes payload, const process_group&) const {
        return {times[std::min(times.size() - 1, static_cast<std::size_t>(payload.count))]};
    }
};

static_assert(collective_cost_model<monotone_hull<listed>>);

constexpr std::array<std::int64_t, 24> grid = {0,  1,  2,  3,  4,  5,  6,  7,  8,  10, 12, 14,
                                               16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112};

}  // namespace

TEST_CASE("a dip is filled to the level before it") {
    const monotone_hull hull(listed{{5, 9, 3, 4, 12}});
    const auto at = [&](std::int64_t b) { return hull.duration(collective_kind::all_gather, {b}, {}).count; };
    CHECK(at(0) == 5);
    CHECK(at(1) == 9);
    CHECK(at(2) == 9);
    CHECK(at(3) == 9);
    CHECK(at(4) == 12);
    CHECK(at(1000) == 12);
    CHECK(at(-1) == 5);
}

TEST_CASE("the hull is monotone, not below the model on the grid, and no higher than it must be") {
    stretto_check("monotone_hull", 200, [](std::vector<std::uint16_t> raw) {
        listed model{{7}};
        for (const std::uint16_t t : raw) model.times.push_back(t);
        const monotone_hull hull(model);
        nanoseconds before;
        for (std::int64_t b = 0; b < 150; ++b) {
            const nanoseconds now = hull.duration(collective_kind::all_reduce, {b}, {});
            RC_ASSERT(now >= before);
            before = now;
        }
        nanoseconds highest;
        for (const std::int64_t b : grid) {
            highest = std::max(highest, model.duration(collective_kind::all_reduce, {b}, {}));
            RC_ASSERT(hull.duration(collective_kind::all_reduce, {b}, {}) == highest);
        }
        // Repairing twice changes nothing.
        const monotone_hull again(hull);
        for (std::int64_t b = 0; b < 150; b += 7)
            RC_ASSERT(again.duration(collective_kind::all_reduce, {b}, {}) ==
                      hull.duration(collective_kind::all_reduce, {b}, {}));
    });
}

TEST_CASE("the hull repairs every defect of the autoparallel model") {
    const nccl_autoparallel h100 = nccl_autoparallel::h100();
    nccl_autoparallel single = h100;
    single.gpus_per_node = 1;
    struct defective {
        nccl_autoparallel model;
        collective_kind kind;
        process_group group;
    };
    const std::vector<defective> cases = {
        {h100, collective_kind::all_gather, {.size = 256, .ranks_per_node = 8}},
        {h100, collective_kind::reduce_scatter, {.size = 64, .ranks_per_node = 8}},
        {h100, collective_kind::all_reduce, {.size = 8, .ranks_per_node = 1}},
        {single, collective_kind::all_gather, {.size = 2, .ranks_per_node = 1}},
        {nccl_autoparallel::a100(), collective_kind::all_reduce, {.size = 32, .ranks_per_node = 8}},
        {h100, collective_kind::all_to_all, {.size = 16, .ranks_per_node = 8}},
    };
    for (const defective& c : cases) {
        CAPTURE(static_cast<int>(c.kind));
        CAPTURE(c.group.size);
        const bytes hi{std::int64_t{1} << 31};
        REQUIRE(!check_monotone(c.model, c.kind, c.group, {0}, hi).has_value());
        CHECK(check_monotone(monotone_hull(c.model), c.kind, c.group, {0}, hi).has_value());
    }
}
