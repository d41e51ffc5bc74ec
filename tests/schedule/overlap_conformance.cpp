#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
// What the schedulers of PyTorch Inductor and of torchtitan promise, one test for a scenario of theirs. Where
// torchtitan's tests fix an order, that order is judged by our clock, and ours must be no slower.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/cost/roofline.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/schedule/order_fingerprint.hpp"
#include "stretto/schedule/verify.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::toy_program;

namespace {

constexpr std::int64_t ms = 1'000'000;

/// A step written down by names, in program order. Every operation makes one value; sizes are in bytes.
class step {
public:
    using names = std::initializer_list<const char*>;

    step& input(const char* name) { return add(name, {.kind = op_kind::input}, {}, 0); }
    step& kernel(const char* name, std::int64_t ns, names reads, std::int64_t size = 0) {
        return add(name, {.duration = {ns}}, reads, size);
    }
    step& launch(const char* name, std::int64_t ns, names reads, group_id group = 0, std::int64_t size = 0,
                 collective_kind kind = collective_kind::all_gather) {
        p_.groups = std::max<std::uint32_t>(p_.groups, group + 1);
        return add(name, {.kind = op_kind::start, .collective = kind, .group = group, .duration = {ns}}, reads, size);
    }
    step& wait(const char* name, const char* start) { return alias(name, op_kind::wait, start); }
    step& view(const char* name, const char* of) { return alias(name, op_kind::view, of); }
    /// Adds the second value to the first, in place.
    step& accumulate(const char* name, std::int64_t ns, const char* into, const char* other) {
        add(name, {.duration = {ns}}, {into, other}, 0);
        p_.ops.back().results = {{{0}, {value(into)}}};
        p_.ops.back().effects = {value(into)};
        return *this;
    }
    step& output(names reads) { return add("output", {.kind = op_kind::output}, reads, 0); }

    [[nodiscard]] toy_program& program() { return p_; }
    [[nodiscard]] task_graph graph() const { return support::graph_of(p_); }
    [[nodiscard]] task_id at(const std::string& name) const { return at_.at(name); }
    /// The tasks of an order that is written as names with blanks between them.
    [[nodiscard]] std::vector<task_id> order(const std::string& text) const {
        std::istringstream in(text);
        std::vector<task_id> all;
        for (std::string name; in >> name;) all.push_back(at(name));
        return all;
    }

private:
    [[nodiscard]] support::toy_value value(const char* name) const { return {at_.at(name), 0}; }
    step& add(const char* name, support::toy_op op, names reads, std::int64_t size) {
        for (const char* r : reads) op.operands.push_back(value(r));
        if (op.kind != op_kind::output) op.results = {{{size}, {}}};
        at_[name] = static_cast<std::uint32_t>(p_.ops.size());
        p_.ops.push_back(std::move(op));
        return *this;
    }
    step& alias(const char* name, op_kind kind, const char* of) {
        add(name, {.kind = kind}, {of}, 0);
        p_.ops.back().results = {{{0}, {value(of)}}};
        return *this;
    }

    toy_program p_;
    std::map<std::string, std::uint32_t> at_;
};

/// The schedule of a step, and questions about it.
struct planned {
    schedule found;
    const step* s;

    [[nodiscard]] std::ptrdiff_t place(const char* name) const {
        return std::ranges::find(found.order(), s->at(name)) - found.order().begin();
    }
    [[nodiscard]] bool ordered(std::initializer_list<const char*> all) const {
        return std::ranges::is_sorted(all, {}, [this](const char* name) { return place(name); });
    }
    [[nodiscard]] nanoseconds exposed(const char* start) const {
        for (const collective_exposure& e : found.exposures())
            if (e.start == s->at(start)) return e.exposed;
        return {-1};
    }
    [[nodiscard]] std::ptrdiff_t count_exposed() const {
        return std::ranges::count_if(found.exposures(), [](const auto& e) { return e.exposed.count > 0; });
    }
};
planned plan(const step& s, bytes limit = unlimited_bytes) {
    auto found = list_schedule(s.graph(), {.memory_limit = limit});
    REQUIRE(found);
    return {*std::move(found), &s};
}
/// The same, compared with the order that the other system promises: it is legal here, and no faster.
planned against(const step& s, const std::string& theirs) {
    const task_graph g = s.graph();
    std::vector<task_id> order = s.order(theirs);
    order.push_back(s.at("output"));
    const auto judged = verify_order(g, order);
    REQUIRE(judged);
    planned ours = plan(s);
    CHECK(ours.found.makespan() <= judged->times.makespan);
    return ours;
}

}  // namespace

TEST_CASE("Inductor B1: gathers of two groups are both under way before the first is waited for, and one is exposed") {
    step s;
    s.input("x").launch("AG1", 10 * ms, {"x"}).wait("w1", "AG1").kernel("mm1", 0, {"w1"});
    s.launch("AG2", 10 * ms, {"x"}, 1).wait("w2", "AG2").kernel("mm2", 0, {"w2"}).output({"mm1", "mm2"});
    const planned p = plan(s);
    CHECK(std::max(p.place("AG1"), p.place("AG2")) < std::min(p.place("w1"), p.place("w2")));
    CHECK(p.count_exposed() == 1);
    CHECK(p.found.makespan().count == 10 * ms);
}

TEST_CASE("Inductor B3: a reduction that only results read is launched before the last product") {
    step s;
    s.input("x").launch("AG", ms, {"x"}).wait("w", "AG").kernel("mm1", ms, {"w"}).launch("RS1", ms, {"mm1"});
    s.wait("rw1", "RS1").kernel("mm2", ms, {"x"}).launch("RS2", ms, {"mm2"}).wait("rw2", "RS2");
    s.kernel("mm3", ms, {"x"}).output({"rw1", "rw2", "mm3"});
    const planned p = plan(s);
    const std::ptrdiff_t last = std::max({p.place("mm1"), p.place("mm2"), p.place("mm3")});
    CHECK(std::min(p.place("RS1"), p.place("RS2")) < last);
    CHECK(p.found.makespan().count == 3 * ms);  // what the channel alone takes
}

TEST_CASE("Inductor B4: a product beside a short gather and a long one leaves no more exposed than the short one") {
    // Inductor limits the bytes in flight, so that only one gather has room beside the product, and must choose the
    // long one. Here nothing but live bytes is limited; without that limit both are in flight, one behind the other.
    step s;
    s.input("x").launch("small", ms, {"x"}, 0, 128).wait("w1", "small").kernel("use1", 0, {"w1"});
    s.launch("large", 8 * ms, {"x"}, 0, 128).wait("w2", "large").kernel("use2", 0, {"w2"});
    s.kernel("mm", 8 * ms, {"x"}).output({"use1", "use2", "mm"});
    const planned p = plan(s);
    CHECK(std::max(p.place("small"), p.place("large")) < p.place("mm"));
    CHECK(p.found.times().exposed.count == ms);
    CHECK(p.found.makespan().count == 9 * ms);
}

TEST_CASE("Inductor C1, C4 and C5: a chain without products hides a gather; every kernel has a time of its own") {
    // Decided differently: there are no regions of fused kernels, whose time would stand for that of their kernels. An
    // operation about which nothing is known but what it moves takes what the roofline says.
    const roofline device{.device = devices::h100};
    const std::int64_t chain = device.duration({.moved = {3 * 4 * 1024 * 1024}}).count;
    REQUIRE(chain > 0);
    step s;
    s.input("x").input("y").launch("AG", 3 * chain, {"x"}).wait("w", "AG");
    s.kernel("add", chain, {"y"}).kernel("mul", chain, {"add"}).kernel("sub", chain, {"mul"}).output({"sub", "w"});
    const planned p = plan(s);
    CHECK(p.ordered({"AG", "add", "mul", "sub", "w"}));
    CHECK(p.exposed("AG").count == 0);
}

TEST_CASE("Inductor C2 and P9: ranks that measure other times agree on the lower median, and on one order") {
    step s;
    s.input("x").launch("AG", ms / 2, {"x"}).wait("w", "AG").kernel("opaque", 1, {"x"}).output({"w", "opaque"});
    const task_graph g = s.graph();
    const task_id kernel = s.at("opaque");
    const auto run =
        summarize_run(g, std::vector<measured_span>{{kernel, {0}, {7 * ms}, 0, 0}, {kernel, {0}, {3 * ms}, 1, 0}});
    CHECK(run.tasks[kernel].duration.count == 3 * ms);
    s.program().ops[kernel].duration = run.tasks[kernel].duration;
    CHECK(plan(s).exposed("AG").count == 0);
    CHECK(plan(s).found.order() == plan(s).found.order());

    // Without agreement the ranks of one group may launch in two orders; the fingerprints of their orders then differ.
    const auto fingerprint = [](std::int64_t first, std::int64_t second) {
        step t;
        t.input("x").kernel("a", first, {"x"}).kernel("b", second, {"x"});
        t.launch("AG", 100, {"a"}).launch("RS", 100, {"b"}, 0, 0, collective_kind::reduce_scatter);
        t.wait("w1", "AG").wait("w2", "RS").kernel("c", 10, {"w1"}).kernel("d", 10, {"w2"}).output({"c", "d"});
        return fingerprint_of(t.graph(), plan(t).found.order());
    };
    CHECK(fingerprint(1, 50) == fingerprint(1, 50));
    CHECK_FALSE(fingerprint(1, 50) == fingerprint(50, 1));
}

TEST_CASE("Inductor C3: ranks with other collectives are told apart; decided differently: kernels may differ") {
    // A kernel that only one rank runs makes nobody wait forever, so it is no error.
    const auto fingerprint = [](bool kernel, bool collective) {
        step s;
        s.input("x").launch("AG", ms, {"x"}).wait("w", "AG");
        if (kernel) s.kernel("runtime", 7 * ms, {"x"});
        if (collective) s.launch("AR", ms, {"x"}, 0, 0, collective_kind::all_reduce).wait("w2", "AR");
        s.output({"w"});
        return fingerprint_of(s.graph(), plan(s).found.order());
    };
    CHECK(fingerprint(false, false) == fingerprint(true, false));
    CHECK_FALSE(fingerprint(false, false) == fingerprint(false, true));
}

TEST_CASE("Inductor C6 and G2: times that somebody has computed before are used as they are") {
    for (const std::int64_t ns : {std::int64_t{1'250'000}, std::int64_t{1}, std::int64_t{0}}) {
        step s;
        s.input("x").kernel("k", ns, {"x"}).output({"k"});
        CHECK(plan(s).found.makespan().count == ns);
    }
}

TEST_CASE("Inductor D1: without a limit of memory, what nothing can hide is exposed, and counted once") {
    step s;
    s.input("x").launch("AG", ms, {"x"}, 0, 64).wait("w", "AG").kernel("mm", ms, {"w"}).output({"mm"});
    const planned p = plan(s, unlimited_bytes);
    CHECK(p.count_exposed() == 1);
    CHECK(p.exposed("AG").count == ms);
}

TEST_CASE("Inductor D2: without a limit of memory, a gather is hidden by products that stand before its reader") {
    step s;
    s.input("x").kernel("first", ms, {"x"}, 64).kernel("second", ms, {"first"}, 64);
    s.launch("AG", ms, {"x"}, 0, 64).wait("w", "AG").kernel("third", ms, {"second", "w"}, 64).output({"third"});
    const planned p = plan(s, unlimited_bytes);
    CHECK(p.ordered({"AG", "second", "w", "third"}));
    CHECK(p.exposed("AG").count == 0);
}

TEST_CASE("Inductor F3: an order with a cycle is refused, with both operations; nothing is asserted") {
    step s;
    s.input("x").launch("AG", ms, {"x"}).wait("w", "AG").kernel("mm", ms, {"w"}).output({"mm"});
    const auto judged = verify_order(s.graph(), s.order("x mm AG w output"));
    REQUIRE_FALSE(judged);
    CHECK(judged.error().task == s.at("mm"));
    CHECK(judged.error().other == s.at("w"));
}

TEST_CASE("Inductor I1: one launch with three results and three waits is one collective, priced once") {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{64}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_gather,
                     .duration = {ms},
                     .payload = {192},
                     .operands = {{0, 0}},
                     .results = {{{64}, {}}, {{64}, {}}, {{64}, {}}}});
    for (std::uint32_t k = 0; k < 3; ++k)
        p.ops.push_back({.kind = op_kind::wait, .operands = {{1, k}}, .results = {{{0}, {{1, k}}}}});
    p.ops.push_back({.duration = {ms}, .operands = {{0, 0}}});
    p.ops.push_back({.kind = op_kind::output, .operands = {{2, 0}, {3, 0}, {4, 0}}});
    const task_graph g = support::graph_of(p);
    for (task_id w : {2u, 3u, 4u}) CHECK(g.launch[w] == 1);
    CHECK(g.payload[1].count == 192);
    const auto found = list_schedule(g, {.memory_limit = unlimited_bytes});
    REQUIRE(found);
    REQUIRE(found->exposures().size() == 1);
    CHECK(found->exposures()[0].exposed.count == 0);
    CHECK(found->makespan().count == ms);
}

TEST_CASE("Inductor P4: two groups beside one kernel slow it down; neither gets a window of its own") {
    const contention slower{3, 2};
    const auto takes = [&](bool two, group_id group) {
        step s;
        s.input("x").launch("a", 60, {"x"});
        if (two) s.launch("b", 60, {"x"}, group);
        s.kernel("k", 100, {"x"}).output({"k"});
        const task_graph g = s.graph();
        return simulate(g, support::program_order(g.size()), slower).compute.count;
    };
    CHECK(takes(false, 0) == 120);  // 40 of 100 are done beside the transfer
    CHECK(takes(true, 1) == 120);   // both transfers at once
    CHECK(takes(true, 0) == 140);   // one after the other: 80 are done beside them
}

TEST_CASE("Inductor P5: a wait whose collective has become hidden is due at once if another collective hangs on it") {
    step s;
    s.input("x").launch("AG", 10, {"x"}).wait("w", "AG").kernel("k1", 10, {"x"}).kernel("k3", 10, {"k1"});
    s.kernel("k2", 1, {"w"}).launch("RS", 10, {"k2"}).wait("rw", "RS").output({"k3", "rw"});
    const planned p = plan(s);
    CHECK(p.ordered({"AG", "k1", "w", "k2", "RS", "k3", "rw"}));
    CHECK(p.found.makespan().count == 21);
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("Inductor P6: what a kernel holds only while it runs counts, also against the limit") {
    step s;
    s.input("x").kernel("a", 5, {"x"}, 10).kernel("b", 5, {"a"}, 10).output({"b"});
    s.program().ops[s.at("b")].results.push_back({{100}, {}});  // nobody reads it
    const task_graph g = s.graph();
    CHECK(profile_memory(g, support::program_order(g.size())).peak.count == 120);
    CHECK_FALSE(list_schedule(g, {.memory_limit = bytes{119}}));
    CHECK(list_schedule(g, {.memory_limit = bytes{120}}));
}

TEST_CASE("Inductor P10: the result is never slower than the input, and never larger without being asked") {
    stretto_check("against the input", 2000, [] {
        const toy_program p = (*support::scheduling_cases(40)).program();
        const task_graph g = support::graph_of(p);
        const support::naive_figures input =
            support::figures_of(p, support::facts_of(p), support::program_order(g.size()));
        const auto found = list_schedule(g);
        RC_ASSERT(found.has_value());
        RC_ASSERT(found->makespan().count <= input.makespan);
        RC_ASSERT(found->memory().peak.count <= input.peak);
    });
}

TEST_CASE("Inductor P11: reductions that only results read keep within a tight limit, too") {
    // A gradient of 100 bytes lives until its reduction is waited for, so only two of them have room.
    step s;
    s.input("x");
    const char* const grads[] = {"g0", "g1", "g2", "g3"};
    const char* const starts[] = {"RS0", "RS1", "RS2", "RS3"};
    const char* const waits[] = {"rw0", "rw1", "rw2", "rw3"};
    for (int k = 0; k < 4; ++k) {
        s.kernel(grads[k], 10, {"x"}, 100).launch(starts[k], 10, {grads[k]}, 0, 1);
        s.wait(waits[k], starts[k]);
    }
    s.output({"rw0", "rw1", "rw2", "rw3"});
    CHECK(plan(s, bytes{104}).found.makespan().count == 80);
    const planned p = plan(s, bytes{204});
    CHECK(p.found.makespan().count == 50);
    CHECK(p.found.memory().peak.count <= 204);
}

// torchtitan's scheduler for dense regions puts gathers and reductions of parameters between the operations of
// attention, of which it is told by the names of modules. The scenarios are decided differently: nothing here is told
// which modules are dense; collectives are launched where the clock says that they are hidden.

TEST_CASE("torchtitan S4: collectives at the edges; decided differently: they move wherever that is faster") {
    step s;
    s.input("x").kernel("dense0", 10, {"x"}).launch("fwd_ag0", 10, {"x"}).wait("fwd_ag0_wait", "fwd_ag0");
    s.kernel("fwd_ag0_use", 10, {"fwd_ag0_wait", "dense0"}).kernel("bwd_dense2", 10, {"fwd_ag0_use"});
    s.launch("bwd_ag2", 10, {"x"})
        .wait("bwd_ag2_wait", "bwd_ag2")
        .kernel("bwd_ag2_use", 10, {"bwd_dense2", "bwd_ag2_wait"});
    s.launch("rs0", 10, {"bwd_ag2_use"}).wait("rs0_wait", "rs0").output({"rs0_wait"});
    const planned p = against(
        s, "x dense0 fwd_ag0 fwd_ag0_wait fwd_ag0_use bwd_dense2 bwd_ag2 bwd_ag2_wait bwd_ag2_use rs0 rs0_wait");
    CHECK(p.ordered({"fwd_ag0", "dense0", "fwd_ag0_wait"}));
    CHECK(p.ordered({"bwd_ag2", "bwd_dense2", "bwd_ag2_use", "rs0"}));
    CHECK(p.found.makespan().count == 50);  // instead of 70
}

TEST_CASE("torchtitan S5: the collectives of the ends of the model") {
    step s;
    s.input("x").kernel("dense0", 10, {"x"}).launch("top_ag", 10, {"x"}).wait("top_ag_wait", "top_ag");
    s.kernel("top_fwd", 10, {"dense0", "top_ag_wait"})
        .kernel("top_bwd", 10, {"top_fwd"})
        .launch("top_rs", 10, {"top_bwd"});
    s.wait("top_rs_wait", "top_rs").launch("bwd_ag0", 10, {"x"}).wait("bwd_ag0_wait", "bwd_ag0");
    s.kernel("bwd0", 10, {"top_bwd", "bwd_ag0_wait"}).output({"bwd0", "top_rs_wait"});
    const planned p =
        against(s, "x top_ag dense0 top_ag_wait top_fwd bwd_ag0 top_bwd bwd_ag0_wait top_rs bwd0 top_rs_wait");
    CHECK(p.ordered({"top_ag", "dense0", "top_ag_wait"}));
    CHECK(p.ordered({"bwd_ag0", "top_bwd", "top_rs", "bwd0", "top_rs_wait"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("torchtitan S6: a gather and a reduction of the layers around are both hidden by the backward pass") {
    step s;
    s.input("x")
        .launch("ag0", 10, {"x"})
        .wait("ag0_wait", "ag0")
        .kernel("dense2", 10, {"x"})
        .launch("rs2", 10, {"dense2"});
    s.wait("rs2_wait", "rs2").kernel("dense1", 10, {"dense2"}).kernel("dense0", 10, {"dense1"});
    s.kernel("ag0_use", 10, {"dense0", "ag0_wait"}).output({"ag0_use", "rs2_wait"});
    const planned p = against(s, "x dense2 ag0 rs2 dense1 dense0 ag0_wait ag0_use rs2_wait");
    CHECK(p.ordered({"dense2", "rs2", "dense1"}));
    CHECK(p.ordered({"ag0", "dense1", "ag0_use"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("torchtitan S7: a gather of the forward pass, whatever reads what it made in the backward pass") {
    step s;
    s.input("x").kernel("dense0", 10, {"x"}).launch("ag1", 10, {"x"}).wait("ag1_wait", "ag1");
    s.kernel("fwd_use", 10, {"dense0", "ag1_wait"})
        .kernel("bwd2", 10, {"fwd_use"})
        .kernel("bwd1", 10, {"bwd2", "fwd_use"});
    s.output({"bwd1"});
    CHECK(against(s, "x ag1 dense0 ag1_wait fwd_use bwd2 bwd1").ordered({"ag1", "dense0", "ag1_wait", "fwd_use"}));
}

TEST_CASE("torchtitan S8: what hides the next gather is a kernel, and not the views that unpack this one") {
    step s;
    s.input("x")
        .launch("ag0", 10, {"x"})
        .wait("wait0", "ag0")
        .view("unpack0", "wait0")
        .kernel("dense0", 10, {"unpack0"});
    s.launch("ag1", 10, {"x"}).wait("ag1_wait", "ag1").kernel("dense1", 10, {"dense0", "ag1_wait"}).output({"dense1"});
    const planned p = against(s, "x ag0 wait0 unpack0 ag1 dense0 ag1_wait dense1");
    CHECK(p.ordered({"ag0", "ag1", "dense0", "ag1_wait", "dense1"}));
    CHECK(p.exposed("ag1").count == 0);
}

TEST_CASE("torchtitan S9: a gather whose reader is recomputed in the backward pass") {
    step s;
    s.input("x").launch("ag0", 10, {"x"}).wait("ag0_wait", "ag0").view("view", "ag0_wait").kernel("dense2", 10, {"x"});
    s.kernel("dense1", 10, {"dense2"}).kernel("dense0", 10, {"dense1"}).kernel("recomputed", 10, {"view"});
    s.output({"dense0", "recomputed"});
    const planned p = against(s, "x dense2 ag0 dense1 dense0 ag0_wait view recomputed");
    CHECK(p.ordered({"ag0", "dense1"}));
    CHECK(p.ordered({"ag0_wait", "recomputed"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("torchtitan S10: a reduction follows the cast that makes its gradient, and is hidden by what comes next") {
    step s;
    s.input("x").kernel("dense2", 10, {"x"}).kernel("dense1a", 10, {"dense2"}).kernel("dense1b", 10, {"dense1a"});
    s.kernel("dense0", 10, {"dense1b"}).kernel("grad_cast", 1, {"dense1a"}).launch("rs2", 10, {"grad_cast"});
    s.wait("rs2_wait", "rs2").output({"dense0", "rs2_wait"});
    const planned p = against(s, "x dense2 dense1a grad_cast rs2 dense1b dense0 rs2_wait");
    CHECK(p.ordered({"dense1a", "grad_cast", "rs2", "dense0", "rs2_wait"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("torchtitan S11: a wait that only the output reads sinks") {
    step s;
    s.input("x").kernel("dense2", 10, {"x"}).launch("rs2", 10, {"dense2"}).wait("rs2_wait", "rs2");
    s.kernel("dense1", 10, {"dense2"}).kernel("dense0", 10, {"dense1"}).output({"dense0", "rs2_wait"});
    const planned p = against(s, "x dense2 rs2 dense1 dense0 rs2_wait");
    CHECK(p.ordered({"rs2", "dense1", "rs2_wait"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("torchtitan S12: a wait sinks also if its reduction has nowhere to go") {
    step s;
    s.input("x")
        .launch("rs0", 10, {"x"})
        .wait("rs0_wait", "rs0")
        .kernel("dense0", 10, {"x"})
        .output({"dense0", "rs0_wait"});
    CHECK(against(s, "x rs0 dense0 rs0_wait").ordered({"rs0", "dense0", "rs0_wait"}));
}

TEST_CASE("torchtitan S13: what unpacks a reduction for the output sinks with its wait") {
    step s;
    s.input("x").kernel("dense2", 10, {"x"}).launch("rs2", 10, {"dense2"}, 0, 64).wait("rs2_wait", "rs2");
    s.view("split", "rs2_wait")
        .view("shard", "split")
        .kernel("dense1", 10, {"dense2"})
        .kernel("dense0", 10, {"dense1"});
    s.output({"dense0", "shard"});
    const planned p = against(s, "x dense2 rs2 dense1 dense0 rs2_wait split shard");
    CHECK(p.ordered({"rs2", "dense1", "rs2_wait", "split", "shard"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE("torchtitan S14: a chain that accumulates two reduced gradients sinks, and keeps its order") {
    step s;
    s.input("x").kernel("dense2", 10, {"x"}).launch("rs_a", 10, {"dense2"}, 0, 64).wait("wait_a", "rs_a");
    s.view("detached", "wait_a").launch("rs_b", 10, {"dense2"}, 0, 64).wait("wait_b", "rs_b");
    s.accumulate("accum", 1, "detached", "wait_b").view("grad_out", "accum");
    s.kernel("dense1", 10, {"dense2"}).kernel("dense0", 10, {"dense1"}).output({"dense0", "grad_out"});
    const planned p = against(s, "x dense2 rs_a rs_b dense1 dense0 wait_a detached wait_b accum grad_out");
    CHECK(p.ordered({"dense1", "dense0", "wait_b", "accum", "grad_out"}));
    CHECK(p.ordered({"wait_a", "detached", "accum"}));
    CHECK(p.count_exposed() == 0);
}

TEST_CASE(
    "torchtitan S15: a reduction and an exchange of tokens, each on its group; decided differently: side by side") {
    // torchtitan puts the reduction behind the exchange, by the names of modules. The clock lets groups transfer at the
    // same time, so that the reduction is launched at once.
    step s;
    s.input("x").kernel("dense2", 10, {"x"}).launch("rs2", 10, {"dense2"}).wait("rs2_wait", "rs2");
    s.kernel("layer1_boundary", 1, {"dense2"}).kernel("ffn_norm", 1, {"layer1_boundary"});
    s.launch("moe_dispatch", 20, {"ffn_norm"}, 1, 0, collective_kind::all_to_all);
    s.wait("moe_dispatch_wait", "moe_dispatch").kernel("dense1_attention", 10, {"moe_dispatch_wait"});
    s.output({"dense1_attention", "rs2_wait"});
    const planned p =
        against(s, "x dense2 layer1_boundary ffn_norm moe_dispatch moe_dispatch_wait rs2 dense1_attention rs2_wait");
    CHECK(p.ordered({"dense2", "rs2", "layer1_boundary", "ffn_norm", "moe_dispatch"}));
    CHECK(p.found.makespan().count == 42);
}

TEST_CASE("torchtitan S16: a gather beside a router; decided differently: a router hides it as well as attention") {
    step s;
    s.input("x").kernel("moe_node", 10, {"x"}).kernel("dense0", 10, {"moe_node"}).launch("ag1", 10, {"x"});
    s.wait("ag1_wait", "ag1").kernel("dense1", 10, {"dense0", "ag1_wait"}).output({"dense1"});
    const planned p = against(s, "x moe_node ag1 dense0 ag1_wait dense1");
    CHECK(p.ordered({"ag1", "dense0", "dense1"}));
    CHECK(p.count_exposed() == 0);
}
