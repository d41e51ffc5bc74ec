#include "stretto/transform/verify_reductions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "stretto/transform/apply_reductions.hpp"
#include "stretto/transform/plan_reductions.hpp"
#include "stretto/transform/reduction_plan.hpp"
#include "stretto/transform/reduction_rules.hpp"
#include "support/prop.hpp"
#include "support/reduction_ir.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_rewriter;
using support::reduction_view;
using enum support::reduction_op;

namespace {

using plan_of_program = reduction_plan<std::uint32_t, std::uint32_t>;

auto judged(const plan_of_program& plan, const reduction_program& p) {
    return verify_reductions(plan, reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
}
plan_of_program plan_of(const reduction_program& p) {
    return plan_reductions(reduction_view{&p}, reduction_model{&p}, reduction_model{&p});
}

/// Four gradients, reduced and added; values 1 to 4 are the gradients, and what else there is has a name.
struct four_parts {
    reduction_program p;
    std::vector<std::uint32_t> gradients, starts, waits, sums;
    std::uint32_t stranger, look;
    four_parts() {
        const std::uint32_t x = p.input();
        for (std::uint32_t k = 0; k < 4; ++k) {
            gradients.push_back(p.op(mix, {x}));
            starts.push_back(p.start(gradients.back(), {.kind = collective_kind::reduce_scatter}));
            waits.push_back(p.op(wait, {starts.back()}));
        }
        std::uint32_t total = waits[0];
        for (std::uint32_t k = 1; k < 4; ++k) sums.push_back(total = p.op(add_to, {total, waits[k]}));
        look = p.op(same, {total});
        stranger = p.start(p.op(mix, {x, x}), {.kind = collective_kind::reduce_scatter});
        p.output({look, p.op(wait, {stranger})});
    }
};

struct damage {
    const char* what;
    reduction_rule rule;
    std::function<void(four_parts&, reduction<std::uint32_t, std::uint32_t>&)> harm;
};

/// Changes a number of a plan, or a list.
void damage_somewhere(plan_of_program& plan, const std::vector<std::uint8_t>& bytes, std::size_t vertices) {
    std::size_t at = 0;
    const auto next = [&](std::size_t bound) {
        return bound == 0 || at >= bytes.size() ? std::size_t{0} : bytes[at++] % bound;
    };
    const auto vertex = [&] { return static_cast<std::uint32_t>(next(vertices)); };
    auto& r = plan.reductions[next(plan.reductions.size())];
    std::vector<std::uint32_t>* const lists[] = {&r.members, &r.operands, &r.waits, &r.sums, &r.layout};
    std::vector<std::uint32_t>& list = *lists[next(5)];
    switch (next(8)) {
        case 0:
            if (!list.empty()) list[next(list.size())] = vertex();
            break;
        case 1:
            if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(next(list.size())));
            break;
        case 2:
            list.insert(list.begin() + static_cast<std::ptrdiff_t>(next(list.size() + 1)), vertex());
            break;
        case 3:
            if (list.size() > 1) std::swap(list[next(list.size())], list[next(list.size())]);
            break;
        case 4:
            r.result = vertex();
            break;
        case 5:
            r.first_sum = static_cast<sum_place>(next(3));
            break;
        case 6: {  // one member less, consistently
            const std::size_t k = next(r.members.size());
            for (auto* each : {&r.members, &r.operands, &r.waits})
                each->erase(each->begin() + static_cast<std::ptrdiff_t>(k));
            break;
        }
        case 7:
            if (!plan.reductions.empty()) plan.reductions.push_back(r);
            break;
    }
}

}  // namespace

TEST_CASE("a right plan, and what it does") {
    four_parts f;
    const plan_of_program plan = plan_of(f.p);
    const auto verified = judged(plan, f.p);
    REQUIRE(verified);
    CHECK(*verified == verified_reductions{4, 3, 3});
    CHECK(*judged({}, f.p) == verified_reductions{});
}

TEST_CASE("each damage is found, and named") {
    using enum reduction_rule;
    const damage damages[] = {
        {"a member is left out", wrong_coefficients,
         [](auto&, auto& r) {
             for (auto* list : {&r.members, &r.operands, &r.waits}) list->pop_back();
         }},
        {"one is added that is in no sum", wrong_coefficients,
         [](four_parts& f, auto& r) {
             r.members.push_back(f.stranger);
             r.operands.push_back(f.p.nodes[f.stranger].operands[0]);
             r.waits.push_back(f.p.order[f.p.order.size() - 2]);
         }},
        {"only one is left", too_few_members, [](auto&, auto& r) { r.members.resize(1); }},
        {"another vertex than a start", not_linear, [](four_parts& f, auto& r) { r.members[1] = f.gradients[1]; }},
        {"the lists have different lengths", unknown_vertex, [](auto&, auto& r) { r.waits.pop_back(); }},
        {"a vertex that there is not", unknown_vertex, [](auto&, auto& r) { r.waits[0] = 999; }},
        {"members out of order", out_of_order,
         [](auto&, auto& r) {
             for (auto* list : {&r.members, &r.operands, &r.waits}) std::swap((*list)[0], (*list)[1]);
         }},
        {"sums out of order", out_of_order, [](auto&, auto& r) { std::swap(r.sums[0], r.sums[1]); }},
        {"another operand", wrong_operand, [](auto&, auto& r) { std::swap(r.operands[0], r.operands[1]); }},
        {"another wait", wrong_wait, [](auto&, auto& r) { std::swap(r.waits[2], r.waits[3]); }},
        {"a view of the result vanishes too", superfluous,
         [](four_parts& f, auto& r) {
             r.sums.insert(r.sums.end() - 1, f.look);
             std::sort(r.sums.begin(), r.sums.end());
             std::swap(r.sums[2], r.sums[3]);
             r.sums = {r.sums[0], r.sums[1], f.look, f.sums[2]};
             std::swap(f.p.order[f.look], f.p.order[f.sums[2]]);  // the program is not looked at for that
         }},
        {"the result is a sum of fewer", out_of_order, [](four_parts& f, auto& r) { r.result = f.sums[1]; }},
        {"views that are none", wrong_layout, [](four_parts& f, auto& r) { r.layout = {f.look}; }},
        {"a member twice", claimed_twice, [](auto&, auto& r) { r.members[3] = r.members[2]; }},
        {"a reader of a part", read_elsewhere,
         [](four_parts& f, auto&) { f.p.nodes[f.p.order.back()].operands.push_back(f.waits[1]); }},
        {"a dependence that is no value", other_dependence,
         [](four_parts& f, auto&) { f.p.nodes[f.starts[2]].after.push_back(f.gradients[0]); }},
        {"members on two groups", members_differ, [](four_parts& f, auto&) { f.p.nodes[f.starts[2]].group = 1; }},
        {"members with different arguments", members_differ,
         [](four_parts& f, auto&) { f.p.nodes[f.starts[2]].flavour = 1; }},
        {"members that take the largest", not_linear,
         [](four_parts& f, auto&) {
             for (std::uint32_t s : f.starts) f.p.nodes[s].how = reduction_kind::max;
         }},
        {"members that gather", not_linear,
         [](four_parts& f, auto&) {
             for (std::uint32_t s : f.starts) f.p.nodes[s].kind = collective_kind::all_gather;
         }},
        {"a kernel that is no sum", not_a_sum, [](four_parts& f, auto&) { f.p.nodes[f.sums[1]].op = mix; }},
        {"a part is counted twice", wrong_coefficients,
         [](four_parts& f, auto&) { f.p.nodes[f.sums[1]].operands = {f.waits[2], f.waits[2]}; }},
        {"an operand that is read later is overwritten", written_while_needed,
         [](four_parts& f, auto&) { f.p.nodes[f.p.order.back()].operands.push_back(f.gradients[0]); }},
        {"an operand is overwritten too early", overwritten,
         [](four_parts& f, auto&) {
             f.p.nodes[f.gradients[1]].op = twice;
             f.p.nodes[f.gradients[1]].operands = {f.gradients[0]};
         }},
    };
    std::set<reduction_rule> met;
    for (const damage& d : damages) {
        CAPTURE(d.what);
        four_parts f;
        plan_of_program plan = plan_of(f.p);
        REQUIRE(plan.reductions.size() == 1);
        d.harm(f, plan.reductions[0]);
        const auto verified = judged(plan, f.p);
        REQUIRE(!verified);
        const auto& found = verified.error();
        CHECK(std::ranges::any_of(found, [&](const auto& v) { return v.rule == d.rule && v.reduction == 0; }));
        CHECK(!explain(d.rule).empty());
        met.insert(d.rule);
    }
    CHECK(met.size() == static_cast<std::size_t>(written_while_needed) + 1);  // every rule
}

TEST_CASE("whatever is done to a plan, what is still proved computes the same") {
    std::size_t damaged = 0, proved = 0;
    stretto_check("damaged plans", 100'000, [&](const std::vector<std::uint8_t>& bytes) {
        const reduction_program p = support::random_reductions(bytes);
        plan_of_program plan = plan_of(p);
        if (plan.empty()) return;
        const plan_of_program right = plan;
        const std::vector<std::uint8_t> reversed(bytes.rbegin(), bytes.rend());
        damage_somewhere(plan, reversed, p.nodes.size());
        if (plan.reductions == right.reductions) return;
        ++damaged;
        if (!judged(plan, p)) return;
        ++proved;
        reduction_program made = p;
        reduction_rewriter rewriter{&made};
        apply_reductions(plan, reduction_view{&p}, rewriter);
        RC_ASSERT(run(made) == run(p));
    });
    MESSAGE(proved << " of " << damaged << " damaged plans are proved nevertheless");
    if (support::runs_all_cases()) {
        CHECK(damaged > 500);
        CHECK(proved > 20);
    }
}
