// The captured steps of the reference folder, through the whole chain: reader, task graph, exact clock, memory rule.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using support::read_capture;

namespace {

struct golden_step {
    const char* file;
    std::int64_t step, exposed, compute, peak;
    std::size_t nodes, collectives, host_reads;
};

constexpr golden_step golden[] = {
    {"llama3_8b_fw_64_1d", 764480136, 60813464, 703666672, 34580005376, 3997, 291, 0},
    {"llama3_8b_fw_64_1d.pytorch", 721597640, 2761446, 718836194, 34580005376, 0, 0, 0},
    {"llama3_8b_bw_64_1d", 2588589213, 671281067, 1917308146, 4940185856, 8441, 581, 0},
    {"llama3_8b_bw_64_1d.pytorch", 1977058253, 39537161, 1937521092, 13378461952, 0, 0, 0},
    {"llama3_8b_bw_64_2d", 267198607, 120030745, 147167862, 4722132992, 5502, 424, 0},
    {"llama3_8b_bw_64_2d.pytorch", 175609509, 25060553, 150548956, 6081513472, 0, 0, 0},
    {"dsv3_fw_64", 236505300, 67463649, 169041651, 47713072960, 8161, 455, 416},
    {"dsv3_fw_64.pytorch", 200979206, 28032756, 172946450, 47713079616, 0, 0, 416},
    {"dsv3_bw_64", 431450523, 193573456, 237877067, 2713378528, 9879, 805, 0},
    {"dsv3_bw_64.pytorch", 264202898, 15398119, 248804779, 10393964992, 0, 0, 0},
    {"titan_moe", 22445056, 13608613, 8836443, 1285206668, 3411, 198, 40},
    {"titan_moe.torchtitan", 16203164, 4554028, 11649136, 1294713220, 5765, 84, 80},
    {"titan_16b", 2644475264, 1677208136, 967267128, 111601475828, 15020, 891, 416},
    {"titan_16b.torchtitan", 1556842945, 538081648, 1018761297, 111596365268, 27576, 378, 832},
    {"titan_16b_ac", 2981099464, 1884643791, 1096455673, 42264872372, 19577, 1265, 416},
    {"titan_16b_ac.torchtitan", 1733589809, 574295752, 1159294057, 42328923988, 36553, 431, 832},
};

/// Makespan, exposed time and time in kernels, at contention 5/4 and 3/2.
struct golden_contention {
    const char* file;
    std::int64_t at_5_4[3], at_3_2[3];
};
constexpr golden_contention contended[] = {
    {"llama3_8b_fw_64_1d.pytorch", {729868832, 2756351, 727112481}, {735382880, 2751257, 732631623}},
    {"llama3_8b_bw_64_1d.pytorch", {2097936461, 39409448, 2058527013}, {2178521829, 39281738, 2139240091}},
    {"llama3_8b_bw_64_2d.pytorch", {189059254, 24188361, 164870893}, {198480176, 23316258, 175163918}},
    {"dsv3_fw_64.pytorch", {203683876, 27957430, 175726446}, {205604765, 27912891, 177691874}},
    {"dsv3_bw_64.pytorch", {289014420, 15398119, 273616301}, {305713562, 15398119, 290315443}},
    {"titan_moe.torchtitan", {16910691, 4398973, 12511718}, {17440194, 4243984, 13196210}},
    {"titan_16b.torchtitan", {1693719581, 484183210, 1209536371}, {1793000061, 432269610, 1360730451}},
};

std::string reference_folder() {
    const char* folder = std::getenv("STRETTO_REFERENCE_GRAPHS");
    if (folder && std::filesystem::is_directory(folder)) return folder;
    MESSAGE("skipped: STRETTO_REFERENCE_GRAPHS names no folder of captured steps");
    return {};
}

}  // namespace

TEST_CASE("captured steps take exactly the time and the memory that their rules say") {
    const std::string folder = reference_folder();
    if (folder.empty()) return;
    for (const golden_step& due : golden) {
        INFO(std::string(due.file));
        const auto c = read_capture(folder + "/" + due.file + ".json.gz");
        REQUIRE_MESSAGE(c, c.error().message());
        const capture_view view{&*c};
        const capture_op_model model{&*c};
        const auto tasks = make_task_graph(view, model);
        REQUIRE(tasks);
        std::vector<task_id> order(tasks->size());
        for (task_id t = 0; t < order.size(); ++t) order[t] = t;
        const simulation times = simulate(*tasks, order);
        CHECK(times.makespan == nanoseconds{due.step});
        CHECK(times.exposed == nanoseconds{due.exposed});
        CHECK(times.compute == nanoseconds{due.compute});
        CHECK(profile_memory(*tasks, order).peak == bytes{due.peak});

        std::size_t host_reads = 0;
        for (task_id t = 0; t < tasks->size(); ++t) host_reads += tasks->holds_host(t);
        CHECK(host_reads == due.host_reads);

        const auto graph = check_graph(view);
        REQUIRE_MESSAGE(graph, graph.error().message());
        const auto kinds = check_op_model(view, model);
        REQUIRE_MESSAGE(kinds, kinds.error().message());
        CHECK(graph->vertices == c->size());
        if (due.nodes == 0) continue;  // the table does not say
        CHECK(graph->vertices == due.nodes);
        CHECK(kinds->starts == due.collectives);
    }
}

TEST_CASE("captured steps take exactly the time that contention makes of it") {
    const std::string folder = reference_folder();
    if (folder.empty()) return;
    for (const golden_contention& due : contended) {
        INFO(std::string(due.file));
        const auto c = read_capture(folder + "/" + due.file + ".json.gz");
        REQUIRE_MESSAGE(c, c.error().message());
        const auto tasks = make_task_graph(capture_view{&*c}, capture_op_model{&*c});
        REQUIRE(tasks);
        std::vector<task_id> order(tasks->size());
        for (task_id t = 0; t < order.size(); ++t) order[t] = t;
        const auto check = [&](contention factor, const std::int64_t(&is)[3]) {
            const simulation times = simulate(*tasks, order, factor);
            CHECK(times.makespan == nanoseconds{is[0]});
            CHECK(times.exposed == nanoseconds{is[1]});
            CHECK(times.compute == nanoseconds{is[2]});
        };
        check({5, 4}, due.at_5_4);
        check({3, 2}, due.at_3_2);
    }
}

TEST_CASE("captured steps are legal plans for themselves, and for no other step") {
    const std::string folder = reference_folder();
    if (folder.empty()) return;
    for (const golden_step& due : golden) {
        if (std::string(due.file).find('.') != std::string::npos) continue;
        INFO(std::string(due.file));
        const auto step = read_capture(folder + "/" + due.file + ".json.gz");
        REQUIRE_MESSAGE(step, step.error().message());
        const plan_report same = check_plan(*step, *step, bytes{due.peak});
        for (const plan_violation& v : same.violations) FAIL_CHECK(v.message());
        CHECK(same.legal());
        CHECK(same.after.makespan == nanoseconds{due.step});
        const plan_report tight = check_plan(*step, *step, bytes{due.peak - 1});
        REQUIRE(tight.violations.size() == 1);
        CHECK(tight.violations[0].rule == plan_rule::exceeds_memory_limit);
        // Systems with conventions of their own bring collectives without members.
        for (const char* system : {".pytorch", ".torchtitan"}) {
            const std::string path = folder + "/" + due.file + system + ".json.gz";
            if (!std::filesystem::exists(path)) continue;
            const auto plan = read_capture(path);
            REQUIRE_MESSAGE(plan, plan.error().message());
            CHECK_FALSE(check_plan(*step, *plan).legal());
        }
    }
}

TEST_CASE("a step that computes activations again gets faster with more memory, by order alone") {
    const std::string folder = reference_folder();
    if (folder.empty()) return;
    const auto c = read_capture(folder + "/titan_16b_ac.json.gz");
    REQUIRE_MESSAGE(c, c.error().message());
    const auto tasks = make_task_graph(capture_view{&*c}, capture_op_model{&*c});
    REQUIRE(tasks);
    nanoseconds before{INT64_MAX};
    for (const double share : {1.0, 1.05, 1.1, 1.25}) {
        CAPTURE(share);
        const auto made = list_schedule(*tasks, {.memory_limit = memory_budget::times_input_peak(share)});
        REQUIRE(made);
        CHECK(made->memory().peak <= made->memory_limit());
        CHECK(made->makespan() < before);
        before = made->makespan();
    }
}

TEST_CASE("no captured step gets slower with more memory, and none is faster than its bound within the limit") {
    const std::string folder = reference_folder();
    if (folder.empty()) return;
    for (const golden_step& due : golden) {
        if (std::string(due.file).find('.') != std::string::npos) continue;
        INFO(std::string(due.file));
        const auto c = read_capture(folder + "/" + due.file + ".json.gz");
        REQUIRE_MESSAGE(c, c.error().message());
        const auto tasks = make_task_graph(capture_view{&*c}, capture_op_model{&*c});
        REQUIRE(tasks);
        CHECK(least_peak(*tasks).value <= bytes{due.peak});
        nanoseconds before{INT64_MAX};
        for (const double share : {1.0, 1.01, 1.02, 1.03, 1.05, 1.1, 1.15, 1.25, 1.5, 2.0, 3.0, 1e9}) {
            CAPTURE(share);
            const auto made = list_schedule(*tasks, {.memory_limit = memory_budget::times_input_peak(share)});
            REQUIRE(made);
            CHECK(made->memory().peak <= made->memory_limit());
            CHECK(made->makespan() <= before);
            CHECK(made->bound().value <= made->makespan());
            before = made->makespan();
        }
    }
}
