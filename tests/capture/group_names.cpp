#include "stretto/capture/group_names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_reader.hpp"

using namespace stretto;

namespace {

std::vector<std::string> names_in(const std::string& groups) {
    const auto step = parse_capture(
        support::edited(support::tiny_step, R"({"name":"dp","size":8,"desc":"data parallel"},{"name":"ep","size":4})",
                        groups),
        "step.json");
    REQUIRE_MESSAGE(step, step.error().message());
    return names_of_groups(*step);
}

}  // namespace

TEST_CASE("groups are called by their descriptions, or else by their names") {
    CHECK(names_in(R"({"name":"dp","size":8,"desc":"data parallel"},{"name":"ep","size":4})") ==
          std::vector<std::string>{"data parallel", "ep"});
    CHECK(names_in(R"({"name":"dp","size":8,"desc":""},{"name":"17","size":4,"desc":3})") ==
          std::vector<std::string>{"dp", "group 17"});
}

TEST_CASE("groups of one description are told apart by their names") {
    CHECK(names_in(R"({"name":"dp","size":8,"desc":"mesh"},{"name":"2","size":4,"desc":"mesh"})") ==
          std::vector<std::string>{"mesh (dp)", "mesh (2)"});
}
