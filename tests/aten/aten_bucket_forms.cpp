#include "stretto/aten/aten_bucket_forms.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aten/tensor_program.hpp"

using namespace stretto;
using support::program_model;
using support::program_view;
using support::tensor_program;

namespace {

using forms = aten_bucket_forms<program_view, program_model>;
static_assert(bucket_form_model<forms, program_view>);

/// A bucket of two gathers as torchtitan's passes write it: opaque operators of PyTorch pack it, and what arrives is
/// copied into tensors that are made for it.
struct copied_gathers {
    tensor_program p;
    std::uint32_t a, b, pack, slice, start, wait, rows, to_a, to_b, split, read_a, read_b;

    std::uint32_t add(const char* name, const char* op, std::vector<std::uint32_t> reads, const char* args,
                      std::vector<std::int64_t> shape, element_type e = element_type::bf16) {
        const std::uint32_t v = p.add(name, op, std::move(reads), args);
        p.record(v, e, std::move(shape));
        return v;
    }
    /// The memory that a result is copied to, under the name by which it is written.
    std::uint32_t target(std::uint32_t& made, std::int64_t columns) {
        made = add("made", "aten.empty.memory_format", {}, "", {2 * columns});
        const auto seen = add("seen", "aten.view.default", {made}, "%0 [2, -1]", {2, columns});
        return add("again", "aten.view.dtype", {seen}, "%0 bf16", {2, columns});
    }
    explicit copied_gathers(const char* ints = "[1, 1]") {
        a = add("a", "placeholder", {}, "", {3}, element_type::f32);
        b = add("b", "placeholder", {}, "", {2, 2}, element_type::f32);
        pack = add("pack", "bucketing._pre_bucket_all_gather.default", {a, b},
                   (std::string("[%0, %1] 2 bf16 ") + ints + " 0").c_str(), {14});
        slice = add("slice", "aten.slice.Tensor", {pack}, "%0 0 0 7", {7});
        start = p.start("start", "_c10d_functional.all_gather_into_tensor_out.default", {slice, pack}, "%0 2 g out=%1");
        p.record(start, element_type::bf16, {14});
        wait = p.wait("wait", start);
        p.record(wait, element_type::bf16, {14});
        rows = add("rows", "aten.view.default", {wait}, "%0 [2, -1]", {2, 7});
        const std::uint32_t first = target(to_a, 3), second = target(to_b, 4);
        split = p.add("split", "aten.split_with_sizes_copy.out", {rows, first, second}, "%0 [3, 4] 1 out=[%1, %2]");
        read_a = add("read_a", "aten.view.default", {to_a}, "%0 [6]", {6});
        read_b = add("read_b", "aten.view.default", {to_b}, "%0 [4, 2]", {4, 2});
        p.output({read_a, read_b});
    }
    [[nodiscard]] auto form() const { return forms(program_view{&p}, program_model{&p}).form(start); }
};

}  // namespace

TEST_CASE("gathers that are packed by an operator of PyTorch, and copied apart") {
    const copied_gathers g;
    const auto form = g.form();
    REQUIRE(form);
    CHECK(form->wait == g.wait);
    CHECK(form->row == bytes{14});
    using slice = bucket_slice<std::uint32_t>;
    CHECK(form->parts == std::vector<slice>{{g.a, {0}, {6}}, {g.b, {6}, {8}}});
    CHECK(form->results == std::vector<slice>{{g.to_a, {0}, {6}}, {g.to_b, {6}, {8}}});
    CHECK(form->packs == std::vector{g.pack, g.slice});
    CHECK(form->unpacks.size() == 8);
    CHECK(form->unpacks.front() == g.rows);
    CHECK(form->unpacks.back() == g.split);
    CHECK(!forms(program_view{&g.p}, program_model{&g.p}).form(g.wait));
}

TEST_CASE("what is written otherwise is not read") {
    const auto read = [](const std::function<void(copied_gathers&)>& change) {
        copied_gathers g;
        change(g);
        return g.form().has_value();
    };
    CHECK(read([](copied_gathers&) {}));
    CHECK(!copied_gathers("[1, 2]").form());  // several element types travel as bytes
    const auto called = [&](std::uint32_t copied_gathers::* which, const char* op) {
        return read([&](copied_gathers& g) { g.p.nodes[g.*which].operation = op; });
    };
    CHECK(!called(&copied_gathers::start, "_c10d_functional.all_to_all_single.default"));
    CHECK(!called(&copied_gathers::start, "_c10d_functional.reduce_scatter_tensor.default"));
    CHECK(!called(&copied_gathers::start, "_c10d_functional.all_gather_into_tensor.default"));
    CHECK(!called(&copied_gathers::pack, "aten.stack.default"));
    CHECK(!called(&copied_gathers::pack, "bucketing._pre_bucket_reduce_scatter.default"));
    CHECK(!called(&copied_gathers::slice, "aten.select.int"));
    CHECK(!called(&copied_gathers::wait, "aten.clone.default"));
    CHECK(!called(&copied_gathers::rows, "aten.t.default"));
    CHECK(!called(&copied_gathers::split, "aten.chunk.default"));
    CHECK(!called(&copied_gathers::to_b, "aten.zeros.default"));
    const auto typed = [&](std::uint32_t copied_gathers::* which, element_type e, std::vector<std::int64_t> shape) {
        return read([&](copied_gathers& g) { g.p.record(g.*which, e, shape); });
    };
    CHECK(!typed(&copied_gathers::a, element_type::i64, {3}));
    CHECK(!typed(&copied_gathers::a, element_type::f32, {4}));
    CHECK(!typed(&copied_gathers::rows, element_type::bf16, {7, 2}));
    CHECK(!typed(&copied_gathers::to_a, element_type::bf16, {5}));
    CHECK(!typed(&copied_gathers::to_a, element_type::f16, {6}));
    // Nobody may use what is copied to before it is there.
    copied_gathers early;
    early.p.nodes[early.rows].reads.push_back(early.to_a);
    CHECK(!early.form());
}
