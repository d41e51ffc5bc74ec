#include "stretto/core/chunk_model.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/prop.hpp"

using stretto::chunk_interval;
using stretto::share_of;

namespace {

/// Chunks of these sizes, one behind the other.
std::vector<chunk_interval> chunks_of(const std::vector<std::int64_t>& sizes) {
    std::vector<chunk_interval> chunks;
    std::int64_t first = 0;
    for (std::int64_t count : sizes) {
        chunks.push_back({first, count});
        first += count;
    }
    return chunks;
}

constexpr std::int64_t two_to_62 = std::int64_t{1} << 62;

using namespace stretto::archetypes;

struct refuses_all {
    std::size_t components_of(value) const { return 1; }
    std::size_t rank(value, std::size_t) const { return 0; }
    std::int64_t extent(value, std::size_t, std::size_t) const { return 1; }
    stretto::chunk_verdict combine_rule(vertex, std::int64_t, std::span<const stretto::chunk_state>,
                                        std::span<stretto::chunk_state>) const {
        return {.possible = false, .reason = "nothing is known of it"};
    }
};
/// A verdict is more than yes or no.
struct says_yes_or_no : refuses_all {
    bool combine_rule(vertex, std::int64_t, std::span<const stretto::chunk_state>,
                      std::span<stretto::chunk_state>) const {
        return false;
    }
};

}  // namespace

TEST_CASE("a chunk model knows shapes and has a verdict on every operation, of a graph with values") {
    static_assert(stretto::chunk_model<refuses_all, program>);
    static_assert(!stretto::chunk_model<says_yes_or_no, program>);
    static_assert(!stretto::chunk_model<kinds, program>);
    static_assert(!stretto::chunk_model<refuses_all, dependence>);
}

TEST_CASE("so much a token where the amount is a multiple of the tokens") {
    CHECK(share_of(40, 8, {0, 4}) == 20);
    CHECK(share_of(40, 8, {4, 3}) == 15);
    CHECK(share_of(40, 8, {7, 1}) == 5);
    CHECK(share_of(40, 8, {3, 0}) == 0);
    CHECK(share_of(0, 8, {0, 4}) == 0);
    static_assert(share_of(6, 3, {1, 1}) == 2);
}

TEST_CASE("what does not divide is spread over the chunks, and nothing is lost") {
    CHECK(share_of(10, 4, {0, 1}) == 2);
    CHECK(share_of(10, 4, {1, 1}) == 3);
    CHECK(share_of(10, 4, {2, 1}) == 2);
    CHECK(share_of(10, 4, {3, 1}) == 3);
}

TEST_CASE("amounts and tokens that overflow when multiplied") {
    constexpr std::int64_t tokens = std::int64_t{1} << 40;
    CHECK(share_of(two_to_62, tokens, {0, tokens}) == two_to_62);
    CHECK(share_of(two_to_62, tokens, {tokens / 2, tokens / 4}) == two_to_62 / 4);
    CHECK(share_of(two_to_62 - 1, tokens, {0, tokens / 2}) == two_to_62 / 2 - 1);
    CHECK(share_of(two_to_62 - 1, tokens, {tokens / 2, tokens / 2}) == two_to_62 / 2);
}

TEST_CASE("shares of chunks, one behind the other, add up; each is within one of its part of the amount") {
    stretto_check("shares", 2000, [] {
        const auto sizes = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
            rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5), rc::gen::inRange<std::int64_t>(0, 1'000'000))));
        std::int64_t tokens = 0;
        for (std::int64_t size : sizes) tokens += size;
        RC_PRE(tokens > 0);
        const std::int64_t amount =
            *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 100), rc::gen::inRange<std::int64_t>(0, two_to_62));
        const std::int64_t each = *rc::gen::inRange<std::int64_t>(0, two_to_62 / tokens);
        std::int64_t sum = 0;
        for (const chunk_interval& chunk : chunks_of(sizes)) {
            const std::int64_t share = share_of(amount, tokens, chunk);
            // Quotient and remainder apart, so that nothing overflows.
            const std::int64_t whole = amount / tokens * chunk.count;
            const std::int64_t rest = amount % tokens;
            RC_ASSERT(share >= whole);
            RC_ASSERT((share - whole - 1) * tokens < rest * chunk.count);
            RC_ASSERT((share - whole + 1) * tokens > rest * chunk.count);
            RC_ASSERT(share_of(each * tokens, tokens, chunk) == each * chunk.count);
            sum += share;
        }
        RC_ASSERT(sum == amount);
    });
}

TEST_CASE("a state, a verdict and an interval begin as nothing special") {
    constexpr stretto::chunk_state state;
    static_assert(state.what == stretto::chunk_state::kind::whole && state.dim == -1);
    static_assert(state == stretto::chunk_state{});
    static_assert(state != stretto::chunk_state{.what = stretto::chunk_state::kind::sliced, .dim = 0});
    static_assert(state != stretto::chunk_state{.positions = 1} && state != stretto::chunk_state{.order = 1});
    constexpr stretto::chunk_verdict verdict;
    static_assert(verdict.possible && verdict.reason.empty() && !verdict.chain && verdict.wanted == -1 &&
                  verdict.wanted_dim == -1 && !verdict.converts);
    CHECK(chunk_interval{} == chunk_interval{0, 0});
    CHECK(chunk_interval{1, 2} != chunk_interval{1, 3});
}
