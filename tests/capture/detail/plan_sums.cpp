#include "stretto/capture/detail/plan_sums.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture/plan_drafts.hpp"
#include "stretto/capture/check_plan.hpp"

using namespace stretto;
using support::draft;
using support::draft_node;
using support::kernel;
using support::launch;
using support::tensor;
using support::view;

namespace {

const std::string f100 = tensor("100", "f32"), shard = tensor("13", "f32");

/// Three gradients, each reduced by itself; the results are added to the first one in place, through a view of it.
draft parts_step() {
    draft d;
    d.nodes = {support::input("x", 400, f100)};
    for (const char* k : {"0", "1", "2"}) {
        const std::string n = k;
        d.nodes.push_back(kernel("g" + n, "aten.mm.default", {"x"}, 5000, 400, f100));
        d.nodes.push_back(launch("r" + n, collective_kind::reduce_scatter, 0, "g" + n, 400, 52, shard));
        d.nodes.push_back(support::wait("w" + n, "r" + n, shard));
        if (n == "0") d.nodes.push_back(view("seen", "w0", shard));
        if (n == "1") {
            d.nodes.push_back(support::in_place("sum1", "aten.add_.Tensor", {"seen", "w1"}, "seen"));
            d.nodes.back().outputs = shard;
        }
    }
    d.nodes.push_back(support::in_place("sum2", "aten.add_.Tensor", {"sum1", "w2"}, "sum1"));
    d.nodes.back().outputs = shard;
    d.nodes.push_back(kernel("use", "aten.neg.default", {"sum2"}, 300, 52, shard));
    d.nodes.push_back({.name = "output", .op = "output", .kind = op_kind::output, .inputs = {"use"}});
    return d;
}

/// One collective of the sum; the first addition in place of g0.
draft once_plan() {
    draft d = parts_step();
    draft_node first = support::in_place("add1", "aten.add_.Tensor", {"g0", "g1"}, "g0");
    first.ns = 100 + 3 * 400;
    draft_node second = first;
    second.name = "add2";
    second.inputs = {"add1", "g2"};
    second.aliases = {"g0"};
    second.writes = {"add1"};
    draft_node once = launch("once", collective_kind::reduce_scatter, 0, "add2", 400, 52, shard);
    once.field("members") = R"(["r0","r1","r2"])";
    once.field("sums") = R"(["seen","sum1","sum2"])";
    d.insert_before("r1", first);
    d.insert_before("r2", second);
    d.insert_before("r2", once);
    d.insert_before("sum2", support::wait("once_here", "once", shard));
    for (const char* gone : {"r0", "r1", "r2", "w0", "w1", "w2", "seen", "sum1"}) d.erase(gone);
    d["sum2"] = view("sum2", "once_here", shard);
    return d;
}

std::string listed(const plan_report& r) {
    std::string lines;
    for (const plan_violation& v : r.violations) lines += "\n  " + v.message();
    return lines.empty() ? "legal" : lines;
}

struct damage {
    const char* what;
    std::function<void(draft& step, draft& plan)> harm;
    plan_rule rule;
    const char* node;
};

const std::vector<damage>& damages() {
    using enum plan_rule;
    static const std::vector<damage> all = {
        {"a member is still there", [](draft&, draft& p) { p.insert_before("add1", parts_step()["r0"]); },
         operation_still_there, "r0"},
        {"an addition is still there",
         [](draft&, draft& p) {
             draft_node n = parts_step()["sum1"];
             n.inputs = {"g0", "g1"};
             n.aliases = n.writes = {"g0"};
             p.insert_before("add2", n);
         },
         operation_still_there, "sum1"},
        {"no members", [](draft&, draft& p) { p["once"].field("members") = "[]"; }, members_invalid, "once"},
        {"a member that there is not", [](draft&, draft& p) { p["once"].field("members") = R"(["r0","r1","r9"])"; },
         members_invalid, "once"},
        {"a member that is no start", [](draft&, draft& p) { p["once"].field("members") = R"(["r0","r1","w2"])"; },
         members_invalid, "once"},
        {"sums that there are not", [](draft&, draft& p) { p["once"].field("sums") = R"(["sum9"])"; }, members_invalid,
         "once"},
        {"a member twice", [](draft&, draft& p) { p["once"].field("members") = R"(["r0","r1","r2","r1"])"; },
         launched_twice, "once"},
        {"a member is forgotten", [](draft&, draft& p) { p["once"].field("members") = R"(["r0","r1"])"; },
         operation_lost, "r2"},
        {"an addition is forgotten", [](draft&, draft& p) { p["once"].field("sums") = R"(["seen","sum2"])"; },
         sum_read_elsewhere, "once"},
        {"members take the largest",
         [](draft& s, draft& p) {
             for (const char* m : {"r0", "r1", "r2"}) s[m].field("args") = R"(["%0", "max", 8])";
             p["once"].field("args") = R"(["%0", "max", 8])";
         },
         not_linear, "once"},
        {"members average integers",
         [](draft& s, draft& p) {
             for (const char* m : {"r0", "r1", "r2"}) {
                 s[m].field("args") = R"(["%0", "avg", 8])";
                 s[m].outputs = tensor("13", "i32");
             }
             p["once"].field("args") = R"(["%0", "avg", 8])";
             p["once"].outputs = tensor("13", "i32");
         },
         not_linear, "once"},
        {"members gather",
         [](draft& s, draft& p) {
             for (const char* m : {"r0", "r1", "r2"}) s[m].collective = collective_kind::all_gather;
             p["once"].collective = collective_kind::all_gather;
         },
         not_linear, "once"},
        {"members on two groups", [](draft& s, draft&) { s["r1"].group = 1; }, members_differ, "once"},
        {"members with two payloads", [](draft& s, draft&) { s["r2"].payload = 404; }, members_differ, "once"},
        {"members with other arguments", [](draft& s, draft&) { s["r1"].field("args") = R"(["%0", "sum", 4])"; },
         members_differ, "once"},
        {"members of two types", [](draft& s, draft&) { s["r1"].outputs = tensor("13", "bf16"); }, members_differ,
         "once"},
        {"a part is read elsewhere",
         [](draft& s, draft& p) {
             s["use"].inputs.push_back("w1");
             p["use"].inputs.push_back("once_here");
         },
         sum_read_elsewhere, "once"},
        {"a part of the sum is read elsewhere",
         [](draft& s, draft& p) {
             s["use"].inputs.push_back("sum1");
             p["use"].inputs.push_back("once_here");
         },
         sum_read_elsewhere, "once"},
        {"a part is added twice", [](draft& s, draft&) { s["sum2"].inputs = {"sum1", "w1"}; }, sum_differs, "once"},
        {"the sum has a factor", [](draft& s, draft&) { s["sum1"].field("kwargs") = R"({"alpha":2})"; }, sum_differs,
         "once"},
        {"the sum is a difference", [](draft& s, draft&) { s["sum1"].op = "aten.sub_.Tensor"; }, sum_differs, "once"},
        {"an addition that is no part of the sum is listed, and vanishes",
         [](draft& s, draft& p) {
             for (draft* d : {&s, &p}) {
                 d->insert_before("output", kernel("buffer", "aten.neg.default", {"x"}, 600, 400, f100));
                 d->insert_before("output", kernel("later", "aten.neg.default", {"buffer"}, 600, 400, f100));
                 (*d)["output"].inputs.push_back("later");
             }
             s.insert_before("later", support::in_place("bump", "aten.add_.Tensor", {"buffer", "x"}, "buffer"));
             p["once"].field("sums") = R"(["seen","sum1","sum2","bump"])";
         },
         sum_differs, "once"},
        {"a bucket launches a member as well",
         [](draft&, draft& p) {
             draft_node both = launch("both", collective_kind::reduce_scatter, 0, "g0", 400, 52, shard);
             both.field("members") = R"(["r0"])";
             both.field("coalesced") = "true";
             p.insert_before("output", both);
             p.insert_before("output", support::wait("both_here", "both", shard));
         },
         launched_twice, "both"},
        {"the collective is another", [](draft&, draft& p) { p["once"].op = "other.default"; }, operation_changed,
         "once"},
        {"it has other arguments", [](draft&, draft& p) { p["once"].field("args") = R"(["%0", "avg", 8])"; },
         operation_changed, "once"},
        {"it is on another group", [](draft&, draft& p) { p["once"].group = 1; }, group_changed, "once"},
        {"it sends too little", [](draft&, draft& p) { p["once"].payload = 200; }, payload_wrong, "once"},
        {"it is too cheap", [](draft&, draft& p) { p["once"].ns = 1398; }, collective_underpaid, "once"},
        {"it allocates too little", [](draft&, draft& p) { p["once"].allocation = 51; }, memory_unaccounted, "once"},
        {"it reads one part only", [](draft&, draft& p) { p["once"].inputs = {"g2"}; }, inputs_of_members, "once"},
        {"it reads two of three",
         [](draft&, draft& p) {
             p["once"].inputs = {"add1"};
             p.erase("add2");
         },
         inputs_of_members, "once"},
        {"it reads a part twice", [](draft&, draft& p) { p["add2"].inputs = {"add1", "g1"}; }, inputs_of_members,
         "once"},
        {"it reads a difference", [](draft&, draft& p) { p["add2"].op = "aten.sub_.Tensor"; }, inputs_of_members,
         "once"},
        {"it is never waited for", [](draft&, draft& p) { p["sum2"].inputs = {"g0"}; }, wait_lost, "sum2"},
        {"the result costs something", [](draft&, draft& p) { p["sum2"].ns = 1; }, wait_lost, "sum2"},
        {"the result lives elsewhere", [](draft&, draft& p) { p["sum2"].aliases = {}; }, storage_lost, "sum2"},
        {"the result is lost",
         [](draft&, draft& p) {
             p["use"].inputs = {"once_here"};
             p.erase("sum2");
         },
         operation_lost, "sum2"},
        {"an addition is unpaid", [](draft&, draft& p) { p["add1"].ns = 1298; }, copy_underpaid, "add1"},
        {"an addition is nowhere",
         [](draft&, draft& p) {
             p["add1"].op = "aten.add.Tensor";
             p["add1"].aliases = p["add1"].writes = {};
         },
         memory_unaccounted, "add1"},
        {"an addition that states less than it adds is unpaid",
         [](draft&, draft& p) {
             p["add1"].outputs = tensor("10", "f32");
             p["add1"].ns = 100 + 3 * 40;
         },
         copy_underpaid, "add1"},
        {"an addition that states less than it adds allocates too little",
         [](draft&, draft& p) {
             p["add1"].op = "aten.add.Tensor";
             p["add1"].aliases = p["add1"].writes = {};
             p["add1"].outputs = tensor("10", "f32");
             p["add1"].allocation = 40;
         },
         memory_unaccounted, "add1"},
        {"an addition overwrites what is read later",
         [](draft& s, draft& p) {
             s["use"].inputs.push_back("g0");
             p["use"].inputs.push_back("g0");
         },
         writes_changed, "add1"},
        {"an addition overwrites what a later one reads through an alias",
         [](draft& s, draft& p) {
             for (draft* d : {&s, &p}) (*d)["g2"] = view("g2", "g0", f100);
         },
         writes_changed, "add1"},
        {"an addition overwrites an input", [](draft&, draft& p) { p["add1"].writes = {"x"}; }, writes_changed, "add1"},
        {"an operand is overwritten before it is added",
         [](draft& s, draft& p) {
             for (draft* d : {&s, &p}) {
                 draft_node n = support::in_place("clear", "aten.zero_.default", {"g0"}, "g0");
                 d->insert_before("g1", n);
             }
         },
         overtakes_a_write, "clear"},
        {"an addition that nobody asked for",
         [](draft&, draft& p) {
             draft_node n = p["add1"];
             n.name = "add3";
             p.insert_before("once", n);
         },
         node_unexplained, "add3"},
    };
    return all;
}

}  // namespace

TEST_CASE("one collective of a sum is a legal plan") {
    const capture step = parts_step().build();
    SUBCASE("in place") {
        const plan_report r = check_plan(step, once_plan().build());
        CHECK_MESSAGE(r.legal(), listed(r));
        CHECK(r.after.collectives == 1);
        CHECK(r.after.compute == r.before.compute - nanoseconds{2 * 300} + nanoseconds{2 * 1300});
    }
    SUBCASE("sums in memory of their own, in another order") {
        draft p = once_plan();
        for (const char* sum : {"add1", "add2"}) {
            p[sum].op = "aten.add.Tensor";
            p[sum].aliases = p[sum].writes = {};
            p[sum].allocation = 400;
        }
        p["add1"].inputs = {"g2", "g1"};
        p.move_before("add1", "add2");
        p["add2"].inputs = {"g0", "add1"};
        const plan_report r = check_plan(step, p.build());
        CHECK_MESSAGE(r.legal(), listed(r));
    }
    SUBCASE("on a communicator of its own") {
        draft p = once_plan();
        p.groups.push_back({"dp copy", 8, "", {}, 0});
        p["once"].group = 3;
        const plan_report r = check_plan(step, p.build());
        CHECK_MESSAGE(r.legal(), listed(r));
    }
}

TEST_CASE("every damage to it is found, and named") {
    for (const damage& d : damages()) {
        INFO(std::string(d.what));
        draft step = parts_step(), plan = once_plan();
        d.harm(step, plan);
        const plan_report r = check_plan(step.build(), plan.build());
        CAPTURE(listed(r));
        CHECK(std::any_of(r.violations.begin(), r.violations.end(), [&](const plan_violation& v) {
            return v.rule == d.rule && v.node == d.node && !v.cause.empty();
        }));
    }
}
