#include "stretto/tune/detail/search_limits.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace stretto;
using detail::loses_to;

namespace {

/// The progress of a choice whose fastest order takes `so_far`, and `ignoring_memory` without regard to memory.
trial_progress progress(search_stage stage, std::int64_t ignoring_memory, std::int64_t so_far) {
    return {0, stage, {ignoring_memory}, {so_far}};
}

}  // namespace

TEST_CASE("a choice loses if it is no faster without regard to memory than the best one, which moves made faster") {
    // Moves have made the order within memory faster than the passes' order that ignores memory.
    const limit_figures best{{1000}, {1010}};
    CHECK(loses_to(best, progress(search_stage::begins, 1010, INT64_MAX)));
    CHECK(loses_to(best, progress(search_stage::moves, 1010, 1001)));
    // What it is faster by, it may keep: moves may gain as much for this choice.
    CHECK_FALSE(loses_to(best, progress(search_stage::begins, 1009, INT64_MAX)));
    CHECK_FALSE(loses_to(best, progress(search_stage::moves, 1009, 5000)));

    const limit_figures bound_by_memory{{1200}, {1010}};
    CHECK_FALSE(loses_to(bound_by_memory, progress(search_stage::begins, 1199, INT64_MAX)));
    CHECK(loses_to(bound_by_memory, progress(search_stage::begins, 1200, INT64_MAX)));
}
TEST_CASE("a choice that is no faster without regard to memory loses if it is far behind within memory") {
    const limit_figures best{{1000}, {900}};
    CHECK_FALSE(loses_to(best, progress(search_stage::begins, 950, 5000)));
    CHECK_FALSE(loses_to(best, progress(search_stage::one_round, 950, 1050)));
    CHECK(loses_to(best, progress(search_stage::one_round, 950, 1100)));
    for (const search_stage stage : {search_stage::three_rounds, search_stage::stalls, search_stage::moves}) {
        CHECK(loses_to(best, progress(stage, 950, 1100)));
        CHECK_FALSE(loses_to(best, progress(stage, 950, 1010)));
        CHECK_FALSE(loses_to(best, progress(stage, 899, 1100)));  // it may be the faster one with more memory
    }
}
TEST_CASE("if it is unknown how fast the other one is without regard to memory, its makespan counts") {
    const limit_figures whole{{1000}};
    CHECK(loses_to(whole, progress(search_stage::begins, 1000, INT64_MAX)));
    CHECK_FALSE(loses_to(whole, progress(search_stage::begins, 999, INT64_MAX)));
}
TEST_CASE("a rival has a fiftieth more, and one whose figures are unknown beats nothing") {
    detail::search_limits limits{};
    limits.rival = {{{1000}, {900}}, {{INT64_MAX}, {INT64_MAX}}};
    CHECK(limits.rival_at(0).makespan == nanoseconds{1020});
    CHECK(limits.rival_at(0).ignoring_memory == nanoseconds{918});
    CHECK(limits.rival_at(1).makespan == nanoseconds{INT64_MAX});
    CHECK(limits.rival_at(2).makespan == nanoseconds{INT64_MAX});
    CHECK_FALSE(loses_to(limits.rival_at(2), progress(search_stage::moves, 5000, 5000)));
}
