#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/core/process_groups.hpp"

using namespace stretto;

// Threads allocate at the same time, so the count is atomic.
namespace {

std::atomic<std::size_t> allocations = 0;

void* counted(std::size_t size, std::size_t alignment) {
    ++allocations;
    void* const memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
    if (!memory) std::abort();
    return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

struct source {
    const task_graph* g;
    std::vector<std::byte> memory = std::vector<std::byte>(64);

    auto kernel(task_id, task_memory m) const {
        return [from = m.operands[0], to = m.results[0]] {
            for (std::size_t k = 0; k < 64; ++k) to[k] = static_cast<std::byte>(static_cast<int>(from[k]) + 1);
        };
    }
    collective_call call(task_id t) const {
        collective_call made;
        made.kind = g->collective[t];
        return made;
    }
    std::byte* address(value_id) { return memory.data(); }
};

}  // namespace

TEST_CASE("a replay allocates nothing") {
    support::toy_program p;
    p.groups = 2;
    p.ops.push_back({.kind = op_kind::input, .results = {{{64}, {}}}});
    std::uint32_t last = 0;
    for (std::uint32_t layer = 0; layer < 20; ++layer) {
        const auto at = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.operands = {{last, 0}}, .results = {{{64}, {}}}});
        p.ops.push_back({.kind = op_kind::start,
                         .collective = collective_kind::all_to_all,
                         .group = layer % 2,
                         .payload = {64},
                         .operands = {{at, 0}},
                         .results = {{{64}, {}}}});
        p.ops.push_back({.operands = {{at, 0}}, .results = {{{64}, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{at + 1, 0}}, .results = {{{0}, {{at + 1, 0}}}}});
        last = at + 3;
    }
    p.ops.push_back({.kind = op_kind::output, .operands = {{last, 0}}});
    const task_graph g = support::graph_of(p);
    const auto order = check_order(g, support::program_order(static_cast<std::uint32_t>(g.size())));
    REQUIRE(order.has_value());

    const std::vector<rank_id> ranks = {0, 1};
    process_groups groups;
    for (int k = 0; k < 2; ++k) groups.add({.size = 2, .ranks = ranks});
    host_world world(2, groups);
    std::atomic<int> ready = 0, done = 0;
    std::size_t before = 0, after = 0;
    std::byte seen[2] = {};
    const auto failure = world.run([&](host_rank& rank) {
        source s{&g};
        auto bound = bind_order(g, *order, s, rank);
        if (!bound || bound->replay()) return;
        ++ready;
        while (ready < 2) {
        }
        if (rank.rank() == 0) before = allocations;
        ++ready;
        while (ready < 4) {
        }
        for (int k = 0; k < 50; ++k)
            if (bound->replay()) return;
        ++done;
        while (done < 2) {
        }
        if (rank.rank() == 0) after = allocations;
        ++done;
        while (done < 4) {
        }
        seen[rank.rank()] = *bound->address(g.operands[g.size() - 1][0]);
    });
    CHECK_FALSE(failure);
    CHECK(before > 0);
    CHECK(after - before == 0);
    for (const std::byte b : seen) CHECK(static_cast<int>(b) == 20);
}
