#include "stretto/backend/detail/caller_memory.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "support/prop.hpp"
#include "support/schedule_oracles.hpp"

using namespace stretto;

TEST_CASE("bytes that two storages share and a task writes are found as by comparing all pairs") {
    int shared = 0, apart = 0;
    stretto_check("all pairs", 2000, [&](const std::vector<std::uint8_t>& bytes) {
        // Each byte is an input: its place, its size, and whether a kernel writes it in place.
        support::toy_program p;
        std::vector<std::byte> memory(64);
        std::vector<std::byte*> at;
        std::vector<char> written;
        for (const std::uint8_t b : bytes) {
            at.push_back(b % 7 == 0 ? nullptr : memory.data() + b % 32);
            written.push_back(b % 3 == 0);
            p.ops.push_back({.kind = op_kind::input, .results = {{{b / 64}, {}}}});
        }
        const auto inputs = static_cast<std::uint32_t>(p.ops.size());
        for (std::uint32_t v = 0; v < inputs; ++v)
            if (written[v] != 0) p.ops.push_back({.operands = {{v, 0}}, .effects = {{v, 0}}});
        const task_graph g = support::graph_of(p);
        at.resize(g.allocation.size(), nullptr);

        bool expected = false;
        for (std::uint32_t v = 0; v < inputs; ++v)
            for (std::uint32_t w = 0; w < v; ++w) {
                if (at[v] == nullptr || at[w] == nullptr || (written[v] == 0 && written[w] == 0)) continue;
                expected = expected || (g.allocation[v].count > 0 && g.allocation[w].count > 0 &&
                                        at[v] < at[w] + g.allocation[w].count && at[w] < at[v] + g.allocation[v].count);
            }
        const auto found = detail::find_shared_memory(g, at);
        RC_ASSERT(found.has_value() == expected);
        if (!found) return ++apart, void();
        ++shared;
        RC_ASSERT(found->why == bind_error::reason::shared_memory);
        RC_ASSERT(found->task >= inputs);  // it names a kernel that writes
    });
    if (!support::runs_all_cases()) return;
    CHECK(shared > 100);
    CHECK(apart > 100);
}
