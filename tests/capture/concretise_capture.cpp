#include "stretto/capture/concretise_capture.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/example_step.hpp"
#include "support/prop.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using symbols = std::vector<capture_symbol>;

namespace {

/// A step of these symbols and nodes. Nodes are spelt without what is the same for all of them.
capture step_of(const std::string& symbol_list, std::initializer_list<std::string> nodes) {
    std::string text = R"({"format":"stretto-graph","version":1,"name":"step","groups":[{"name":"ep","size":2}],)"
                       R"("costs":{"memory_bytes_per_second":1e12,"launch_ns":100,)"
                       R"("collectives":{"ep":{"all_to_all":[[0,1000],[1000000,2000]]}}},"symbols":{)" +
                       symbol_list + "},\"nodes\":[";
    for (const std::string& n : nodes) text += (text.back() == '[' ? "" : ",") + ("{" + n + ",\"ns\":0}");
    auto step = support::parse_capture(text + "]}", "step.json");
    REQUIRE_MESSAGE(step, (step ? "" : step.error().message()));
    return *std::move(step);
}
std::string input(const std::string& name, const std::string& shape, const std::string& symbolic) {
    return R"("name":")" + name + R"(","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":)" + shape +
           R"(,"dtype":"f32","symbolic":)" + symbolic + R"(}],"bytes":0)";
}
std::string number(const std::string& name, const std::string& op, const std::string& inputs, const std::string& args) {
    return R"("name":")" + name + R"(","op":")" + op + R"(","kind":"view","inputs":)" + inputs + R"(,"args":)" + args +
           R"(,"outputs":[],"bytes":0)";
}
std::string view(const std::string& name, const std::string& op, const std::string& inputs, const std::string& args,
                 const std::string& shape, const std::string& symbolic) {
    return R"("name":")" + name + R"(","op":")" + op + R"(","kind":"view","inputs":)" + inputs + R"(,"args":)" + args +
           R"(,"alias":[0],"outputs":[{"shape":)" + shape + R"(,"dtype":"f32","symbolic":)" + symbolic +
           R"(}],"bytes":0)";
}
std::string output(const std::string& inputs) {
    return R"("name":"out","op":"output","kind":"output","inputs":)" + inputs + R"(,"outputs":[],"bytes":0)";
}

expected<capture, diagnostic> try_to_concretise(const capture& step, const symbols& values) {
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    return concretise_capture(step, *tensors, values);
}
capture concretise(const capture& step, const symbols& values) {
    auto made = try_to_concretise(step, values);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    return *std::move(made);
}
std::string names_of(const capture& step) {
    std::string all;
    for (std::uint32_t v = 0; v < step.size(); ++v) all += (v == 0 ? "" : " ") + std::string(step.name(v));
    return all;
}

}  // namespace

TEST_CASE("K1, K2: what is nested in arguments refers to values, not to symbols") {
    const capture step =
        step_of(R"("S":4)", {input("x", "[4,3]", R"(["S",3])"), number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"),
                             view("call", "invoke_subgraph", "[0,1]",
                                  R"(["%0",{"size":["%1",3],"%1":{"n":"%1"}},"%1x"])", "[4,3]", R"(["S",3])"),
                             output("[2]")});
    const capture made = concretise(step, {{"S", 4}});
    CHECK(names_of(made) == "x call out");
    CHECK(*made.field(1, "args") == R"(["%0",{"size":[4,3],"%1":{"n":4}},"%1x"])");
    CHECK(made.outputs(0) == R"([{"shape":[4,3],"dtype":"f32"}])");
    CHECK(made.outputs(1) == R"([{"shape":[4,3],"dtype":"f32"}])");
    CHECK(made.symbols().empty());
}

TEST_CASE("K3: sizes, guards and choices vanish; views follow; other symbols stay") {
    const capture step =
        step_of(R"("S":4,"T":5)",
                {input("x", "[4,4096,16,192]", R"(["S",4096,16,192])"),
                 number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"), number("positive", "ge", "[1]", R"(["%0",0])"),
                 number("guard", "aten._assert_scalar.default", "[2]", R"(["%0","S >= 0"])"),
                 number("chosen", "sym_ite", "[2,1]", R"(["%0","%1",7])"),
                 view("t", "aten.transpose.int", "[0]", R"(["%0",1,2])", "[4,16,4096,192]", R"(["S",16,4096,192])"),
                 view("e", "aten.expand.default", "[0,4]", R"(["%0",["%1",4096,16,192]])", "[9,4096,16,192]",
                      R"(["T + S",4096,16,192])"),
                 output("[5,6]")});
    const capture made = concretise(step, {{"S", 4}});
    CHECK(names_of(made) == "x t e out");
    CHECK(made.outputs(1) == R"([{"shape":[4,16,4096,192],"dtype":"f32"}])");
    CHECK(made.outputs(2) == R"([{"shape":[9,4096,16,192],"dtype":"f32","symbolic":["T + 4",4096,16,192]}])");
    CHECK(*made.field(2, "args") == R"(["%0",[4,4096,16,192]])");
    REQUIRE(made.symbols().size() == 1);
    CHECK(made.symbols()[0].name == "T");
}

TEST_CASE("K4: a guard that the values make false is named") {
    const capture step = step_of(
        R"("S":8)", {input("x", "[8]", R"(["S"])"), number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"),
                     number("eight", "eq", "[1]", R"(["%0",8])"),
                     number("guard", "aten._assert_scalar.default", "[2]", R"(["%0","S == 8"])"), output("[0]")});
    CHECK(names_of(concretise(step, {{"S", 8}})) == "x out");
    const auto refused = try_to_concretise(step, {{"S", 4}});
    REQUIRE(!refused);
    CHECK(refused.error().node_name == "guard");
    CHECK(refused.error().cause == "is a guard that the values make false: S == 8");
}

TEST_CASE("a range is a guard, and a guard that is not decided stays") {
    const auto step = [](const char* op, const char* kwargs) {
        return step_of(R"("S":8,"u":3)",
                       {input("x", "[8]", R"(["S"])"), number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"),
                        number("m", "aten._local_scalar_dense.default", "[0]", R"(["%0"])") + R"(,"binds":["u"])",
                        number("range", op, "[1]", R"(["%0"])") + R"(,"kwargs":)" + kwargs,
                        number("few", "le", "[2,1]", R"(["%0","%1"])"),
                        number("guard", "aten._assert_scalar.default", "[4]", R"(["%0","u <= S"])"), output("[0]")});
    };
    const char* range = "aten.sym_constrain_range_for_size.default";
    const capture made = concretise(step(range, R"({"min":2,"max":8})"), {{"S", 8}});
    CHECK(names_of(made) == "x m few guard out");
    CHECK(*made.field(2, "args") == R"(["%0",8])");
    CHECK(*made.field(1, "binds") == R"(["u"])");
    CHECK(names_of(concretise(step(range, R"({"min":2,"max":null})"), {{"S", 8}, {"u", 5}})) == "x m out");
    for (const char* kwargs : {R"({"min":9})", R"({"min":0,"max":7})"}) {
        const auto refused = try_to_concretise(step(range, kwargs), {{"S", 8}});
        REQUIRE(!refused);
        CHECK(refused.error().node_name == "range");
    }
    CHECK(try_to_concretise(step(range, "{}"), {{"u", 9}, {"S", 8}}).error().node_name == "guard");
}

TEST_CASE("K5: what a node records is substituted, not computed anew") {
    const capture step =
        step_of(R"("S":4,"U":1024)",
                {input("x", "[1024]", R"(["256*S"])"), number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"),
                 view("s", "aten.slice.Tensor", "[0,1]", R"(["%0",0,0,"%1"])", "[1024]", R"(["U"])"), output("[2]")});
    const capture made = concretise(step, {{"S", 4}});
    CHECK(names_of(made) == "x s out");
    CHECK(*made.field(1, "args") == R"(["%0",0,0,1024])");
    CHECK(made.outputs(1) == R"([{"shape":[1024],"dtype":"f32","symbolic":["U"]}])");
}

TEST_CASE("K6: all symbols together leave nothing open") {
    const capture step = step_of(R"("S":4,"U":8)", {input("x", "[4,8]", R"(["S","U"])"), output("[0]")});
    const capture made = concretise(step, {step.symbols().begin(), step.symbols().end()});
    CHECK(made.outputs(0) == R"([{"shape":[4,8],"dtype":"f32"}])");
    CHECK(concretise(made, {}) == made);
}

TEST_CASE("K7: within a product") {
    const capture step = step_of(R"("S":8,"W":3)", {input("x", "[12]", R"j(["W*(S//2)"])j"), output("[0]")});
    CHECK(concretise(step, {{"S", 8}}).outputs(0) == R"j([{"shape":[12],"dtype":"f32","symbolic":["W*(8//2)"]}])j");
    CHECK(concretise(step, {{"S", 4}, {"W", 5}}).outputs(0) == R"([{"shape":[10],"dtype":"f32"}])");
}

TEST_CASE("K8: what every chunk measures has a value of its own") {
    const auto step = [](const char* a, const char* b) {
        return step_of(
            std::string(R"("u1_0":)") + a + R"(,"u2_0":)" + b,
            {input("x", "[2,3]", "[2,3]"),
             number("a", "aten._local_scalar_dense.default", "[0]", R"(["%0"])") + R"(,"binds":["u1_0"])",
             number("b", "aten._local_scalar_dense.default", "[0]", R"(["%0"])") + R"(,"binds":["u2_0"])",
             number("total", "add", "[1,2]", R"(["%0","%1"])"), number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"),
             number("same", "eq", "[3,4]", R"(["%0","%1"])"),
             number("guard", "aten._assert_scalar.default", "[5]", R"(["%0","u1_0 + u2_0 == 2"])"),
             view("y", "aten.view.default", "[0,3]", R"(["%0",["%1",-1]])", "[2,3]", R"(["u1_0 + u2_0",3])"),
             output("[7]")});
    };
    const capture made = concretise(step("1", "1"), {{"u1_0", 1}, {"u2_0", 1}});
    CHECK(names_of(made) == "x a b y out");  // what is measured is still measured
    CHECK(*made.field(3, "args") == R"(["%0",[2,-1]])");
    CHECK(made.outputs(3) == R"([{"shape":[2,3],"dtype":"f32"}])");
    CHECK(!made.field(1, "binds"));
    CHECK(names_of(concretise(step("1", "1"), {{"u1_0", 1}})) == "x a b total same guard y out");
    CHECK(try_to_concretise(step("1", "1"), {{"u1_0", 1}, {"u2_0", 3}}).error().node_name == "guard");
}

TEST_CASE("K9: derived extents, and what is known without all symbols") {
    const capture step = step_of(R"("S":4,"R":2)", {input("x", "[6,8]", R"(["S + R",8])"), output("[0]")});
    CHECK(concretise(step, {{"S", 4}}).outputs(0) == R"([{"shape":[6,8],"dtype":"f32","symbolic":["4 + R",8]}])");
}

TEST_CASE("bytes and payloads follow the shapes") {
    const std::string start =
        R"("name":"s","op":"c","kind":"start","inputs":[1],"outputs":[{"shape":[8],"dtype":"f32",)"
        R"("symbolic":["S"]}],"bytes":64,"collective":"all_to_all","group":0,"payload":32)";
    const capture step = step_of(
        R"("S":8)", {input("x", "[8]", R"(["S"])"),
                     R"("name":"y","op":"neg","kind":"compute","inputs":[0],"outputs":[{"shape":[8],"dtype":"f32",)"
                     R"("symbolic":["S"]}],"bytes":32)",
                     start, R"("name":"w","op":"wait","kind":"wait","inputs":[2],"alias":[2],"outputs":[],"bytes":0)",
                     output("[3]")});
    const capture half = concretise(step, {{"S", 4}});
    CHECK(half.allocation(1) == bytes{16});
    CHECK(half.allocation(2) == bytes{32});
    CHECK(half.payload(2) == bytes{16});
    const capture same = concretise(step, {{"S", 8}});
    CHECK(same.allocation(2) == bytes{64});
    CHECK(same.payload(2) == bytes{32});
}

TEST_CASE("bytes follow the shapes of tensors of any type, and saturate") {
    const auto made_of = [](const std::string& dtype) {
        return R"("name":"y","op":"neg","kind":"compute","inputs":[0],"outputs":[{"shape":[8],"dtype":")" + dtype +
               R"(","symbolic":["S"]},{"shape":[8],"dtype":")" + dtype + R"(","symbolic":["S"]}],"bytes":64)";
    };
    for (const char* dtype : {"f32", "u32", "u16", "u64", "f8_e4m3"}) {
        const capture step = step_of(R"("S":8)", {input("x", "[8]", R"(["S"])"), made_of(dtype), output("[1]")});
        CHECK(concretise(step, {{"S", 4}}).allocation(1) == bytes{32});
        CHECK(concretise(step, {{"S", std::int64_t{1} << 61}}).allocation(1).count >= INT64_MAX / 2);
    }
}

TEST_CASE("durations follow: a collective as its table says, a kernel above its launch with what changes") {
    const auto compute = [](const std::string& name, const std::string& op, const std::string& inputs,
                            const std::string& outputs, int bytes, int ns) {
        return R"({"name":")" + name + R"(","op":")" + op + R"(","kind":"compute","inputs":)" + inputs +
               R"(,"outputs":[)" + outputs + R"(],"bytes":)" + std::to_string(bytes) + R"(,"ns":)" +
               std::to_string(ns) + "},";
    };
    const std::string rows = R"({"shape":[8,4],"dtype":"f32","symbolic":["S",4]})",
                      fixed = R"({"shape":[4,4],"dtype":"f32"})";
    const std::string text =
        R"({"format":"stretto-graph","version":1,"name":"step","groups":[{"name":"ep","size":2}],)"
        R"("costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{"ep":{"all_to_all":[[0,1000],[256,2000]]}}},)"
        R"("symbols":{"S":8},"nodes":[)"
        R"({"name":"x","op":"placeholder","kind":"input","inputs":[],"outputs":[)" +
        rows +
        R"(],"bytes":0,"ns":0},)"
        R"({"name":"w","op":"placeholder","kind":"input","inputs":[],"outputs":[)" +
        fixed + R"(],"bytes":0,"ns":0},)" + compute("product", "aten.mm.default", "[0,1]", rows, 128, 900) +
        compute("gradient", "aten.mm.default", "[0,2]", fixed, 64, 500) +
        compute("small", "aten.neg.default", "[0]", rows, 128, 90) +
        compute("weights", "aten.neg.default", "[1]", fixed, 64, 300) +
        compute("zeros", "aten.new_zeros.default", "[0]", fixed, 64, 300) +
        compute("both", "aten.two.default", "[0]", rows + "," + fixed, 192, 300) +
        R"({"name":"s","op":"c","kind":"start","inputs":[2],"outputs":[)" + rows +
        R"(],"bytes":128,"collective":"all_to_all","group":0,"payload":128,"ns":7},)"
        R"({"name":"o","op":"wait","kind":"wait","inputs":[8],"alias":[8],"outputs":[)" +
        rows +
        R"(],"bytes":0,"ns":0},)"
        R"({"name":"out","op":"output","kind":"output","inputs":[9],"outputs":[],"bytes":0,"ns":0}]})";
    const auto step = support::parse_capture(text, "step.json");
    REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
    const capture twice = concretise(*step, {{"S", 16}});
    const std::int64_t rounding = 1;
    CHECK(twice.duration(2).count == 100 + 1600 + rounding);
    CHECK(twice.duration(3).count == 100 + 800 + rounding);
    CHECK(twice.duration(4).count == 90);
    CHECK(twice.duration(5).count == 300);
    CHECK(twice.duration(6).count == 300);
    CHECK(twice.allocation(7) == bytes{256 + 64});
    CHECK(twice.payload(8) == bytes{256});
    CHECK(twice.duration(8).count == 2000);
    const capture same = concretise(*step, {{"S", 8}});
    for (std::uint32_t v = 0; v < same.size(); ++v) CHECK(same.duration(v) == step->duration(v));
}

TEST_CASE("arguments that were not spelt are spelt, and results keep their numbers") {
    const capture step = step_of(
        R"("S":4)", {input("x", "[4]", R"(["S"])"), number("n", "aten.sym_size.int", "[0]", R"(["%0",0])"),
                     R"("name":"y","op":"mul","kind":"compute","inputs":[0,1],"outputs":[{"shape":[4],"dtype":"f32"}],)"
                     R"("bytes":16)",
                     output("[1,2]")});
    const capture made = concretise(step, {{"S", 4}});
    CHECK(names_of(made) == "x n y out");
    CHECK(*made.field(2, "args") == R"(["%0",4])");
    CHECK(made.inputs(2).size() == 1);
    CHECK(made.inputs(3).size() == 2);
}

TEST_CASE("what cannot be made concrete is an error") {
    const capture step =
        step_of(R"("S":4)", {input("x", "[2]", R"(["S - 2"])"), input("y", "[3]", R"j(["odd(S)"])j"), output("[0,1]")});
    CHECK(concretise(step, {{"S", 4}}).outputs(1) == R"([{"shape":[3],"dtype":"f32"}])");
    CHECK(try_to_concretise(step, {{"T", 4}}).error().cause == "there is no symbol T");
    CHECK(try_to_concretise(step, {{"S", -4}}).error().cause == "S would be negative");
    CHECK(try_to_concretise(step, {{"S", 1}}).error().cause == "with these values there is no extent S - 2");
    CHECK(try_to_concretise(step, {{"S", 5}}).error().cause == "with these values there is no extent odd(S)");
}

TEST_CASE("the captured mixture-of-experts step with all its values") {
    const capture step = support::moe_ep_step().step;
    const capture made = concretise(step, {step.symbols().begin(), step.symbols().end()});
    CHECK(made.symbols().empty());
    CHECK(made.size() < step.size());
    capture_fields before(step), after(made);
    for (std::uint32_t v = 0; v < made.size(); ++v) {
        CHECK(made.outputs(v).find("symbolic") == std::string_view::npos);
        CHECK(!made.field(v, "binds"));
        CHECK(made.op(v) != "aten.sym_size.int");
        const auto same = step.find(made.name(v));
        REQUIRE(same);
        const std::vector<capture_tensor> was = before.outputs(*same), is = after.outputs(v);
        REQUIRE(was.size() == is.size());
        for (std::size_t k = 0; k < is.size(); ++k) CHECK(was[k].shape == is[k].shape);
        CHECK(made.allocation(v) == step.allocation(*same));
        CHECK(made.payload(v) == step.payload(*same));
    }
    CHECK(concretise(made, {}) == made);
}
