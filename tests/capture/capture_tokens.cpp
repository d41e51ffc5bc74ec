#include "stretto/capture/capture_tokens.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/chunk_step.hpp"
#include "support/example_step.hpp"
#include "support/plan_complaints.hpp"
#include "support/read_step.hpp"
#include "support/small_step.hpp"

using namespace stretto;
using support::small_step;

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
std::vector<capture_token_symbol> symbols_of(const capture& step) {
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    return token_symbols(step, *tensors);
}
std::string shown(const std::vector<capture_token_symbol>& symbols) {
    std::string text;
    for (const capture_token_symbol& s : symbols) {
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
    CHECK(shown(symbols_of(step)) == "s=4 0.0 2.1 5.0; t=3 1.0 5.0");
}

TEST_CASE("symbols are whole words, and an extent is a multiple of its symbol") {
    const capture step = step_of(R"("s":4,"s1":5)", {R"({"shape":[5],"dtype":"f32","symbolic":["s1"]})", plain,
                                                     R"({"shape":[9],"dtype":"f32","symbolic":["s1 + 4"]})",
                                                     R"({"shape":[10],"dtype":"f32","symbolic":["2*s1"]})",
                                                     R"({"shape":[4],"dtype":"f32","symbolic":["s"]})"});
    CHECK(shown(symbols_of(step)) == "s1=5 0.0 3.0");
}

TEST_CASE("a step without symbols has no tokens; one that nothing but its input mentions comes last") {
    CHECK(symbols_of(step_of("", {plain, plain, plain})).empty());
    CHECK(symbols_of(step_of(R"("s":0)", {R"({"shape":[0],"dtype":"f32","symbolic":["s"]})", plain})).empty());
    const capture step = step_of(R"("a":2,"b":3)", {R"({"shape":[2],"dtype":"f32","symbolic":["a"]})",
                                                    R"({"shape":[3],"dtype":"f32","symbolic":["b"]})",
                                                    R"({"shape":[3],"dtype":"f32","symbolic":["b"]})"});
    CHECK(shown(symbols_of(step)) == "b=3 1.0 2.0; a=2 0.0");
}

TEST_CASE("the captured step is cut along its batch") {
    const capture step = support::moe_ep_step().step;
    const std::vector<capture_token_symbol> symbols = symbols_of(step);
    REQUIRE(symbols.size() == 1);
    CHECK(symbols[0].name == "u0");
    CHECK(symbols[0].value == 256);
    CHECK(symbols[0].dimensions.size() > step.size() / 3);
}

namespace {

std::vector<capture_token_exchange> exchanges_of(const capture& step) {
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    return token_exchanges(step, *tensors);
}

/// Whether w depends on v, by a search of its own.
bool depends_on(const capture& step, std::uint32_t w, std::uint32_t v) {
    std::vector<char> reached(step.size(), false);
    reached[v] = true;
    for (std::uint32_t u = v + 1; u <= w; ++u)
        for (std::uint32_t x : step.inputs(u)) reached[u] |= reached[x];
    return reached[w];
}

bool contains(const std::vector<std::uint32_t>& nodes, std::uint32_t v) {
    return std::binary_search(nodes.begin(), nodes.end(), v);
}

}  // namespace

TEST_CASE("every expert layer of the example exchanges its tokens forward and backward") {
    const support::example_step example = support::moe_ep_step();
    const capture& step = example.step;
    const std::vector<capture_token_exchange> found = token_exchanges(step, example.tensors);
    REQUIRE(found.size() == 22);
    std::uint32_t before = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
        const capture_token_exchange& e = found[k];
        // What is gathered are the tokens of the layer; backward, their gradients, one for each choice of an expert.
        const auto shape = example.tensors.components(e.tokens.value)[0].shape;
        CHECK(std::vector<std::int64_t>(shape.begin(), shape.end()) ==
              (k < 11 ? std::vector<std::int64_t>{256 * 128, 512} : std::vector<std::int64_t>{256 * 128, 4, 512}));
        CHECK(e.tokens.dim == 0);
        CHECK(e.rows == 256 * 128);
        CHECK(depends_on(step, e.dispatch, e.tokens.value));
        CHECK(depends_on(step, e.combine, e.dispatch));
        // Regions follow each other. Each holds its exchange, and nothing but what its tokens reach.
        CHECK(e.vertices.front() > before);
        before = e.vertices.back();
        CHECK(contains(e.vertices, e.dispatch));
        CHECK(contains(e.vertices, e.combine));
        CHECK(std::is_sorted(e.vertices.begin(), e.vertices.end()));
        for (std::size_t i = 0; i < e.vertices.size(); i += 17)
            CHECK(depends_on(step, e.vertices[i], found[0].tokens.value));
        if (k + 1 < found.size()) CHECK(before == found[k + 1].tokens.value);
    }
    // The forward layers come first, each with the experts between its exchanges.
    CHECK(*step.field(found[0].dispatch, "fqn") == R"("layers.1.moe")");
    CHECK(*step.field(found[10].dispatch, "fqn") == R"("layers.11.moe")");
    CHECK(*step.field(found[11].dispatch, "direction") == R"("backward")");
}

TEST_CASE("a step is chunked around its exchanges, without symbols or modules") {
    const support::example_step example = support::moe_ep_step();
    std::vector<capture_chunk_region> regions;
    std::vector<capture_token_dimension> tokens;
    const std::vector<capture_token_exchange> found = token_exchanges(example.step, example.tensors);
    capture_chunk_region all{{}, {256 * 64, 256 * 64}};
    for (const capture_token_exchange& e : found) {
        tokens.push_back(e.tokens);
        all.candidates.insert(all.candidates.end(), e.vertices.begin(), e.vertices.end());
    }
    SUBCASE("all of them in two") { regions = {all}; }
    SUBCASE("one layer in three, uneven") {
        tokens = {found[4].tokens, found[17].tokens};
        regions = {{found[4].vertices, {256 * 60, 256 * 67, 256}}};
        regions[0].candidates.insert(regions[0].candidates.end(), found[17].vertices.begin(), found[17].vertices.end());
    }
    const auto made = support::chunk_step(example.step, example.tensors, regions, tokens, {.skip_refused = true});
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    std::vector<char> chunked(example.step.size(), false);
    for (const auto& o : made->plan.operations) chunked[o.vertex] = true;
    for (const capture_token_exchange& e : found) {
        const bool wanted = tokens.size() == found.size() || &e == &found[4] || &e == &found[17];
        CHECK(bool(chunked[e.dispatch]) == wanted);
        CHECK(bool(chunked[e.combine]) == wanted);
    }
    CHECK(support::complaints_about(example.step, made->step).empty());
}

TEST_CASE("an exchange whose amounts the program names, traced for one routing") {
    const auto step = [](const char* amounts) {
        const std::string exchange = std::string(R"(["%0",)") + amounts + "," + amounts + R"(,"ep"])";
        const char* start = R"(,"collective":"all_to_all","group":0,"payload":96)";
        return small_step()
            .add("x", "placeholder", "input", {}, {4, 3})
            .add("choice", "placeholder", "input", {}, {8})
            .add("rows", "aten.index.Tensor", "compute", {"x", "choice"}, {8, 3}, R"(["%0",["%1"]])")
            .add("dispatch", "all_to_all", "start", {"rows"}, {8, 3}, exchange.c_str(), start)
            .add("there", "wait", "wait", {"dispatch"}, {8, 3}, "null", R"(,"alias":[3])")
            .add("made", "aten.relu.default", "compute", {"there"}, {8, 3})
            .add("combine", "all_to_all", "start", {"made"}, {8, 3}, exchange.c_str(), start)
            .add("back", "wait", "wait", {"combine"}, {8, 3}, "null", R"(,"alias":[6])")
            .add("out", "output", "output", {"back"}, {});
    };
    const std::vector<capture_token_exchange> found = exchanges_of(step("[8]").made());
    REQUIRE(found.size() == 1);
    CHECK(found[0].tokens.value == 0);
    CHECK(found[0].rows == 4);
    CHECK(found[0].dispatch == 3);
    CHECK(found[0].combine == 6);
    // In equal shares it can be anything: heads for positions, say.
    CHECK(exchanges_of(step("[]").made()).empty());
}

TEST_CASE("what is no exchange of tokens") {
    const support::example_step example = support::moe_ep_step();
    SUBCASE("counts, whose number is known") {
        for (const capture_token_exchange& e : token_exchanges(example.step, example.tensors))
            CHECK(example.tensors.components(e.dispatch)[0].element != element_type::i64);
    }
    SUBCASE("a step without collectives") {
        CHECK(exchanges_of(support::two_inputs().add("out", "output", "output", {"x"}, {}).made()).empty());
    }
}
