#include "stretto/capture/capture_view.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using support::complaint;
using support::parse_capture;
using support::read_capture;

namespace {

capture tiny() { return *parse_capture(support::tiny_step, "tiny.json"); }

template <class R>
std::vector<std::uint32_t> list(const R& range) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t x : range) out.push_back(x);
    return out;
}
using ids = std::vector<std::uint32_t>;

}  // namespace

static_assert(std::is_trivially_copyable_v<capture_view> && sizeof(capture_view) == sizeof(void*));
static_assert(std::is_trivially_copyable_v<capture_op_model>);

TEST_CASE("a capture is a graph of its nodes") {
    const capture c = tiny();
    const capture_view g{&c};
    CHECK(list(g.vertices()) == ids{0, 1, 2, 3, 4, 5, 6});
    CHECK(list(g.predecessors(5)) == ids{4, 3});
    CHECK(list(g.successors(3)) == ids{4, 5});
    CHECK(list(g.operands(5)) == ids{4, 3});
    CHECK(list(g.results(5)) == ids{5});
    CHECK(g.producer(5) == 5);
    CHECK(list(g.consumers(1)) == ids{2, 3});
    CHECK(g.index_bound() == 7);
    const auto checked = check_graph(g);
    REQUIRE_MESSAGE(checked, checked.error().message());
    CHECK(*checked == graph_summary{7, 8, 7});
}

TEST_CASE("the model tells every optional fact, and the accessors find them all") {
    const capture c = tiny();
    const capture_view g{&c};
    const capture_op_model m{&c};
    CHECK(duration_of<capture_view>(m, 4) == nanoseconds{2500});
    CHECK(collective_of<capture_view>(m, 1) == collective_kind::all_gather);
    CHECK(group_of<capture_view>(m, 1) == 0);
    CHECK(payload_of<capture_view>(m, 1) == bytes{16});
    CHECK(allocation_of<capture_view>(m, 1) == bytes{128});
    CHECK(launch_of(g, m, 3) == 1);
    ids aliases, effects;
    for_each_alias<capture_view>(m, 3, [&](std::uint32_t x) { aliases.push_back(x); });
    for_each_effect<capture_view>(m, 5, [&](std::uint32_t x) { effects.push_back(x); });
    CHECK(aliases == ids{1});
    CHECK(effects == ids{4});
    const auto checked = check_op_model(g, m);
    REQUIRE_MESSAGE(checked, checked.error().message());
    CHECK(*checked ==
          model_summary{1, 2, 1, 1, 1, 1, 0, {true, true, true, true, false, true, true, true, true, true}});
}

TEST_CASE("a wait on nothing waits for itself") {
    const std::string reads_input =
        support::edited(support::tiny_step, R"("kind":"wait","inputs":[1])", R"("kind":"wait","inputs":[0])");
    const auto c = parse_capture(support::edited(reads_input, R"("alias":[1])", R"("alias":[0])"), "f");
    REQUIRE(c);
    CHECK(launch_of(capture_view{&*c}, capture_op_model{&*c}, 3) == 3);
    const auto checked = check_op_model(capture_view{&*c}, capture_op_model{&*c});
    REQUIRE_MESSAGE(checked, checked.error().message());
    CHECK(checked->waits_on_nothing == 1);
}

TEST_CASE("an empty step is an empty graph") {
    const auto c = capture_builder("nothing").build();
    REQUIRE(c);
    const auto checked = check_graph(capture_view{&*c});
    REQUIRE_MESSAGE(checked, checked.error().message());
    CHECK(*checked == graph_summary{0, 0, 0});
}

TEST_CASE("the captured steps of the reference keep every promise of a graph") {
    for (const std::string& path : support::captured_steps("STRETTO_REFERENCE_GRAPHS")) {
        const auto c = read_capture(path);
        REQUIRE_MESSAGE(c, complaint(c));
        const auto graph = check_graph(capture_view{&*c});
        CHECK_MESSAGE(graph, path << ": " << (graph ? "" : graph.error().message()));
        const auto model = check_op_model(capture_view{&*c}, capture_op_model{&*c});
        CHECK_MESSAGE(model, path << ": " << (model ? "" : model.error().message()));
    }
}

TEST_CASE("counts of the captured steps") {
    struct golden {
        const char* file;
        std::size_t nodes, starts, waits_on_nothing;
    };
    const std::vector<std::string> paths = support::captured_steps("STRETTO_REFERENCE_GRAPHS");
    for (const golden& expected :
         {golden{"/llama3_8b_fw_64_1d.json.gz", 3997, 291, 0}, golden{"/llama3_8b_bw_64_2d.json.gz", 5502, 424, 17},
          golden{"/dsv3_fw_64.json.gz", 8161, 455, 26}, golden{"/dsv3_bw_64.json.gz", 9879, 805, 0},
          golden{"/titan_16b.json.gz", 15020, 891, 26}, golden{"/titan_16b.torchtitan.json.gz", 27576, 378, 52}})
        for (const std::string& path : paths) {
            if (!path.ends_with(expected.file)) continue;
            const auto c = read_capture(path);
            REQUIRE_MESSAGE(c, complaint(c));
            CHECK(c->size() == expected.nodes);
            const auto model = check_op_model(capture_view{&*c}, capture_op_model{&*c});
            REQUIRE_MESSAGE(model, model.error().message());
            CHECK(model->starts == expected.starts);
            CHECK(model->waits_on_nothing == expected.waits_on_nothing);
        }
}
