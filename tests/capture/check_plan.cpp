#include "stretto/capture/check_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "capture/plan_drafts.hpp"
#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"

using namespace stretto;
using support::bucketed_plan;
using support::chunked_plan;
using support::draft;
using support::draft_node;
using support::sample_step;
using support::tensor;

namespace {

std::string listed(const plan_report& r) {
    std::string lines;
    for (const plan_violation& v : r.violations) lines += "\n  " + v.message();
    return lines.empty() ? "legal" : lines;
}

plan_report judge(const draft& plan, bytes limit = unlimited_bytes) {
    return check_plan(sample_step().build(), plan.build(), limit);
}

/// A plan, damaged in one way: some violation must be of that rule and name that node.
struct damage {
    const char* what;
    draft (*plan)();
    std::function<void(draft&)> harm;
    plan_rule rule;
    const char* node;
};

const std::vector<damage>& damages() {
    using enum plan_rule;
    static const std::vector<damage> all = {
        // operations
        {"a node is lost", sample_step,
         [](draft& d) {
             d["output"].inputs.erase(d["output"].inputs.begin() + 5);
             d.erase("use_routed");
         },
         operation_lost, "use_routed"},
        {"a launch is lost", sample_step,
         [](draft& d) {
             d["grad1"].inputs = {"mm1"};
             d["grad1"].aliases = {"mm1"};
             d.erase("scatter1");
         },
         operation_lost, "scatter1"},
        {"a kernel runs twice", sample_step,
         [](draft& d) {
             draft_node n = d["mm1"];
             n.name = "mm1_again";
             d.insert_before("mm2", n);
         },
         node_unexplained, "mm1_again"},
        {"a wait runs twice", sample_step,
         [](draft& d) {
             draft_node n = d["grad1"];
             n.name = "grad1_again";
             d.insert_before("output", n);
         },
         node_unexplained, "grad1_again"},
        {"an input is added", sample_step, [](draft& d) { d.insert_before("x", support::input("y", 4, "[]")); },
         node_unexplained, "y"},
        {"a node is renamed", sample_step,
         [](draft& d) {
             d["mm2"].name = "mm3";
             d.rename("mm2", "mm3");
         },
         operation_lost, "mm2"},
        {"an input is renamed", sample_step, [](draft& d) { d["mm2"].inputs = {"x", "full2"}; }, inputs_changed, "mm2"},
        {"inputs change places", sample_step, [](draft& d) { d["mm1"].inputs = {"full1", "x"}; }, inputs_changed,
         "mm1"},
        {"an input is dropped", sample_step, [](draft& d) { d["mm2"].inputs = {"mm1"}; }, inputs_changed, "mm2"},
        {"a wait waits for another launch", sample_step, [](draft& d) { d["grad2"].inputs = {"scatter1"}; },
         inputs_changed, "grad2"},
        {"ns is lowered", sample_step, [](draft& d) { d["mm2"].ns -= 1; }, cost_changed, "mm2"},
        {"ns of a collective is lowered", sample_step, [](draft& d) { d["route"].ns -= 1; }, cost_changed, "route"},
        {"bytes are lowered", sample_step, [](draft& d) { d["mm2"].allocation -= 1; }, cost_changed, "mm2"},
        {"a payload is lowered", sample_step, [](draft& d) { d["route"].payload -= 1; }, cost_changed, "route"},
        {"an operator changes", sample_step, [](draft& d) { d["up"].op = "aten.relu.default"; }, operation_changed,
         "up"},
        {"a kernel becomes a view", sample_step, [](draft& d) { d["up"].kind = op_kind::view; }, operation_changed,
         "up"},
        {"a wait becomes a view", sample_step, [](draft& d) { d["grad1"].kind = op_kind::view; }, operation_changed,
         "grad1"},
        {"another collective", sample_step, [](draft& d) { d["route"].collective = collective_kind::all_gather; },
         operation_changed, "route"},
        {"an argument changes", sample_step, [](draft& d) { d["loss"].field("args") = R"(["%0", [1], false])"; },
         operation_changed, "loss"},
        {"an argument is dropped", sample_step, [](draft& d) { d["loss"].fields.clear(); }, operation_changed, "loss"},
        {"a shape changes", sample_step, [](draft& d) { d["up"].outputs = tensor("10,10", "f32"); }, operation_changed,
         "up"},
        {"a type changes", sample_step, [](draft& d) { d["up"].outputs = tensor("100", "i32"); }, operation_changed,
         "up"},
        {"a collective moves to other ranks", sample_step, [](draft& d) { d["route"].group = 2; }, group_changed,
         "route"},
        {"a duplicated group is smaller", sample_step,
         [](draft& d) {
             d.groups.push_back({"ep2", 4, ""});
             d["route"].group = 3;
         },
         group_changed, "route"},
        {"one duplicate stands for two groups", sample_step,
         [](draft& d) {
             d.groups.push_back({"two", 8, ""});
             d["route"].group = 3;
             d["scatter2"].group = 3;
         },
         group_changed, "route"},
        {"a duplicate says it is one of another group", sample_step,
         [](draft& d) {
             d.groups.push_back({"dp copy", 8, "", {}, 0});
             d["route"].group = 3;
         },
         group_changed, "route"},
        {"a duplicate has other ranks", sample_step,
         [](draft& d) {
             d.groups.push_back({"ep copy", 8, "", {1, 0, 2, 3, 4, 5, 6, 7}});
             d["route"].group = 3;
         },
         group_changed, "route"},
        {"a group has other ranks than in the step", sample_step,
         [](draft& d) { std::swap(d.groups[1].ranks[0], d.groups[1].ranks[1]); }, group_changed, "route"},
        {"a write is hidden", sample_step, [](draft& d) { d["write_once"].writes = {}; }, writes_changed, "write_once"},
        {"a write is invented", sample_step, [](draft& d) { d["up"].writes = {"x"}; }, writes_changed, "up"},
        {"an alias is hidden", sample_step, [](draft& d) { d["acc_view"].aliases = {}; }, storage_lost, "acc_view"},
        // order
        {"write overtakes read", sample_step, [](draft& d) { d.move_before("write_once", "read_old"); },
         overtakes_a_write, "write_once"},
        {"read overtakes write", sample_step,
         [](draft& d) {
             d.move_before("acc_view", "write_once");
             d.move_before("read_new", "write_once");
         },
         overtakes_a_write, "read_new"},
        {"read behind the next write", sample_step, [](draft& d) { d.move_before("read_new", "tokens"); },
         overtakes_a_write, "write_twice"},
        {"write overtakes write", sample_step, [](draft& d) { d.move_before("write_twice", "write_once"); },
         overtakes_a_write, "write_twice"},
        {"reads what is in flight", sample_step, [](draft& d) { d.move_before("use_routed", "routed"); },
         touches_data_in_flight, "use_routed"},
        {"overwrites what is being sent", sample_step, [](draft& d) { d.move_before("clear_tokens", "routed"); },
         touches_data_in_flight, "clear_tokens"},
        // buckets
        {"without members", bucketed_plan, [](draft& d) { d["gather"].fields.clear(); }, members_invalid, "gather"},
        {"a member is no start", bucketed_plan, [](draft& d) { d["gather"].field("members") = R"(["gather1","mm1"])"; },
         members_invalid, "gather"},
        {"a member is missing", bucketed_plan, [](draft& d) { d["gather"].field("members") = R"(["gather1"])"; },
         operation_lost, "gather2"},
        {"a member twice", bucketed_plan,
         [](draft& d) { d["gather"].field("members") = R"(["gather1","gather2","gather1"])"; }, launched_twice,
         "gather"},
        {"a member is in two buckets", bucketed_plan,
         [](draft& d) { d["scatter"].field("members") = R"(["scatter1","scatter2","gather1"])"; }, launched_twice,
         "scatter"},
        {"a member is launched as well", bucketed_plan,
         [](draft& d) { d.insert_before("scatter", sample_step()["scatter1"]); }, launched_twice, "scatter1"},
        {"the bucket is another collective", bucketed_plan,
         [](draft& d) { d["gather"].collective = collective_kind::all_to_all; }, members_differ, "gather"},
        {"the bucket reduces in another way", bucketed_plan,
         [](draft& d) { d["scatter"].field("args") = R"(["%0", "avg", 8])"; }, members_differ, "scatter"},
        {"the bucket is on other ranks", bucketed_plan, [](draft& d) { d["gather"].group = 1; }, group_changed,
         "gather"},
        {"the payload is too small", bucketed_plan, [](draft& d) { d["gather"].payload = 200; }, payload_wrong,
         "gather"},
        {"the bucket is too cheap", bucketed_plan, [](draft& d) { d["gather"].ns = 1398; }, collective_underpaid,
         "gather"},
        {"the coalesced bucket is too cheap", bucketed_plan, [](draft& d) { d["scatter"].ns = 1398; },
         collective_underpaid, "scatter"},
        {"the bucket allocates too little", bucketed_plan, [](draft& d) { d["gather"].allocation = 3199; },
         memory_unaccounted, "gather"},
        {"the pack reads too little", bucketed_plan, [](draft& d) { d["pack"].inputs = {"w1"}; }, inputs_of_members,
         "pack"},
        {"the pack reads too much", bucketed_plan, [](draft& d) { d["pack"].inputs = {"w1", "w2", "x"}; },
         inputs_of_members, "pack"},
        {"the bucket reads another gradient", bucketed_plan, [](draft& d) { d["scatter"].inputs = {"mm1", "x"}; },
         inputs_of_members, "scatter"},
        {"the pack is unpaid", bucketed_plan, [](draft& d) { d["pack"].ns = 1298; }, pack_underpaid, "pack"},
        {"the pack allocates too little", bucketed_plan, [](draft& d) { d["pack"].allocation = 399; },
         memory_unaccounted, "pack"},
        {"no pack, and not coalesced", bucketed_plan, [](draft& d) { d["scatter"].field("coalesced") = "false"; },
         pack_missing, "scatter"},
        {"the unpack is unpaid", bucketed_plan, [](draft& d) { d["unpack"].ns = 6498; }, unpack_underpaid, "unpack"},
        {"the unpack pretends to copy little", bucketed_plan,
         [](draft& d) {
             d["unpack"].allocation = 8;
             d["unpack"].ns = 116;
         },
         unpack_underpaid, "unpack"},
        {"the unpack allocates too little", bucketed_plan, [](draft& d) { d["unpack"].allocation = 3199; },
         memory_unaccounted, "unpack"},
        {"the unpack is missing", bucketed_plan,
         [](draft& d) { d["full1"] = support::view("full1", "full", tensor("800", "bf16")); }, unpack_missing, "full1"},
        {"results do not wait", bucketed_plan,
         [](draft& d) { d["grad1"] = support::view("grad1", "scatter", tensor("13", "f32")); }, wait_lost, "grad1"},
        {"results wait for another bucket", bucketed_plan,
         [](draft& d) {
             d.move_before("scattered", "output");
             d.move_before("grad1", "output");
             d.move_before("grad2", "output");
             d["grad2"] = support::view("grad2", "unpack", tensor("13", "f32"));
         },
         wait_lost, "grad2"},
        {"the bucket is never waited for", bucketed_plan,
         [](draft& d) {
             d["unpack"].inputs = {"gather"};
             d.erase("full");
         },
         wait_lost, "gather"},
        {"results without their storage", bucketed_plan, [](draft& d) { d["full1"].aliases = {}; }, storage_lost,
         "full1"},
        {"absorbed, and still there", bucketed_plan, [](draft& d) { d.insert_before("pack", sample_step()["cast1"]); },
         operation_still_there, "cast1"},
        {"absorbs what is no cast", bucketed_plan,
         [](draft& d) { d["pack"].field("absorbs") = R"(["cast1","cast2","mm1"])"; }, absorbed_wrongly, "pack"},
        {"somebody else absorbs", bucketed_plan, [](draft& d) { d["up"].field("absorbs") = R"(["cast1"])"; },
         absorbed_wrongly, "up"},
        {"a pack without a bucket", bucketed_plan,
         [](draft& d) {
             draft_node n = d["pack"];
             n.name = "pack2";
             n.fields.clear();
             d.insert_before("output", n);
         },
         node_unexplained, "pack2"},
        {"the bucket reads a gradient in flight", bucketed_plan, [](draft& d) { d["route"].inputs = {"full"}; },
         inputs_changed, "route"},
        // chunks
        {"a chunk is missing", chunked_plan,
         [](draft& d) {
             d["down_whole"].inputs = {"down_chunk1"};
             d.erase("down_chunk0");
         },
         chunks_incomplete, "down"},
        {"a chunk number twice", chunked_plan, [](draft& d) { d["down_chunk1"].field("chunk") = "0"; },
         chunks_incomplete, "down"},
        {"a wait for fewer chunks than there are", chunked_plan,
         [](draft& d) {
             d["down_chunk1"].inputs = {"sent_chunk0"};
             d.erase("sent_chunk1");
         },
         chunks_incomplete, "sent"},
        {"chunked, and still there", chunked_plan, [](draft& d) { d.insert_before("loss", sample_step()["up"]); },
         operation_still_there, "up"},
        {"a clone is too cheap", chunked_plan, [](draft& d) { d["up_chunk0"].ns -= 3; }, chunks_underpaid, "up"},
        {"a cloned collective is too cheap", chunked_plan, [](draft& d) { d["send_chunk1"].ns -= 2; },
         collective_underpaid, "send_chunk1"},
        {"chunks send too little", chunked_plan, [](draft& d) { d["send_chunk1"].payload -= 1; }, payload_wrong,
         "send"},
        {"chunks allocate too little", chunked_plan, [](draft& d) { d["up_chunk1"].allocation -= 1; },
         memory_unaccounted, "up"},
        {"a clone is another operator", chunked_plan, [](draft& d) { d["up_chunk1"].op = "aten.relu.default"; },
         operation_changed, "up_chunk1"},
        {"a clone reads another chunk", chunked_plan, [](draft& d) { d["down_chunk1"].inputs = {"sent_chunk0"}; },
         inputs_changed, "down_chunk1"},
        {"a clone reads another value", chunked_plan,
         [](draft& d) {
             d["mm2_chunk0"].inputs = {"mm1"};
             d["mm2_chunk0"].aliases = {"mm1"};
         },
         inputs_changed, "up_chunk0"},
        {"a clone is on other ranks", chunked_plan, [](draft& d) { d["send_chunk0"].group = 0; }, group_changed,
         "send_chunk0"},
        {"only half is recombined", chunked_plan, [](draft& d) { d["down_whole"].inputs = {"down_chunk1"}; },
         recombination_partial, "loss"},
        {"outside reads a part", chunked_plan, [](draft& d) { d["loss"].inputs = {"down_chunk1"}; },
         recombination_partial, "loss"},
        {"outside reads something else", chunked_plan,
         [](draft& d) { d["down_whole"].inputs = {"up_chunk0", "up_chunk1"}; }, inputs_changed, "loss"},
        {"the recombination is unpaid", chunked_plan, [](draft& d) { d["down_whole"].ns = 898; }, copy_underpaid,
         "down_whole"},
        {"a recombination writes what is not its own", chunked_plan, [](draft& d) { d["down_whole"].writes = {"acc"}; },
         writes_changed, "down_whole"},
        {"a bucket writes what is not its own", bucketed_plan, [](draft& d) { d["scatter"].writes = {"acc"}; },
         writes_changed, "scatter"},
        {"a clone writes what its original does not", chunked_plan, [](draft& d) { d["up_chunk0"].writes = {"x"}; },
         writes_changed, "up_chunk0"},
        {"the recombination hides how large it is", chunked_plan,
         [](draft& d) {
             d["down_whole"].outputs = tensor("-100", "f32");
             d["down_whole"].ns = 100;
             d["down_whole"].allocation = 4;
         },
         memory_unaccounted, "down_whole"},
        {"the recombination is nowhere", chunked_plan, [](draft& d) { d["down_whole"].allocation = 0; },
         memory_unaccounted, "down_whole"},
    };
    return all;
}

}  // namespace

TEST_CASE("a step is a plan for itself") {
    const capture step = sample_step().build();
    const plan_report r = check_plan(step, step);
    CHECK_MESSAGE(r.legal(), listed(r));
    CHECK(r.before == r.after);
    CHECK(r.before.nodes == step.size());
    CHECK(r.before.collectives == 6);
    // 700 + 700 for the casts, 1200 exposed twice, 5000 + 6000, 1400 exposed twice, 600 + 300 + 600 + 300, 600 and
    // 1400 exposed, 300 + 600, 4000 and 1400 exposed, 4000 + 500.
    CHECK(r.before.compute == nanoseconds{24200});
    CHECK(r.before.exposed == nanoseconds{8000});
    CHECK(r.before.makespan == nanoseconds{32200});
}

TEST_CASE("good plans are accepted") {
    SUBCASE("another order") {
        draft d = sample_step();
        d.move_before("gather2", "full1");   // both gathers in flight at once
        d.move_before("read_old", "full1");  // a kernel under them
        d.move_before("grad1", "output");
        d.move_before("clear_tokens", "up");
        const plan_report r = judge(d);
        CHECK_MESSAGE(r.legal(), listed(r));
        CHECK(r.after.exposed < r.before.exposed);
        CHECK(r.after.compute == r.before.compute);
    }
    SUBCASE("buckets") {
        const plan_report r = judge(bucketed_plan());
        CHECK_MESSAGE(r.legal(), listed(r));
        CHECK(r.after.collectives == r.before.collectives - 2);
    }
    SUBCASE("chunks") {
        const plan_report r = judge(chunked_plan());
        CHECK_MESSAGE(r.legal(), listed(r));
        CHECK(r.after.collectives == r.before.collectives + 1);
    }
    SUBCASE("a collective on a group of its own") {
        draft d = sample_step();
        d.groups.push_back({"ep copy", 8, ""});
        d["route"].group = 3;
        d["send"].group = 3;
        CHECK_MESSAGE(judge(d).legal(), listed(judge(d)));
    }
    SUBCASE("collectives of one group on two declared duplicates of it, one a duplicate of the other") {
        draft d = sample_step();
        d.groups.push_back({"ep copy", 8, "", d.groups[1].ranks, 1});
        d.groups.push_back({"another", 8, "", {}, 3});
        d["route"].group = 3;
        d["send"].group = 4;
        const plan_report r = judge(d);
        CHECK_MESSAGE(r.legal(), listed(r));
    }
    SUBCASE("groups in another order") {
        draft d = sample_step();
        std::swap(d.groups[0], d.groups[1]);
        for (draft_node& n : d.nodes)
            if (n.kind == op_kind::start) n.group = 1 - n.group;
        CHECK_MESSAGE(judge(d).legal(), listed(judge(d)));
    }
    SUBCASE("arguments written with other spaces") {
        draft d = sample_step();
        d["loss"].field("args") = R"([ "%0",[0] ,false])";
        CHECK_MESSAGE(judge(d).legal(), listed(judge(d)));
    }
    SUBCASE("chunks written into one buffer") {
        draft d = chunked_plan();
        d.insert_before("up_chunk0",
                        support::kernel("whole", "aten.empty.default", {}, 900, 400, tensor("100", "f32")));
        for (const char* k : {"0", "1"}) {
            const std::string part = std::string("part") + k, extent = *k == '0' ? "40" : "60";
            d.insert_before("down_whole", support::view(part, "whole", tensor(extent, "f32")));
            draft_node copy =
                support::in_place("copy" + part, "aten.copy_.default", {part, std::string("down_chunk") + k}, part);
            copy.ns = *k == '0' ? 420 : 580;
            copy.outputs = tensor(extent, "f32");
            d.insert_before("down_whole", copy);
        }
        d.erase("down_whole");
        d["loss"].inputs = {"whole"};
        CHECK_MESSAGE(judge(d).legal(), listed(judge(d)));
        d.move_before("copypart1", "output");  // now the loss reads half of it
        const plan_report r = judge(d);
        REQUIRE(r.violations.size() == 1);
        CHECK(r.violations[0].rule == plan_rule::recombination_partial);
        CHECK(r.violations[0].node == "loss");
    }
}

TEST_CASE("every damage is found, and named") {
    CHECK(damages().size() >= 25);
    for (const damage& d : damages()) {
        INFO(std::string(d.what));
        draft plan = d.plan();
        d.harm(plan);
        const plan_report r = judge(plan);
        CAPTURE(listed(r));
        CHECK(std::any_of(r.violations.begin(), r.violations.end(), [&](const plan_violation& v) {
            return v.rule == d.rule && v.node == d.node && !v.cause.empty();
        }));
    }
}

TEST_CASE("members of a bucket must be alike") {
    const auto fault = [](const std::function<void(draft&)>& change_step) {
        draft step = sample_step();
        change_step(step);
        const plan_report r = check_plan(step.build(), bucketed_plan().build());
        CAPTURE(listed(r));
        return std::any_of(r.violations.begin(), r.violations.end(), [](const plan_violation& v) {
            return v.rule == plan_rule::members_differ && v.node == "scatter" && v.other == "scatter2";
        });
    };
    CHECK_FALSE(fault([](draft&) {}));
    CHECK(fault([](draft& d) { d["scatter2"].group = 1; }));
    CHECK(fault([](draft& d) { d["scatter2"].collective = collective_kind::all_gather; }));
    CHECK(fault([](draft& d) { d["scatter2"].op = "coalesced.default"; }));
    CHECK(fault([](draft& d) { d["scatter2"].outputs = tensor("26", "bf16"); }));
    CHECK(fault([](draft& d) { d["scatter2"].field("args") = R"(["%0", "avg", 8])"; }));
    CHECK(fault([](draft& d) { d["scatter2"].writes = {"acc"}; }));
}

TEST_CASE("what reads a recombined value reads it in the place of the whole") {
    draft step = sample_step(), plan = chunked_plan();
    for (draft* d : {&step, &plan}) {
        (*d)["loss"].op = "aten.sub.Tensor";
        (*d)["loss"].field("args") = R"(["%0","%1"])";
    }
    step["loss"].inputs = {"down", "x"};
    plan["loss"].inputs = {"down_whole", "x"};
    const plan_report same = check_plan(step.build(), plan.build());
    CHECK_MESSAGE(same.legal(), listed(same));
    plan["loss"].inputs = {"x", "down_whole"};
    const plan_report swapped = check_plan(step.build(), plan.build());
    REQUIRE(!swapped.legal());
    CHECK(swapped.violations[0].rule == plan_rule::inputs_changed);
    CHECK(swapped.violations[0].node == "loss");
}

TEST_CASE("without a table, a cloned collective takes no less than the whole") {
    draft step = sample_step(), plan = chunked_plan();  // there is no table for all-reduce
    step["send"].collective = plan["send_chunk0"].collective = plan["send_chunk1"].collective =
        collective_kind::all_reduce;
    plan["send_chunk0"].ns = 560;
    plan["send_chunk1"].ns = 840;
    const plan_report paid = check_plan(step.build(), plan.build());
    CHECK_MESSAGE(paid.legal(), listed(paid));
    plan["send_chunk0"].ns -= 3;  // 2 ns of which are roundings
    const plan_report underpaid = check_plan(step.build(), plan.build());
    REQUIRE(!underpaid.legal());
    CHECK(underpaid.violations[0].rule == plan_rule::collective_underpaid);
    CHECK(underpaid.violations[0].node == "send");
}

TEST_CASE("what takes less than a launch takes no longer in each of its parts") {
    draft step = sample_step(), plan = chunked_plan();
    step["up"].ns = plan["up_chunk0"].ns = plan["up_chunk1"].ns = 60;
    const plan_report paid = check_plan(step.build(), plan.build());
    CHECK_MESSAGE(paid.legal(), listed(paid));
    plan["up_chunk0"].ns -= 3;  // 2 ns of which are roundings
    const plan_report underpaid = check_plan(step.build(), plan.build());
    REQUIRE(!underpaid.legal());
    CHECK(underpaid.violations[0].rule == plan_rule::chunks_underpaid);
    CHECK(underpaid.violations[0].node == "up");
}

TEST_CASE("the results of a step may still be in flight when it ends, and a kernel may not read them") {
    draft step = sample_step();
    draft_node unwaited = step["route"];
    unwaited.name = "unwaited";
    step.insert_before("output", unwaited);
    step["output"].inputs.push_back("unwaited");
    draft plan = step;
    plan.move_before("unwaited", "loss");
    const plan_report same = check_plan(step.build(), step.build());
    CHECK_MESSAGE(same.legal(), listed(same));
    const plan_report moved = check_plan(step.build(), plan.build());
    CHECK_MESSAGE(moved.legal(), listed(moved));
    draft late = step;  // a wait behind the output is no wait for it
    draft_node wait = late["routed"];
    wait.name = "waits";
    wait.inputs = wait.aliases = {"unwaited"};
    late.nodes.push_back(wait);
    const plan_report early = check_plan(late.build(), late.build());
    REQUIRE(!early.legal());
    CHECK(early.violations[0].rule == plan_rule::touches_data_in_flight);
    CHECK(early.violations[0].node == "output");
    step.insert_before("output",
                       support::kernel("reads", "aten.relu.default", {"unwaited"}, 300, 400, tensor("100", "f32")));
    const plan_report read = check_plan(step.build(), step.build());
    REQUIRE(!read.legal());
    CHECK(read.violations[0].rule == plan_rule::touches_data_in_flight);
    CHECK(read.violations[0].node == "reads");
}

TEST_CASE("a cast that others read is not absorbed") {
    draft step = sample_step();
    step["up"].inputs = {"mm2", "cast2"};
    draft plan = bucketed_plan();
    plan["up"].inputs = {"mm2", "w2"};
    const plan_report r = check_plan(step.build(), plan.build());
    CHECK_MESSAGE(std::any_of(r.violations.begin(), r.violations.end(),
                              [](const plan_violation& v) {
                                  return v.rule == plan_rule::absorbed_wrongly && v.node == "pack" &&
                                         v.other == "cast2";
                              }),
                  listed(r));
}

TEST_CASE("what the packs of a step have absorbed before its plan is nothing that the plan absorbs") {
    const capture step = bucketed_plan().build();
    const plan_report same = check_plan(step, step);
    CHECK_MESSAGE(same.legal(), listed(same));
    draft plan = bucketed_plan();
    plan["pack"].field("absorbs") = R"(["cast1"])";
    const plan_report other = check_plan(step, plan.build());
    REQUIRE(!other.legal());
    CHECK(other.violations[0].rule == plan_rule::absorbed_wrongly);
    CHECK(other.violations[0].node == "pack");
}

TEST_CASE("a pack reads where it stands, not where its bucket is launched") {
    draft step = sample_step();
    step.insert_before("mm1", support::in_place("update", "aten.add_.Tensor", {"w1", "x"}, "w1"));
    draft plan = bucketed_plan();
    plan.insert_before("mm1", support::in_place("update", "aten.add_.Tensor", {"w1", "x"}, "w1"));
    CHECK(check_plan(step.build(), plan.build()).legal());
    plan.move_before("update", "pack");
    const plan_report r = check_plan(step.build(), plan.build());
    REQUIRE(!r.legal());
    CHECK(r.violations[0].rule == plan_rule::overtakes_a_write);
    CHECK(r.violations[0].node == "update");
    CHECK(r.violations[0].other == "cast1");
}

TEST_CASE("a write keeps the name of what it writes") {
    draft step = sample_step();
    step["write_twice"].inputs[0] = "acc_view";
    draft plan = step;
    CHECK(check_plan(step.build(), plan.build()).legal());
    plan["write_twice"].writes = {"acc_view"};  // of the same storage
    const plan_report r = check_plan(step.build(), plan.build());
    REQUIRE(r.violations.size() == 1);
    CHECK(r.violations[0].rule == plan_rule::writes_changed);
    CHECK(r.violations[0].node == "write_twice");
}

namespace {

/// The sample step, which adds `down` to `acc` in place.
draft step_with_bump() {
    draft step = sample_step();
    step.insert_before("loss", support::in_place("bump", "aten.add_.Tensor", {"acc", "down"}, "acc"));
    return step;
}

/// A plan of it, in which each chunk adds its own part.
draft plan_with_bumps() {
    draft plan = chunked_plan();
    for (const char* k : {"0", "1"}) {
        draft_node n = support::in_place(std::string("bump_chunk") + k, "aten.add_.Tensor",
                                         {*k == '0' ? "acc" : "bump_chunk0", std::string("down_chunk") + k}, "acc");
        if (*k == '1') n.writes = {"bump_chunk0"};
        n.field("origin") = "\"bump\"";
        n.field("chunk") = k;
        plan.insert_before("loss", n);
    }
    return plan;
}

}  // namespace

TEST_CASE("chunks of in-place operations stay in order") {
    draft step = step_with_bump();
    step.insert_before("loss", support::kernel("look", "aten.neg.default", {"acc"}, 600, 400, tensor("100", "f32")));
    step["loss"].inputs = {"down", "look"};
    draft plan = plan_with_bumps();
    plan["loss"].inputs = {"down_whole", "look"};
    plan.insert_before("loss", step["look"]);
    const auto judged = [&] { return check_plan(step.build(), plan.build()); };
    CHECK_MESSAGE(judged().legal(), listed(judged()));
    SUBCASE("a reader comes behind all chunks") {
        plan.move_before("look", "bump_chunk1");
        REQUIRE(!judged().legal());
        CHECK(judged().violations[0].rule == plan_rule::overtakes_a_write);
        CHECK(judged().violations[0].node == "look");
    }
    SUBCASE("an earlier writer comes before all chunks") {
        plan.move_before("bump_chunk0", "bump_chunk1");
        plan.move_before("write_twice", "bump_chunk1");
        REQUIRE(!judged().legal());
        CHECK(judged().violations[0].rule == plan_rule::overtakes_a_write);
        CHECK(judged().violations[0].node == "bump");
    }
}

TEST_CASE("chunks that hand one buffer on are whole in the last of them") {
    draft step = step_with_bump();
    step["output"].inputs.push_back("bump");
    draft plan = plan_with_bumps();
    plan["output"].inputs.push_back("bump_chunk1");
    const auto judged = [&] { return check_plan(step.build(), plan.build()); };
    CHECK_MESSAGE(judged().legal(), listed(judged()));
    const auto output_reads_some = [&] {
        const plan_report r = judged();
        return std::ranges::any_of(r.violations, [](const plan_violation& v) {
            return v.rule == plan_rule::recombination_partial && v.node == "output" && v.other == "bump";
        });
    };
    SUBCASE("and in no other") {
        plan["output"].inputs.back() = "bump_chunk0";
        CHECK(output_reads_some());
    }
    SUBCASE("unless the last writes into something else") {
        plan["bump_chunk1"].writes = {"x"};
        CHECK(output_reads_some());
    }
}

TEST_CASE("slices of a view without storage have none") {
    draft step = sample_step(), plan = chunked_plan();
    for (draft* d : {&step, &plan}) {  // as in a step that was cut out of another one
        d->insert_before(d == &step ? "up" : "mm2_chunk0", support::view("loose", "mm2", tensor("100", "f32")));
        (*d)["loose"].aliases = {};
    }
    step["up"].inputs = {"loose"};
    for (const char* part : {"mm2_chunk0", "mm2_chunk1"}) plan[part].inputs = {"loose"}, plan[part].aliases = {};
    const auto judged = [&] { return check_plan(step.build(), plan.build()); };
    CHECK_MESSAGE(judged().legal(), listed(judged()));
    SUBCASE("but those of a value that has one do") {
        for (draft* d : {&step, &plan}) (*d)["loose"].aliases = {"mm2"};
        const plan_report r = judged();
        REQUIRE(r.violations.size() == 2);
        for (const plan_violation& v : r.violations) CHECK(v.rule == plan_rule::memory_unaccounted);
    }
    SUBCASE("and a kernel that copies has one in any case") {
        plan["mm2_chunk0"].kind = op_kind::compute;
        plan["mm2_chunk0"].ns = 1000;
        const plan_report r = judged();
        REQUIRE(r.violations.size() == 1);
        CHECK(r.violations[0].rule == plan_rule::memory_unaccounted);
        CHECK(r.violations[0].node == "mm2_chunk0");
    }
}

TEST_CASE("the limit is the peak itself") {
    const plan_report free = judge(sample_step());
    CHECK(judge(sample_step(), free.after.peak).legal());
    const plan_report over = judge(sample_step(), free.after.peak - bytes{1});
    REQUIRE(over.violations.size() == 1);
    CHECK(over.violations[0].rule == plan_rule::exceeds_memory_limit);
    CHECK(over.violations[0].message() == "plan: peak memory is " + std::to_string(free.after.peak.count) +
                                              " bytes, the limit " + std::to_string(free.after.peak.count - 1));
}

TEST_CASE("figures that do not fit are a violation") {
    draft d = sample_step();
    d["mm1"].ns = INT64_MAX / 2 + 2;
    const capture step = d.build();
    const plan_report r = check_plan(step, step);
    REQUIRE(r.violations.size() == 2);  // of the step, and of the plan
    CHECK(r.violations[0].rule == plan_rule::figures_too_large);
    CHECK(r.violations[0].node == "mm1");
}

TEST_CASE("messages name node, cause and hint on one line") {
    draft d = sample_step();
    d.move_before("write_once", "read_old");
    const plan_report r = judge(d);
    REQUIRE(r.violations.size() == 1);
    CHECK(
        r.violations[0].message() ==
        "write_once: overtakes read_old, and one of them writes acc; in the step it comes behind; uses of one storage "
        "keep their order where one writes");
}

namespace {

/// A program with one result an operation, as a capture: operation i is called "n<i>".
capture captured(const support::toy_program& p) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < p.ops.size(); ++i) names.push_back("n" + std::to_string(i));
    capture_builder b("random");
    capture_costs costs;
    b.set_costs(costs);
    for (std::uint32_t g = 0; g < p.groups; ++g) b.add_group({"g" + std::to_string(g), 8, ""});
    for (std::size_t i = 0; i < p.ops.size(); ++i) {
        const support::toy_op& op = p.ops[i];
        const auto nodes = [](const std::vector<support::toy_value>& values) {
            std::vector<std::uint32_t> list;
            for (support::toy_value x : values)
                if (std::find(list.begin(), list.end(), x.op) == list.end()) list.push_back(x.op);
            return list;
        };
        capture_node n;
        n.name = names[i];
        n.op = "op";
        n.kind = op.kind;
        n.inputs = nodes(op.operands);
        n.writes = nodes(op.effects);
        n.duration = op.duration;
        if (!op.results.empty()) {
            n.allocation = op.results[0].size;
            n.aliases = nodes(op.results[0].aliases);
        }
        if (op.kind == op_kind::start) {
            n.collective = op.collective == collective_kind::other ? collective_kind::all_reduce : op.collective;
            n.group = op.group;
            n.payload = op.payload;
        }
        b.append(n);
    }
    auto c = std::move(b).build();
    RC_ASSERT(c.has_value());
    return *std::move(c);
}

/// Is an order legal? From the definition, over sets of storages and all pairs, for orders that respect references.
class order_oracle {
public:
    explicit order_oracle(const capture& step)
        : step_(step), storages_(step.size()), reads_(step.size()), writes_(step.size()) {
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            if (step.allocation(v).count > 0) storages_[v].insert(v);
            for (std::uint32_t u : step.aliases(v)) storages_[v].insert(storages_[u].begin(), storages_[u].end());
            for (std::uint32_t u : step.inputs(v)) reads_[v].insert(storages_[u].begin(), storages_[u].end());
            for (std::uint32_t u : step.writes(v)) writes_[v].insert(storages_[u].begin(), storages_[u].end());
        }
    }
    bool legal(const std::vector<std::uint32_t>& order) const {
        std::vector<std::size_t> place(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
        for (std::uint32_t b = 0; b < step_.size(); ++b)
            for (std::uint32_t a = 0; a < b; ++a)
                if (place[a] > place[b] &&
                    (meet(writes_[a], reads_[b]) || meet(writes_[a], writes_[b]) || meet(reads_[a], writes_[b])))
                    return false;
        for (std::uint32_t s = 0; s < step_.size(); ++s)
            for (std::uint32_t t = 0; t < step_.size(); ++t)
                if (step_.kind(s) == op_kind::start && place[s] < place[t] && place[t] < first_wait(s, place) &&
                    touches(t, s) && !stays_in_flight(t, s, place))
                    return false;
        return true;
    }

private:
    static bool meet(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
        return std::any_of(a.begin(), a.end(), [&](std::uint32_t x) { return b.count(x) > 0; });
    }
    std::size_t first_wait(std::uint32_t start, const std::vector<std::size_t>& place) const {
        std::size_t first = SIZE_MAX;
        for (std::uint32_t w = 0; w < step_.size(); ++w)
            if (step_.launch_of(w) == start) first = std::min(first, place[w]);
        return first;
    }
    /// Whether t is the output and nothing waits for the start, so that whoever runs the step does.
    bool stays_in_flight(std::uint32_t t, std::uint32_t start, const std::vector<std::size_t>& place) const {
        return step_.kind(t) == op_kind::output && first_wait(start, place) == SIZE_MAX;
    }
    bool touches(std::uint32_t t, std::uint32_t start) const {
        if (step_.kind(t) != op_kind::compute && step_.kind(t) != op_kind::start && step_.kind(t) != op_kind::output)
            return false;
        return meet(reads_[t], storages_[start]) || meet(reads_[t], writes_[start]) ||
               meet(writes_[t], storages_[start]) || meet(writes_[t], writes_[start]) ||
               meet(writes_[t], reads_[start]);
    }
    const capture& step_;
    std::vector<std::set<std::uint32_t>> storages_, reads_, writes_;
};

/// A random order that puts nothing before what it names; every choice among the ready nodes is `pick`'s.
template <class Pick>
std::vector<std::uint32_t> shuffled(const capture& c, Pick pick) {
    std::vector<std::uint32_t> ready, order;
    std::vector<bool> done(c.size(), false);
    const auto is_ready = [&](std::uint32_t v) {
        for (auto list : {c.inputs(v), c.aliases(v), c.writes(v)})
            for (std::uint32_t u : list)
                if (!done[u]) return false;
        return true;
    };
    while (order.size() < c.size()) {
        ready.clear();
        for (std::uint32_t v = 0; v < c.size(); ++v)
            if (!done[v] && is_ready(v)) ready.push_back(v);
        const std::uint32_t v = ready[pick(ready.size())];
        done[v] = true;
        order.push_back(v);
    }
    return order;
}

constexpr support::program_options one_result{.max_ops = 40, .multi_result = false};

}  // namespace

TEST_CASE("orders are judged as the definition judges them") {
    int accepted = 0, refused = 0;
    stretto_check("check_plan agrees with the oracle on reordered steps", 3000, [&] {
        const capture step = captured(*support::random_programs(one_result));
        const order_oracle oracle(step);
        RC_ASSERT(check_plan(step, step).legal() == oracle.legal(shuffled(step, [](std::size_t) { return 0u; })));
        // Mostly the first ready node, so that both verdicts occur.
        const int boldness = *rc::gen::inRange(1, 100);
        const auto order = shuffled(step, [&](std::size_t ready) {
            return *rc::gen::inRange(0, 100) < boldness ? *rc::gen::inRange<std::size_t>(0, ready) : 0;
        });
        const auto plan = reordered(step, order);
        RC_ASSERT(plan.has_value());
        const plan_report r = check_plan(step, *plan);
        RC_ASSERT(r.legal() == oracle.legal(order));
        RC_ASSERT(r.after.compute == r.before.compute);
        ++(r.legal() ? accepted : refused);
    });
    MESSAGE(accepted << " orders accepted, " << refused << " refused");
    CHECK(accepted > refused / 20);
    CHECK(refused > accepted / 20);
}

TEST_CASE("good plans and random orders are judged as the referee judges them") {
    const char* folder = std::getenv("STRETTO_REFERENCE_GRAPHS");
    const std::string referee = folder ? std::string(folder) + "/referee.py" : "";
    if (!folder || !std::filesystem::exists(referee) || std::system("python3 -c pass >/dev/null 2>&1") != 0) {
        MESSAGE("skipped: needs python3, and STRETTO_REFERENCE_GRAPHS to name the folder of referee.py");
        return;
    }
    namespace fs = std::filesystem;
    const fs::path scratch =
        fs::temp_directory_path() / ("stretto-check-plan-" + std::to_string(std::random_device{}()));
    fs::create_directories(scratch);
    const auto accepts = [&](const capture& step, const capture& plan) {
        const std::string a = (scratch / "step.json").string(), b = (scratch / "plan.json").string();
        REQUIRE(write_capture(step, a));
        REQUIRE(write_capture(plan, b));
        return std::system(("python3 '" + referee + "' '" + a + "' '" + b + "' >/dev/null 2>&1").c_str()) == 0;
    };
    const capture step = sample_step().build();
    for (draft (*good)() : {sample_step, bucketed_plan, chunked_plan}) CHECK(accepts(step, good().build()));
    std::mt19937_64 random(7);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const capture c = captured(support::seeded_program(seed, 25, one_result));
        const auto order = shuffled(c, [&](std::size_t ready) { return random() % 4 == 0 ? random() % ready : 0; });
        const auto plan = reordered(c, order);
        REQUIRE(plan);
        CHECK(check_plan(c, *plan).legal() == accepts(c, *plan));
    }
    fs::remove_all(scratch);
}
