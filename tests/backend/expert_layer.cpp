#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/expert_layer.hpp"

// One layer of experts, planned, chunked, ordered and executed on ranks that are threads, against a loop.

using namespace stretto;
using support::experts::layer;
using op = support::experts::op;

namespace {

constexpr std::int64_t tokens = 12, width = 8, hidden = 10;

using numbers = std::vector<float>;

/// Reals with digits, so that sums depend on their order.
numbers made_up(std::uint32_t seed, std::int64_t count) {
    numbers all;
    std::uint32_t state = seed * 2654435761u + 12345;
    for (std::int64_t k = 0; k < count; ++k) {
        state = state * 1664525u + 1013904223u;
        all.push_back((static_cast<float>(state >> 9) / 4194304.0f - 1.0f) * 0.77f);
    }
    return all;
}

struct rank_data {
    numbers x, router, gate, first, second;
};

std::vector<rank_data> data_of(std::int64_t ranks) {
    std::vector<rank_data> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
        all.push_back({made_up(r + 1, tokens * width), made_up(77, width * ranks), made_up(100 + r, width / ranks * 2),
                       made_up(200 + r, 2 * width * hidden), made_up(300 + r, 2 * hidden * width)});
    return all;
}

struct outcome {
    numbers y, sums;
    bool operator==(const outcome&) const = default;
};

/// The layer as a loop over tokens.
std::vector<outcome> reference(const std::vector<rank_data>& data) {
    const auto ranks = static_cast<std::int64_t>(data.size());
    numbers gate;
    for (const rank_data& d : data) gate.insert(gate.end(), d.gate.begin(), d.gate.end());
    std::vector<outcome> all;
    for (const rank_data& d : data) {
        outcome& o = all.emplace_back();
        for (std::int64_t t = 0; t < tokens; ++t) {
            const float* const row = d.x.data() + t * width;
            numbers sum(width, 0.0f);
            const float score[] = {support::experts::product(row, gate.data(), width, 2),
                                   support::experts::product(row, gate.data() + 1, width, 2)};
            const std::int64_t e = score[1] > score[0] ? 1 : 0;
            for (std::int64_t r = 0; r < ranks; ++r) {
                const rank_data& there = data[static_cast<std::size_t>(r)];
                numbers made(width, 0.0f);
                for (std::int64_t j = 0; j < hidden; ++j) {
                    const float h =
                        support::experts::product(row, there.first.data() + e * width * hidden + j, width, hidden);
                    for (std::int64_t c = 0; c < width; ++c)
                        made[static_cast<std::size_t>(c)] +=
                            std::max(h, 0.0f) *
                            there.second[static_cast<std::size_t>(e * width * hidden + j * width + c)];
                }
                for (std::size_t c = 0; c < width; ++c) sum[c] += made[c] * score[e];
            }
            for (std::size_t c = 0; c < width; ++c) o.y.push_back(row[c] + sum[c]);
        }
    }
    std::vector<numbers> totals;
    for (const outcome& o : all) {
        numbers& total = totals.emplace_back(width, 0.0f);
        for (std::size_t k = 0; k < o.y.size(); ++k) total[k % width] += o.y[k];
    }
    for (outcome& o : all) {
        o.sums = totals[0];
        for (std::size_t r = 1; r < totals.size(); ++r)
            for (std::size_t c = 0; c < width; ++c) o.sums[c] += totals[r][c];
    }
    return all;
}

/// Puts the layer into chunks, in its IR. Returns how many clones of the exchanges there are.
std::size_t chunk(layer& l, const std::vector<std::int64_t>& sizes) {
    const support::experts::view v = views::from_values(support::experts::values_view{&l.p});
    row_orders orders;
    const rule_chunk_model chunks(v, support::experts::dialect{l.ranks, l.tokens}, orders);
    chunk_region<op*> region;
    for (op& o : l.p.ops)
        if (o.what != support::experts::code::argument && o.what != support::experts::code::result)
            region.candidates.push_back(&o);
    region.sizes = sizes;
    const std::vector<chunk_region<op*>> regions = {region};
    const std::vector<token_dimension<support::experts::value*>> rows = {{l.x, 0}};
    const auto plan =
        plan_chunks(v, support::experts::model{}, chunks, std::span(regions), std::span(rows), {.skip_refused = true});
    REQUIRE(plan);
    for (const auto& r : plan->refused) INFO(r.why.detail);
    REQUIRE(verify_chunks(*plan, v, support::experts::model{}, chunks));
    support::experts::rewriter rewriter{&l.p};
    apply_chunks(*plan, v, rewriter);
    // The results may have been put together anew.
    l.y = l.output()->reads[0];
    l.sums = l.output()->reads[1];
    std::size_t sends = 0;
    for (const op& o : l.p.ops) sends += o.what == support::experts::code::send;
    return sends;
}

process_groups two_groups(std::int64_t ranks) {
    std::vector<rank_id> all;
    for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
    process_groups groups;
    for (int k = 0; k < 2; ++k) groups.add({.size = ranks, .ranks = all});
    return groups;
}

std::vector<std::pair<support::experts::value*, const numbers*>> arguments(layer& l, const rank_data& d) {
    return {{l.x, &d.x}, {l.router, &d.router}, {l.gate, &d.gate}, {l.first, &d.first}, {l.second, &d.second}};
}

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
