#include "stretto/capture/capture_reader.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "capture/tiny_step.hpp"

using namespace stretto;
using support::complaint;
using support::edited;
using support::tiny_step;

namespace {

/// What the reader says of a text.
std::string verdict(std::string text) { return complaint(parse_capture(std::move(text), "f")); }

/// What the reader says of the tiny step after one edit.
std::string after(std::string_view from, std::string_view to) { return verdict(edited(tiny_step, from, to)); }

const std::string fine = "read without complaint";
const std::string truncated = "; was the file written completely?";

}  // namespace

TEST_CASE("the tiny step is read, with any order of members and any white space") {
    CHECK(verdict(tiny_step) == fine);
    CHECK(after(R"("format":"stretto-graph","version":1,)",
                "\n\t\r \"version\" : 1 , \"format\" : \"stretto-graph\" ,") == fine);
    CHECK(after(R"("name":"w","op":"placeholder")", R"("op":"placeholder","name":"w")") == fine);
    CHECK(after(R"("inputs":[4,3])", R"("inputs" : [ 4 , 3 ] )") == fine);
    CHECK(verdict(tiny_step + "\n \n") == fine);
    const auto spaced =
        parse_capture(edited(tiny_step, R"("fqn":"layers.0","direction")", R"("fqn" : "layers.0" , "direction")"), "f");
    REQUIRE(spaced);
    CHECK(*spaced == *parse_capture(tiny_step, "f"));
}

TEST_CASE("strings are unescaped where they are interpreted") {
    const auto c = parse_capture(edited(edited(tiny_step, R"("name":"mul")", R"("name":"m\"\u00fc\\l\n")"),
                                        R"("op":"aten.mul)", R"("o\u0070":"aten.mul)"),
                                 "f");
    REQUIRE_MESSAGE(c, complaint(c));
    CHECK(c->name(4) == "m\"\xc3\xbc\\l\n");
    CHECK(c->op(4) == "aten.mul.Tensor");
    CHECK(c->find("m\"\xc3\xbc\\l\n") == 4);
}

TEST_CASE("unknown members are kept, wherever they stand") {
    const auto c =
        parse_capture(edited(edited(tiny_step, R"("symbols")", R"("made by":{"tool":["x",1.5e3]},"symbols")"),
                             R"("launch_ns")", R"("note":"\u0041","launch_ns")"),
                      "f");
    REQUIRE_MESSAGE(c, complaint(c));
    CHECK(c->fields() == R"("made by":{"tool":["x",1.5e3]})");
    CHECK(c->costs().fields == R"("note":"\u0041")");
}

TEST_CASE("what is no stretto-graph of version 1 is refused") {
    CHECK(verdict("") == "f: is empty" + truncated);
    CHECK(verdict("   \n") == "f: is empty" + truncated);
    CHECK(verdict("[]") == "f: is not a JSON object; is this a stretto-graph?");
    CHECK(verdict("3") == "f: is not a JSON object; is this a stretto-graph?");
    CHECK(verdict("{}") == "f: format: is missing; every such object has one");
    CHECK(after(R"("stretto-graph")", R"("onnx")") == "f: format: is \"onnx\"; expected stretto-graph");
    CHECK(after(R"("version":1)", R"("version":2)") == "f: version: is 2; this reader knows version 1");
    CHECK(after(R"("version":1)", R"("version":"1")") == "f: version: is a string where a whole number is due");
    CHECK(verdict("#!/bin/sh\nexit\n").starts_with("f: is not "));
    CHECK(verdict(std::string("\x89PNG\r\n\x1a\n\0\0\0", 11)).starts_with("f: is not "));
    CHECK(verdict("{\"traceEvents\":[]}") == "f: format: is missing; every such object has one");
}

TEST_CASE("every member that is due is missed") {
    for (const char* member : {R"("format":"stretto-graph",)", R"("version":1,)", R"("name":"tiny",)"}) {
        const std::string name = std::string(member).substr(1, std::string(member).find('"', 1) - 1);
        CHECK(after(member, "") == "f: " + name + ": is missing; every such object has one");
    }
    CHECK(after("\"groups\"", "\"group\"") == "f: groups: is missing; every such object has one");
    CHECK(after("\"costs\"", "\"cost\"") == "f: costs: is missing; every such object has one");
    CHECK(after("\"nodes\"", "\"node\"") == "f: nodes: is missing; every such object has one");
    CHECK(after("\"symbols\"", "\"symbol\"") == fine);
    CHECK(after(R"("size":8,)", "") == "f: groups.size: is missing; every such object has one");
    CHECK(after(R"("name":"dp",)", "") == "f: groups.name: is missing; every such object has one");
    CHECK(after(R"("launch_ns":2000,)", "") == "f: costs.launch_ns: is missing; every such object has one");
    CHECK(after(R"("memory_bytes_per_second":2000000000000,)", "") ==
          "f: costs.memory_bytes_per_second: is missing; every such object has one");
    CHECK(after(R"("collectives")", R"("tables")") == "f: costs.collectives: is missing; every such object has one");
    CHECK(after(R"("name":"w",)", "") == "f: node 0: name: is missing; every such object has one");
    CHECK(after(R"("op":"size",)", "") == "f: node 2 (view): op: is missing; every such object has one");
    CHECK(after(R"("kind":"view",)", "") == "f: node 2 (view): kind: is missing; every such object has one");
    CHECK(after(R"("inputs":[5,2],)", "") == "f: node 6 (out): inputs: is missing; every such object has one");
    CHECK(after(R"("outputs":[],)", "") == "f: node 2 (view): outputs: is missing; every such object has one");
    CHECK(after(R"("bytes":16,)", "") == "f: node 0 (w): bytes: is missing; every such object has one");
    CHECK(after(R"(,"ns":30000)", "") == "f: node 1 (gather): ns: is missing; every such object has one");
}

TEST_CASE("no member may occur twice") {
    const std::string twice = ": occurs twice; give every member of an object once";
    CHECK(after(R"("version":1)", R"("version":1,"version":1)") == "f: version" + twice);
    CHECK(after(R"("symbols")", R"("x":1,"x":1,"symbols")") == "f: x" + twice);
    CHECK(after(R"("size":8)", R"("size":8,"size":8)") == "f: groups.size" + twice);
    CHECK(after(R"("launch_ns":2000)", R"("launch_ns":2000,"launch_ns":1)") == "f: costs.launch_ns" + twice);
    CHECK(after(R"("bytes":16)", R"("bytes":16,"bytes":16)") == "f: node 0 (w): bytes" + twice);
    CHECK(after(R"("fqn")", R"("fqn":"a","fqn")") == "f: node 4 (mul): fqn" + twice);
    CHECK(after(R"("chunk":1)", R"("chunk":1,"chunk":1)") == "f: node 4 (mul): chunk" + twice);
    CHECK(after(R"("chunk":1)", R"("chunk":1,"chun\u006b":1)") == "f: node 4 (mul): chunk" + twice);
    CHECK(after(R"("dtype":"f32")", R"("dtype":"f32","dtype":"f32")") == "f: node 0 (w): outputs" + twice);
    CHECK(after(R"({"u0":4})", R"({"u0":4,"u0":4})") ==
          "f: symbols: two symbols are called \"u0\"; a symbol has one value");
    CHECK(after(R"("ep")", R"("dp")") ==
          "f: groups: two groups are called \"dp\"; cost tables tell groups apart by name");
    CHECK(after(R"("reduce_scatter")", R"("all_gather")") ==
          "f: costs.collectives: the table of group \"dp\" has a collective twice; join the two lists");
    const std::string price = R"("all_gather":[[0,1]])", other = R"("all_reduce":[[0,1]])";
    CHECK(after(R"("collectives":{)", R"("collectives":{"x":{)" + price + "," + other + "," + price + "},") ==
          "f: costs.collectives: the table of group \"x\" has a collective twice; join the two lists");
    CHECK(after(R"("name":"mul")", R"("name":"w")") ==
          "f: node 4 (w): name: is that of node 0 already; names are unique in a step");
}

TEST_CASE("values of the wrong type are refused") {
    CHECK(after(R"("name":"tiny")", R"("name":7)") == "f: name: is a number where a string is due");
    CHECK(after(R"("name":"w")", R"("name":null)") == "f: node 0: name: is null where a string is due");
    CHECK(after(R"("name":"w")", R"("name":["w"])") == "f: node 0: name: is a list where a string is due");
    CHECK(after(R"("inputs":[0])", R"("inputs":0)") == "f: node 1 (gather): inputs: is a number where a list is due");
    CHECK(after(R"("inputs":[0])", R"("inputs":{"0":0})") ==
          "f: node 1 (gather): inputs: is an object where a list is due");
    CHECK(after(R"("inputs":[0])", R"("inputs":["w"])") ==
          "f: node 1 (gather): inputs: is a string where a whole number is due");
    CHECK(after(R"("inputs":[0])", R"("inputs":[true])") ==
          "f: node 1 (gather): inputs: is a boolean where a whole number is due");
    CHECK(after(R"("inputs":[0])", R"("inputs":[[0]])") ==
          "f: node 1 (gather): inputs: is a list where a whole number is due");
    CHECK(after(R"("outputs":[])", R"("outputs":null)") == "f: node 2 (view): outputs: is null where a list is due");
    CHECK(after(R"("outputs":[])", R"("outputs":[1])") ==
          "f: node 2 (view): outputs: is a number where an object is due");
    CHECK(after(R"("outputs":[])", R"("outputs":[{"shape":[]}])") ==
          "f: node 2 (view): outputs: has a tensor without shape or dtype; give both");
    CHECK(after(R"("shape":[4])", R"("shape":4)") == "f: node 0 (w): outputs: is a number where a list is due");
    CHECK(after(R"("dtype":"f32")", R"("dtype":32)") == "f: node 0 (w): outputs: is a number where a string is due");
    CHECK(after(R"({"u0":4})", R"([])") == "f: symbols: is a list where an object is due");
    CHECK(after(R"({"u0":4})", R"({"u0":"4"})") == "f: symbols.u0: is a string where a whole number is due");
    CHECK(after(R"("costs":{)", R"("costs":[],"c":{)") == "f: costs: is a list where an object is due");
    CHECK(after("[1048576,50000]", "[1048576]") ==
          "f: costs.collectives.dp.all_gather: has a point that is no pair; points are [payload bytes, ns]");
    CHECK(after("[1048576,50000]", "[1,2,3]") ==
          "f: costs.collectives.dp.all_gather: has a point that is no pair; points are [payload bytes, ns]");
    CHECK(after("[1048576,50000]", "7") == "f: costs.collectives.dp.all_gather: is a number where a list is due");
    const std::string head = tiny_step.substr(0, tiny_step.find("\"nodes\""));
    CHECK(verdict(head + "\"nodes\":{}}") == "f: nodes: is an object where a list is due");
    CHECK(verdict(head + "\"nodes\":[[]]}") == "f: node 0: is a list where an object is due");
}

TEST_CASE("numbers that are negative, no whole numbers or too large are refused") {
    CHECK(after(R"("bytes":16)", R"("bytes":-1)") == "f: node 0 (w): bytes: is -1, which is negative; 0 is the least");
    CHECK(after(R"("inputs":[0])", R"("inputs":[-1])") ==
          "f: node 1 (gather): inputs: is -1, which is negative; 0 is the least");
    CHECK(after(R"("group":0)", R"("group":-1)") ==
          "f: node 1 (gather): group: is -1, which is negative; 0 is the least");
    CHECK(after(R"("shape":[4])", R"("shape":[-4])") ==
          "f: node 0 (w): outputs: is -4, which is negative; 0 is the least");
    CHECK(after(R"("ns":2500)", R"("ns":1.5)") ==
          "f: node 4 (mul): ns: is 1.5, which is no whole number; round it, and write all digits");
    CHECK(after(R"("ns":2500)", R"("ns":2500.0)") ==
          "f: node 4 (mul): ns: is 2500.0, which is no whole number; round it, and write all digits");
    CHECK(after(R"("ns":2500)", R"("ns":1e300)") ==
          "f: node 4 (mul): ns: is 1e300, which is no whole number; round it, and write all digits");
    CHECK(after(R"("ns":2500)", R"("ns":9223372036854775807)") ==
          "f: node 4 (mul): ns: makes the step too long; the sum over the step must fit in a signed 64-bit integer");
    CHECK(after(R"("ns":2500)", R"("ns":9223372036854775808)") ==
          "f: node 4 (mul): ns: is 9223372036854775808, which does not fit in 64 bits; the largest is 2^63-1");
    CHECK(after(R"("ns":2500)", R"("ns":)" + std::string(100000, '9')) ==
          "f: node 4 (mul): ns: is " + std::string(40, '9') +
              "..., which does not fit in 64 bits; the largest is 2^63-1");
    for (const char* wrong :
         {"01", "+1", "1.", ".5", "0x10", "NaN", "Infinity", "-", "1e", "--1", "1_000", "nul", "True"})
        CHECK(after(R"("ns":2500)", std::string(R"("ns":)") + wrong) ==
              "f: node 4 (mul): ns: has \"" + std::string(wrong) +
                  "\", which is not JSON; NaN and Infinity must be strings");
    CHECK(after("2000000000000", "1e999") ==
          "f: costs.memory_bytes_per_second: is 1e999, which is too large; the largest is about 1.8e308");
    CHECK(after("2000000000000", "-1.5") ==
          "f: costs.memory_bytes_per_second: is not positive; give the bandwidth of the memory");
    CHECK(after("2000000000000", "2.5e12") == fine);
    CHECK(after("2000000000000", "\"fast\"") == "f: costs.memory_bytes_per_second: is a string where a number is due");
    CHECK(after("[1048576,50000]", "[0,50000]") ==
          "f: costs.collectives: the table of group \"dp\" has points that are negative or do not ascend; points are "
          "[payload bytes, ns], from small payloads to large");
    CHECK(after("[1048576,50000]", "[-1,50000]") ==
          "f: costs.collectives.dp.all_gather: is -1, which is negative; 0 is the least");
}

TEST_CASE("a node may only name nodes before it") {
    CHECK(after(R"("inputs":[0])", R"("inputs":[4])") ==
          "f: node 1 (gather): inputs: names node 4 (mul), which comes later; a node may only name nodes before it");
    CHECK(after(R"("inputs":[0])", R"("inputs":[1])") ==
          "f: node 1 (gather): inputs: names node 1, itself; a node may only name nodes before it");
    CHECK(after(R"("inputs":[0])", R"("inputs":[99])") ==
          "f: node 1 (gather): inputs: names node 99, which does not exist; the step has 7 nodes, counted from 0");
    CHECK(after(R"("inputs":[0])", R"("inputs":[4294967296])")
              .starts_with("f: node 1 (gather): inputs: names node 4294967295, which does not exist"));
    CHECK(after(R"("inputs":[4,3])", R"("inputs":[4,3,4])") ==
          "f: node 5 (add_): inputs: names node 4 twice; name every node once");
    CHECK(after(R"("alias":[4])", R"("alias":[6])") ==
          "f: node 5 (add_): alias: names node 6 (out), which comes later; a node may only name nodes before it");
    CHECK(after(R"("mutates":[4])", R"("mutates":[700])") ==
          "f: node 5 (add_): mutates: names node 700, which does not exist; the step has 7 nodes, counted from 0");
}

TEST_CASE("collectives are whole and known") {
    const std::string only = "; only a start launches a collective";
    CHECK(after(R"("group":0,)", "") == "f: node 1 (gather): group: is missing; every such object has one");
    CHECK(after(R"("collective":"all_gather",)", "") ==
          "f: node 1 (gather): collective: is missing; every such object has one");
    CHECK(after(R"("payload":16,)", "") == "f: node 1 (gather): payload: is missing; every such object has one");
    CHECK(after(R"("group":0)", R"("group":2)") ==
          "f: node 1 (gather): group: names group 2, which does not exist; the step has 2 groups, counted from 0");
    CHECK(
        after(R"("group":0)", R"("group":4294967296)").find(": group: names group 4294967295, which does not exist") !=
        std::string::npos);
    CHECK(
        after(R"("collective":"all_gather")", R"("collective":"gossip")") ==
        "f: node 1 (gather): collective: is \"gossip\"; known are all_gather, reduce_scatter, all_reduce, all_to_all");
    CHECK(after(R"("reduce_scatter")", R"("gossip")") ==
          "f: costs.collectives.dp.gossip: is no known collective; known are all_gather, reduce_scatter, all_reduce, "
          "all_to_all");
    CHECK(after(R"("kind":"start")", R"("kind":"launch")") ==
          "f: node 1 (gather): kind: is \"launch\"; known are input, compute, view, start, wait, output");
    CHECK(after(R"("kind":"start")", R"("kind":"compute")") ==
          "f: node 1 (gather): collective: is given, but the node is no start" + only);
    CHECK(after(R"("ns":2500)", R"("ns":2500,"group":0)") ==
          "f: node 4 (mul): group: is given, but the node is no start" + only);
    CHECK(after(R"("ns":2500)", R"("ns":2500,"payload":0)") ==
          "f: node 4 (mul): payload: is given, but the node is no start" + only);
    CHECK(after(R"("kind":"wait","inputs":[1])", R"("kind":"wait","inputs":[0,1])") ==
          "f: node 3 (wait): inputs: has a start in place 1; a wait waits for the first node it reads; give every "
          "start its own wait");
}

TEST_CASE("arguments only refer to inputs that are there") {
    CHECK(after(R"("args":["%0","%0"])", R"("args":["%0",["%1"]])") ==
          "f: node 4 (mul): args: has %1, but the node reads 1 nodes; %k is the node in place k of inputs, counted "
          "from 0");
    CHECK(after(R"("kwargs":{"out":null})", R"("kwargs":{"out":"%9999999999"})").find("has %9999999999") !=
          std::string::npos);
    CHECK(after(R"("kwargs":{"out":null})", R"("kwargs":{"out":"%d","%7":"100%","x":"%"})") == fine);
    CHECK(after(R"("fqn":"layers.0")", R"("fqn":"%7")") == fine);
}

TEST_CASE("whatever is kept as text is JSON") {
    for (const char* wrong :
         {"[1 2]",     "[1,]",   "[,1]",  "{\"a\"}", "{\"a\":}",     "{\"a\":1,}", "{1:2}",     "[1}",
          "{]",        "tru",    "[nul]", "[01]",    "[1.]",         "[NaN]",      "[\"\\x\"]", "[\"\\ud800\"]",
          "\"\\u12\"", "[1][2]", "1 2",   "'a'",     "[\"a\" \"b\"]"})
        CHECK_MESSAGE(after(R"("kwargs":{"out":null})", std::string(R"("kwargs":)") + wrong) != fine, wrong);
    for (const char* right : {"[]", "{}", "null", "true", "false", "-0", "1e999", "123456789012345678901234567890",
                              "\"\\u00e9\\n\"", "[[[]],{\"a\":[{}]}]", "\"\\ud83d\\ude00\"", "[ 1 , 2.5E-3 ]"})
        CHECK_MESSAGE(after(R"("kwargs":{"out":null})", std::string(R"("kwargs":)") + right) == fine, right);
}

TEST_CASE("texts that are cut, appended to or not UTF-8 are refused") {
    for (std::size_t n = 0; n < tiny_step.size(); ++n) {
        const std::string said = verdict(tiny_step.substr(0, n));
        CHECK_MESSAGE(said.starts_with("f: "), n << ": " << said);
    }
    CHECK(verdict(tiny_step + "{}") == "f: has something behind its JSON object; was it appended to?");
    CHECK(verdict(tiny_step + "]") != fine);
    CHECK(verdict(tiny_step + "x") != fine);
    CHECK(verdict(tiny_step + std::string(1, '\0')) != fine);
    CHECK(after("tiny", "t\xffny") == "f: is not valid UTF-8; captures are UTF-8 text, or that in gzip");
    CHECK(after("layers.0", "layers\xed\xa0\x80") == "f: is not valid UTF-8; captures are UTF-8 text, or that in gzip");
    CHECK(after("layers.0", "layers\n0") != fine);
    CHECK(after("tiny", "t\xc3\xbcny") == fine);
    CHECK(verdict("\xff\xfe{\0}\0").starts_with("f: "));
    CHECK(verdict(tiny_step.substr(0, tiny_step.size() - 1)) == "f: ends before its JSON does" + truncated);
    CHECK(verdict(tiny_step.substr(0, tiny_step.find("layers"))) == "f: ends inside of a string" + truncated);
}

TEST_CASE("deep nesting ends in a diagnostic, not in an overflow of the stack") {
    const std::string deep(1000000, '[');
    CHECK(after(R"("kwargs":{"out":null})", R"("kwargs":)" + deep).starts_with("f: "));
    CHECK(after(R"("kwargs":{"out":null})", R"("kwargs":)" + deep + std::string(deep.size(), ']')) ==
          "f: node 4 (mul): kwargs: is nested more than 100 levels deep; is it generated in a loop?");
    std::string objects, ends;
    for (int k = 0; k < 100000; ++k) objects += "{\"a\":", ends += '}';
    CHECK(after(R"("kwargs":{"out":null})", R"("kwargs":)" + objects + "1" + ends) ==
          "f: node 4 (mul): kwargs: is nested more than 100 levels deep; is it generated in a loop?");
    CHECK(verdict(deep) != fine);
    CHECK(after(R"({"u0":4})", deep) != fine);
    CHECK(after(R"("kwargs":{"out":null})", R"("kwargs":)" + std::string(100, '[') + std::string(100, ']')) == fine);
}

TEST_CASE("large inputs of nothing end at once") {
    const std::string head = tiny_step.substr(0, tiny_step.find("\"nodes\""));
    std::string nodes = head + "\"nodes\":[{}";
    for (int k = 0; k < 10000000; ++k) nodes += ",{}";
    CHECK(verdict(nodes + "]}") == "f: node 0: name: is missing; every such object has one");
    const std::string huge(10000000, 'x');
    CHECK(after("\"mul\"", '"' + huge + '"') == fine);
    CHECK(after(R"("fqn")", '"' + huge + '"') == fine);
    const std::string twice = edited(edited(tiny_step, "\"mul\"", '"' + huge + '"'), "\"add_\"", '"' + huge + '"');
    CHECK(verdict(twice) ==
          "f: node 5 (" + std::string(80, 'x') + "...): name: is that of node 4 already; names are unique in a step");
    std::string members;
    for (int k = 0; k < 100000; ++k) members += "\"k" + std::to_string(k) + "\":0,";
    CHECK(after(R"("fqn")", members + R"("fqn")") ==
          "f: node 4 (mul): k64: is one of more than 64 unknown members; is this a stretto-graph?");
    CHECK(after(R"("symbols")", members + R"("symbols")") ==
          "f: k64: is one of more than 64 unknown members; is this a stretto-graph?");
}

TEST_CASE("limits are the caller's") {
    CHECK(parse_capture(tiny_step, "f", {.max_nodes = 7}));
    CHECK(complaint(parse_capture(tiny_step, "f", {.max_nodes = 6})) ==
          "f: node 6: is one too many; the limit is 6 nodes");
    CHECK(parse_capture(tiny_step, "f", {.file = {.max_bytes = tiny_step.size()}}));
    CHECK(complaint(parse_capture(tiny_step, "f", {.file = {.max_bytes = 100}})) == "f: is larger than 100 bytes");
}

TEST_CASE("files: the diagnostic names them, and their compression does not matter") {
    const support::scratch_folder scratch;
    const std::string folder = scratch.path.string(), good = scratch.file("good.json.gz"),
                      bad = scratch.file("bad.json.gz");
    REQUIRE(write_text(good, tiny_step));
    REQUIRE(write_text(bad, edited(tiny_step, R"("inputs":[0])", R"("inputs":[2])")));
    const auto c = read_capture(good);
    REQUIRE_MESSAGE(c, complaint(c));
    CHECK(*c == *parse_capture(tiny_step, "f"));
    CHECK(
        complaint(read_capture(bad)) ==
        bad +
            ": node 1 (gather): inputs: names node 2 (view), which comes later; a node may only name nodes before it");
    CHECK(complaint(read_capture(folder)) == folder + ": cannot be read: Is a directory");
    CHECK(complaint(read_capture(folder + "/none")) == folder + "/none: cannot be opened: No such file or directory");
}

TEST_CASE("the captured steps of the reference are read") {
    for (const std::string& path : support::captured_steps("STRETTO_REFERENCE_GRAPHS")) {
        const auto c = read_capture(path);
        CHECK_MESSAGE(c, complaint(c));
    }
}

TEST_CASE("the captured steps of the examples are read") {
    for (const std::string& path : support::captured_steps("STRETTO_EXAMPLE_GRAPHS")) {
        const auto c = read_capture(path);
        CHECK_MESSAGE(c, complaint(c));
    }
}

TEST_CASE("ranks of groups, and duplicates") {
    const auto groups = [](const std::string& second) {
        return after(R"({"name":"ep","size":4})", R"({"name":"ep","size":4,)" + second + "}");
    };
    CHECK(groups(R"("ranks":[0,2,4,6])") == fine);
    CHECK(groups(R"("ranks":[4294967295,2,4,0])") == fine);
    CHECK(groups(R"("duplicate_of":0)") ==
          "f: groups.duplicate_of: group \"ep\" duplicates group \"dp\", which has other ranks; a duplicate has the "
          "ranks "
          "of its original, in the same order");
    CHECK(after(R"({"name":"ep","size":4})", R"({"name":"ep","size":8,"duplicate_of":0})") == fine);
    CHECK(groups(R"("ranks":[])") == "f: groups.ranks: is empty; list the ranks of the group, or leave the member out");
    CHECK(groups(R"("ranks":3)") == "f: groups.ranks: is a number where a list is due");
    CHECK(groups(R"("ranks":[0,-1,2,3])") == "f: groups.ranks: is -1, which is negative; 0 is the least");
    CHECK(groups(R"("ranks":[0,1,2,4294967296])") ==
          "f: groups.ranks: has rank 4294967296; ranks are numbers below 2^32");
    CHECK(groups(R"("ranks":[0,1,2,2])") ==
          "f: groups.ranks: group \"ep\" lists rank 2 twice; list every rank of the group once");
    CHECK(groups(R"("ranks":[0,1,2,3],"ranks":[0,1,2,3])") ==
          "f: groups.ranks: occurs twice; give every member of an object once");
    CHECK(groups(R"("duplicate_of":"dp")") == "f: groups.duplicate_of: is a string where a whole number is due");
    for (const char* far : {"2", "4294967294", "4294967295", "4294967296", "9223372036854775807"})
        CHECK(groups(std::string("\"duplicate_of\":") + far).find(", which does not exist; a duplicate names") !=
              std::string::npos);
}
