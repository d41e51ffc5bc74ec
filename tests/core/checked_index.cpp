#undef NDEBUG
#include "stretto/core/checked_index.hpp"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "stretto/analysis/liveness.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/reorder.hpp"
#include "stretto/views/numbered.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/dies.hpp"
#include "support/edge_graph.hpp"

using namespace stretto;

namespace {

struct op {
    std::vector<op*> operands, users;
};

struct view {
    using vertex_type = op*;
    using value_type = op*;
    const std::vector<op*>* ops;
    const std::vector<op*>& vertices() const { return *ops; }
    const std::vector<op*>& successors(op* o) const { return o->users; }
    const std::vector<op*>& predecessors(op* o) const { return o->operands; }
    const std::vector<op*>& operands(op* o) const { return o->operands; }
    std::array<op*, 1> results(op* o) const { return {o}; }
    op* producer(op* x) const { return x; }
    const std::vector<op*>& consumers(op* x) const { return x->users; }
};

struct model {
    op_kind kind(op*) const { return op_kind::compute; }
};

struct chunks {
    std::size_t components_of(op*) const { return 1; }
    std::size_t rank(op*, std::size_t) const { return 1; }
    std::int64_t extent(op*, std::size_t, std::size_t) const { return 8; }
    chunk_verdict combine_rule(op*, std::int64_t, std::span<const chunk_state> in, std::span<chunk_state> out) const {
        out[0] = in[0];
        return {};
    }
};

/// Operations 0 → 1, numbered; operation 2, which reads 1, was added afterwards and the numbers were not made anew.
struct stale_program {
    std::array<op, 3> store;
    std::vector<op*> ops{&store[0], &store[1]};
    numbering<op*> numbers{view{&ops}};

    stale_program() {
        for (std::size_t k : {1u, 2u}) {
            store[k].operands = {&store[k - 1]};
            store[k - 1].users = {&store[k]};
        }
        ops.push_back(&store[2]);
    }
    stale_program(const stale_program&) = delete;
    stale_program& operator=(const stale_program&) = delete;
    numbered_view<view> graph() const { return views::numbered(view{&ops}, numbers); }
};

template <class F>
bool says_stale(F f) {
    return support::last_words(f).find("are the numbers stale?") != std::string::npos;
}

}  // namespace

TEST_CASE("an index below the bound, or an assertion") {
    const support::edge_graph g{3, {}, {0, 1, 2}};
    CHECK(detail::checked_index(support::edge_graph_view{&g}, 0, 3) == 2);
    CHECK(says_stale([&] { (void)detail::checked_index(support::edge_graph_view{&g}, 0, 2); }));
}

TEST_CASE("an operation that was added behind the back of its numbering is noticed before anything is written") {
    const stale_program p;
    CHECK(says_stale([&] { (void)topological_sort(p.graph()); }));
    CHECK(says_stale([&] { (void)liveness_of(p.graph(), model{}); }));
    CHECK(says_stale([&] { (void)snapshot(p.graph()); }));
    CHECK(says_stale([&] { (void)plan_reorder(p.graph(), std::span<op* const>(p.ops)); }));
    const std::vector<chunk_region<op*>> regions{{{p.ops[1]}, {4, 4}}};
    const std::vector<token_dimension<op*>> tokens{{p.ops[0], 0}};
    CHECK(says_stale([&] { (void)plan_chunks(p.graph(), model{}, chunks{}, std::span(regions), std::span(tokens)); }));
    SUBCASE("what can fail says so as an error") {
        const auto tasks = make_task_graph(p.graph(), model{});
        REQUIRE(!tasks);
        CHECK(tasks.error().why == task_graph_error::reason::stale_numbers);
        CHECK(tasks.error().task == 2);
        const auto plan = plan_overlap(p.graph(), model{});
        REQUIRE(!plan);
        CHECK(plan.error().graph.why == task_graph_error::reason::stale_numbers);
    }
}

TEST_CASE("two operations with one number are noticed, too") {
    const support::edge_graph g{2, {}, {0, 0}};
    CHECK(support::last_words([&] {
              (void)topological_sort(support::edge_graph_view{&g});
          }).find("two with one index") != std::string::npos);
}
