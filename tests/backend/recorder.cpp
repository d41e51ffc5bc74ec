#include "stretto/backend/recorder.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "stretto/core/process_groups.hpp"

using namespace stretto;
using form = log_entry::form;

TEST_CASE("every verb is written down, and no kernel is run") {
    process_groups groups;
    const std::vector<rank_id> ranks = {2, 0}, others = {1, 2};
    groups.add({.size = 2, .ranks = ranks});
    groups.add({.size = 2, .ranks = others});
    recorder rank(groups, 0);
    CHECK(rank.channel(1) == nullptr);
    CHECK(rank.channel(2) == nullptr);
    REQUIRE(rank.channel(0) != nullptr);
    CHECK(rank.channel(0)->size() == 2);
    CHECK(rank.channel(0)->place() == 1);

    recorder::event_type* const first = rank.make_events(1);
    recorder::event_type* const more = rank.make_events(2);
    bool ran = false;
    const auto kernel = [&] { ran = true; };
    collective_operation operation;
    operation.task = 9;
    rank.begin();
    CHECK(rank.compute().launch(8, kernel));
    CHECK(rank.compute().record(more[1]));
    CHECK(rank.channel(0)->wait(more[1]));
    CHECK(rank.channel(0)->launch(operation));
    CHECK(rank.channel(0)->record(*first));
    CHECK(rank.compute().wait(*first));
    CHECK(rank.compute().pass(10));
    CHECK(rank.compute().settle());
    CHECK_FALSE(rank.finish());
    CHECK_FALSE(ran);
    CHECK(rank.log() == run_log{{form::launch, 0, 8},
                                {form::record, 0, 2},
                                {form::wait, 1, 2},
                                {form::launch, 1, 9},
                                {form::record, 1, 0},
                                {form::wait, 0, 0},
                                {form::launch, 0, 10},
                                {form::settle, 0, 0}});
}
