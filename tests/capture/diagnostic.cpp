#include "stretto/capture/diagnostic.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stretto;

TEST_CASE("a diagnostic says place, cause and hint on one line") {
    diagnostic d;
    d.file = "step.json.gz";
    d.node = 17;
    d.node_name = "all_gather_3";
    d.field = "inputs";
    d.cause = "names node 99, which comes later";
    d.hint = "a node may only name nodes before it";
    CHECK(d.message() ==
          "step.json.gz: node 17 (all_gather_3): inputs: names node 99, which comes later; a node may only name nodes "
          "before it");
}

TEST_CASE("parts that are not known are left out") {
    diagnostic d;
    d.file = "-";
    d.cause = "is empty";
    CHECK(d.message() == "<stdin>: is empty");
    d.node = 3;
    CHECK(d.message() == "<stdin>: node 3: is empty");
    d.node.reset();
    d.byte = 12;
    CHECK(d.message() == "<stdin>: byte 12: is empty");
}

TEST_CASE("names from a file cannot break the line or flood the screen") {
    CHECK(printable("a\nb\x1b[31mc\x7f\xc3\xa9") == "a?b?[31mc???");
    CHECK(printable(std::string(81, 'x')) == std::string(80, 'x') + "...");
    CHECK(printable(std::string(80, 'x')) == std::string(80, 'x'));
    CHECK(printable("abc", 2) == "ab...");
    diagnostic d;
    d.file = "f";
    d.node = 0;
    d.node_name = std::string(1000000, '\n');
    d.cause = "is bad";
    CHECK(d.message() == "f: node 0 (" + std::string(80, '?') + "...): is bad");
}
