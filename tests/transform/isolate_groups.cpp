#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/transform/isolate_groups.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/process_groups.hpp"
#include "stretto/transform/explain_groups.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

constexpr auto gather = collective_kind::all_gather, scatter = collective_kind::reduce_scatter,
               exchange = collective_kind::all_to_all;

/// A program and its list of groups, whose verbs do what they are told.
struct grouped_ir {
    toy_program program;
    process_groups groups;

    explicit grouped_ir(std::size_t originals) {
        static constexpr rank_id ranks[] = {3, 1, 2, 0};  // their order matters to all-to-alls
        for (std::size_t k = 0; k < originals; ++k) groups.add({.size = 4, .ranks = ranks});
    }
    std::uint32_t launch(collective_kind kind, group_id group) {
        program.ops.push_back({.kind = op_kind::start, .collective = kind, .group = group, .results = {{{8}, {}}}});
        return static_cast<std::uint32_t>(program.ops.size() - 1);
    }
    group_id group(std::uint32_t v) const { return program.ops[v].group; }

    template <class... Wanted>
    auto plan(const Wanted&... wanted) const {
        return plan_isolation(support::program_view{&program}, support::program_model{&program}, groups, wanted...);
    }
    struct verbs {
        grouped_ir* ir;
        group_id duplicate_group(group_id original, std::int32_t priority) {
            process_group made = ir->groups.group_at(original);
            made.duplicate_of = original;
            made.priority = priority;
            return ir->groups.add(made);
        }
        void set_group(std::uint32_t v, group_id group) { ir->program.ops[v].group = group; }
    };
    void isolate() { apply(*plan(), verbs{this}); }
    template <class Wanted>
    void isolate(const Wanted& wanted) {
        apply(*plan(wanted), verbs{this});
    }
};
static_assert(group_rewriter<grouped_ir::verbs, support::program_view>);
static_assert(!group_rewriter<grouped_ir, support::program_view>);

void isolate_gathers(grouped_ir& ir) {
    ir.isolate([&](std::uint32_t v) { return ir.program.ops[v].collective == gather; });
}

}  // namespace

TEST_CASE("exchanges on the group of parameter gathers get a communicator with the same ranks in the same order") {
    grouped_ir ir(2);
    const auto ag = ir.launch(gather, 1), first = ir.launch(exchange, 1), rs = ir.launch(scatter, 1),
               second = ir.launch(exchange, 1);
    const auto plan = ir.plan();
    REQUIRE(plan);
    CHECK(plan->groups == 2);
    CHECK(plan->duplicates == std::vector<group_duplicate>{{1, 1}});
    CHECK(plan->moves == std::vector<group_move<std::uint32_t>>{{first, 1, 2}, {second, 1, 2}});
    apply(*plan, grouped_ir::verbs{&ir});
    CHECK(ir.group(first) == 2);
    CHECK(ir.group(second) == 2);
    CHECK(ir.group(ag) == 1);
    CHECK(ir.group(rs) == 1);
    CHECK(ir.groups.group_at(2).duplicate_of == 1);
    CHECK(ir.groups.group_at(2).priority == 1);
    CHECK(compare_ranks(ir.groups.group_at(2), ir.groups.group_at(1)) == rank_agreement::same);
    const auto again = ir.plan();
    REQUIRE(again);
    CHECK_MESSAGE((again->duplicates.empty() && again->moves.empty()), "what is isolated stays as it is");
}

TEST_CASE("torchtitan G1: equal ranks are no shared communicator") {
    grouped_ir ir(2);
    const auto ag = ir.launch(gather, 0), rs = ir.launch(scatter, 0), a2a = ir.launch(exchange, 1);
    CHECK(ir.plan()->moves.empty());
    CHECK(ir.plan()->duplicates.empty());
    isolate_gathers(ir);  // leaves nothing for exchanges to share, either
    ir.isolate();
    CHECK(ir.group(a2a) == 1);
    CHECK(ir.group(rs) == 0);
    CHECK(ir.group(ag) == 2);
    CHECK(ir.groups.group_count() == 3);
}

TEST_CASE("torchtitan G2: every exchange moves, marked or not, and a graph without any stays as it is") {
    grouped_ir ir(1);
    const auto ag = ir.launch(gather, 0);
    CHECK(ir.plan()->moves.empty());
    const auto dispatch = ir.launch(exchange, 0), combine = ir.launch(exchange, 0);
    CHECK(ir.plan()->moves.size() == 2);
    CHECK(ir.plan()->duplicates.size() == 1);
    ir.isolate();
    CHECK(ir.group(ag) == 0);
    CHECK(ir.group(dispatch) == 1);
    CHECK(ir.group(combine) == 1);
}

TEST_CASE("torchtitan G3: without gathers there is nothing to isolate, and that is no error") {
    grouped_ir ir(1);
    ir.program.ops.push_back({.results = {{{8}, {}}}});
    isolate_gathers(ir);
    CHECK(ir.groups.group_count() == 1);
    ir.launch(scatter, 0);
    isolate_gathers(ir);
    CHECK(ir.groups.group_count() == 1);
}

TEST_CASE("torchtitan P1, P2: every gather leaves the group of the reductions, and as many are there as before") {
    // torchtitan moves gathers that share a group with those of parameters, and always makes a group for them. Here a
    // group that only gathers use is one of their own already.
    grouped_ir ir(1);
    std::vector<std::uint32_t> gathers;
    for (int layer = 0; layer < 3; ++layer) {
        gathers.push_back(ir.launch(gather, 0));
        gathers.push_back(ir.launch(gather, 0));  // again, for the backward pass
        ir.launch(scatter, 0);
    }
    const std::size_t launches = ir.program.ops.size();
    isolate_gathers(ir);
    CHECK(ir.program.ops.size() == launches);
    CHECK(ir.groups.group_count() == 2);
    for (std::uint32_t v = 0; v < launches; ++v) CHECK(ir.group(v) == (std::ranges::count(gathers, v) > 0 ? 1u : 0u));
}

TEST_CASE("torchtitan P3: gathers of two groups get a group each") {
    grouped_ir ir(2);
    std::vector<std::uint32_t> gathers;
    for (const group_id g : {0u, 0u, 0u, 1u, 1u}) {
        gathers.push_back(ir.launch(gather, g));
        ir.launch(scatter, g);
    }
    isolate_gathers(ir);
    CHECK(ir.groups.group_count() == 4);
    std::vector<group_id> now;
    for (std::uint32_t v : gathers) now.push_back(ir.group(v));
    CHECK(now == std::vector<group_id>{2, 2, 2, 3, 3});
    CHECK(ir.groups.group_at(2).duplicate_of == 0);
    CHECK(ir.groups.group_at(3).duplicate_of == 1);
}

TEST_CASE("torchtitan P4: gathers of their own, then exchanges of their own: three communicators") {
    grouped_ir ir(1);
    const auto ag = ir.launch(gather, 0), rs = ir.launch(scatter, 0), a2a = ir.launch(exchange, 0);
    isolate_gathers(ir);
    ir.isolate();
    CHECK(ir.group(rs) == 0);
    CHECK(ir.group(ag) != 0);
    CHECK(ir.group(a2a) != 0);
    CHECK(ir.group(ag) != ir.group(a2a));
}

TEST_CASE("each source gets its own, and a later graph reuses them") {
    grouped_ir ir(2);
    for (const group_id g : {0u, 1u}) {
        ir.launch(gather, g);
        ir.launch(exchange, g);
    }
    ir.isolate();
    CHECK(ir.groups.group_count() == 4);
    grouped_ir later(0);
    later.groups = ir.groups;
    later.launch(scatter, 1);
    const auto a2a = later.launch(exchange, 1);
    later.isolate();
    CHECK(later.groups.group_count() == 4);
    CHECK(later.group(a2a) == ir.group(3));
}

TEST_CASE("groups that contradict themselves, or that are not there") {
    grouped_ir ir(1);
    ir.launch(exchange, 5);
    CHECK(ir.plan().error().why == isolation_error::reason::group_out_of_range);
    CHECK(ir.plan().error().group == 5);
    CHECK_FALSE(ir.plan().error().fault);

    grouped_ir two(1);
    constexpr rank_id others[] = {0, 1, 2, 3};  // the same communicator, and another order of its ranks
    two.groups.add({.size = 4, .ranks = others, .duplicate_of = 0});
    const auto plan = two.plan();
    REQUIRE_FALSE(plan);
    CHECK(plan.error().why == isolation_error::reason::broken_groups);
    CHECK(plan.error().group == 1);
    REQUIRE(plan.error().fault);
    CHECK(plan.error().fault->why == group_fault::reason::other_ranks_than_original);
    CHECK(plan.error().fault->other == 0);
}

TEST_CASE("property: classes are apart afterwards, ranks stay, and nothing else changes") {
    int moved = 0;
    stretto_check("isolation", 500, [&] {
        const auto groups = *rc::gen::inRange<std::size_t>(1, 5);
        grouped_ir ir(groups);
        const auto choices = *rc::gen::container<std::vector<std::pair<std::uint8_t, std::uint8_t>>>(
            rc::gen::pair(rc::gen::inRange<std::uint8_t>(0, 3), rc::gen::inRange<std::uint8_t>(0, 4)));
        const collective_kind kinds[] = {gather, scatter, exchange};
        for (const auto& [kind, group] : choices) ir.launch(kinds[kind], static_cast<group_id>(group % groups));
        const auto wanted_kind = *rc::gen::element(gather, exchange);
        const auto wanted = [&](std::uint32_t v) { return ir.program.ops[v].collective == wanted_kind; };
        const toy_program before = ir.program;
        const auto plan = *ir.plan(wanted);
        apply(plan, grouped_ir::verbs{&ir});
        if (!plan.moves.empty()) ++moved;

        RC_ASSERT(!first_fault(ir.groups));
        std::vector<int> used(ir.groups.group_count(), 0);
        for (std::uint32_t v = 0; v < ir.program.ops.size(); ++v) used[ir.group(v)] |= wanted(v) ? 1 : 2;
        for (const int by : used) RC_ASSERT(by != 3);
        std::vector<bool> shared(groups, false);  // by original
        for (std::uint32_t v = 0; v < before.ops.size(); ++v)
            for (std::uint32_t w = 0; w < before.ops.size(); ++w)
                if (before.ops[v].group == before.ops[w].group && wanted(v) != wanted(w))
                    shared[before.ops[v].group] = true;
        for (std::uint32_t v = 0; v < before.ops.size(); ++v) {
            const group_id was = before.ops[v].group, is = ir.group(v);
            RC_ASSERT((is != was) == (wanted(v) && shared[was]));
            RC_ASSERT(is == was || ir.groups.group_at(is).duplicate_of == was);
        }
        for (std::uint32_t v = 0; v < before.ops.size(); ++v) ir.program.ops[v].group = before.ops[v].group;
        RC_ASSERT(ir.program == before);
    });
    if (support::runs_all_cases()) CHECK(moved > 200);
}

TEST_CASE("as the documentation shows it") {
    grouped_ir ir(0);
    // [isolate]
    constexpr rank_id ranks[] = {0, 1, 2, 3};
    process_groups groups;
    groups.add({.size = 4, .ranks = ranks});  // group 0: group(v) of the op model counts in this list
    // [/isolate]
    ir.groups = groups;
    ir.launch(gather, 0);
    const auto moved = ir.launch(exchange, 0);
    const support::program_view view{&ir.program};
    const support::program_model ops{&ir.program};
    grouped_ir::verbs rewriter{&ir};
    // [isolate]
    const auto plan = plan_isolation(view, ops, groups);
    if (!plan) FAIL(explain(plan.error(), [](group_id g) { return "group " + std::to_string(g); }));
    apply(*plan, rewriter);
    // [/isolate]
    CHECK(ir.group(moved) == 1);
    CHECK(ir.groups.group_count() == 2);
}
