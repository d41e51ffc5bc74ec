#include "stretto/schedule/chrome_trace.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/soa_ir.hpp"

using namespace stretto;

namespace {

struct numbered_labels {
    std::string name(task_id t) const { return "t" + std::to_string(t); }
    std::string op(task_id t) const { return "op \"" + std::to_string(t) + "\"\n"; }
    std::string group(group_id g) const { return "g" + std::to_string(g); }
};

struct slice {
    std::string name, category;
    std::int64_t begin = 0, end = 0;
    friend bool operator==(const slice&, const slice&) = default;
};

struct flow_end {
    std::int64_t thread = 0, at = 0;
    slice bound_to;  ///< of the end of a flow: the slice that follows it on its thread
};

/// One process of a trace, taken apart again.
struct process {
    std::string name;
    std::int64_t place = -1;
    std::map<std::int64_t, std::string> thread_names;
    std::map<std::int64_t, std::int64_t> thread_places;
    std::map<std::int64_t, std::vector<slice>> threads;
    std::map<std::int64_t, flow_end> flow_from, flow_to;
    std::vector<std::pair<std::int64_t, std::int64_t>> live;
};

/// Reads a trace the way a viewer does, and finds what a viewer would stumble over. Empty: nothing.
class trace_reader {
public:
    std::string read(const std::string& json) {
        simdjson::dom::parser parser;
        simdjson::dom::element root;
        if (parser.parse(simdjson::padded_string(json)).get(root) != simdjson::SUCCESS) return "is not JSON";
        simdjson::dom::array events;
        if (root["traceEvents"].get(events) != simdjson::SUCCESS) return "has no traceEvents";
        for (simdjson::dom::element e : events)
            if (std::string fault = event(e); !fault.empty()) return fault;
        if (!ending_.empty()) return "a flow ends where no slice follows";
        for (const auto& [id, p] : processes) {
            if (p.name.empty() || p.place < 0) return "a process has no name or no place";
            for (const auto& [thread, slices] : p.threads) {
                if (!p.thread_names.contains(thread)) return "a thread has no name";
                if (!p.thread_places.contains(thread)) return "a thread has no place";
                for (std::size_t i = 1; i < slices.size(); ++i)
                    if (slices[i].begin < slices[i - 1].end) return slices[i].name + " overlaps the slice before it";
            }
            for (const auto& [flow, end] : p.flow_to)
                if (!p.flow_from.contains(flow)) return "a flow ends that never began";
            if (p.flow_from.size() != p.flow_to.size()) return "a flow does not end";
            for (std::size_t i = 1; i < p.live.size(); ++i)
                if (p.live[i].first <= p.live[i - 1].first) return "the counter goes back in time";
        }
        return "";
    }

    std::map<std::int64_t, process> processes;

private:
    static std::string text(simdjson::dom::element e, const char* key) {
        std::string_view s;
        return e[key].get(s) == simdjson::SUCCESS ? std::string(s) : "";
    }
    /// Microseconds with fractions, as nanoseconds; -1 if absent.
    static std::int64_t time(simdjson::dom::element e, const char* key) {
        double us = 0;
        if (e[key].get(us) != simdjson::SUCCESS) return -1;
        return std::llround(us * 1000);
    }
    static std::int64_t number(simdjson::dom::element e, const char* key) {
        std::int64_t n = -1;
        return e[key].get(n) == simdjson::SUCCESS ? n : -1;
    }

    std::string event(simdjson::dom::element e) {
        const std::string phase = text(e, "ph"), name = text(e, "name");
        const std::int64_t thread = number(e, "tid"), at = time(e, "ts");
        process& p = processes[number(e, "pid")];
        simdjson::dom::element args;
        const bool has_args = e["args"].get(args) == simdjson::SUCCESS;
        if (phase != "M" && (at < 0 || name.empty())) return "an event without time or name";
        if (phase == "M") {
            if (!has_args) return "metadata says nothing";
            if (name == "process_name") p.name = text(args, "name");
            else if (name == "process_sort_index") p.place = number(args, "sort_index");
            else if (name == "thread_name") p.thread_names[thread] = text(args, "name");
            else if (name == "thread_sort_index") p.thread_places[thread] = number(args, "sort_index");
            else return "unknown metadata " + name;
        } else if (phase == "X") {
            const std::int64_t duration = time(e, "dur");
            if (duration < 0) return name + " has no duration";
            const slice made{name, text(e, "cat"), at, at + duration};
            p.threads[thread].push_back(made);
            const auto ending = ending_.find(thread);
            if (ending != ending_.end()) {
                ending->second->bound_to = made;
                ending_.erase(ending);
            }
        } else if (phase == "s" || phase == "f") {
            auto& ends = phase == "s" ? p.flow_from : p.flow_to;
            const auto [place, fresh] = ends.try_emplace(number(e, "id"), flow_end{thread, at, {}});
            if (!fresh) return "two flows have one id";
            if (phase == "f") ending_[thread] = &place->second;
        } else if (phase == "C") {
            p.live.emplace_back(at, has_args ? number(args, "bytes") : -1);
        } else {
            return "unknown phase " + phase;
        }
        return "";
    }

    std::map<std::int64_t, flow_end*> ending_;
};

std::vector<task_id> input_order(const task_graph& g) {
    std::vector<task_id> order(g.size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

task_graph graph_of(const support::toy_program& p) {
    const support::soa_ir ir(p);
    auto g = make_task_graph(ir.view(), ir.model());
    REQUIRE(g.has_value());
    return *g;
}

/// 0 input, 1 kernel, 2 all-to-all behind it, 3 kernel meanwhile, 4 wait, 5 kernel, 6 output.
support::toy_program hidden_in_part() {
    using support::toy_op;
    const auto op = [](op_kind kind, std::int64_t ns, std::vector<support::toy_value> reads, std::int64_t size) {
        toy_op o;
        o.kind = kind;
        o.duration = {ns};
        o.operands = std::move(reads);
        o.results = {{{size}, {}}};
        return o;
    };
    support::toy_program p;
    p.groups = 2;
    p.ops = {op(op_kind::input, 0, {}, 64),
             op(op_kind::compute, 1'234'567, {{0, 0}}, 100),
             op(op_kind::start, 5'000'001, {{1, 0}}, 1000),
             op(op_kind::compute, 2'000'000, {{1, 0}}, 10),
             op(op_kind::wait, 0, {{2, 0}}, 0),
             op(op_kind::compute, 7, {{4, 0}, {3, 0}}, 1),
             op(op_kind::output, 0, {{5, 0}}, 0)};
    p.ops[2].collective = collective_kind::all_to_all;
    p.ops[2].group = 1;
    p.ops[4].results[0].aliases = {{2, 0}};
    return p;
}

}  // namespace

TEST_CASE("a small step: every slice, flow and amount, to the nanosecond") {
    const task_graph g = graph_of(hidden_in_part());
    const std::vector<task_id> order = input_order(g);
    chrome_trace trace;
    trace.add("before", g, order, simulate(g, order), profile_memory(g, order), numbered_labels{});
    trace_reader read;
    const std::string json = std::move(trace).json();
    REQUIRE(read.read(json) == "");

    REQUIRE(read.processes.size() == 1);
    const process& p = read.processes.at(1);
    CHECK(p.name == "before");
    CHECK(p.thread_names == std::map<std::int64_t, std::string>{{0, "compute"}, {2, "channel g1"}});
    CHECK(p.thread_places.at(0) < p.thread_places.at(2));
    CHECK(p.threads.at(0) == std::vector<slice>{{"t1", "compute", 0, 1'234'567},
                                                {"t3", "compute", 1'234'567, 3'234'567},
                                                {"t4", "stall", 3'234'567, 6'234'568},
                                                {"t5", "compute", 6'234'568, 6'234'575}});
    CHECK(p.threads.at(2) == std::vector<slice>{{"t2", "collective", 1'234'567, 6'234'568}});
    REQUIRE(p.flow_from.size() == 1);
    CHECK(p.flow_from.begin()->second.thread == 2);
    CHECK(p.flow_from.begin()->second.at == 1'234'567);
    CHECK(p.flow_to.begin()->second.bound_to.name == "t4");
    // The collective takes its memory when it is launched; its input stays until its wait.
    CHECK(p.live == std::vector<std::pair<std::int64_t, std::int64_t>>{
                        {0, 100}, {1'234'567, 1110}, {6'234'568, 1011}, {6'234'575, 1}});
    // Spelt out once, because viewers round what has no fraction.
    CHECK(json.find("\"ts\":1234.567,\"dur\":5000.001") != std::string::npos);
}

TEST_CASE("a kernel that channels slow down is drawn as long as it takes") {
    const task_graph g = graph_of(hidden_in_part());
    const std::vector<task_id> order = input_order(g);
    const simulation times = simulate(g, order, contention{2, 1});
    REQUIRE(times.end(g, 3) - times.begin[3] > g.duration[3]);
    chrome_trace trace;
    trace.add("contended", g, order, times, profile_memory(g, order), numbered_labels{});
    trace_reader read;
    REQUIRE(read.read(std::move(trace).json()) == "");
    CHECK(read.processes.at(1).threads.at(0)[1] == slice{"t3", "compute", times.begin[3].count, times.end(g, 3).count});
}

TEST_CASE("a trace without orders, and an order without tasks, are still traces") {
    trace_reader nothing;
    CHECK(nothing.read(chrome_trace{}.json()) == "");
    const task_graph g = graph_of({});
    chrome_trace trace;
    trace.add("empty", g, {}, simulate(g, {}), profile_memory(g, {}), numbered_labels{});
    trace_reader read;
    CHECK(read.read(std::move(trace).json()) == "");
    CHECK(read.processes.at(1).name == "empty");
    CHECK(read.processes.at(1).threads.empty());
}

TEST_CASE("memory over time keeps the peak and has no two equal neighbours") {
    stretto_check("live_over_time", 300, [] {
        const task_graph g = graph_of(*support::random_programs());
        const std::vector<task_id> order = input_order(g);
        const memory_profile memory = profile_memory(g, order);
        const std::vector<live_amount> curve = live_over_time(g, order, simulate(g, order), memory);
        bytes most;
        for (std::size_t i = 0; i < curve.size(); ++i) {
            most = std::max(most, curve[i].live);
            if (i == 0) continue;
            RC_ASSERT(curve[i].since > curve[i - 1].since);
            RC_ASSERT(curve[i].live != curve[i - 1].live);
        }
        RC_ASSERT(most == memory.peak);
    });
}

TEST_CASE("before and after: viewers accept any step, and nothing that takes time is missing") {
    stretto_check("chrome_trace", 300, [] {
        support::program_options options;
        options.unwaited_starts = true;
        const task_graph g = graph_of(*support::random_programs(options));
        const std::vector<task_id> order = input_order(g);
        const simulation times = simulate(g, order);
        const auto s = list_schedule(g);
        RC_ASSERT(s.has_value());
        const auto make = [&] {
            chrome_trace trace;
            trace.add("before", g, order, times, profile_memory(g, order), numbered_labels{});
            trace.add("after", g, s->order(), s->times(), s->memory(), numbered_labels{});
            return std::move(trace).json();
        };
        const std::string json = make();
        RC_ASSERT(json == make());
        trace_reader read;
        RC_ASSERT(read.read(json) == "");
        RC_ASSERT(read.processes.size() == 2u);
        RC_ASSERT(read.processes.at(1).name == "before");
        RC_ASSERT(read.processes.at(2).name == "after");
        for (const auto& [id, t] : {std::pair{1, &times}, std::pair{2, &s->times()}}) {
            const process& p = read.processes.at(id);
            std::map<std::string, slice> found;
            std::int64_t busy = 0, stalled = 0;
            for (const auto& [thread, slices] : p.threads)
                for (const slice& x : slices) {
                    found[x.name] = x;
                    busy += x.category == "compute" ? x.end - x.begin : 0;
                    stalled += x.category == "stall" ? x.end - x.begin : 0;
                }
            RC_ASSERT(busy == t->compute.count);
            RC_ASSERT(stalled == t->exposed.count);
            std::size_t waits = 0, expected = 0;
            for (task_id v = 0; v < g.size(); ++v) {
                const bool shown =
                    g.kind[v] == op_kind::compute || g.kind[v] == op_kind::start || g.launch[v] != no_task;
                expected += shown;
                waits += g.launch[v] != no_task;
                if (!shown) continue;
                const auto x = found.find(numbered_labels{}.name(v));
                RC_ASSERT(x != found.end());
                RC_ASSERT(x->second.begin == (t->begin[v] - t->stall[v]).count);
            }
            RC_ASSERT(found.size() == expected);
            RC_ASSERT(p.flow_to.size() == waits);
            for (const auto& [flow, end] : p.flow_to) {
                RC_ASSERT(end.thread == 0);
                RC_ASSERT(end.bound_to.begin == end.at);
            }
        }
    });
}
