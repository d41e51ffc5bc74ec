#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/expert_data.hpp"
#include "stretto/backend/check_log.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"

// One layer of experts, planned, chunked, ordered and executed on ranks that are threads, against a loop.

using namespace stretto;
using namespace support::experts;

namespace {

/// Runs the layer, ordered by the scheduler, on all ranks; three replays, which must agree.
std::vector<outcome> run(layer& l, const std::vector<rank_data>& data) {
    const support::experts::view v = views::from_values(support::experts::values_view{&l.p});
    const auto plan = plan_overlap(v, support::experts::model{});
    REQUIRE(plan);
    const auto order = check_order(plan->tasks, plan->certificate.order());
    REQUIRE(order.has_value());

    // The order runs without a race, whatever the lanes do in between, and waits for no more than it must.
    {
        support::experts::source source(l.p, arguments(l, data[0]));
        recorder rank(two_groups(l.ranks), 0);
        auto bound = bind_order(plan->tasks, *order, source, rank);
        REQUIRE(bound);
        CHECK_FALSE(bound->replay());
        CHECK(check_log(plan->tasks, bound->program().arena, rank.log()).empty());
    }
    std::vector<outcome> all(data.size());
    std::vector<std::string> wrong(data.size());
    // [run-it]
    host_world world(data.size(), two_groups(l.ranks));
    const auto failure = world.run([&](host_rank& rank) {
        const std::size_t me = rank.rank();
        support::experts::source source(l.p, arguments(l, data[me]));
        auto bound = bind_order(plan->tasks, *order, source, rank);
        if (!bound) return wrong[me].assign(explain(bound.error())), void();
        value_id y = 0, sums = 0;
        for (value_id x = 0; x < source.values.size(); ++x) {
            if (source.values[x] == l.y) y = x;
            if (source.values[x] == l.sums) sums = x;
        }
        for (int replay = 0; replay < 3; ++replay) {
            if (bound->replay()) return;
            outcome made{numbers(tokens * width), numbers(width)};
            std::memcpy(made.y.data(), bound->address(y), made.y.size() * 4);
            std::memcpy(made.sums.data(), bound->address(sums), made.sums.size() * 4);
            if (replay != 0 && made != all[me]) wrong[me] = "replays differ";
            all[me] = made;
        }
    });
    // [/run-it]
    CHECK_FALSE(failure);
    for (const std::string& w : wrong) CHECK(w == "");
    return all;
}

}  // namespace

TEST_CASE("a layer of experts on ranks gives what a loop gives, whole and in chunks, bit for bit") {
    for (const std::int64_t ranks : {1, 2, 4}) {
        CAPTURE(ranks);
        const std::vector<rank_data> data = data_of(ranks);
        const std::vector<outcome> expected = reference(data);
        {
            layer whole(ranks, tokens, width, hidden);
            CHECK(run(whole, data) == expected);
        }
        for (const std::vector<std::int64_t>& sizes :
             {equal_chunks(tokens, 2), equal_chunks(tokens, 3), std::vector<std::int64_t>{7, 1, 4}}) {
            CAPTURE(sizes.size());
            layer in_chunks(ranks, tokens, width, hidden);
            CHECK(chunk(in_chunks, sizes) == 2 * sizes.size());
            CHECK(run(in_chunks, data) == expected);
        }
    }
}

TEST_CASE("in chunks, an exchange of one chunk is under way while experts work on another") {
    const auto experts_beside_exchanges = [](std::size_t chunks) {
        layer l(2, tokens, width, hidden);
        if (chunks > 1) chunk(l, equal_chunks(tokens, chunks));
        const auto plan = plan_overlap(views::from_values(support::experts::values_view{&l.p}),
                                       support::experts::model{}, {.memory_limit = unlimited_bytes});
        REQUIRE(plan);
        const auto order = check_order(plan->tasks, plan->certificate.order());
        REQUIRE(order.has_value());
        // Lane 1 exchanges. How many exchanges were launched, and how many does the compute lane know to be complete?
        std::size_t launched = 0, complete = 0, beside = 0;
        std::vector<std::size_t> known;  // by event
        for (const log_entry& e : log_of(*plan_lanes(plan->tasks, *order))) {
            const bool launches = e.what == log_entry::form::launch;
            if (e.what == log_entry::form::record) {
                if (known.size() <= e.which) known.resize(e.which + 1, 0);
                known[e.which] = e.lane == 1 ? launched : 0;
            }
            if (e.what == log_entry::form::wait && e.lane == 0) complete = std::max(complete, known[e.which]);
            if (launches && e.lane == 1) ++launched;
            if (launches && e.lane == 0 && plan->vertices[e.which]->what == support::experts::code::expert)
                beside += launched > complete;
        }
        return beside;
    };
    CHECK(experts_beside_exchanges(1) == 0);
    CHECK(experts_beside_exchanges(2) == 2);
    CHECK(experts_beside_exchanges(3) == 3);
}
