// Liveness of captured steps: under any order it has the bytes that the task graph has.
#include "stretto/analysis/liveness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "support/read_step.hpp"
#include "support/shuffle.hpp"

using namespace stretto;

namespace {

struct listed_view : capture_view {
    const std::vector<std::uint32_t>* listing;
    const std::vector<std::uint32_t>& vertices() const { return *listing; }
};

void check_step(const std::string& path) {
    INFO(path);
    const auto c = support::read_capture(path);
    REQUIRE_MESSAGE(c, c.error().message());
    const capture_view view{&*c};
    const auto tasks = make_task_graph(view, capture_op_model{&*c});
    REQUIRE(tasks);
    buffer_liveness found = liveness_of(view, capture_op_model{&*c});
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
        const std::vector<std::uint32_t> listing = support::shuffled(c->size(), seed);
        const auto order = topological_sort(listed_view{{&*c}, &listing});
        REQUIRE(order);
        if (seed != 0) found.update(*order);  // seed 0 is program order
        const memory_profile due = profile_memory(*tasks, std::vector<task_id>(order->begin(), order->end()));
        CHECK(found.most_bytes().size == due.peak);
        CHECK((*order)[found.most_bytes().at] == due.peak_at);
        REQUIRE(found.profile().size() == due.live.size());
        std::size_t different = 0;
        for (std::size_t i = 0; i < due.live.size(); ++i) different += found.profile()[i].size != due.live[i];
        CHECK(different == 0);
    }
}

}  // namespace

TEST_CASE("captured steps have the live bytes of their task graph") {
    std::size_t steps = 0;
    for (const char* variable : {"STRETTO_EXAMPLE_GRAPHS", "STRETTO_REFERENCE_GRAPHS"}) {
        const char* folder = std::getenv(variable);
        if (!folder || !std::filesystem::is_directory(folder)) continue;
        for (const auto& entry : std::filesystem::directory_iterator(folder))
            if (entry.path().string().ends_with(".json.gz")) {
                check_step(entry.path().string());
                ++steps;
            }
    }
    if (steps == 0) MESSAGE("skipped: neither STRETTO_EXAMPLE_GRAPHS nor STRETTO_REFERENCE_GRAPHS names a folder");
}
