#include "stretto/tune/detail/bound_in_buckets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stretto/schedule/list_schedule.hpp"
#include "support/mergeable_traffic.hpp"
#include "support/priced_reductions.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::priced_reductions;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

/// A price that neither is proportional to bytes nor grows slower and slower, and that differs between members.
struct stepped_price {
    std::int64_t latency, each, step, wide;
    nanoseconds operator()(std::uint32_t vertex, bytes sent) const {
        return {latency + vertex % 3 * 50 + each * sent.count + sent.count / wide * step};
    }
};

}  // namespace

TEST_CASE("payloads that do not fit into 64 bits together have shares") {
    std::vector<detail::bucketable> items(3);
    for (detail::bucketable& i : items) i.payload = {INT64_MAX - 1};
    const detail::bucket_shares shares(std::span<const detail::bucketable>(items),
                                       [](std::uint32_t, bytes) { return nanoseconds{1000}; });
    CHECK(shares.of(items[0], {500}).count <= 500);
    CHECK(shares.of(items[0], {5000}).count <= 1000);
}

TEST_CASE("shares of a bucket are no more than the bucket takes, whatever is in it") {
    std::size_t exact = 0;
    stretto_check("random buckets", 2000, [&] {
        const stepped_price price{*rc::gen::inRange<std::int64_t>(0, 500), *rc::gen::inRange<std::int64_t>(0, 20),
                                  *rc::gen::inRange<std::int64_t>(0, 3000), *rc::gen::inRange<std::int64_t>(1, 200)};
        std::vector<detail::bucketable> items(*rc::gen::inRange<std::size_t>(1, 12));
        for (detail::bucketable& i : items) {
            i.vertex = *rc::gen::inRange(0u, 9u);
            i.payload = {*rc::gen::element<std::int64_t>(0, 1, 7, 64, 100, 1000, 5000)};
        }
        const detail::bucket_shares shares(std::span<const detail::bucketable>(items), price);
        for (int k = 0; k < 8; ++k) {
            nanoseconds together;
            bytes sent;
            std::optional<std::uint32_t> first;
            for (const detail::bucketable& i : items) {
                if (!*rc::gen::arbitrary<bool>()) continue;
                if (!first) first = i.vertex;
                sent += i.payload;
                together += shares.of(i, price(i.vertex, i.payload));
            }
            if (!first) continue;
            const nanoseconds whole = price(*first, sent);
            RC_ASSERT(together <= whole);
            exact += whole.count > 0 && together.count * 10 >= whole.count * 8;
        }
        for (const detail::bucketable& i : items) RC_ASSERT(shares.of(i, {3}) <= nanoseconds{3});
    });
    if (support::runs_all_cases()) CHECK(exact > 1000);
}

TEST_CASE("no schedule of a step in buckets, or as it is, is faster than the bound") {
    std::size_t merged = 0, faster = 0, near = 0;
    stretto_check("random buckets of random steps", 4000, [&](const std::vector<std::uint8_t>& data) {
        bucket_options limits;
        if (data.size() % 5 == 0) limits.mode = bucket_mode::coalesced;
        support::mergeable_traffic t(support::random_traffic(data, 60), limits);
        schedule_options how;
        how.memory_limit = unlimited_bytes;
        if (data.size() % 2 == 1) how.under = {3, 2};
        const nanoseconds bound =
            detail::bound_in_buckets(t.step.table(), std::span<const detail::bucketable>(t.items), how.under,
                                     [&](std::uint32_t v, bytes sent) { return t.trials->merged(v, sent); });
        const auto whole = list_schedule(t.whole(), how);
        RC_ASSERT(whole.has_value());
        RC_ASSERT(bound <= whole->makespan());
        std::uint32_t random = static_cast<std::uint32_t>(data.size());
        for (int k = 0; k < 4; ++k) {
            std::vector<std::uint32_t> runs;
            for (std::size_t i = 0; i < t.items.size(); ++i) {
                random = random * 1664525u + 1013904223u;
                runs.push_back(k == 0 ? 0 : random >> 31);
            }
            const auto plan = t.trials->plan(t.items, runs, k % 2 == 0 ? t.given : whole->order());
            if (plan.empty()) continue;
            const auto made = t.trials->tasks(plan);
            RC_ASSERT(made != nullptr);
            const nanoseconds takes = list_schedule(made->graph, how)->makespan();
            RC_ASSERT(bound <= takes);
            ++merged;
            faster += takes < bound_below(t.whole(), unlimited_bytes, how.under).value;
            near += bound.count * 10 >= takes.count * 9;
        }
    });
    if (!support::runs_all_cases()) return;
    CHECK(merged > 2000);
    CHECK(faster > 20);  // the bound of the step as it is would be none
    CHECK(near > 20);
}

TEST_CASE("what cannot travel together is not made shorter") {
    reduction_program p;
    std::uint32_t x = p.input();
    for (int k = 0; k < 3; ++k) x = p.reduced(p.op(mix, {x, x}), {.kind = collective_kind::all_to_all});
    p.output({x});
    const priced_reductions ops{{&p}};
    const auto step = numbered_step<reduction_view>::read(reduction_view{&p}, ops);
    REQUIRE(step);
    const auto none = [](std::uint32_t, bytes) { return nanoseconds{}; };
    const nanoseconds bound = detail::bound_in_buckets(step->table(), {}, {}, none);
    CHECK(bound == bound_below(*make_task_graph(reduction_view{&p}, ops)).value);
    CHECK(bound > nanoseconds{600});
}
