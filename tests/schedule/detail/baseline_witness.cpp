#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using support::toy_program;

namespace {

/// The bytes that live while the node `position` runs, when the nodes in `done` have run and the others follow in
/// order: what was allocated until then, less the storages that nobody will use any more.
std::int64_t live_at(const compact_tasks& c, const std::vector<bool>& done, std::uint32_t position) {
    std::int64_t live = 0;
    std::vector<bool> used_later(c.storage_bytes.size(), false), touched(c.storage_bytes.size(), false);
    for (std::uint32_t n = 0; n < c.size(); ++n) {
        if (done[n] || n <= position) live += c.allocation[n];
        for (std::uint32_t s : c.touched[n]) {
            if (done[n] || n < position) touched[s] = true;
            if (!done[n] && n >= position) used_later[s] = true;
        }
    }
    for (std::uint32_t s = 0; s < touched.size(); ++s)
        if (touched[s] && !used_later[s]) live -= c.storage_bytes[s];
    return live;
}

}  // namespace

TEST_CASE("the baseline knows its live bytes") {
    toy_program p;
    p.ops.push_back({.results = {{{10}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{5}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{1}, {}}}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const detail::baseline b = detail::make_baseline(c, support::program_order(c.size()), w);
    CHECK(std::vector<std::int64_t>(b.live.begin(), b.live.end()) == std::vector<std::int64_t>{10, 15, 6});
}

TEST_CASE("a node may overtake the baseline where its bytes fit all the way to its place") {
    // Four kernels of 10, 40, 10 and 30 bytes; only the last result is read.
    toy_program p;
    for (std::int64_t size : {10, 40, 10, 30}) p.ops.push_back({.results = {{{size}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const detail::baseline b = detail::make_baseline(c, support::program_order(c.size()), w);
    detail::baseline_witness tight(c, b, 40, w);
    CHECK(tight.front() == 0);
    CHECK(tight.allows(0));
    CHECK(tight.allows(2));  // its bytes are free again at once
    CHECK(!tight.allows(3));
    detail::baseline_witness roomy(c, b, 69, w);
    CHECK(!roomy.allows(3));
    roomy.run(0);
    CHECK(roomy.front() == 1);
    roomy.run(1);
    CHECK(roomy.allows(3));
    roomy.run(3);
    CHECK(roomy.front() == 2);
    CHECK(roomy.allows(2));
}

TEST_CASE("the witness allows exactly what fits the rest of the baseline, and never gets stuck") {
    stretto_check("against recomputation", 2500, [](const std::vector<std::uint8_t>& picks) {
        const support::scheduling_case problem = *support::scheduling_cases(40);
        detail::workspace w;
        const compact_tasks c = detail::make_compact_tasks(support::graph_of(problem.program()), w);
        const detail::baseline b = detail::make_baseline(c, support::program_order(c.size()), w);
        const std::int64_t peak = b.live.empty() ? 0 : *std::max_element(b.live.begin(), b.live.end());
        RC_ASSERT(peak == detail::peak_of(c, support::program_order(c.size()), w));
        const std::int64_t limit = std::max<std::int64_t>(0, problem.limit({peak}).count);
        detail::baseline_witness witness(c, b, limit, w);
        std::vector<bool> done(c.size(), false);
        std::vector<std::uint32_t> order;
        while (order.size() < c.size()) {
            std::vector<std::uint32_t> allowed;
            const std::uint32_t front = witness.front();
            RC_ASSERT(!done[front]);
            for (std::uint32_t q = 0; q < front; ++q) RC_ASSERT(done[q]);
            for (std::uint32_t n = 0; n < c.size(); ++n) {
                const auto preds = c.predecessors[n];
                if (done[n] || !std::all_of(preds.begin(), preds.end(), [&](std::uint32_t m) { return done[m]; }))
                    continue;
                // What stays in memory once n has run must fit wherever n overtakes the baseline.
                std::int64_t now = 0, stays = c.allocation[n];
                std::vector<std::uint32_t> left(c.storage_bytes.size(), 0);
                for (std::uint32_t m = 0; m < c.size(); ++m) {
                    if (done[m]) now += c.allocation[m];
                    for (std::uint32_t s : c.touched[m]) left[s] += !done[m];
                }
                for (std::uint32_t s = 0; s < left.size(); ++s)
                    if (left[s] == 0) now -= c.storage_bytes[s];
                for (std::uint32_t s : c.touched[n])
                    if (left[s] == 1) stays -= c.storage_bytes[s];
                bool fits = now + c.allocation[n] <= limit;
                for (std::uint32_t q = front; q < n; ++q)
                    if (!done[q] && stays > 0 && live_at(c, done, q) > limit - stays) fits = false;
                if (n == front || c.allocation[n] == 0) fits = true;
                RC_ASSERT(witness.allows(n) == fits);
                RC_ASSERT(witness.allows(n) == fits);  // also if it knows by now what is in the way
                if (fits) allowed.push_back(n);
            }
            RC_ASSERT(std::find(allowed.begin(), allowed.end(), front) != allowed.end());
            const std::size_t pick = picks.empty() ? 0 : picks[order.size() % picks.size()];
            const std::uint32_t n = allowed[pick % allowed.size()];
            witness.run(n);
            done[n] = true;
            order.push_back(n);
            for (std::uint32_t q = 0; q < c.size(); ++q)
                if (!done[q]) RC_ASSERT(live_at(c, done, q) <= limit);
        }
        RC_ASSERT(detail::peak_of(c, order, w) <= limit);
        RC_ASSERT(detail::peak_of(c, order, w) == witness.peak());
    });
}

TEST_CASE("what a node is the last to use is free behind it: only the moment in between must fit") {
    // A kernel of 10 bytes, one that reads it and makes 10, and before that in the baseline one of 80 that fills
    // memory.
    toy_program p;
    p.ops.push_back({.results = {{{10}, {}}}});
    p.ops.push_back({.results = {{{80}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{10}, {}}}});
    p.ops.push_back({.operands = {{2, 0}}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const detail::baseline b = detail::make_baseline(c, support::program_order(c.size()), w);
    detail::baseline_witness witness(c, b, 90, w);
    witness.run(0);
    CHECK(witness.allows(2));
    CHECK(!witness.refused());
    witness.run(2);
    CHECK(witness.allows(1));
    detail::baseline_witness late(c, b, 90, w);
    late.run(0);
    late.run(1);
    CHECK(late.front() == 2);
}

TEST_CASE("a baseline in another order than the program's") {
    toy_program p;
    for (std::int64_t size : {10, 40}) p.ops.push_back({.results = {{{size}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const detail::baseline b = detail::make_baseline(c, std::vector<std::uint32_t>{1, 0, 2}, w);
    CHECK(std::vector<std::int64_t>(b.live.begin(), b.live.end()) == std::vector<std::int64_t>{40, 10, 10});
    const detail::baseline_witness witness(c, b, 49, w);
    CHECK(witness.front() == 1);
    CHECK(witness.position(0) == 1);
    CHECK(witness.node(1) == 0);
    CHECK(!witness.allows(0));
    CHECK(witness.refused());
}
