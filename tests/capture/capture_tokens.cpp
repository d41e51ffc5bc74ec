#include "stretto/capture/capture_tokens.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/example_step.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

/// A step whose nodes make one tensor each; the first two are inputs.
capture step_of(const std::string& symbols, const std::vector<std::string>& outputs) {
    std::string nodes;
    for (std::size_t k = 0; k < outputs.size(); ++k)
        nodes += (k == 0 ? "" : ",") + std::string("{\"name\":\"n") + std::to_string(k) +
                 (k < 2 ? R"(","op":"placeholder","kind":"input")" : R"(","op":"aten.neg.default","kind":"compute")") +
                 ",\"inputs\":[],\"outputs\":[" + outputs[k] + "],\"bytes\":0,\"ns\":0}";
    auto step =
        support::parse_capture(R"({"format":"stretto-graph","version":1,"name":"s","groups":[],"costs":)"
                               R"({"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{}},"symbols":{)" +
                                   symbols + "},\"nodes\":[" + nodes + "]}",
                               "s.json");
    REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
    return *std::move(step);
}
std::string shown(const std::vector<token_symbol>& symbols) {
    std::string text;
    for (const token_symbol& s : symbols) {
        text += (text.empty() ? "" : "; ") + s.name + "=" + std::to_string(s.value);
        for (const auto& d : s.dimensions) text += " " + std::to_string(d.value) + "." + std::to_string(d.dim);
    }
    return text;
}

const std::string plain = R"({"shape":[8,4],"dtype":"f32"})";

}  // namespace

TEST_CASE("tokens lie where a shape mentions a symbol that an input has") {
    const capture step = step_of(
        R"("s":4,"t":3,"u":5)",
        {R"({"shape":[8,4],"dtype":"f32","symbolic":["2*s","s"]})", R"({"shape":[3],"dtype":"f32","symbolic":["t"]})",
         R"({"shape":[6,8],"dtype":"f32","symbolic":["6","2*s"]})", plain,
         R"({"shape":[5],"dtype":"f32","symbolic":["u"]})", R"({"shape":[12],"dtype":"f32","symbolic":["s*t"]})"});
    // The first dimension of a node that mentions it; u is not of an input; a product belongs to both.
    CHECK(shown(token_symbols_of(step)) == "s=4 0.0 2.1 5.0; t=3 1.0 5.0");
}

TEST_CASE("symbols are whole words, and an extent is a multiple of its symbol") {
    const capture step = step_of(R"("s":4,"s1":5)", {R"({"shape":[5],"dtype":"f32","symbolic":["s1"]})", plain,
                                                     R"({"shape":[9],"dtype":"f32","symbolic":["s1 + 4"]})",
                                                     R"({"shape":[10],"dtype":"f32","symbolic":["2*s1"]})",
                                                     R"({"shape":[4],"dtype":"f32","symbolic":["s"]})"});
    CHECK(shown(token_symbols_of(step)) == "s1=5 0.0 3.0");
}

TEST_CASE("a step without symbols has no tokens; one that nothing but its input mentions comes last") {
    CHECK(token_symbols_of(step_of("", {plain, plain, plain})).empty());
    CHECK(token_symbols_of(step_of(R"("s":0)", {R"({"shape":[0],"dtype":"f32","symbolic":["s"]})", plain})).empty());
    const capture step = step_of(R"("a":2,"b":3)", {R"({"shape":[2],"dtype":"f32","symbolic":["a"]})",
                                                    R"({"shape":[3],"dtype":"f32","symbolic":["b"]})",
                                                    R"({"shape":[3],"dtype":"f32","symbolic":["b"]})"});
    CHECK(shown(token_symbols_of(step)) == "b=3 1.0 2.0; a=2 0.0");
}

TEST_CASE("the captured step is cut along its batch") {
    const capture step = support::moe_ep_step().step;
    const std::vector<token_symbol> symbols = token_symbols_of(step);
    REQUIRE(symbols.size() == 1);
    CHECK(symbols[0].name == "u0");
    CHECK(symbols[0].value == 256);
    CHECK(symbols[0].dimensions.size() > step.size() / 3);
}
