#include "support/shrink_capture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "support/read_step.hpp"
#include "support/run_step.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

/// Shrinks the step of a file and runs it: consistent with balanced routing, finite without, the same twice, and the
/// same in the order that the scheduler finds.
void check_step(const std::string& path, const support::shrunken_recipe& recipe) {
    const auto step = support::read_capture(path);
    REQUIRE_MESSAGE(step, support::complaint(step));
    const auto tensors = capture_tensors::read(*step);
    REQUIRE(tensors);
    const auto small = support::shrink(*step, *tensors, recipe);
    REQUIRE_MESSAGE(small, support::complaint(small));
    REQUIRE(small->size() == step->size());
    for (std::uint32_t v = 0; v < step->size(); ++v) {
        CHECK(small->name(v) == step->name(v));
        CHECK(small->op(v) == step->op(v));
    }
    const auto small_tensors = capture_tensors::read(*small);
    REQUIRE(small_tensors);
    input_options seeded;
    seeded.ranks = recipe.run.ranks;
    seeded.seed = 5;
    const auto inputs = support::make_step_inputs(*small, *small_tensors, seeded);
    const auto run = [&](const interpreter_options& options, const std::vector<std::uint32_t>* order = nullptr) {
        const auto input_of = [&](std::uint32_t v) { return std::span<const interpreted_value>(inputs[v]); };
        return support::run_step(*small, *small_tensors, input_of, options, order);
    };

    interpreter_options balanced = recipe.run;
    balanced.balanced_routing = true;
    balanced.recorded = recorded_types::exact;
    const auto consistent = run(balanced);
    REQUIRE_MESSAGE(consistent, consistent.error().message());

    const auto done = run(recipe.run);
    REQUIRE_MESSAGE(done, done.error().message());
    std::size_t elements = 0, different = 0;
    for (const interpreted_entry& e : done->outputs)
        for (const interpreted_value& v : e.by_rank)
            for (const tensor& t : v.tensors)
                for (const double x : t.values<double>()) {
                    ++elements;
                    different += x != 0;
                    if (!std::isfinite(x)) FAIL(e.name << " is not finite");
                }
    CHECK(elements > 10000);
    CHECK(different > elements / 4);
    const auto again = run(recipe.run);
    CHECK(compare(*done, *again).empty());

    const auto plan = plan_overlap(capture_view{&*small}, capture_op_model{&*small});
    REQUIRE(plan);
    std::size_t moved = 0;
    for (std::size_t k = 0; k < plan->order.size(); ++k) moved += plan->order[k] != k;
    CHECK(moved > plan->order.size() / 10);
    const auto scheduled = run(recipe.run, &plan->order);
    REQUIRE_MESSAGE(scheduled, scheduled.error().message());
    const auto found = compare(*done, *scheduled);
    CHECK_MESSAGE(found.empty(), (found.empty() ? "" : found[0].message()));
}

}  // namespace

TEST_CASE("the step of the examples runs whole on small extents") {
    const std::string path = support::captured_step("STRETTO_EXAMPLE_GRAPHS", "/moe_ep_step.json.gz");
    if (!path.empty()) check_step(path, support::moe_ep_step_recipe());
}

TEST_CASE("the mixture-of-experts step of the reference runs whole on small extents") {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", "/titan_moe.json.gz");
    if (!path.empty()) check_step(path, support::titan_moe_recipe());
}

namespace {

// x[u0, 64] gathered over 4 ranks, cut at 16, reshaped, and counted.
const std::string miniature = R"({"format":"stretto-graph","version":1,"name":"mini",
"groups":[{"name":"dp","size":4}],"costs":{"memory_bytes_per_second":1000,"launch_ns":1,"collectives":{}},
"symbols":{"u0":8,"u1":32},
"nodes":[
{"name":"x","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[8,64],"dtype":"f32","symbolic":["u0",64]}],"bytes":2048,"ns":0},
{"name":"w","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[16,64],"dtype":"f32"}],"bytes":4096,"ns":0},
{"name":"gather","op":"_c10d_functional.all_gather_into_tensor.default","kind":"start","inputs":[1],"args":["%0",4,"dp"],"outputs":[{"shape":[64,64],"dtype":"f32"}],"bytes":16384,"collective":"all_gather","group":0,"payload":4096,"ns":5},
{"name":"wait","op":"_c10d_functional.wait_tensor.default","kind":"wait","inputs":[2],"outputs":[{"shape":[64,64],"dtype":"f32"}],"bytes":0,"alias":[2],"ns":0},
{"name":"mm","op":"aten.mm.default","kind":"compute","inputs":[0,3],"outputs":[{"shape":[8,64],"dtype":"f32","symbolic":["u0",64]}],"bytes":2048,"ns":3},
{"name":"slice","op":"aten.slice.Tensor","kind":"view","inputs":[4],"args":["%0",1,0,16],"outputs":[{"shape":[8,16],"dtype":"f32","symbolic":["u0",16]}],"bytes":0,"alias":[4],"ns":0},
{"name":"flat","op":"aten.reshape.default","kind":"compute","inputs":[5],"args":["%0",[-1]],"outputs":[{"shape":[128],"dtype":"f32","symbolic":["16*u0"]}],"bytes":512,"ns":2},
{"name":"size","op":"aten.sym_size.int","kind":"view","inputs":[0],"args":["%0",0],"outputs":[],"bytes":0,"ns":0},
{"name":"four","op":"mul","kind":"view","inputs":[7],"args":["%0",4],"outputs":[],"bytes":0,"ns":0,"binds":["u1"]},
{"name":"zeros","op":"aten.new_zeros.default","kind":"compute","inputs":[0,8],"args":["%0",["%1",64]],"kwargs":{"dtype":"i64","pin_memory":false},"outputs":[{"shape":[32,64],"dtype":"i64","symbolic":["u1","u0 + 56"]}],"bytes":16384,"ns":2},
{"name":"half","op":"aten.mul.Tensor","kind":"compute","inputs":[6],"args":["%0",64.0],"outputs":[{"shape":[128],"dtype":"f32","symbolic":["16*u0"]}],"bytes":512,"ns":2},
{"name":"out","op":"output","kind":"output","inputs":[10,9],"outputs":[],"bytes":0,"ns":0}
]})";

support::shrunken_recipe mini_recipe() {
    support::shrunken_recipe r;
    r.extents.extents = {{64, 8, {}}, {16, 2, {}}};
    r.extents.symbols = {{"u0", 3}};
    r.extents.group_sizes = {2};
    r.run.ranks = 2;
    return r;
}

}  // namespace

TEST_CASE("shapes, arguments, symbols, bytes and payloads follow the table") {
    const auto step = support::parse_capture(miniature, "f");
    REQUIRE_MESSAGE(step, support::complaint(step));
    const auto tensors = capture_tensors::read(*step);
    REQUIRE(tensors);
    const auto small = support::shrink(*step, *tensors, mini_recipe());
    REQUIRE_MESSAGE(small, support::complaint(small));
    CHECK(small->name() == "mini, shrunken");
    CHECK(small->groups()[0].size == 2);
    CHECK(small->symbols()[0] == capture_symbol{"u0", 3});
    CHECK(small->symbols()[1] == capture_symbol{"u1", 12});
    CHECK(small->outputs(0) == R"([{"shape":[3,8],"dtype":"f32","symbolic":["u0",8]}])");
    CHECK(small->outputs(1) == R"([{"shape":[4,8],"dtype":"f32"}])");  // half of the new 8 rows
    CHECK(small->field(2, "args") == R"(["%0",2,"dp"])");
    CHECK(small->payload(2) == bytes{128});
    CHECK(small->allocation(2) == bytes{256});
    CHECK(small->allocation(3) == bytes{0});
    CHECK(small->field(5, "args") == R"(["%0",1,0,2])");
    CHECK(small->outputs(6) == R"([{"shape":[6],"dtype":"f32","symbolic":["2*u0"]}])");
    CHECK(small->field(8, "args") == R"(["%0",4])");
    CHECK(small->field(9, "args") == R"(["%0",["%1",8]])");
    CHECK(small->field(9, "kwargs") == R"({"dtype":"i64","pin_memory":false})");
    CHECK(small->outputs(9) == R"([{"shape":[12,8],"dtype":"i64","symbolic":["u1",8]}])");
    CHECK(small->field(10, "args") == R"(["%0",64.0])");  // no extent
    CHECK(small->duration(4) == step->duration(4));
}

TEST_CASE("a table that does not fit the program is refused where it fails") {
    const auto step = support::parse_capture(miniature, "f");
    REQUIRE(step);
    const auto tensors = capture_tensors::read(*step);
    REQUIRE(tensors);
    support::shrunken_recipe odd = mini_recipe();
    odd.extents.extents[0].to = 7;
    CHECK(support::complaint(support::shrink(*step, *tensors, odd)) ==
          "node 1 (w): outputs: becomes 7 rows, which 2 ranks cannot share equally; choose another new extent for 64");
    support::shrunken_recipe torn = mini_recipe();
    torn.extents.extents.push_back({64, 5, "aten.new_zeros."});
    CHECK(support::shrink(*step, *tensors, torn));  // zeros of another width are read by nobody
    torn.extents.extents.push_back({4, 2, "aten.reshape."});
    torn.extents.symbols = {{"u0", 3}};
    torn.extents.group_sizes = {4};
    CHECK(
        support::complaint(support::shrink(*step, *tensors, torn)).find("the arguments say 4 ranks, the group has 2") !=
        std::string::npos);
}
