#include "stretto/testing/finding.hpp"

#include <doctest/doctest.h>

using stretto::finding;

TEST_CASE("a message names rule, vertices, cause, and the cycle") {
    CHECK(finding{.rule = "bound", .hint = "too large"}.message() == "bound: too large");
    CHECK(finding{.rule = "mirror", .hint = "they disagree", .vertex = 3, .other = 5}.message() ==
          "mirror: vertex 3, vertex 5: they disagree");
    CHECK(finding{.rule = "acyclic", .hint = "a cycle", .vertex = 1, .cycle = {1, 4, 2}}.message() ==
          "acyclic: vertex 1: a cycle: 1 -> 4 -> 2");
    CHECK(finding{.rule = "position", .hint = "too late", .vertex = 4, .verb = "clone", .detail = "of two"}.message() ==
          "position after clone: vertex 4: too late; of two");
}
