#include "stretto/schedule/autoparallel_clock.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "stretto/schedule/simulate.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_program.hpp"

using namespace stretto;

namespace {

constexpr autoparallel_clock_options unit_overhead{.overhead = nanoseconds{1}};

/// A step written down in its order. The output is added at the end, as the simulator always finds one.
class step {
public:
    step& input(const std::string& name) { return add(name, op_kind::input, 0); }
    step& view(const std::string& name) { return add(name, op_kind::view, 0); }
    step& kernel(const std::string& name, std::int64_t ns) { return add(name, op_kind::compute, ns); }
    step& launch(const std::string& name, std::int64_t ns, group_id group = 0) {
        add(name, op_kind::start, ns);
        g_.group.back() = group;
        g_.groups = std::max<std::size_t>(g_.groups, group + std::size_t{1});
        return *this;
    }
    step& blocking(const std::string& name, std::int64_t ns) {
        launch(name, ns);
        blocks_.back() = true;
        return *this;
    }
    step& wait(const std::string& launch) {
        add("w(" + launch + ")", op_kind::wait, 0);
        g_.launch.back() = ids_.at(launch);
        return *this;
    }
    step& wait_for_input() { return add("wait", op_kind::wait, 0); }

    autoparallel_trace run() {
        add("output", op_kind::output, 0);
        std::vector<task_id> order;
        for (task_id t = 0; t < g_.size(); ++t) order.push_back(t);
        return autoparallel_clock(g_, order, [this](task_id t) { return bool{blocks_[t]}; }, unit_overhead);
    }

    /// "ag[2,52] m1[3,33]", as the reference traces are written.
    std::string text(const autoparallel_trace& trace) const {
        std::string out;
        for (const autoparallel_event& e : trace.events)
            out += (out.empty() ? "" : " ") + names_[e.task] + "[" + std::to_string(e.begin.count) + "," +
                   std::to_string((e.begin + e.duration).count) + "]";
        return out;
    }

private:
    step& add(const std::string& name, op_kind kind, std::int64_t ns) {
        ids_[name] = static_cast<task_id>(names_.size());
        names_.push_back(name);
        blocks_.push_back(false);
        g_.kind.push_back(kind);
        g_.duration.push_back({ns});
        g_.group.push_back(0);
        g_.launch.push_back(no_task);
        return *this;
    }
    task_graph g_;
    std::vector<std::string> names_;
    std::vector<bool> blocks_;
    std::map<std::string, task_id> ids_;
};

void expect(step s, const std::string& events, std::int64_t makespan, std::int64_t total, std::int64_t compute,
            std::int64_t communication, std::int64_t exposed) {
    const autoparallel_trace trace = s.run();
    CHECK(s.text(trace) == events);
    CHECK(trace.makespan.count == makespan);
    CHECK(trace.total.count == total);
    CHECK(trace.compute.count == compute);
    CHECK(trace.communication.count == communication);
    CHECK(trace.exposed.count == exposed);
}

/// The forward pass of a mixture-of-experts layer in two chunks, in the order given by names.
step moe_forward(const std::vector<std::string>& order) {
    step s;
    for (const std::string& name : order) {
        const std::string what = name.substr(0, name.find('.'));
        const std::string chunk = name.substr(name.find('.') + 1);
        if (what == "x") s.input(name);
        else if (what == "router") s.kernel(name, 2);
        else if (what == "count") s.launch(name, 1);
        else if (what == "sync") s.kernel(name, 1);
        else if (what == "shared") s.kernel(name, 8);
        else if (what == "gmm") s.kernel(name, 25);
        else if (what == "D" || what == "C") s.launch(name, 20);
        else s.wait(what.substr(0, 1) + "." + chunk);
    }
    return s;
}

}  // namespace

TEST_CASE("T1: a collective outlives the kernel beside it") {
    expect(step().input("p").input("x").launch("ag", 50).kernel("m1", 30).wait("ag").kernel("m2", 40),
           "ag[2,52] m1[3,33] m2[54,94]", 94, 96, 70, 50, 19);
}

TEST_CASE("T2: one group runs its collectives one after the other") {
    expect(step().input("p").input("q").launch("a", 20).launch("b", 20).wait("a").wait("b").kernel("m", 5),
           "a[2,22] b[23,43] m[45,50]", 50, 52, 5, 40, 39);
}

TEST_CASE("T3: two groups run side by side") {
    expect(step().input("p").input("q").launch("a", 20).launch("b", 20, 1).wait("a").wait("b").kernel("m", 5),
           "a[2,22] b[3,23] m[25,30]", 30, 32, 5, 40, 19);
}

TEST_CASE("T4: ten views delay a kernel by ten overheads") {
    step s;
    s.input("x");
    for (int i = 0; i < 10; ++i) s.view("v" + std::to_string(i));
    expect(s.kernel("m", 7), "m[11,18]", 18, 20, 7, 0, 0);
}

TEST_CASE("T5: a synchronous collective stops the compute stream") {
    expect(step().input("x").kernel("m1", 10).blocking("s", 25).kernel("m2", 10), "m1[1,11] s[12,37] m2[38,48]", 48, 50,
           20, 25, 25);
}

TEST_CASE("T6: a wait on an input costs its overhead only") {
    expect(step().input("p").wait_for_input().kernel("m", 3), "m[2,5]", 5, 7, 3, 0, 0);
}

TEST_CASE("T7: the second wait of a chain does not stall again") {
    expect(step().input("p").launch("ag", 50).wait("ag").wait("ag").kernel("m", 3), "ag[1,51] m[54,57]", 57, 59, 3, 50,
           50);
}

TEST_CASE("T8: a trailing wait is no event, so the makespan ends before it") {
    expect(step().input("x").kernel("m1", 10).launch("rs", 5).kernel("m2", 3).wait("rs"),
           "m1[1,11] rs[12,17] m2[13,16]", 17, 20, 13, 5, 1);
}

TEST_CASE("T9: an exposed trailing collective") {
    expect(step().input("x").kernel("m1", 10).launch("rs", 100).wait("rs"), "m1[1,11] rs[12,112]", 112, 115, 10, 100,
           100);
}

TEST_CASE("T10: mixture of experts, chunks paired") {
    expect(moe_forward({"x", "router.0", "count.0", "sync.0", "router.1", "count.1", "sync.1", "D.0", "D.1", "shared.0",
                        "shared.1", "Dw.0", "gmm.0", "C.0", "Dw.1", "gmm.1", "C.1", "Cw.0", "Cw.1"}),
           "router.0[1,3] count.0[4,5] sync.0[5,6] router.1[7,9] count.1[10,11] sync.1[11,12] D.0[13,33] D.1[34,54] "
           "shared.0[15,23] shared.1[24,32] gmm.0[35,60] C.0[61,81] gmm.1[63,88] C.1[89,109]",
           109, 112, 72, 82, 20);
}

TEST_CASE("T11: mixture of experts, chunks unpaired") {
    expect(moe_forward({"x", "router.0", "count.0", "sync.0", "D.0", "router.1", "count.1", "sync.1", "D.1", "shared.0",
                        "shared.1", "Dw.0", "gmm.0", "C.0", "Dw.1", "gmm.1", "C.1", "Cw.0", "Cw.1"}),
           "router.0[1,3] count.0[4,5] sync.0[5,6] D.0[7,27] router.1[8,10] count.1[28,29] sync.1[12,13] D.1[30,50] "
           "shared.0[15,23] shared.1[24,32] gmm.0[34,59] C.0[60,80] gmm.1[62,87] C.1[88,108]",
           108, 111, 72, 82, 19);
}

TEST_CASE("T12: mixture of experts, one chunk after the other") {
    expect(moe_forward({"x", "router.0", "count.0", "sync.0", "D.0", "Dw.0", "gmm.0", "C.0", "Cw.0", "shared.0",
                        "router.1", "count.1", "sync.1", "D.1", "Dw.1", "gmm.1", "C.1", "Cw.1", "shared.1"}),
           "router.0[1,3] count.0[4,5] sync.0[5,6] D.0[7,27] gmm.0[29,54] C.0[55,75] shared.0[77,85] router.1[86,88] "
           "count.1[89,90] sync.1[90,91] D.1[92,112] gmm.1[114,139] C.1[140,160] shared.1[162,170]",
           170, 172, 72, 82, 80);
}

TEST_CASE("autoparallel A11: figures of a step") {
    step compute;
    const autoparallel_trace alone = compute.input("x").kernel("a", 30).kernel("b", 12).run();
    CHECK(alone.compute.count == 42);
    CHECK(alone.communication.count == 0);
    CHECK(alone.exposed.count == 0);

    /// Layers that gather their parameters; in training, they do so again backward, and reduce their gradients.
    const auto model = [](int layers, bool training) {
        step s;
        s.input("x");
        for (int way = 0; way <= (training ? 1 : 0); ++way)
            for (int k = 0; k < layers; ++k) {
                const std::string name = std::to_string(way) + "." + std::to_string(k);
                s.launch("ag" + name, 40).wait("ag" + name).kernel("mm" + name, 30 + 30 * way);
                if (way == 1) s.launch("rs" + name, 40).wait("rs" + name);
            }
        return s.run();
    };
    const autoparallel_trace two = model(2, false), four = model(4, false), trained = model(2, true);
    CHECK(two.compute.count == 2 * 30);
    CHECK(two.communication.count == 2 * 40);
    CHECK(model(2, false).events == two.events);
    CHECK(four.compute.count == 2 * two.compute.count);  // they add up
    CHECK(four.communication.count == 2 * two.communication.count);
    CHECK(four.total > two.total);
    CHECK(trained.total > two.total);
    CHECK(trained.compute > two.compute);
    CHECK(trained.communication > two.communication);
    for (const autoparallel_trace* t : {&two, &four, &trained}) CHECK(t->exposed <= t->communication);
}

TEST_CASE("what takes no time is no event, but pays its overhead") {
    expect(step().input("x").kernel("empty", 0).launch("free", 0).wait("free").kernel("m", 4), "m[4,8]", 8, 10, 4, 0,
           0);
}

TEST_CASE("the overhead is one microsecond unless said otherwise") {
    task_graph g;
    g.kind = {op_kind::input, op_kind::compute};
    g.duration = {{}, {500}};
    g.group = {0, 0};
    g.launch = {no_task, no_task};
    const std::vector<task_id> order = {0, 1};
    const autoparallel_trace trace = autoparallel_clock(g, order);
    CHECK(trace.events == std::vector<autoparallel_event>{{1, {1000}, {500}}});
    CHECK(trace.makespan == nanoseconds{1500});
    CHECK(trace.total == nanoseconds{2500});
}

TEST_CASE("without overhead it is the exact clock") {
    support::program_options options;
    options.unwaited_starts = true;
    stretto_check("agrees with simulate", 300, [&] {
        const support::toy_program program = *support::random_programs(options);
        task_graph g;
        std::vector<task_id> order;
        g.groups = program.groups;
        for (std::uint32_t v = 0; v < program.ops.size(); ++v) {
            const support::toy_op& op = program.ops[v];
            const std::uint32_t launch = op.kind == op_kind::wait ? support::launch_of(program, v) : v;
            g.kind.push_back(op.kind);
            g.duration.push_back(op.duration);
            g.group.push_back(op.group);
            g.launch.push_back(launch == v ? no_task : launch);
            order.push_back(v);
        }
        const simulation exact = simulate(g, order);
        const autoparallel_trace trace = autoparallel_clock(g, order, {.overhead = nanoseconds{0}});
        RC_ASSERT(trace.total == exact.makespan);
        RC_ASSERT(trace.exposed == exact.exposed);
        RC_ASSERT(trace.compute == exact.compute);
        nanoseconds last;
        for (const autoparallel_event& e : trace.events) {
            RC_ASSERT(e.begin == exact.begin[e.task]);
            RC_ASSERT(e.begin + e.duration == exact.end(g, e.task));
            last = std::max(last, e.begin + e.duration);
        }
        RC_ASSERT(trace.makespan == last);
        // An overhead delays everything that the same order does.
        RC_ASSERT(autoparallel_clock(g, order, unit_overhead).total >= exact.makespan);
    });
}
