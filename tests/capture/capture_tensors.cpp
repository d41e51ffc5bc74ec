#include "stretto/capture/capture_tensors.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/capture_builder.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using form = tensor_argument::form;

namespace {

std::string step_with(const std::string& node) {
    return R"({"format":"stretto-graph","version":1,"name":"s","groups":[],)"
           R"("costs":{"memory_bytes_per_second":1e12,"launch_ns":1,"collectives":{}},"nodes":[)"
           R"({"name":"a","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[4,3],"dtype":"bf16"}],"bytes":0,"ns":0},)" +
           node + "]}";
}

capture parsed(const std::string& text) {
    auto step = support::parse_capture(text, "step.json");
    REQUIRE_MESSAGE(step, (step ? "" : step.error().message()));
    return std::move(*step);
}

}  // namespace

TEST_CASE("arguments, named arguments and shapes of a node") {
    const capture step = parsed(
        step_with(R"({"name":"b","op":"aten.x","kind":"compute","inputs":[0],)"
                  R"("outputs":[{"shape":[2,6],"dtype":"f32"},{"shape":[],"dtype":"i64"}],"bytes":48,"ns":1,)"
                  R"("args":["%0",[2,-1],1.5,null,true,"sum",[["%0"]],{"KEY":1}],"kwargs":{"dtype":"f32","dim":0}})"));
    const auto read = capture_tensors::read(step);
    REQUIRE(read);
    const capture_tensor_model m{&step, &*read};

    CHECK(m.operation(1) == "aten.x");
    const auto args = m.arguments(1);
    REQUIRE(args.size() == 8);
    CHECK(args[0].what == form::operand);
    CHECK(args[0].integer == 0);
    REQUIRE(args[1].what == form::list);
    CHECK(args[1].items[1].integer == -1);
    CHECK(args[2].what == form::real);
    CHECK(args[2].real == 1.5);
    CHECK(args[3].what == form::none);
    CHECK(args[4].what == form::truth);
    CHECK(args[4].integer == 1);
    CHECK(args[5].text == "sum");
    CHECK(args[6].items[0].items[0].what == form::operand);
    CHECK(args[7].what == form::other);
    REQUIRE(m.named_arguments(1).size() == 2);
    CHECK(m.named_arguments(1)[0].name == "dtype");
    CHECK(m.named_arguments(1)[0].value.text == "f32");
    CHECK(m.named_arguments(1)[1].value.integer == 0);

    REQUIRE(m.components(1).size() == 2);
    CHECK(m.components(1)[0].element == element_type::f32);
    CHECK(std::vector<std::int64_t>(m.components(1)[0].shape.begin(), m.components(1)[0].shape.end()) ==
          std::vector<std::int64_t>{2, 6});
    CHECK(m.components(1)[1].shape.empty());
    CHECK(m.components(0)[0].element == element_type::bf16);
}

TEST_CASE("only a percent sign and digits name an operand") {
    const capture step =
        parsed(step_with(R"({"name":"b","op":"aten.x","kind":"compute","inputs":[0],"outputs":[],"bytes":0,"ns":1,)"
                         R"("args":["%0","%d rows","%","%0.5","100%"]})"));
    const auto read = capture_tensors::read(step);
    REQUIRE(read);
    const auto args = read->arguments(1);
    REQUIRE(args.size() == 5);
    CHECK(args[0].what == form::operand);
    for (std::size_t k = 1; k < args.size(); ++k) CHECK(args[k].what == form::text);
    CHECK(args[1].text == "%d rows");
    CHECK(args[3].text == "%0.5");
}

TEST_CASE("an operation whose arguments are not spelt has its operands") {
    const capture step = parsed(step_with(
        R"({"name":"b","op":"aten.neg.default","kind":"compute","inputs":[0],"outputs":[],"bytes":0,"ns":1})"));
    const auto read = capture_tensors::read(step);
    REQUIRE(read);
    REQUIRE(read->arguments(1).size() == 1);
    CHECK(read->arguments(1)[0].what == form::operand);
    CHECK(read->named_arguments(1).empty());
    CHECK(read->components(1).empty());
}

TEST_CASE("a node of more elements than anybody can have") {
    const auto complaint = [](const std::string& shapes) {
        const auto read = capture_tensors::read(
            parsed(step_with(R"({"name":"b","op":"aten.neg.default","kind":"compute","inputs":[0],"outputs":[)" +
                             shapes + R"(],"bytes":0,"ns":1})")));
        return read ? "none" : read.error().message();
    };
    const std::string most = R"({"shape":[144115188075855872],"dtype":"c128"})",
                      more = R"({"shape":[2,9223372036854775807,0],"dtype":"i8"})";
    CHECK(complaint(most) == "none");
    CHECK(complaint(most + "," + most).find("node 1 (b): outputs: have more than 2^57 elements") != std::string::npos);
    CHECK(complaint(more).find("have more than 2^57 elements") != std::string::npos);
}

TEST_CASE("extents that are expressions, by component") {
    const capture step = parsed(
        step_with(R"({"name":"b","op":"aten.x","kind":"compute","inputs":[0],"outputs":[{"shape":[7],"dtype":"i64"},)"
                  R"({"symbolic":["2*u0",3,"4","Max(u0, 1)*2"],"shape":[2,3,4,2],"dtype":"f32"},)"
                  R"({"shape":[5],"dtype":"f8_e4m3","symbolic":["5"]}],"bytes":48,"ns":1})"));
    const auto read = capture_tensors::read(step);
    REQUIRE(read);
    const capture_tensor_model m{&step, &*read};
    const auto extent = [&](std::uint32_t x, std::size_t component, std::size_t dim) {
        return symbolic_extent_of<capture_view>(m, x, component, dim);
    };
    CHECK(extent(0, 0, 0).empty());
    CHECK(extent(1, 0, 0).empty());
    CHECK(extent(1, 1, 0) == "2*u0");
    CHECK(extent(1, 1, 1).empty());
    CHECK(extent(1, 1, 2).empty());
    CHECK(extent(1, 1, 3) == "Max(u0, 1)*2");
    CHECK(extent(1, 2, 0).empty());
    CHECK(!read->is_symbolic(1, 0));
    CHECK(read->is_symbolic(1, 1));
    CHECK(!read->is_symbolic(1, 2));
    CHECK(read->element_name(1, 1) == "f32");
    CHECK(read->element_name(1, 2) == "f8_e4m3");
}

TEST_CASE("every extent has its place among the symbolic ones") {
    const capture step =
        parsed(step_with(R"({"name":"b","op":"aten.x","kind":"compute","inputs":[0],)"
                         R"("outputs":[{"shape":[7,2],"dtype":"i64","symbolic":["u0"]}],"bytes":48,"ns":1})"));
    const auto read = capture_tensors::read(step);
    REQUIRE(!read);
    CHECK(read.error().node_name == "b");
    CHECK(read.error().cause == "has a tensor of 2 extents, and symbolic ones for 1");
}

TEST_CASE("outputs are read of every node by itself, whatever is wrong with others") {
    capture_builder b("step");
    const char* const outputs[] = {R"([{"shape":[2,3],"dtype":"f32"}])", R"([{"shape":[2],"dtype":"f32"},7])",
                                   R"([{"shape":[-1],"dtype":"f32"}])",
                                   R"([{"shape":[4],"dtype":"u64"},{"shape":[],"dtype":"bf16"}])"};
    for (std::size_t k = 0; k < 4; ++k) {
        capture_node n;
        const std::string name = "n" + std::to_string(k);
        n.name = name;
        n.outputs = outputs[k];
        b.append(n);
    }
    const auto c = std::move(b).build();
    REQUIRE(c);
    const capture_tensors t = capture_tensors::read_outputs(*c);
    for (std::uint32_t v : {1u, 2u}) {
        CHECK(!t.is_read(v));
        CHECK(t.components(v).empty());
    }
    CHECK((t.is_read(0) && t.is_read(3)));
    REQUIRE(t.components(0).size() == 1);
    CHECK(t.components(0)[0].shape[1] == 3);
    REQUIRE(t.components(3).size() == 2);
    CHECK(t.element_name(3, 0) == "u64");
    CHECK(t.element_name(3, 1) == "bf16");
    CHECK(!capture_tensors::read(*c));
}
