// Scenarios of PyTorch's auto-chunker, which computes the last product of a model and its loss in chunks of the batch,
// because the scores of all classes are larger than anything else. One test case each, named after them.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "support/chunk_step.hpp"
#include "support/compare_runs.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

/// A step in one line for every operation. The extent `s` is that of the tokens; if it is no symbol, it is a number.
struct written_step {
    std::int64_t tokens;
    bool symbolic = true;
    std::string nodes = {};
    std::vector<std::string> names = {};
    std::vector<std::uint32_t> region = {};  // everything but inputs and the output

    static constexpr std::int64_t s = -1;

    [[nodiscard]] std::uint32_t at(std::string_view name) const {
        std::uint32_t k = 0;
        while (names[k] != name) ++k;
        return k;
    }
    [[nodiscard]] std::string tensor(const std::vector<std::int64_t>& extents, const char* type, bool known) const {
        std::string all;
        for (std::int64_t e : extents)
            all += (all.empty() ? "" : ",") + (e != s ? std::to_string(e) : known ? std::to_string(tokens) : "\"s\"");
        return "[" + all + "]" + (known ? ",\"dtype\":\"" + std::string(type) + '"' : "");
    }
    void add(const char* name, const char* op, const char* kind, const std::vector<const char*>& reads,
             const std::vector<std::vector<std::int64_t>>& shapes, const char* args = "null",
             const char* type = "f32") {
        const bool views = std::string_view(kind) == "view", ends = std::string_view(kind) == "output";
        std::string inputs, outputs;
        for (const char* r : reads) inputs += (inputs.empty() ? "" : ",") + std::to_string(at(r));
        std::int64_t bytes = 0;
        for (const auto& shape : shapes) {
            std::int64_t size = std::string_view(type) == "i64" ? 8 : 4;
            for (std::int64_t e : shape) size *= e == s ? tokens : e;
            if (!views) bytes += size;
            const std::string open = symbolic ? ",\"symbolic\":" + tensor(shape, type, false) : "";
            outputs += (outputs.empty() ? "" : ",") + ("{\"shape\":" + tensor(shape, type, true)) + open + "}";
        }
        nodes += (nodes.empty() ? "" : ",\n") + ("{\"name\":\"" + std::string(name)) + "\",\"op\":\"" + op +
                 "\",\"kind\":\"" + kind + "\",\"inputs\":[" + inputs + "],\"args\":" + args + ",\"outputs\":[" +
                 outputs + "],\"bytes\":" + std::to_string(bytes) +
                 ",\"ns\":" + (std::string_view(kind) == "compute" ? std::to_string(1000 + bytes / 1000) : "0") +
                 (views ? ",\"alias\":[" + std::to_string(at(reads[0])) + "]" : "") + "}";
        if (std::string_view(kind) != "input" && !ends) region.push_back(static_cast<std::uint32_t>(names.size()));
        names.emplace_back(name);
    }
    [[nodiscard]] capture made() const {
        auto step = support::parse_capture(
            R"({"format":"stretto-graph","version":1,"name":"loss","groups":[],)"
            R"("costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{}},)" +
                (symbolic ? "\"symbols\":{\"s\":" + std::to_string(tokens) + "}," : std::string()) + "\"nodes\":[" +
                nodes + "]}",
            "loss.json");
        REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
        return *std::move(step);
    }
};
constexpr std::int64_t s = written_step::s;

/// A product, and the largest share of every row.
written_step product_and_softmax(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    written_step w{rows};
    w.add("x", "placeholder", "input", {}, {{s, inner}});
    w.add("w", "placeholder", "input", {}, {{inner, columns}});
    w.add("y", "aten.mm.default", "compute", {"x", "w"}, {{s, columns}});
    w.add("p", "aten._softmax.default", "compute", {"y"}, {{s, columns}}, R"(["%0",1,false])");
    w.add("most", "aten.amax.default", "compute", {"p"}, {{s}}, R"(["%0",[1]])");
    w.add("out", "output", "output", {"most"}, {});
    return w;
}

/// The last product of a model, the loss of its scores, and the gradients of both factors.
written_step linear_and_loss(std::int64_t rows, std::int64_t width, std::int64_t classes) {
    written_step w{rows};
    w.add("x", "placeholder", "input", {}, {{s, width}});
    w.add("w", "placeholder", "input", {}, {{classes, width}});
    w.add("target", "placeholder", "input", {}, {{s}}, "null", "i64");
    w.add("tangent", "placeholder", "input", {}, {{}});
    w.add("wt", "aten.t.default", "view", {"w"}, {{width, classes}});
    w.add("y", "aten.mm.default", "compute", {"x", "wt"}, {{s, classes}});
    w.add("p", "aten._log_softmax.default", "compute", {"y"}, {{s, classes}}, R"(["%0",1,false])");
    w.add("l", "aten.nll_loss_forward.default", "compute", {"p", "target"}, {{}, {}}, R"(["%0","%1",null,2,-100])");
    w.add("loss", "getitem", "view", {"l"}, {{}}, R"(["%0",0])");
    w.add("total", "getitem", "view", {"l"}, {{}}, R"(["%0",1])");
    w.add("gl", "aten.nll_loss_backward.default", "compute", {"tangent", "p", "target", "total"}, {{s, classes}},
          R"(["%0","%1","%2",null,2,-100,"%3"])");
    w.add("gy", "aten._log_softmax_backward_data.default", "compute", {"gl", "p"}, {{s, classes}},
          R"(["%0","%1",1,"f32"])");
    w.add("gx", "aten.mm.default", "compute", {"gy", "w"}, {{s, width}});
    w.add("gyt", "aten.t.default", "view", {"gy"}, {{classes, s}});
    w.add("gw", "aten.mm.default", "compute", {"gyt", "x"}, {{classes, width}});
    w.add("out", "output", "output", {"loss", "gx", "gw"}, {});
    return w;
}

chunked_capture in_chunks(const written_step& w, std::int64_t chunks, std::string_view symbol = {}) {
    const capture step = w.made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    const auto tokens = token_symbols(step, *tensors);
    REQUIRE(tokens.size() == 1);
    const std::vector<capture_chunk_region> regions = {
        {w.region, std::vector<std::int64_t>(static_cast<std::size_t>(chunks), w.tokens / chunks)}};
    auto made = support::chunk_step(step, *tensors, regions, tokens[0].dimensions, {}, symbol);
    REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
    return *std::move(made);
}

std::size_t count(const capture& step, std::string_view op) {
    std::size_t n = 0;
    for (std::uint32_t v = 0; v < step.size(); ++v) n += step.op(v) == op;
    return n;
}

/// The peak of an order within a limit; nothing if none is found.
std::optional<bytes> peak_within(const capture& step, bytes limit) {
    const auto tasks = make_task_graph(capture_view{&step}, capture_op_model{&step});
    REQUIRE(tasks);
    const auto found = list_schedule(*tasks, {.memory_limit = limit});
    return found ? std::optional(found->memory().peak) : std::nullopt;
}

/// Whether both compute the same, but for the order of sums.
void check_same(const capture& whole, const capture& parts) {
    const auto tensors = support::read_tensors(whole), of_parts = support::read_tensors(parts);
    REQUIRE((tensors && of_parts));
    support::named_inputs inputs = support::make_named_inputs(whole, *tensors, 1, 7);
    const auto expected = support::run_named(whole, *tensors, {}, inputs);
    const support::agreement found = support::compare_runs(expected, support::run_named(parts, *of_parts, {}, inputs));
    CHECK_MESSAGE(found.worst <= 1e-6, found.where);
}

}  // namespace

TEST_CASE("Inductor N1: a trivial graph is not chunked") {
    written_step w{4, false};
    w.add("x", "placeholder", "input", {}, {{s, 3}});
    w.add("y", "aten.neg.default", "compute", {"x"}, {{s, 3}});
    w.add("out", "output", "output", {"y"}, {});
    const capture step = w.made();
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    CHECK(token_symbols(step, *tensors).empty());
}

TEST_CASE("Inductor N2: a product and a softmax in chunks need less than the product whole") {
    const std::int64_t rows = 1024, columns = 4096;
    const written_step w = product_and_softmax(rows, 64, columns);
    const chunked_capture o = in_chunks(w, 4);
    CHECK(count(o.step, "aten.mm.default") == 4);
    CHECK(count(o.step, "aten._softmax.default") == 4);
    const bytes full = {rows * columns * 4};
    CHECK(peak_within(o.step, {full.count - 1}));
    CHECK(!peak_within(w.made(), {2 * full.count - 1}));
    check_same(product_and_softmax(16, 3, 10).made(), in_chunks(product_and_softmax(16, 3, 10), 4).step);
}

TEST_CASE("Inductor N3: extents that are symbols; decided differently: chunks have expressions for them") {
    // The auto-chunker gives up, without an error, because it makes a sub-graph for every size of a chunk.
    const chunked_capture o = in_chunks(product_and_softmax(16, 3, 10), 4, "s");
    CHECK(count(o.step, "aten._softmax.default") == 4);
    CHECK(std::string(o.step.outputs(*o.step.find("p_chunk0"))).find("s") != std::string::npos);
}

TEST_CASE("Inductor N4: the last product and the loss of 32 x 1024 rows in sixteen chunks") {
    const std::int64_t rows = 32 * 1024, width = 768, classes = 50257;
    const written_step w = linear_and_loss(rows, width, classes);
    const chunked_capture o = in_chunks(w, 16);
    CHECK(count(o.step, "aten._log_softmax.default") == 16);
    CHECK(count(o.step, "aten.nll_loss_forward.default") == 16);
    CHECK(count(o.step, "aten.mm.default") == 3 * 16);
    const bytes scores = {rows * classes * 4};
    CHECK(!peak_within(w.made(), {2 * scores.count - 1}));  // whole, two values of that size are live at once
    const auto peak = peak_within(o.step, {scores.count / 3});
    REQUIRE(peak);
    CHECK(*peak <= bytes{scores.count / 3});
    const written_step small = linear_and_loss(32, 3, 7);
    check_same(small.made(), in_chunks(small, 16).step);
}
