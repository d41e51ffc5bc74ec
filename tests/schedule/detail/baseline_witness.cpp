#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "stretto/schedule/detail/baseline_witness.hpp"
#include "support/prop.hpp"

using namespace stretto;
using detail::compact_tasks;
using detail::range_profile;
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

TEST_CASE("range_profile: maxima and additions over ranges; executed positions do not count") {
    detail::workspace w;
    range_profile profile(std::vector<std::int64_t>{5, 1, 4, 2}, w);
    CHECK(profile.maximum(0, 4) == 5);
    CHECK(profile.maximum(1, 2) == 1);
    CHECK(profile.maximum(2, 2) == range_profile::executed);
    profile.add(0, 3, 10);
    CHECK(profile.maximum(0, 4) == 15);
    CHECK(profile.maximum(1, 2) == 11);
    profile.mark_executed(2);
    CHECK(profile.maximum(1, 4) == 11);
    CHECK(profile.maximum(2, 3) <= range_profile::executed);
    profile.add(1, 4, -11);
    CHECK(profile.maximum(1, 4) == 0);
    CHECK(profile.maximum(3, 4) == -9);
}

TEST_CASE("range_profile is a vector of numbers of which the front is forgotten") {
    stretto_check("against a vector", 1500, [] {
        const auto size = *rc::gen::element<std::uint32_t>(1, 15, 16, 17, 100, 255, 256, 257, 2500, 4095, 4097, 33'000);
        const auto position = rc::gen::inRange<std::uint32_t>(0, size + 1);
        const auto operations = *rc::gen::container<std::vector<std::tuple<int, std::uint32_t, std::uint32_t, int>>>(
            rc::gen::tuple(rc::gen::inRange(0, 6), position, position, rc::gen::inRange(-1000, 1000)));
        std::vector<std::int64_t> values(size);
        for (std::uint32_t p = 0; p < size; ++p) values[p] = (p * 7919) % 997;
        detail::workspace w;
        range_profile profile(values, w);
        std::vector<bool> executed(size, false);
        std::uint32_t front = 0;
        for (auto [what, from, to, amount] : operations) {
            // The front moves by a few positions, or by many.
            if (what == 0) front = std::min(size, front + from % 20);
            if (what == 1) front = std::min(size, front + from / 8);
            from = std::max(from, front);
            to = std::max(to, front);
            if (from > to) std::swap(from, to);
            if (what > 2) {
                profile.add(front, to, amount);
                for (std::uint32_t p = front; p < to; ++p) values[p] += amount;
            } else if (what == 2 && from < size && !executed[from]) {
                profile.mark_executed(from);
                executed[from] = true;
            }
            for (const auto& [first, last] : {std::pair{from, to}, std::pair{front, size}, std::pair{front, to}}) {
                std::optional<std::int64_t> expected;
                for (std::uint32_t p = first; p < last; ++p)
                    if (!executed[p] && (!expected || values[p] > *expected)) expected = values[p];
                if (expected) RC_ASSERT(profile.maximum(first, last) == *expected);
                // Additions may have moved what marks the executed, but nowhere near a number of bytes.
                else RC_ASSERT(profile.maximum(first, last) < range_profile::executed / 2);
            }
        }
    });
}

TEST_CASE("the baseline knows its live bytes") {
    toy_program p;
    p.ops.push_back({.results = {{{10}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{5}, {}}}});
    p.ops.push_back({.operands = {{1, 0}}, .results = {{{1}, {}}}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const detail::baseline b = detail::make_baseline(c, w);
    CHECK(std::vector<std::int64_t>(b.live.begin(), b.live.end()) == std::vector<std::int64_t>{10, 15, 6});
}

TEST_CASE("a node may overtake the baseline where its bytes fit all the way to its place") {
    // Four kernels of 10, 40, 10 and 30 bytes, none of which anyone reads.
    toy_program p;
    for (std::int64_t size : {10, 40, 10, 30}) p.ops.push_back({.results = {{{size}, {}}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{3, 0}}});
    detail::workspace w;
    const compact_tasks c = detail::make_compact_tasks(support::graph_of(p), w);
    const detail::baseline b = detail::make_baseline(c, w);
    detail::baseline_witness tight(c, b, 40, w);
    CHECK(tight.front() == 0);
    CHECK(tight.allows(0));
    CHECK(!tight.allows(2));
    CHECK(!tight.allows(3));
    detail::baseline_witness roomy(c, b, 69, w);
    CHECK(roomy.allows(2));
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
        const detail::baseline b = detail::make_baseline(c, w);
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
                bool fits = true;
                for (std::uint32_t q = front; q < n; ++q)
                    if (!done[q] && c.allocation[n] > 0 && live_at(c, done, q) > limit - c.allocation[n]) fits = false;
                RC_ASSERT(witness.allows(n) == fits);
                if (fits) allowed.push_back(n);
            }
            RC_ASSERT(std::find(allowed.begin(), allowed.end(), front) != allowed.end());
            const std::size_t pick = picks.empty() ? 0 : picks[order.size() % picks.size()];
            const std::uint32_t n = allowed[pick % allowed.size()];
            witness.run(n);
            done[n] = true;
            order.push_back(n);
        }
        RC_ASSERT(detail::peak_of(c, order, w) <= limit);
    });
}
