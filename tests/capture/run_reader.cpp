#include "stretto/capture/run_reader.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/capture/capture_of_tasks.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/soa_ir.hpp"

using namespace stretto;

namespace {

struct labels {
    std::string name(task_id t) const { return "task \"" + std::to_string(t) + "\"\n"; }
    std::string op(task_id) const { return "op"; }
    std::string group(group_id g) const { return "g" + std::to_string(g); }
};

std::string run_with(const std::string& event) { return R"({"traceEvents":[)" + event + "]}"; }

std::string complaint_of(const std::string& text) {
    const auto run = parse_run(text, "run.json");
    return run ? "" : run.error().message();
}

void add(capture_builder& to, const char* name, const char* op, op_kind kind, std::vector<std::uint32_t> inputs) {
    capture_node n;
    n.name = name;
    n.op = op;
    n.kind = kind;
    n.inputs = std::move(inputs);
    to.append(n);
}

auto key_of(const measured_span& s) { return std::tuple(s.task, s.rank, s.step, s.begin, s.end); }

}  // namespace

TEST_CASE("what a run has written is read as it was measured") {
    stretto_check("runs through files", 500, [] {
        support::program_options options;
        options.multi_result = options.waits_on_nothing = false;
        support::toy_program p = *support::random_programs(options);
        for (support::toy_op& o : p.ops)  // of which files know four kinds
            if (o.kind == op_kind::start) o.collective = collective_kind::all_to_all;
        const support::soa_ir ir(p);
        const task_graph g = *make_task_graph(ir.view(), ir.model());
        std::vector<capture_group> groups;
        for (group_id k = 0; k < p.groups; ++k) groups.push_back({labels().group(k), 2});
        const auto step = capture_of_tasks(g, "step", groups, labels());
        std::vector<measured_span> spans;
        chrome_trace trace;
        const nanoseconds zero{*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000)};
        for (rank_id rank = 0; rank < 2; ++rank) {
            std::vector<measured_span> mine;
            for (task_id t = 0; t < g.size(); ++t) {
                if (!does_work(g.kind[t]) && g.kind[t] != op_kind::wait) continue;
                const nanoseconds begin = zero + nanoseconds{*rc::gen::inRange<std::int64_t>(0, 5'000'000'000)};
                mine.push_back(
                    {t, begin, begin + nanoseconds{*rc::gen::inRange<std::int64_t>(0, 90'000)}, rank, t % 3});
            }
            trace.add_run("rank " + std::to_string(rank), g, mine, zero, labels());
            spans.insert(spans.end(), mine.begin(), mine.end());
        }
        const auto run = parse_run(std::move(trace).json(), "run.json");
        RC_ASSERT(run.has_value() == !spans.empty());
        if (!run) return;
        RC_ASSERT(step.has_value());
        run_of_step found = match_run(*run, *step);
        RC_ASSERT(found.unknown == 0u);
        for (measured_span& s : found.spans) s.begin += zero, s.end += zero;
        const auto before = [](const measured_span& a, const measured_span& b) { return key_of(a) < key_of(b); };
        std::sort(found.spans.begin(), found.spans.end(), before);
        std::sort(spans.begin(), spans.end(), before);
        RC_ASSERT(found.spans == spans);
    });
}

TEST_CASE("predictions, counters and metadata of a trace are passed over") {
    const std::string slice =
        R"({"ph":"X","pid":1,"tid":0,"cat":"compute","name":"a","ts":1.5,"dur":2.25,"args":{"op":"x","rank":3,"step":4}})";
    const auto run = parse_run(run_with(R"({"ph":"M","name":"process_name","args":{"name":"x"}},)"
                                        R"({"ph":"X","name":"b","ts":1,"dur":2,"args":{"op":"x"}},)" +
                                        slice),
                               "run.json");
    REQUIRE(run);
    CHECK(run->names == std::vector<std::string>{"a"});
    REQUIRE(run->spans.size() == 1);
    CHECK(run->spans[0] == measured_span{0, {1500}, {3750}, 3, 4});
}

TEST_CASE("names that are not operations of the step are counted, and one of them is named") {
    capture_builder b("step");
    add(b, "x", "input", op_kind::input, {});
    add(b, "k", "kernel", op_kind::compute, {0});
    const capture step = *std::move(b).build();
    const named_run run{{"gone", "k", "x"}, {{0, {0}, {1}, 0, 0}, {1, {1}, {2}, 0, 0}, {2, {2}, {3}, 0, 0}}};
    const run_of_step found = match_run(run, step);
    CHECK(found.unknown == 2);
    CHECK(found.first_unknown == "gone");
    REQUIRE(found.spans.size() == 1);
    CHECK(found.spans[0].task == 1);
}

TEST_CASE("the time between any two ends of slices fits into 64 bits") {
    const auto from = [](const char* begin, const char* taken) {
        return std::string(R"({"ph":"X","name":"a","ts":)") + begin + R"(,"dur":)" + taken +
               R"(,"args":{"rank":0,"step":0}})";
    };
    const auto run = parse_run(run_with(from("-3e15", "1") + "," + from("3e15", "3e15")), "run.json");
    REQUIRE(run);
    CHECK((run->spans[1].end - run->spans[0].begin).count == 9'000'000'000'000'000'000);
    const char* refusal =
        "run.json: traceEvents.ts: is no time of a run; times are microseconds; no slice ends before it begins";
    CHECK(complaint_of(run_with(from("-3.1e15", "1"))) == refusal);
    CHECK(complaint_of(run_with(from("3.1e15", "1"))) == refusal);
}

TEST_CASE("files that are no runs") {
    CHECK(complaint_of("") != "");
    CHECK(complaint_of("[]") == "run.json: is not a JSON object; is this a stretto-graph?");
    CHECK(complaint_of("{}") ==
          "run.json: traceEvents: has no slice of a run; those have \"rank\" and \"step\" among their args");
    CHECK(complaint_of(run_with(R"({"ph":"X","name":"a","ts":1,"args":{"rank":0,"step":0}})")) ==
          "run.json: traceEvents.dur: is missing; every such object has one");
    CHECK(complaint_of(run_with(R"({"ph":"X","name":"a","ts":1,"dur":-1,"args":{"rank":0,"step":0}})")) ==
          "run.json: traceEvents.dur: is no time of a run; times are microseconds; no slice ends before it begins");
    CHECK(complaint_of(run_with(R"({"ph":"X","name":"a","ts":1e300,"dur":1,"args":{"rank":0,"step":0}})")) ==
          "run.json: traceEvents.ts: is no time of a run; times are microseconds; no slice ends before it begins");
    CHECK(complaint_of(run_with(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"rank":-1,"step":0}})")) != "");
    CHECK(complaint_of(run_with(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"rank":4294967296,"step":0}})")) ==
          "run.json: traceEvents.rank: is too large; ranks and steps are below 2^32");
    CHECK(complaint_of(run_with(R"({"ph":"X","ph":"X"})")) != "");
    CHECK(complaint_of(run_with(R"({"ph":)")) != "");
    CHECK_FALSE(read_run("/nowhere/run.json"));
    CHECK(parse_run("{}", "run.json", {.max_bytes = 1}).error().message() == "run.json: is larger than 1 bytes");
}
