// Chunked steps whose extents follow the number of tokens, for the recorded number and for others.
#include "stretto/capture/detail/open_parts.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/capture/concretise_capture.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/compare_runs.hpp"
#include "support/example_step.hpp"
#include "support/plan_complaints.hpp"
#include "support/read_step.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

capture concretised(const capture& step, const std::vector<capture_symbol>& values) {
    const auto tensors = support::read_tensors(step);
    REQUIRE(tensors);
    auto made = concretise_capture(step, *tensors, values);
    REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
    return *std::move(made);
}
capture with_all_values(const capture& step) {
    return concretised(step, {step.symbols().begin(), step.symbols().end()});
}

/// A step in memory.
struct runnable {
    capture step;
    capture_tensors tensors;
    static runnable of(capture step) {
        auto tensors = support::read_tensors(step);
        REQUIRE(tensors);
        return {std::move(step), *std::move(tensors)};
    }
};

/// A captured step on small extents, and what becomes of it in chunks.
struct small_step {
    runnable whole;
    support::shrunken_recipe recipe;
    capture_token_symbol tokens;

    static small_step of(const support::example_step& captured, support::shrunken_recipe recipe, std::int64_t tokens) {
        recipe.extents.symbols = {{"u0", tokens}};
        auto small = support::shrink(captured.step, captured.tensors, recipe);
        REQUIRE_MESSAGE(small, support::complaint(small));
        runnable whole = runnable::of(*std::move(small));
        const capture_token_symbol symbol = token_symbols(whole.step, whole.tensors)[0];
        REQUIRE(symbol.value == tokens);
        return {std::move(whole), std::move(recipe), symbol};
    }
    [[nodiscard]] runnable chunked(const std::vector<module_chunks>& settings, std::string_view symbol) const {
        const auto regions = regions_in_chunks(modules_of(whole.step), settings);
        REQUIRE(regions);
        auto made =
            support::chunk_step(whole.step, whole.tensors, *regions, tokens.dimensions, {.skip_refused = true}, symbol);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
        return runnable::of(std::move(made->step));
    }
    void check(const std::vector<module_chunks>& settings, const std::vector<std::int64_t>& others) const {
        const runnable open = chunked(settings, "u0"), fixed = chunked(settings, "");
        CHECK(open.step.size() > fixed.step.size());
        CHECK(with_all_values(open.step) == with_all_values(fixed.step));
        CHECK(concretised(open.step, {{"u0", tokens.value}}) == concretised(fixed.step, {{"u0", tokens.value}}));
        CHECK(support::complaints_about(whole.step, open.step) == "");
        for (std::int64_t other : others) {
            CAPTURE(other);
            const runnable now = runnable::of(concretised(whole.step, {{"u0", other}}));
            const runnable parts = runnable::of(concretised(open.step, {{"u0", other}}));
            CHECK(support::complaints_about(now.step, parts.step) == "");
            const support::named_inputs inputs =
                support::make_named_inputs(now.step, now.tensors, recipe.run.ranks, 11);
            const interpretation expected = support::run_named(now.step, now.tensors, recipe.run, inputs);
            for (const runnable* form : {&parts, &open}) {  // the form for all numbers runs as it is, too
                const interpretation done = support::run_named(form->step, form->tensors, recipe.run, inputs);
                const support::agreement found = support::compare_runs(expected, done);
                CHECK_MESSAGE(found.worst <= 1e-12, found.where);
            }
        }
    }
    /// The guard that so many tokens make false; nothing if they make none false.
    [[nodiscard]] std::string guard(const std::vector<module_chunks>& settings, std::int64_t other) const {
        const runnable open = chunked(settings, "u0");
        const auto made = concretise_capture(open.step, open.tensors, std::vector<capture_symbol>{{"u0", other}});
        return made ? std::string() : made.error().node_name + " " + made.error().cause;
    }
};

const char* block = R"({"format":"stretto-graph","version":1,"name":"block","groups":[{"name":"ep","size":4}],
"costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{"ep":{"all_to_all":[[0,1000],[1000000,2000]]}}},
"symbols":{"s":8},
"nodes":[
{"name":"x","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[8,16],"dtype":"f32","symbolic":["s",16]}],"bytes":512,"ns":0},
{"name":"w","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[16,4],"dtype":"f32"}],"bytes":256,"ns":0},
{"name":"y","op":"aten.mm.default","kind":"compute","inputs":[0,1],"outputs":[{"shape":[8,4],"dtype":"f32","symbolic":["s",4]}],"bytes":128,"ns":900},
{"name":"v","op":"aten.reshape.default","kind":"view","inputs":[2],"args":["%0",[16,2]],"alias":[2],"outputs":[{"shape":[16,2],"dtype":"f32","symbolic":["2*s",2]}],"bytes":0,"ns":0},
{"name":"t","op":"aten.sum.dim_IntList","kind":"compute","inputs":[3],"args":["%0",[0]],"outputs":[{"shape":[2],"dtype":"f32"}],"bytes":8,"ns":300},
{"name":"out","op":"output","kind":"output","inputs":[3,4],"outputs":[],"bytes":0,"ns":0}]})";

/// Rows in the order of their keys, as many of them to each of four ranks.
const char* exchange = R"({"format":"stretto-graph","version":1,"name":"exchange","groups":[{"name":"ep","size":4}],
"costs":{"memory_bytes_per_second":1e12,"launch_ns":100,"collectives":{"ep":{"all_to_all":[[0,1000],[1000000,2000]]}}},
"symbols":{"s":16},
"nodes":[
{"name":"x","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[16,2],"dtype":"f32","symbolic":["s",2]}],"bytes":128,"ns":0},
{"name":"k","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[16],"dtype":"i64","symbolic":["s"]}],"bytes":128,"ns":0},
{"name":"sorted","op":"aten.sort.default","kind":"compute","inputs":[1],"outputs":[{"shape":[16],"dtype":"i64","symbolic":["s"]},{"shape":[16],"dtype":"i64","symbolic":["s"]}],"bytes":256,"ns":900},
{"name":"order","op":"getitem","kind":"view","inputs":[2],"args":["%0",1],"alias":[2],"outputs":[{"shape":[16],"dtype":"i64","symbolic":["s"]}],"bytes":0,"ns":0},
{"name":"rows","op":"aten.index.Tensor","kind":"compute","inputs":[0,3],"args":["%0",["%1"]],"outputs":[{"shape":[16,2],"dtype":"f32","symbolic":["s",2]}],"bytes":128,"ns":900},
{"name":"sent","op":"_c10d_functional.all_to_all_single.default","kind":"start","inputs":[4],"args":["%0",[],[],"ep"],"outputs":[{"shape":[16,2],"dtype":"f32","symbolic":["s",2]}],"bytes":128,"collective":"all_to_all","group":0,"payload":128,"ns":1000},
{"name":"arrived","op":"_c10d_functional.wait_tensor.default","kind":"wait","inputs":[5],"alias":[5],"outputs":[{"shape":[16,2],"dtype":"f32","symbolic":["s",2]}],"bytes":0,"ns":0},
{"name":"total","op":"aten.sum.dim_IntList","kind":"compute","inputs":[6],"args":["%0",[0]],"outputs":[{"shape":[2],"dtype":"f32"}],"bytes":8,"ns":300},
{"name":"out","op":"output","kind":"output","inputs":[7],"outputs":[],"bytes":0,"ns":0}]})";

}  // namespace

TEST_CASE("expressions and numbers for equal chunks, and for a rest") {
    const auto read = support::parse_capture(block, "block.json");
    REQUIRE_MESSAGE(read, (read ? std::string() : read.error().message()));
    const runnable step = runnable::of(*read);
    const auto chunked = [&](std::vector<std::int64_t> sizes) {
        capture_chunk_region region{{2, 3, 4}, std::move(sizes)};
        const capture_token_symbol tokens = token_symbols(step.step, step.tensors)[0];
        auto made = support::chunk_step(step.step, step.tensors, {&region, 1}, tokens.dimensions, {}, "s");
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
        return std::move(made->step);
    };
    const auto outputs = [](const capture& c, const char* name) { return std::string(c.outputs(*c.find(name))); };
    const auto args = [](const capture& c, const char* name) { return std::string(*c.field(*c.find(name), "args")); };
    const auto text = [&](const capture& c) {  // of all nodes that were added for numbers
        std::string all;
        for (std::uint32_t v = 0; v < c.size(); ++v) {
            if (!c.name(v).starts_with("s_")) continue;
            all += std::string(c.name(v)) + args(c, std::string(c.name(v)).c_str()) + "(";
            for (std::uint32_t u : c.inputs(v)) all += " " + std::string(c.name(u));
            all += " )\n";
        }
        return all;
    };
    const capture equal = chunked({3, 3, 2});
    CHECK(outputs(equal, "x_part1") == R"j([{"shape":[3,16],"dtype":"f32","symbolic":["(s + 1)//3",16]}])j");
    CHECK(outputs(equal, "y_chunk2") == R"j([{"shape":[2,4],"dtype":"f32","symbolic":["s//3",4]}])j");
    CHECK(outputs(equal, "v_chunk0") == R"j([{"shape":[6,2],"dtype":"f32","symbolic":["2*((s + 2)//3)",2]}])j");
    CHECK(args(equal, "x_part0") == R"(["%0",0,0,"%1"])");
    CHECK(args(equal, "x_part2") == R"(["%0",0,"%1","%2"])");
    CHECK(args(equal, "v_chunk0") == R"(["%0",["%1",2]])");
    CHECK(text(equal) == R"(s_sym_size["%0",0]( x )
s_ge["%0",3]( s_sym_size )
s_assert_scalar["%0","s >= 3: every chunk has rows"]( s_ge )
s_add["%0",2]( s_sym_size )
s_floordiv["%0",3]( s_add )
s_add_1["%0",1]( s_sym_size )
s_floordiv_1["%0",3]( s_add_1 )
s_add_2["%0","%1"]( s_floordiv s_floordiv_1 )
s_mul["%0",2]( s_floordiv )
s_mul_1["%0",2]( s_floordiv_1 )
s_floordiv_2["%0",3]( s_sym_size )
s_mul_2["%0",2]( s_floordiv_2 )
)");
    const capture rest = chunked({2, 1, 5});
    CHECK(outputs(rest, "y_chunk0") == R"([{"shape":[2,4],"dtype":"f32"}])");
    CHECK(outputs(rest, "v_chunk2") == R"j([{"shape":[10,2],"dtype":"f32","symbolic":["2*(s - 3)",2]}])j");
    CHECK(args(rest, "x_part1") == R"(["%0",0,2,3])");
    CHECK(args(rest, "x_part2") == R"(["%0",0,3,"%1"])");
    CHECK(args(rest, "v_chunk1") == R"(["%0",[2,2]])");
    CHECK(text(rest) == R"(s_sym_size["%0",0]( x )
s_ge["%0",4]( s_sym_size )
s_assert_scalar["%0","s >= 4: every chunk has rows"]( s_ge )
s_sub["%0",3]( s_sym_size )
s_mul["%0",2]( s_sub )
)");
}

TEST_CASE("what does not follow the symbol holds for its recorded value") {
    using stretto::detail::open_sizes;
    for (std::int64_t tokens = 1; tokens < 30; ++tokens)
        for (std::size_t k = 1; k <= static_cast<std::size_t>(tokens); ++k) {
            const open_sizes sizes(equal_chunks(tokens, k));
            CHECK(sizes.equal());
            CHECK(sizes.least() == static_cast<std::int64_t>(k));
            for (std::int64_t other : {tokens, tokens + 1, 3 * tokens + 2})
                for (std::size_t c = 0; c < k; ++c)
                    CHECK(stretto::extent_expression::value(sizes.text("s", c, 5), {{"s", other}}) ==
                          5 * equal_chunks(other, k)[c]);
        }
    std::string text = block;  // the rows of v are spelt as a number: the step is one for 8 tokens
    text.replace(text.find(R"("symbolic":["2*s",2])"), 20, R"("symbolic":[16,2])");
    const auto read = support::parse_capture(text, "block.json");
    REQUIRE_MESSAGE(read, (read ? std::string() : read.error().message()));
    const runnable step = runnable::of(*read);
    const capture_chunk_region region{{2, 3, 4}, {4, 4}};
    const std::vector<capture_token_symbol> symbols = token_symbols(step.step, step.tensors);
    const auto chunked = [&](const capture_chunk_region& r, std::string_view symbol) {
        return support::chunk_step(step.step, step.tensors, {&r, 1}, symbols[0].dimensions, {}, symbol);
    };
    const auto made = chunked(region, "s");
    REQUIRE(made);
    const auto tensors = support::read_tensors(made->step);
    REQUIRE(tensors);
    CHECK(concretise_capture(made->step, *tensors, std::vector<capture_symbol>{{"s", 8}}));
    const auto refused = concretise_capture(made->step, *tensors, std::vector<capture_symbol>{{"s", 6}});
    REQUIRE(!refused);
    CHECK(refused.error().cause == "is a guard that the values make false: s == 8: the extents of v");

    CHECK(chunked(region, "t").error().cause == "there is no symbol t");
    CHECK(chunked({{2, 3, 4}, {2, 2}}, "s").error().cause == "has chunks of 4 rows in all, and s is 8");
}

TEST_CASE("rows that are exchanged in equal shares, by their place, do not run in chunks") {
    const auto read = support::parse_capture(exchange, "exchange.json");
    REQUIRE_MESSAGE(read, (read ? std::string() : read.error().message()));
    const runnable step = runnable::of(*read);
    const capture_chunk_region region{{2, 3, 4, 5, 6, 7}, {8, 8}};
    const capture_token_symbol tokens = token_symbols(step.step, step.tensors)[0];
    const auto made = support::chunk_step(step.step, step.tensors, {&region, 1}, tokens.dimensions, {}, "s");
    REQUIRE(!made);
    CHECK(made.error().node_name == "sent");
    CHECK(made.error().cause ==
          "cannot run per chunk: _c10d_functional.all_to_all_single.default exchanges amounts that are not those of a "
          "chunk");
}

TEST_CASE("the step of the examples, in chunks for any batch") {
    const auto both = pass_direction::both, backward = pass_direction::backward;
    const small_step step = small_step::of(support::moe_ep_step(), support::moe_ep_step_recipe(), 4);
    step.check({{"", both, {2, 2}}}, {5});
    step.check({{"layers.*.moe", both, {2, 1, 1}}, {"layers.2.moe", both, {3, 1}}, {"layers.5.moe", backward, {1, 3}}},
               {6});
    CHECK(step.guard({{"", both, {2, 2}}}, 2).empty());
    CHECK(step.guard({{"", both, {2, 2}}}, 1) ==
          "u0_assert_scalar is a guard that the values make false: u0 >= 2: every chunk has rows");
    CHECK(step.guard({{"", both, {3, 1}}}, 3) ==
          "u0_assert_scalar is a guard that the values make false: u0 >= 4: every chunk has rows");
}

TEST_CASE("numbers are computed from an input that comes before the chunks") {
    // The rows of x are spelt as a number, and the only input that counts them comes after the chunks.
    std::string text = block;
    text.replace(text.find(R"("symbolic":["s",16])"), 19, R"("symbolic":[8,16])");
    const std::string late = R"({"name":"late","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[8],)"
                             R"("dtype":"f32","symbolic":["s"]}],"bytes":32,"ns":0})";
    const auto refusal = [&](std::string in_text) {
        const auto read = support::parse_capture(in_text, "block.json");
        REQUIRE_MESSAGE(read, (read ? std::string() : read.error().message()));
        const runnable step = runnable::of(*read);
        const capture_chunk_region region{{2, 3, 4}, {4, 4}};
        const std::vector<capture_token_dimension> tokens = {{0, 0}};
        const auto made = support::chunk_step(step.step, step.tensors, {&region, 1}, tokens, {}, "s");
        REQUIRE(!made);
        return made.error().message();
    };
    const std::string reason =
        "(late): outputs: is the first input with an extent that is a multiple of s, and comes after y, which runs in "
        "chunks; extents of parts can follow symbols that inputs before them have";
    std::string middle = text, last = text;
    middle.insert(middle.find(R"({"name":"out")"), late + ",\n");
    last.insert(last.rfind("]}"), ",\n" + late);
    CHECK(refusal(middle) == "node 5 " + reason);
    CHECK(refusal(last) == "node 6 " + reason);
}

TEST_CASE("symbols of chunks stay in their region") {
    const support::example_step step = support::moe_ep_step();
    const capture_token_symbol tokens = token_symbols(step.step, step.tensors)[0];
    // Forward counts tokens in halves, backward reads rows in quarters.
    const std::vector<module_chunks> settings = {
        {"layers.3.moe", pass_direction::forward, equal_chunks(tokens.value, 2)},
        {"layers.3.moe", pass_direction::backward, equal_chunks(tokens.value, 4)}};
    const auto regions = regions_in_chunks(modules_of(step.step), settings);
    REQUIRE(regions);
    for (const char* symbol : {"", "u0"}) {
        const auto made =
            support::chunk_step(step.step, step.tensors, *regions, tokens.dimensions, {.skip_refused = true}, symbol);
        REQUIRE(made);
        const capture closed = with_all_values(made->step);
        capture_fields was(made->step), is(closed);
        std::size_t clones = 0;
        for (std::uint32_t v = 0; v < closed.size(); ++v) {
            const auto before = was.outputs(*made->step.find(closed.name(v))), after = is.outputs(v);
            clones += closed.field(v, "origin").has_value();
            for (std::size_t c = 0; c < before.size(); ++c) CHECK(before[c].shape == after[c].shape);
        }
        CHECK(clones > 200);
    }
}

TEST_CASE("the mixture-of-experts step of the reference, in chunks for any batch") {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", "/titan_moe.json.gz");
    if (path.empty()) return;
    const auto both = pass_direction::both, backward = pass_direction::backward;
    const small_step step = small_step::of(support::example_step::at(path), support::titan_moe_recipe(), 7);
    step.check({{"", both, {3, 2, 2}}}, {3, 8});
    step.check({{"layers.*.moe", both, {4, 3}}, {"layers.2", both, {1, 2, 4}}, {"layers.3.moe", backward, {6, 1}}},
               {9});
}
