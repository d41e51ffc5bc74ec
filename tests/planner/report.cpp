// The parts of stretto-plan: what it reads from the command line, and what it says about a plan.
#include <doctest/doctest.h>
#include <simdjson.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "comparison.hpp"
#include "html_report.hpp"
#include "human_units.hpp"
#include "measured.hpp"
#include "picture.hpp"
#include "reasons.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_reader.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/schedule/explain.hpp"
#include "support/reduction_step.hpp"
#include "text_report.hpp"

using namespace planner;
using stretto::bytes;
using stretto::nanoseconds;
using stretto::op_kind;

namespace {

/// A step in program order, written down node by node.
class step_writer {
public:
    step_writer() : made_("a </script><b>\"step\"") {
        made_.add_group({"0", 8, "\"desc\":\"fsdp\""});
        made_.add_group({"1", 8, "\"desc\":\"mesh\""});
        made_.add_group({"2", 8, "\"desc\":\"mesh\""});
        made_.add_group({"3", 8, ""});
    }
    std::uint32_t input() { return add("input", op_kind::input, {}, 0, 8); }
    std::uint32_t kernel(const std::string& name, std::vector<std::uint32_t> reads, std::int64_t ns,
                         std::int64_t size = 0) {
        return add(name, op_kind::compute, std::move(reads), ns, size);
    }
    std::uint32_t view(const std::string& name, std::uint32_t of) { return add(name, op_kind::view, {of}, 0, 0); }
    std::uint32_t start(const std::string& name, std::uint32_t of, std::int64_t ns, stretto::group_id group = 0,
                        std::int64_t size = 0) {
        stretto::capture_node n = node(name, op_kind::start, {of}, ns, size);
        n.collective = stretto::collective_kind::all_gather;
        n.group = group;
        n.payload = bytes{64};
        return made_.append(n);
    }
    std::uint32_t wait(std::uint32_t start, const std::string& name) {
        stretto::capture_node n = node(name, op_kind::wait, {start}, 0, 0);
        n.aliases = {start};
        return made_.append(n);
    }
    stretto::capture done(std::vector<std::uint32_t> results) {
        add("output", op_kind::output, std::move(results), 0, 0);
        auto built = std::move(made_).build();
        REQUIRE(built.has_value());
        return *std::move(built);
    }

private:
    static stretto::capture_node node(std::string_view name, op_kind kind, std::vector<std::uint32_t> reads,
                                      std::int64_t ns, std::int64_t size) {
        stretto::capture_node n;
        n.name = name;
        n.op = "op";
        n.kind = kind;
        n.inputs = std::move(reads);
        n.duration = nanoseconds{ns};
        n.allocation = bytes{size};
        return n;
    }
    std::uint32_t add(std::string_view name, op_kind kind, std::vector<std::uint32_t> reads, std::int64_t ns,
                      std::int64_t size) {
        return made_.append(node(name, kind, std::move(reads), ns, size));
    }
    stretto::capture_builder made_;
};

comparison planned(stretto::capture step, stretto::memory_budget limit = stretto::memory_budget::times_input_peak(1)) {
    auto c = plan_step(std::move(step), "step.json", limit);
    REQUIRE_MESSAGE(c.has_value(), c.error().message);
    return *std::move(c);
}

/// The only order is: source (1 ms), gather (3 ms) over other (1 ms), wait, sink (1 ms).
stretto::capture exposed_by_dependence() {
    step_writer s;
    const auto in = s.input();
    const auto source = s.kernel("source", {in}, 1'000'000, 10);
    const auto gather = s.start("gather", s.view("seen", source), 3'000'000, 0, 100);
    const auto other = s.kernel("other", {source}, 1'000'000, 10);
    const auto waited = s.wait(gather, "waited");
    return s.done({s.kernel("sink", {waited, other}, 1'000'000, 10)});
}

/// The most exposed collective of the plan, in words.
std::string worst_reason(const comparison& c) {
    const auto worst = worst_collectives(c.after, 1);
    REQUIRE(worst.size() == 1);
    return std::string(c.after.of->name(worst[0].start)) + ": " + reason_of(c.after, worst[0], c.memory_limit);
}

simdjson::dom::element parsed(simdjson::dom::parser& parser, const std::string& json) {
    simdjson::dom::element root;
    REQUIRE(parser.parse(simdjson::padded_string(json)).get(root) == simdjson::SUCCESS);
    return root;
}

std::vector<std::int64_t> numbers(simdjson::dom::element list) {
    std::vector<std::int64_t> all;
    const simdjson::dom::array array = list.get_array().value();
    for (simdjson::dom::element e : array) all.push_back(e.get_int64().value());
    return all;
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const std::size_t from = text.find(begin);
    REQUIRE(from != std::string::npos);
    const std::size_t to = text.find(end, from + begin.size());
    REQUIRE(to != std::string::npos);
    return text.substr(from + begin.size(), to - from - begin.size());
}

}  // namespace

TEST_CASE("times and amounts for people") {
    CHECK(change(nanoseconds{200}, nanoseconds{150}) == "-25.0 %");
    CHECK(change(nanoseconds{200}, nanoseconds{201}) == "+0.50 %");
    CHECK(change(nanoseconds{200}, nanoseconds{200}) == "unchanged");
    CHECK(change(nanoseconds{0}, nanoseconds{200}) == "");
    CHECK(percent(0) == "0 %");
    CHECK(percent(0.00001) == "0.00 %");
}

TEST_CASE("memory limits") {
    CHECK(parse_memory_limit("1.00x")->limit(bytes{1000}) == bytes{1000});
    CHECK(parse_memory_limit("1.05x")->limit(bytes{1000}) == bytes{1050});
    CHECK(parse_memory_limit("0.5x")->limit(bytes{1001}) == bytes{500});
    CHECK(parse_memory_limit("2GiB")->limit(bytes{1}) == bytes{2'147'483'648});
    CHECK(parse_memory_limit("1.5KB")->limit(bytes{1}) == bytes{1500});
    CHECK(parse_memory_limit("9007199254740993")->limit(bytes{1}) == bytes{9'007'199'254'740'993});
    CHECK(parse_memory_limit("unlimited")->limit(bytes{1}) == stretto::unlimited_bytes);
    for (const char* wrong : {"", "x", "1.05", "-1", "-1x", "nan", "inf", "1e3x", "1 GiB", "1gib", "1.0xx",
                              "99999999999999999999", "9999999999TiB"})
        CHECK_MESSAGE(!parse_memory_limit(wrong), wrong);
}

TEST_CASE("a misspelt option has a neighbour, another word has none") {
    const std::vector<std::string> options = {"--json", "--trace", "--html", "--memory-limit", "--check"};
    CHECK(similar_option("--jsno", options) == "--json");
    CHECK(similar_option("--memmory-limt", options) == "--memory-limit");
    CHECK(similar_option("--memory_limit", options) == "--memory-limit");
    CHECK(!similar_option("--prefetch", options));
    CHECK(!similar_option("-q", options));
}

TEST_CASE("groups are called what the capture calls them, and told apart") {
    const comparison c = planned(exposed_by_dependence());
    CHECK(c.after.of->group_names == std::vector<std::string>{"fsdp", "mesh (1)", "mesh (2)", "group 3"});
}

TEST_CASE("a reason names what a collective depends on, through views") {
    const comparison c = planned(exposed_by_dependence());
    CHECK(c.before.times.makespan == nanoseconds{5'000'000});
    CHECK(c.gap() == 0);
    CHECK(worst_reason(c) ==
          "gather: depends on source, which ends at 1.00 ms; only 1.00 ms of other work was left before waited needed "
          "it");
}

TEST_CASE("a reason says when nothing was left, and when nothing is read") {
    step_writer s;
    const auto waited = s.wait(s.start("gather", s.input(), 2000), "waited");
    CHECK(worst_reason(planned(s.done({s.kernel("sink", {waited}, 5)}))) ==
          "gather: reads nothing that is computed; no other work was left before waited needed it");
}

TEST_CASE("a reason names the collective in front on the channel") {
    step_writer s;
    const auto in = s.input();
    const auto source = s.kernel("source", {in}, 1000);
    const auto first = s.start("first", source, 8000);
    const auto second = s.start("second", source, 1000);
    const auto w1 = s.wait(first, "w1"), k1 = s.kernel("k1", {w1}, 100);
    const auto w2 = s.wait(second, "w2");
    auto c = check(s.done({s.kernel("k2", {w2, k1}, 100)}), "step", exposed_by_dependence(), "plan",
                   stretto::unlimited_bytes);
    REQUIRE(c.has_value());
    const auto& e = c->before.exposures;
    REQUIRE(e.size() == 2);
    CHECK(reason_of(c->before, e[0], bytes{1}).starts_with("depends on source, which ends at 1.00 us; no other work"));
    CHECK(e[1].reason == stretto::exposure_reason::channel);
    CHECK(reason_of(c->before, e[1], bytes{1}) == "queued 8.00 us behind first on fsdp");
    CHECK(c->before.of->name(stretto::culprit_of(c->before.of->graph, c->before.times, e[1])) == "first");
    CHECK(c->before.of->name(stretto::culprit_of(c->before.of->graph, c->before.times, e[0])) == "source");
}

TEST_CASE("a reason says how late a collective was launched") {
    step_writer s;
    const auto in = s.input();
    const auto source = s.kernel("source", {in}, 1000);
    const auto other = s.kernel("other", {in}, 9000);
    const auto waited = s.wait(s.start("gather", source, 5000), "waited");
    auto c = check(s.done({s.kernel("sink", {waited, other}, 100)}), "step", exposed_by_dependence(), "plan",
                   stretto::unlimited_bytes);
    REQUIRE(c.has_value());
    CHECK(reason_of(c->before, c->before.exposures[0], bytes{1}) ==
          "depends on source, which ends at 1.00 us, and was launched 9.00 us later; no other work was left before "
          "waited "
          "needed it");
}

TEST_CASE("a reason counts the kernels that the memory limit kept back") {
    // Behind the wait, two kernels need nothing of it; the sink reads what they make.
    step_writer s;
    const auto in = s.input();
    const auto source = s.kernel("source", {in}, 1000, 100);
    const auto waited = s.wait(s.start("gather", source, 5000, 0, 100), "waited");
    const auto small = s.kernel("small", {waited, source}, 100, 1);
    const auto a = s.kernel("a", {in}, 2000, 190), b = s.kernel("b", {in}, 2000, 5);
    auto c = planned(s.done({small, s.kernel("sink", {a, b}, 100, 0)}));
    REQUIRE(c.after.exposures.size() == 1);
    stretto::collective_exposure e = c.before.exposures[0];
    e.reason = stretto::exposure_reason::memory;
    CHECK(reason_of(c.before, e, bytes{1024}) ==
          "2 kernels were ready, but would have exceeded the memory limit of 1.00 KiB");
}

TEST_CASE("worst first, ties in issue order, hidden ones never") {
    timeline t{planned(exposed_by_dependence()).after.of, {}, {}, {}, {}};
    for (const auto& [start, ns] : {std::pair{2u, 5}, {3u, 9}, {4u, 0}, {5u, 9}})
        t.exposures.push_back({start, 0, nanoseconds{ns}, {}, {}, {}, stretto::exposure_reason::dependence, 0});
    const auto order = [&](std::size_t count) {
        std::vector<stretto::task_id> starts;
        for (const auto& e : worst_collectives(t, count)) starts.push_back(e.start);
        return starts;
    };
    CHECK(order(10) == std::vector<stretto::task_id>{3, 5, 2});
    CHECK(order(2) == std::vector<stretto::task_id>{3, 5});
    CHECK(order(0).empty());
}

TEST_CASE("the JSON object holds the figures under their stable names") {
    const comparison c = planned(exposed_by_dependence(), stretto::unlimited_bytes);
    simdjson::dom::parser parser;
    const auto o = parsed(parser, to_json(c, {}));
    const std::pair<const char*, std::int64_t> figures[] = {
        {"nodes", 8},
        {"collectives_before", 1},
        {"collectives_after", 1},
        {"step_before_ns", 5'000'000},
        {"step_after_ns", 5'000'000},
        {"compute_ns", 3'000'000},
        {"lower_bound_ns", 5'000'000},
        {"exposed_before_ns", 2'000'000},
        {"exposed_after_ns", 2'000'000},
        {"peak_before_bytes", c.before.memory.peak.count},
        {"peak_after_bytes", c.after.memory.peak.count},
    };
    for (const auto& [key, figure] : figures) {
        std::int64_t n = -1;
        CHECK_MESSAGE(o[key].get(n) == simdjson::SUCCESS, key);
        CHECK_MESSAGE(n == figure, key);
    }
    CHECK(o["memory_limit_bytes"].is_null());
    CHECK(o["name"].get_string().value() == "a </script><b>\"step\"");
    CHECK(o["lower_bound_kind"].get_string().value() == "critical_path");
    CHECK(o["plan_seconds"].get_double().value() >= 0);
    CHECK(o["worst"].get_array().value().size() == 1);
    CHECK(o["worst"].at(0)["culprit"].get_string().value() == "source");
    CHECK(o["violations"].error() == simdjson::NO_SUCH_FIELD);
}

TEST_CASE("lanes hold everything that takes time, once, and nothing overlaps") {
    const comparison c = planned(exposed_by_dependence());
    const std::vector<lane> lanes = lanes_of(c.after);
    REQUIRE(lanes.size() == 2);
    CHECK(lanes[0].title == "compute");
    CHECK(lanes[1].title == "fsdp");
    std::string seen;
    for (const bar& b : lanes[0].bars) seen += std::string(c.after.of->name(b.task)) + " ";
    CHECK(seen == "source other waited sink ");
    CHECK(lanes[0].bars[2].drawn_as == look::stall);
    CHECK(lanes[1].bars.front().drawn_as == look::all_gather);
}

TEST_CASE("the page needs nothing but itself, and its data are the timelines") {
    const comparison c = planned(exposed_by_dependence());
    const std::string page = to_html(c, 10);
    CHECK(page.find("<b>\"step\"") == std::string::npos);
    CHECK(page.find("a &lt;/script&gt;") != std::string::npos);
    CHECK(page.find("depends on source") != std::string::npos);
    CHECK(page.find("src=") == std::string::npos);
    CHECK(page.find("href=") == std::string::npos);
    CHECK(page.find("@import") == std::string::npos);
    CHECK(page.find("fetch(") == std::string::npos);
    std::string rest = page;
    const std::string name_space = "http://www.w3.org/2000/svg";
    for (std::size_t at; (at = rest.find(name_space)) != std::string::npos;) rest.erase(at, name_space.size());
    CHECK(rest.find("://") == std::string::npos);

    simdjson::dom::parser parser;
    const auto data = parsed(parser, between(page, "id=\"data\">", "</script>"));
    CHECK(data["shown"].get_int64().value() == 5'000'000);
    for (const auto& [s, side] : {std::pair{std::size_t{0}, &c.before}, {std::size_t{1}, &c.after}}) {
        const auto told = data["sides"].at(s);
        const auto table = data["tables"].at(static_cast<std::size_t>(told["table"].get_int64().value()));
        const std::vector<lane> lanes = lanes_of(*side);
        REQUIRE(told["lanes"].get_array().value().size() == lanes.size());
        for (std::size_t k = 0; k < lanes.size(); ++k) {
            const std::vector<std::int64_t> bars = numbers(told["lanes"].at(k)["bars"].value());
            REQUIRE(bars.size() == lanes[k].bars.size() * 4);
            nanoseconds at;
            for (std::size_t i = 0; i < lanes[k].bars.size(); ++i) {
                const bar& b = lanes[k].bars[i];
                CHECK(table["names"].at(static_cast<std::size_t>(bars[4 * i])).get_string().value() ==
                      side->of->name(b.task));
                CHECK(at + nanoseconds{bars[4 * i + 1]} == b.begin);
                at = b.begin + nanoseconds{bars[4 * i + 2]};
                CHECK(at == b.end);
                CHECK(bars[4 * i + 3] == static_cast<std::int64_t>(b.drawn_as));
            }
        }
        std::int64_t live = 0, most = 0;
        const std::vector<std::int64_t> memory = numbers(told["memory"].value());
        for (std::size_t i = 1; i < memory.size(); i += 2) most = std::max(most, live += memory[i]);
        CHECK(most == side->memory.peak.count);
    }
}

TEST_CASE("the picture is well formed and names its parts") {
    const std::string svg = to_svg(planned(exposed_by_dependence()));
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    for (const char* id : {"lane0-0", "lane0-1", "lane1-0", "lane1-1", "memory0", "memory1", "end0", "end1", "axis"})
        CHECK_MESSAGE(svg.find("id=\"" + std::string(id) + "\"") != std::string::npos, id);
    std::size_t open = 0;
    for (std::size_t at = 0; (at = svg.find("<g", at)) != std::string::npos; ++at) ++open;
    for (std::size_t at = 0; (at = svg.find("</g>", at)) != std::string::npos; ++at) --open;
    std::size_t closed_at_once = 0;
    for (std::size_t at = 0; (at = svg.find("<g id=\"scale", at)) != std::string::npos; ++at) ++closed_at_once;
    CHECK(open == closed_at_once);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
}

namespace {

/// A run of the step above: two ranks, of which the second is ready later, on two steps.
std::string file_of_run(const comparison& c) {
    using stretto::measured_span;
    const auto task = [&](const char* name) { return *c.after.of->capture.find(name); };
    std::vector<std::vector<measured_span>> by_rank(2);
    for (std::uint32_t step = 0; step < 2; ++step)
        for (stretto::rank_id rank = 0; rank < 2; ++rank) {
            const std::int64_t zero = 20'000'000 * (step + 1), late = 500'000 * rank;
            const auto add = [&](const char* name, std::int64_t begin, std::int64_t end) {
                by_rank[rank].push_back({task(name), {zero + begin}, {zero + end}, rank, step});
            };
            add("source", 0, 1'500'000 + late);
            add("gather", 1'500'000 + late, 5'000'000);
            add("other", 1'500'000 + late, 3'000'000 + late);
            add("waited", 3'000'000 + late, 5'000'000);
            add("sink", 5'000'000, 6'000'000);
        }
    stretto::chrome_trace trace;
    for (const auto& mine : by_rank)
        trace.add_run("rank " + std::to_string(mine[0].rank), c.after.of->graph, mine, nanoseconds{}, *c.after.of);
    const std::string file = (std::filesystem::temp_directory_path() / "stretto_report.run.json").string();
    std::ofstream(file) << std::move(trace).json();
    return file;
}

}  // namespace

TEST_CASE("a run of the plan is shown beside it: what each part took, and what was waited for") {
    comparison c = planned(exposed_by_dependence());
    const std::string file = file_of_run(c);
    const auto fault = add_run(c, file);
    REQUIRE_MESSAGE(!fault, fault->message);
    REQUIRE(c.measured);
    CHECK(run_in_words(*c.measured) == "2 steps on 2 ranks");
    const stretto::measured_totals& sum = c.measured->run.totals;
    CHECK(sum.kernels.count == 4'000'000);  // 1.5 or 2.0, 1.5, 1.0 ms: of an even number the lower middle
    CHECK(predicted_transfers(c).count == 3'000'000);
    CHECK(sum.transfers.count == 3'000'000);  // of the rank that came last
    CHECK(sum.blocked.count == 1'500'000);
    CHECK(sum.exposed.count == 1'500'000);
    const std::vector<difference> most = differences_of(c);
    REQUIRE(most.size() == 4);
    CHECK(c.after.of->name(most[0].task) == "source");
    CHECK(most[0].off().count == 500'000);

    const std::string table = to_table(c, {});
    CHECK(table.find("measured: 2 steps on 2 ranks") != std::string::npos);
    CHECK(table.find("1.200 times the prediction") != std::string::npos);
    simdjson::dom::parser parser;
    const auto o = parsed(parser, to_json(c, {}))["measured"];
    CHECK(o["step_ns"].get_int64().value() == 6'000'000);
    CHECK(o["between_ns"].get_int64().value() == 0);
    CHECK(o["operations"].get_array().value().size() == 4);
    CHECK(o["operations"].at(0)["difference_ns"].get_int64().value() == 500'000);
    CHECK(table.find("+500.0 us") != std::string::npos);
    CHECK(to_html(c, 10).find("<td>+500.0 us</td><td>source</td>") != std::string::npos);
    CHECK(to_table(c, {.explain = 1}).find("and 3 more, nearer to it") != std::string::npos);
    CHECK(to_html(c, 1).find("3 more operations are nearer") != std::string::npos);
    const std::string svg = to_svg(c);
    for (const char* id : {"lane2-0", "lane2-1", "memory2", "end2"})
        CHECK_MESSAGE(svg.find("id=\"" + std::string(id) + "\"") != std::string::npos, id);
    CHECK(svg.find("(step 0, one of 2, rank 0)") != std::string::npos);
    const auto data = parsed(parser, between(to_html(c, 10), "id=\"data\">", "</script>"));
    CHECK(data["shown"].get_int64().value() == 6'000'000);
    CHECK(data["sides"].get_array().value().size() == 3);
    CHECK(data["sides"].at(2)["step"].get_int64().value() == 6'000'000);

    const auto retimed = with_measured_durations(c.after.of->capture, file);
    REQUIRE(retimed);
    CHECK(retimed->duration(*retimed->find("source")).count == 1'500'000);

    comparison other = planned([] {
        step_writer s;
        return s.done({s.kernel("unrelated", {s.input()}, 10)});
    }());
    const auto foreign = add_run(other, file);
    REQUIRE(foreign);
    CHECK(foreign->message.find("has no operation of") != std::string::npos);
    CHECK(add_run(other, "/nowhere/run.json"));
    std::filesystem::remove(file);
}

TEST_CASE("a step without time, memory or collectives has a report as well") {
    step_writer s;
    const comparison c = planned(s.done({s.input()}));
    CHECK(c.gap() == 0);
    CHECK(to_table(c, {}).find("every collective is hidden") != std::string::npos);
    CHECK(to_html(c, 10).find("nan") == std::string::npos);
    CHECK(to_svg(c).find("nan") == std::string::npos);
    simdjson::dom::parser parser;
    CHECK(parsed(parser, to_json(c, {}))["step_after_ns"].get_int64().value() == 0);
}

TEST_CASE("no plan below the peak of the input: where it is, and what to do") {
    const auto c = plan_step(exposed_by_dependence(), "step.json", bytes{100});
    REQUIRE(!c.has_value());
    CHECK(c.error().why == failure::reason::finding);
    CHECK(c.error().message.starts_with("step.json: node "));
    CHECK(c.error().message.find("--memory-limit") != std::string::npos);
}

TEST_CASE("storage that a node does not read, and fields that only chunking reads") {
    const auto complaint = [](const std::string& more, const planner::chunking& chunks) {
        auto step = stretto::parse_capture(
            R"({"format":"stretto-graph","version":1,"name":"s","groups":[],"costs":{"memory_bytes_per_second":1e12,)"
            R"("launch_ns":1,"collectives":{}},"nodes":[)"
            R"({"name":"x","op":"o","kind":"input","inputs":[],"outputs":[],"bytes":8,"ns":0},)"
            R"({"name":"y","op":"o","kind":"compute","inputs":[0],"outputs":[],"bytes":8,"ns":9},)"
            R"({"name":"z","op":"o","kind":"view","inputs":[0],"outputs":[],"bytes":0,"ns":0,)" +
                more + "}]}",
            "s.json");
        REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
        const auto made = plan_step(*std::move(step), "s.json", stretto::unlimited_bytes, chunks);
        return made ? "none" : made.error().message;
    };
    CHECK(complaint(R"("alias":[0],"mutates":[0])", {}) == "none");
    CHECK(complaint(R"("alias":[1])", {}) ==
          "s.json: node 2 (z): shares the storage of y, which it does not read; alias and mutates name inputs of a "
          "node, or nodes whose storage these share");
    CHECK(complaint(R"("mutates":[1])", {}).starts_with("s.json: node 2 (z): writes the storage of y"));
    CHECK(complaint(R"("alias":[0],"kwargs":"?")", {}) == "none");
    CHECK(complaint(R"("alias":[0],"kwargs":"?")", {.choose = true}).starts_with("s.json: node 2 (z): kwargs: is a"));
}

TEST_CASE("a plan of another step is shown and found wrong") {
    step_writer s;
    const auto c = check(exposed_by_dependence(), "step.json", s.done({s.kernel("alien", {s.input()}, 1)}), "plan.json",
                         stretto::unlimited_bytes);
    REQUIRE(c.has_value());
    REQUIRE(c->violations.has_value());
    CHECK(!c->violations->empty());
    CHECK(to_table(*c, {}).find("violation") != std::string::npos);
    const std::string page = to_html(*c, 10);
    CHECK(page.find("alien") != std::string::npos);
    simdjson::dom::parser parser;
    CHECK(parsed(parser, between(page, "id=\"data\">", "</script>"))["tables"].get_array().value().size() == 2);
    CHECK(parsed(parser, to_json(*c, {}))["violations"].get_array().value().size() == c->violations->size());
}

TEST_CASE("captured steps: pictures and pages stay small") {
    const char* graphs = std::getenv("STRETTO_EXAMPLE_GRAPHS");
    if (graphs == nullptr) {
        MESSAGE("skipped: STRETTO_EXAMPLE_GRAPHS is not set");
        return;
    }
    for (const auto& entry : std::filesystem::directory_iterator(graphs)) {
        const std::string file = entry.path().string();
        if (!file.ends_with(".json.gz")) continue;
        CAPTURE(file);
        auto step = stretto::read_capture(file);
        REQUIRE(step.has_value());
        const comparison c = planned(*std::move(step));
        CHECK(to_svg(c).size() < 100'000);
        CHECK(to_html(c, 10).size() < 1'000'000);
    }
}

TEST_CASE("sums of collectives that become one are said everywhere") {
    support::reduction_step s;
    const std::string x = s.input();
    std::vector<std::string> parts;
    for (int k = 0; k < 3; ++k) parts.push_back(s.reduced(s.kernel("aten.neg.default", {x}), true));
    s.output({s.add_in_place(s.add_in_place(parts[0], parts[1]), parts[2])});
    const auto once = plan_step(s.d.build(), "s.json", stretto::unlimited_bytes);
    REQUIRE(once);
    REQUIRE(once->sums);
    CHECK(once->sums->once);
    CHECK(once->after.collectives() == 1);
    CHECK(to_table(*once, {}).find("3 collectives whose results were added") != std::string::npos);
    CHECK(to_json(*once, {}).find(R"("reduced_once":{"collectives":3,"into":1,"used":true})") != std::string::npos);
    CHECK(to_html(*once, 3).find("3 whose results were added are reduced once, as 1") != std::string::npos);

    const auto never = plan_step(s.d.build(), "s.json", stretto::unlimited_bytes, {},
                                 {.reduce_once = false, .buckets = {.wanted = false}});
    REQUIRE(never);
    CHECK(!never->sums);
    CHECK(never->after.collectives() == 3);
    CHECK(never->after.times.makespan > once->after.times.makespan);
    CHECK(to_json(*never, {}).find("reduced_once") == std::string::npos);
}

TEST_CASE("what inputs and collectives are for is said, and that it is inferred") {
    support::reduction_step s;
    const std::string weight = s.input(), x = s.input(), state = s.input();
    const std::string whole = s.push(support::wait(
        s.next("w"),
        s.push(support::launch(s.next("g"), stretto::collective_kind::all_gather, 0, weight, 64, 128, s.d[x].outputs)),
        s.d[x].outputs));
    const std::string k = s.kernel("aten.sub.Tensor", {whole, x});
    s.output({s.reduced(k, true), s.add_in_place(state, k)});
    const comparison c = planned(s.d.build());
    CHECK(c.traffic.inputs == 3);
    CHECK(inputs_in_words(c.traffic) == "1 parameter (gathered), 1 buffer (written), 1 other; inferred from their use");
    CHECK(collectives_in_words(c.traffic) == "before: 1 gathers parameters, 1 reduces results");
    CHECK(to_table(c, {}).find("1 buffer (written)") != std::string::npos);
    const std::string json = to_json(c, {});
    CHECK(json.find(R"("inputs":{"count":3,"parameters":1,"buffers":1})") != std::string::npos);
    CHECK(json.find(R"("traffic":{"parameter":1,"terminal":1,"exchange":0,"other":0})") != std::string::npos);
    CHECK(inputs_in_words({}).empty());
    CHECK(collectives_in_words({}).empty());
}

TEST_CASE("what it takes to reduce sums once is said if it does not fit") {
    // Parts of a loss, each of which needs three tensors for a gradient that is reduced at once. If they are summed
    // first, the sum of all parts but the last is beside these three, and not its scattered half.
    support::reduction_step s;
    const std::string x = s.input();
    std::string sum;
    for (int k = 0; k < 3; ++k) {
        const std::string a = s.kernel("aten.neg.default", {x}), b = s.kernel("aten.neg.default", {a});
        const std::string part = s.reduced(s.kernel("aten.sub.Tensor", {a, b}), true);
        sum = sum.empty() ? part : s.add_in_place(sum, part);
    }
    s.output({sum});
    const auto scarce = plan_step(s.d.build(), "s.json", stretto::memory_budget::times_input_peak(1));
    REQUIRE(scarce);
    REQUIRE(scarce->sums);
    CHECK(!scarce->sums->once);
    REQUIRE(scarce->sums->needs);
    CHECK(scarce->sums->needs->least > scarce->memory_limit);
    CHECK(scarce->sums->needs->enough >= scarce->sums->needs->least);
    CHECK(to_html(*scarce, 3).find("could be 1: no order of that needs less than 256 B") != std::string::npos);
    CHECK(to_table(*scarce, {}).find("no order of that needs less than 256 B; within 2") != std::string::npos);
    simdjson::dom::parser parser;
    const auto said = parsed(parser, to_json(*scarce, {}))["reduced_once"];
    CHECK(said["needs_at_least_bytes"].get_int64().value() == 256);

    const auto roomy = plan_step(s.d.build(), "s.json", scarce->sums->needs->enough);
    REQUIRE(roomy);
    CHECK(roomy->sums->once);
    CHECK(roomy->after.times.makespan == scarce->sums->needs->takes);
}

TEST_CASE("what has become of the buckets in which a step came is said everywhere") {
    comparison c = planned(exposed_by_dependence());
    const auto said = [&](std::string_view part) {
        return to_table(c, {}).find(part) != std::string::npos || to_html(c, 10).find(part) != std::string::npos;
    };
    CHECK(!said("taken apart"));
    CHECK(!said("Taken apart"));
    simdjson::dom::parser parser;
    CHECK(parsed(parser, to_json(c, {}))["apart"].error() == simdjson::NO_SUCH_FIELD);

    c.apart = buckets_apart{3, 1'250, 42, 0, "", nanoseconds{6'250'000}};
    const std::string words = "buckets in which the step came: 6.25 ms with 42 collectives, without them 1,250";
    CHECK(in_words(*c.apart) == words);
    CHECK(to_table(c, {}).find(words + "\n") != std::string::npos);
    const auto o = parsed(parser, to_json(c, {}))["apart"];
    CHECK(o["buckets"].get_int64().value() == 3);
    CHECK(o["given_step_ns"].get_int64().value() == 6'250'000);
    const std::string page = between(to_html(c, 10), "Taken apart: the buckets in which the step came", "</section>");
    CHECK(page.find("<p class=\"value\">3</p><p class=\"note\">none stays whole</p>") != std::string::npos);
    CHECK(page.find("<span>42 &rarr;</span> 1,250") != std::string::npos);
    CHECK(page.find("<span>6.25 &rarr;</span> 5.00 ms") != std::string::npos);

    c.apart->whole = 2;
    c.apart->why = "a <start>: it does not have one wait";
    CHECK(in_words(*c.apart) == words + "; 2 stay whole, first a <start>: it does not have one wait");
    CHECK(to_html(c, 10).find("2 more stay whole, first a &lt;start&gt;: it does not have one wait") !=
          std::string::npos);

    c.apart = buckets_apart{0, 1, 1, 0, "", c.before.times.makespan};
    CHECK(in_words(*c.apart) == "the step came without buckets that come apart");
    CHECK(to_html(c, 10).find("the step came without any that come apart") != std::string::npos);
}
