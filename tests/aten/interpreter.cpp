#include "stretto/aten/interpreter.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "aten/tensor_program.hpp"
#include "stretto/aten/interpretation.hpp"

using namespace stretto::aten;
using stretto::element_type;
using support::cause_of;
using support::floats;
using support::integers;
using support::run_operator;
using support::tensor_program;

namespace {

std::vector<double> output(const interpretation& done, std::size_t k, std::size_t rank) {
    return done.outputs[k].by_rank[rank].tensors[0].values<double>();
}
std::string why(const tensor_program& p, interpreter_options options = {}) {
    const auto done = p.run(options);
    return done ? "runs" : done.error().message();
}
interpreter_options on(std::size_t ranks, std::vector<stretto::process_groups> groups = {}) {
    interpreter_options o;
    o.ranks = ranks;
    o.groups = std::move(groups);
    return o;
}
stretto::process_groups groups_of(const std::vector<std::vector<stretto::rank_id>>& lists) {
    stretto::process_groups made;
    for (const std::vector<stretto::rank_id>& ranks : lists)
        made.add({.size = static_cast<std::int64_t>(ranks.size()), .ranks = ranks});
    return made;
}
/// One row with the number of the rank, on every rank.
std::vector<tensor> numbered(std::size_t ranks, std::int64_t rows = 1) {
    std::vector<tensor> all;
    for (std::size_t r = 0; r < ranks; ++r) {
        std::vector<double> x;
        for (std::int64_t k = 0; k < rows; ++k) x.push_back(10.0 * static_cast<double>(r) + static_cast<double>(k));
        all.push_back(floats({rows}, std::move(x)));
    }
    return all;
}
/// What a collective on numbered inputs gives on every rank.
std::vector<std::vector<double>> after(const std::string& operation, std::string_view arguments,
                                       const interpreter_options& options, std::int64_t rows = 1) {
    tensor_program p;
    const auto x = p.input("x", numbered(options.ranks, rows));
    p.output({p.wait("wait", p.start("start", "_c10d_functional." + operation + ".default", {x}, arguments))});
    const auto done = p.run(options);
    REQUIRE_MESSAGE(done, done.error().message());
    std::vector<std::vector<double>> got;
    for (std::size_t r = 0; r < options.ranks; ++r) got.push_back(output(*done, 0, r));
    return got;
}
using rows = std::vector<std::vector<double>>;

}  // namespace

TEST_CASE("the smallest program") {
    tensor_program p;
    const auto a = p.input("a", floats({2}, {1, 2}), 1);
    const auto b = p.add("b", "aten.mul.Tensor", {a}, "%0 %0");
    p.output({b, a});
    const auto done = p.run();
    REQUIRE(done);
    CHECK(output(*done, 0, 0) == std::vector<double>{1, 4});
    CHECK(output(*done, 1, 0) == std::vector<double>{1, 2});
    CHECK(done->outputs[0].name == "b");
    CHECK_FALSE(done->inputs[0].written);
}

TEST_CASE("writes in place are seen through views, and the caller's tensors stay as they are") {
    tensor_program p;
    const auto a = p.input("a", floats({2, 2}, {1, 2, 3, 4}), 1);
    const auto column = p.add("column", "aten.select.int", {a}, "%0 1 0");
    const auto flat = p.add("flat", "aten.view.default", {a}, "%0 [4]");
    const auto added = p.add("added", "aten.add_.Tensor", {column}, "%0 10");
    const auto copy = p.add("copy", "aten.clone.default", {a});
    const auto zero = p.add("zero", "aten.zero_.default", {flat});
    p.output({copy, flat, added, zero});
    const auto done = p.run();
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(output(*done, 0, 0) == std::vector<double>{11, 2, 13, 4});
    CHECK(output(*done, 1, 0) == std::vector<double>{0, 0, 0, 0});
    CHECK(output(*done, 2, 0) == std::vector<double>{0, 0});
    CHECK(done->inputs[0].written);
    CHECK(done->inputs[0].by_rank[0].tensors[0].values<double>() == std::vector<double>{0, 0, 0, 0});
    CHECK(p.inputs[a][0].tensors[0].values<double>() == std::vector<double>{1, 2, 3, 4});
    CHECK(p.run()->outputs.size() == 4);  // and again
}

TEST_CASE("reshaping shares storage as long as strides can say it") {
    tensor_program p;
    const auto a = p.input("a", floats({2, 3}, {1, 2, 3, 4, 5, 6}), 1);
    const auto turned = p.add("turned", "aten.t.default", {a});
    const auto shared = p.add("shared", "aten.reshape.default", {turned}, "%0 [3, 1, 2]");
    const auto copied = p.add("copied", "aten.reshape.default", {turned}, "%0 [6]");
    p.add("first", "aten.fill_.Scalar", {shared}, "%0 9");
    p.output({a, copied});
    const auto done = p.run();
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(output(*done, 0, 0) == std::vector<double>{9, 9, 9, 9, 9, 9});
    CHECK(output(*done, 1, 0) == std::vector<double>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("numbers are extents and what is computed from them") {
    tensor_program p;
    const auto a = p.input("a", floats({3, 4}, std::vector<double>(12, 1)), 1);
    const auto n = p.add("n", "aten.sym_size.int", {a}, "%0 -1");
    const auto m = p.add("m", "aten.sym_numel.default", {a});
    const auto half = p.add("half", "floordiv", {m}, "%0 5");
    const auto sum = p.add("sum", "sym_sum", {n, half}, "[1, %0, %1]");
    const auto holds = p.add("holds", "ge", {sum}, "%0 7");
    p.add("assert", "aten._assert_scalar.default", {holds}, "%0 message");
    const auto z = p.add("z", "aten.new_zeros.default", {a, sum}, "%0 [%1, 2]");
    const auto minus = p.add("minus", "mod", {half}, "-7 3");
    p.output({z, sum, minus, p.add("stride", "aten.sym_stride.int", {a}, "%0 0")});
    const auto done = p.run();
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(done->outputs[0].by_rank[0].tensors[0].shape() == std::vector<std::int64_t>{7, 2});
    CHECK(done->outputs[1].by_rank[0].scalar == number::of(std::int64_t{7}));
    CHECK(done->outputs[2].by_rank[0].scalar == number::of(std::int64_t{2}));
    CHECK(done->outputs[3].by_rank[0].scalar == number::of(std::int64_t{4}));
    p.add("false", "lt", {sum}, "%0 7");
    const auto no =
        p.add("no", "aten._assert_scalar.default", {static_cast<std::uint32_t>(p.nodes.size() - 1)}, "%0 u<7");
    CHECK(no > 0);
    CHECK(why(p).find("does not hold: u<7") != std::string::npos);
}

TEST_CASE("collectives move rows between the ranks of a group") {
    CHECK(after("all_gather_into_tensor", "%0 2 g", on(2)) == rows{{0, 10}, {0, 10}});
    CHECK(after("all_gather_into_tensor", "%0 2 g", on(4, {stretto::strided_groups(4, 2, 1)})) ==
          rows{{0, 10}, {0, 10}, {20, 30}, {20, 30}});
    CHECK(after("all_gather_into_tensor", "%0 2 g", on(4, {stretto::strided_groups(4, 2, 2)})) ==
          rows{{0, 20}, {10, 30}, {0, 20}, {10, 30}});
    // Ranks stand in the order of their group, and groups need not be alike.
    CHECK(after("all_gather_into_tensor", "%0 2 g", on(4, {groups_of({{3, 0}, {1, 2}})})) ==
          rows{{30, 0}, {10, 20}, {10, 20}, {30, 0}});
    CHECK(after("all_reduce", "%0 sum g", on(3, {groups_of({{2, 0}, {1}})})) == rows{{20}, {10}, {20}});
    CHECK(after("reduce_scatter_tensor", "%0 sum 2 g", on(2), 2) == rows{{10}, {12}});
    CHECK(after("reduce_scatter_tensor", "%0 avg 2 g", on(2), 2) == rows{{5}, {6}});
    CHECK(after("all_reduce", "%0 sum g", on(3)) == rows{{30}, {30}, {30}});
    CHECK(after("all_reduce", "%0 max g", on(3)) == rows{{20}, {20}, {20}});
    CHECK(after("all_reduce", "%0 min g", on(3)) == rows{{0}, {0}, {0}});
    CHECK(after("all_reduce", "%0 avg g", on(3)) == rows{{10}, {10}, {10}});
    CHECK(after("all_reduce", "%0 product g", on(3), 2) == rows{{0, 231}, {0, 231}, {0, 231}});
    CHECK(after("all_to_all_single", "%0 [] [] g", on(2), 2) == rows{{0, 10}, {1, 11}});
    CHECK(after("all_to_all_single", "%0 [1, 1] [1, 1] g", on(2), 2) == rows{{0, 10}, {1, 11}});
}

TEST_CASE("a gather into a given tensor fills it, whoever looks at it") {
    const auto gathered = [](std::vector<std::int64_t> shape) {
        tensor_program p;
        const auto x = p.input("x", {floats({2}, {1, 2}), floats({2}, {3, 4})});
        const std::size_t n = static_cast<std::size_t>(shape[0]);
        const auto out = p.input("out", floats(std::move(shape), std::vector<double>(n, 0)), 2);
        const auto start =
            p.start("start", "_c10d_functional.all_gather_into_tensor_out.default", {x, out}, "%0 2 g out=%1");
        const auto wait = p.wait("wait", start);
        p.output({wait, p.add("same", "aten.alias.default", {out})});
        return p;
    };
    const auto done = gathered({4}).run(on(2));
    REQUIRE_MESSAGE(done, done.error().message());
    for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t rank = 0; rank < 2; ++rank) CHECK(output(*done, k, rank) == std::vector<double>{1, 2, 3, 4});
    CHECK(why(gathered({3}), on(2)).find("gathers") != std::string::npos);
}

TEST_CASE("split sizes may be computed by the program, and must agree") {
    // Rank r sends r + 1 rows to rank 0 and 1 to rank 1.
    tensor_program p;
    const auto x = p.input("x", {floats({2}, {1, 2}), floats({3}, {3, 4, 5})});
    const auto give = p.input("give", {integers({2}, {1, 1}), integers({2}, {2, 1})});
    const auto get = p.input("get", {integers({2}, {1, 2}), integers({2}, {1, 1})});
    std::vector<std::uint32_t> reads{x};
    for (const auto counts : {get, give})
        for (int k = 0; k < 2; ++k) {
            const std::string at = std::to_string(k), name = (counts == get ? "get_" : "give_") + at;
            const auto one = p.add(name + "_tensor", "aten.select.int", {counts}, "%0 0 " + at);
            reads.push_back(p.add(name, "aten._local_scalar_dense.default", {one}));
        }
    const auto sent = p.start("sent", "_c10d_functional.all_to_all_single.default", reads, "%0 [%1, %2] [%3, %4] g");
    p.output({p.wait("wait", sent)});
    const auto done = p.run(on(2));
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(output(*done, 0, 0) == std::vector<double>{1, 3, 4});
    CHECK(output(*done, 0, 1) == std::vector<double>{2, 5});

    p.inputs[get][0].tensors[0] = integers({2}, {1, 1});
    const std::string message = why(p, on(2));
    CHECK(message.find("sent (_c10d_functional.all_to_all_single.default) on rank 0: split sizes disagree") == 0);
    CHECK(message.find("get_1 = 1") != std::string::npos);  // where the wrong size is from
    p.inputs[give][0].tensors[0] = integers({2}, {1, 2});
    CHECK(why(p, on(2)).find("sends [1, 2] rows but has 2") != std::string::npos);
}

TEST_CASE("ranks exchange rows of one type") {
    tensor_program p;
    const auto x = p.input("x", {floats({2}, {1, 2}), integers({2}, {3, 4})});
    p.output({p.wait("wait", p.start("start", "_c10d_functional.all_to_all_single.default", {x}, "%0 [] [] g"))});
    CHECK(why(p, on(2)).find("ranks disagree: position 0 of the group sends f64[2], position 1 sends i64[2]") !=
          std::string::npos);
    CHECK(after("all_to_all_single", "%0 [] [] g", on(3), 6) ==
          rows{{0, 1, 10, 11, 20, 21}, {2, 3, 12, 13, 22, 23}, {4, 5, 14, 15, 24, 25}});
}

TEST_CASE("what is in flight has a shape and no data") {
    tensor_program p;
    const auto x = p.input("x", floats({1, 3}, {1, 2, 3}), 2);
    const auto start = p.start("start", "_c10d_functional.all_gather_into_tensor.default", {x}, "%0 2 g");
    const auto n = p.add("n", "aten.sym_size.int", {start}, "%0 0");
    const auto like = p.add("like", "aten.zeros_like.default", {start});
    const auto wait = p.wait("wait", start);
    const auto again = p.wait("again", wait);  // waits for nothing
    const auto sum = p.add("sum", "aten.sum.default", {again});
    p.output({n, like, sum});
    const auto done = p.run(on(2));
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(done->outputs[0].by_rank[1].scalar == number::of(std::int64_t{2}));
    CHECK(output(*done, 2, 1) == std::vector<double>{12});

    for (const char* reader : {"aten.sum.default", "aten.neg.default", "aten.reshape.default", "aten.alias.default"}) {
        tensor_program early;
        const auto y = early.input("y", floats({1, 3}, {1, 2, 3}), 2);
        const auto flying = early.start("flying", "_c10d_functional.all_gather_into_tensor.default", {y}, "%0 2 g");
        early.add("reader", reader, {flying}, "%0 [6]");
        early.output({early.wait("wait", flying)});
        CHECK(why(early, on(2))
                  .find("reader (" + std::string(reader) + ") on rank 0: reads the data of a collective in flight") ==
              0);
    }
    tensor_program lost;
    const auto y = lost.input("y", floats({1}, {1}), 2);
    lost.output({lost.start("flying", "_c10d_functional.all_reduce.default", {y}, "%0 sum g")});
    CHECK(why(lost, on(2)).find("returns flying, which is in flight") != std::string::npos);
}

TEST_CASE("what a collective reads must not be written before its wait") {
    for (const bool early : {true, false}) {
        tensor_program p;
        const auto x = p.input("x", floats({2}, {1, 2}), 2);
        const auto part = p.add("part", "aten.slice.Tensor", {x}, "%0 0 1 2");
        const auto start = p.start("start", "_c10d_functional.all_reduce.default", {x}, "%0 sum g");
        if (early) p.add("write", "aten.zero_.default", {part});
        const auto wait = p.wait("wait", start);
        if (!early) p.add("write", "aten.zero_.default", {part});
        p.output({wait, x});
        if (early)
            CHECK(why(p, on(2)).find(
                      "wait (_c10d_functional.wait_tensor.default) on rank 0: what the collective reads was written") ==
                  0);
        else CHECK(why(p, on(2)) == "runs");
    }
}

TEST_CASE("what a collective writes in place is in flight under every name until its wait") {
    const auto program = [](const std::string& reader, std::string_view arguments, bool early, bool is_view = false) {
        tensor_program p;
        const auto x = p.input("x", floats({4}, {1, 2, 3, 4}), 2);
        const auto part = p.add("part", "aten.slice.Tensor", {x}, "%0 0 0 2");
        const auto start = p.start("start", "_c10d_functional.all_reduce_.default", {part}, "%0 sum g");
        const auto wait = early ? 0 : p.wait("wait", start);
        const auto read = p.add("reader", reader, {x}, arguments);
        if (is_view) p.nodes[read].kind = stretto::op_kind::view;
        p.output({early ? p.wait("wait", start) : wait, read});
        return p;
    };
    const std::string refused = "reader (aten.clone.default) on rank 0: reads the data of a collective in flight";
    CHECK(why(program("aten.clone.default", "%0", true), on(2)).find(refused) == 0);
    CHECK(why(program("aten.clone.default", "%0", false), on(2)) == "runs");
    CHECK(why(program("aten.zero_.default", "%0", true), on(2)).find("in flight") != std::string::npos);
    // Views and shapes read no data.
    CHECK(why(program("aten.view.default", "%0 [2, 2]", true, true), on(2)) == "runs");
    CHECK(why(program("aten.sym_size.int", "%0 0", true), on(2)) == "runs");

    tensor_program other;
    const auto x = other.input("x", floats({4}, {1, 2, 3, 4}), 2);
    const auto front = other.add("front", "aten.slice.Tensor", {x}, "%0 0 0 2"),
               back = other.add("back", "aten.slice.Tensor", {x}, "%0 0 2 4");
    const auto start = other.start("start", "_c10d_functional.all_reduce_.default", {front}, "%0 sum g");
    const auto copy = other.add("copy", "aten.clone.default", {back});  // another part of the storage
    const auto wait = other.wait("wait", start);
    other.output({wait, copy, x});
    const auto done = other.run(on(2));
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(output(*done, 1, 0) == std::vector<double>{3, 4});
    CHECK(output(*done, 2, 0) == std::vector<double>{2, 4, 3, 4});

    tensor_program lost;
    const auto y = lost.input("y", floats({1}, {1}), 2);
    lost.start("start", "_c10d_functional.all_reduce_.default", {y}, "%0 sum g");
    lost.output({y});
    CHECK(why(lost, on(2)).find("returns y, which is in flight") != std::string::npos);
}

TEST_CASE("an operator that is not known ends the run") {
    CHECK(cause_of("aten.foo.default", {floats({1}, {1})}, "") == "the interpreter does not know this operator");
    CHECK(cause_of("aten.add.Foo", {floats({1}, {1})}, "") == "the interpreter does not know this operator");
    CHECK(cause_of("aten.sum_.default", {floats({1}, {1})}, "") == "the interpreter does not know this operator");
    CHECK(cause_of("aten.add", {floats({1}, {1})}, "") == "the interpreter does not know this operator");
    CHECK(cause_of("flex_attention", {floats({1}, {1})}, "") == "the interpreter does not know this operator");
    CHECK(cause_of("stretto.pack", {floats({1}, {1})}, "") == "the interpreter does not know this operator");
    tensor_program p;
    p.output({p.start("send", "_c10d_functional.send.default", {p.input("x", floats({1}, {1}), 1)}, "")});
    CHECK(why(p).find(
              "send (_c10d_functional.send.default) on rank 0: the interpreter does not know this collective") == 0);
}

TEST_CASE("recorded types are checked") {
    tensor_program p;
    const auto x = p.input("x", floats({2, 3}, {1, 2, 3, 4, 5, 6}), 1);
    const auto y = p.add("y", "aten.sum.dim_IntList", {x}, "%0 [0]");
    p.output({y});
    p.record(y, element_type::f64, {3});
    interpreter_options exact;
    exact.recorded = recorded_types::exact;
    CHECK(why(p, exact) == "runs");
    p.record(y, element_type::f64, {4});
    CHECK(why(p, exact).find("made f64[3] where f64[4] is recorded") != std::string::npos);
    const auto listed = p.run();
    REQUIRE(listed);
    REQUIRE(listed->other_extents.size() == 1);
    CHECK(listed->other_extents[0].vertex == y);
    CHECK(listed->other_extents[0].shape == std::vector<std::int64_t>{3});
    p.record(y, element_type::f32, {3});
    CHECK(why(p).find("made f64[3] where f32[3] is recorded") != std::string::npos);
    p.record(y, element_type::f64, {1, 3});
    CHECK(why(p).find("made f64[3] where f64[1, 3] is recorded") != std::string::npos);
    interpreter_options none;
    none.recorded = recorded_types::ignored;
    CHECK(why(p, none) == "runs");
}

TEST_CASE("operands that do not fit are told, with what they are") {
    const tensor a = floats({2, 3}, std::vector<double>(6)), b = floats({2}, {1, 2});
    CHECK(cause_of("aten.add.Tensor", {a, b}, "") == "shapes [2, 3] and [2] do not fit each other");
    CHECK(cause_of("aten.mm.default", {a, a}, "").find("is no product of matrices") != std::string::npos);
    CHECK(cause_of("aten.view.default", {a}, "%0 [4]") == "makes shape [4] of 6 elements");
    CHECK(cause_of("aten.view.default", {a}, "%0 [-1, 4]").find("of 6 elements") != std::string::npos);
    CHECK(cause_of("aten.view.default", {a}, "%0 [-1, -1]").find("of 6 elements") != std::string::npos);
    CHECK(cause_of("aten.expand.default", {a}, "%0 [4, 3]") == "expands f64[2, 3] to [4, 3]");
    CHECK(cause_of("aten.permute.default", {a}, "%0 [0, 0]") == "names a dimension twice");
    CHECK(cause_of("aten.select.int", {a}, "%0 0 2") == "position 2 does not exist in f64[2, 3]");
    CHECK(cause_of("aten.split_with_sizes.default", {a}, "%0 [1, 3] 0").find("are not what f64[2, 3] consists of") !=
          std::string::npos);
    CHECK(cause_of("aten.sum.dim_IntList", {a}, "%0 [2]") == "dimension 2 of a tensor that has 2");
    CHECK(cause_of("aten.gather.default", {a, integers({1, 1}, {3})}, "%0 1 %1") == "position 3 of a dimension with 3");
    CHECK(cause_of("aten.gather.default", {a, integers({1, 1}, {-1})}, "%0 1 %1") ==
          "position -1 of a dimension with 3");
    CHECK(cause_of("aten.index.Tensor", {a, integers({1}, {2})}, "%0 [%1]") == "position 2 of a dimension with 2");
    CHECK(cause_of("aten.embedding.default", {a, integers({1}, {2})}, "") == "position 2 of a dimension with 2");
    CHECK(cause_of("aten.index_put.default", {a, integers({1}, {0}), b}, "%0 [%1] %2")
              .find("[1, 3] and [2] do not fit") != std::string::npos);
    CHECK(cause_of("aten.cat.default", {a, b}, "[%0, %1]") == "f64[2] cannot stand behind f64[2, 3]");
    CHECK(cause_of("aten.topk.default", {a}, "%0 4").find("takes 4 elements") == 0);
    CHECK(cause_of("aten.floor_divide.default", {integers({1}, {1})}, "%0 0") == "divides an integer by zero");
    CHECK(cause_of("aten.repeat_interleave.Tensor", {integers({1}, {2})}, "%0 output_size=3").find("makes 2 rows") ==
          0);
    CHECK(cause_of("aten.nll_loss_forward.default", {a, integers({2}, {0, 3})}, "%0 %1 none 1 -100") == "class 3 of 3");
    CHECK(cause_of("aten._to_copy.default", {a}, "%0 dtype=f80").find("is no element type") != std::string::npos);
    CHECK(cause_of("aten.view_as_complex.default", {a}, "").find("no adjacent pairs") != std::string::npos);
    CHECK(cause_of("aten.add_.Tensor", {integers({2}, {1, 2}), b}, "").find("cannot be stored as i64[2]") !=
          std::string::npos);
    CHECK(cause_of("aten.add_.Tensor", {floats({1}, {1}), b}, "") == "the result does not fit into f64[1]");
    CHECK(cause_of("aten._grouped_mm.default", {a, floats({1, 3, 2}, std::vector<double>(6)), integers({1}, {3})}, "")
              .find("do not ascend within 2") != std::string::npos);
}

TEST_CASE("operands of other extents are told before anything beyond them is read") {
    const tensor four = floats({4}, {1, 2, 3, 4});
    CHECK(cause_of("aten.index_reduce.default", {four, integers({2}, {0, 1}), four}, "%0 0 %1 %2 amax") ==
          "has 2 positions for the rows of f64[4]");
    const double infinite = std::numeric_limits<double>::infinity();
    const std::string no_width = "has bounds that are not finite, or so large that no interval has a width";
    CHECK(cause_of("aten.histc.default", {floats({2}, {1, infinite})}, "%0 4") == no_width);
    CHECK(cause_of("aten.histc.default", {floats({2}, {1, std::nan("")})}, "%0 4") == no_width);
    CHECK(cause_of("aten.histc.default", {floats({2}, {1e300, 1e300})}, "%0 4") == no_width);
    CHECK(cause_of("aten.histc.default", {floats({2}, {1, 2})}, "%0 4 0 inf") == no_width);
    const tensor image = floats({1, 1, 2}, {1, 2}), kernel = floats({1, 1, 4}, {1, 1, 1, 1});
    CHECK(cause_of("aten.convolution.default", {image, kernel}, "%0 %1 none [3] [0] [1] false [0] 1") ==
          "has a kernel that is larger than f64[1, 1, 2] with its padding");
    CHECK(cause_of("aten.convolution.default", {image, kernel}, "%0 %1 none [3] [1] [1] false [0] 1") == "runs");
    const tensor q = floats({1, 2, 2}, {1, 2, 3, 4}), lse = floats({1, 2}, {0, 0}), wide = floats({1, 2, 1}, {1, 2});
    CHECK(cause_of("aten._scaled_dot_product_efficient_attention_backward.default", {wide, q, q, q, wide, lse},
                   "%0 %1 %2 %3 none %4 %5 none none 0.0 [true, true, true, false]")
              .find("no gradient of attention") == 0);
    CHECK(cause_of("aten.view.default", {floats({6}, std::vector<double>(6))}, "%0 [-2, -3]") ==
          "makes shape [-2, -3] of 6 elements");
    CHECK(cause_of("aten.view.default", {four}, "%0 [2.5]") == "argument size holds something else than integers");
}

TEST_CASE("the extremes of rows are refused only if the rows are empty") {
    const tensor none = floats({0, 8}, {});
    const auto shape = [](const auto& done, std::size_t k = 0) {
        return done->outputs[0].by_rank[0].tensors[k].shape();
    };
    const std::string why_not = "there is no extreme element of none";
    for (const char* op : {"aten.amax.default", "aten.argmax.default", "aten.max.dim"}) {
        CAPTURE(op);
        const auto done = run_operator(op, {none}, "%0 1");
        REQUIRE_MESSAGE(done, done.error().message());
        CHECK(shape(done) == std::vector<std::int64_t>{0});
        CHECK(cause_of(op, {none}, "%0 0") == why_not);
    }
    CHECK(shape(run_operator("aten.min.dim", {none}, "%0 1 true"), 1) == std::vector<std::int64_t>{0, 1});
    CHECK(cause_of("aten.amax.default", {none}, "%0") == why_not);
    CHECK(cause_of("aten.argmin.default", {none}, "%0") == why_not);
    CHECK(cause_of("aten.max.default", {none}, "%0") == why_not);
}

TEST_CASE("rows without elements have a mean that is no number") {
    const auto done = run_operator("aten.native_layer_norm.default", {floats({2, 0}, {})}, "%0 [0] none none 0.1");
    REQUIRE_MESSAGE(done, done.error().message());
    CHECK(done->outputs[0].by_rank[0].tensors[0].elements() == 0);
    CHECK(done->outputs[0].by_rank[0].tensors[1].shape() == std::vector<std::int64_t>{2, 1});
    CHECK(std::isnan(done->outputs[0].by_rank[0].tensors[1].values<double>()[1]));
}

TEST_CASE("sizes are read under every name that operators give them") {
    const tensor x = floats({4}, {1, 2, 3, 4});
    for (const char* arguments : {"%0 size=[2, 2]", "%0 shape=[2, 2]"}) {
        const auto done = run_operator("aten.reshape.default", {x}, arguments);
        REQUIRE_MESSAGE(done, done.error().message());
        CHECK(done->outputs[0].by_rank[0].tensors[0].shape() == std::vector<std::int64_t>{2, 2});
    }
    CHECK(cause_of("aten.split_with_sizes.default", {x}, "%0 split_sizes=[1, 3]") == "runs");
    CHECK(cause_of("aten.split.Tensor", {x}, "%0 split_size=2") == "runs");
}

TEST_CASE("groups must hold every rank once, and be of the size that the program says") {
    tensor_program p;
    const auto x = p.input("x", numbered(4));
    p.output({p.wait("wait", p.start("start", "_c10d_functional.all_gather_into_tensor.default", {x}, "%0 2 g"))});
    CHECK(why(p, on(4)).find("the arguments say 2 ranks, the group has 4") != std::string::npos);
    CHECK(why(p, on(4, {groups_of({{0, 2}, {1}})})).find("on rank 3: is in no group whose") != std::string::npos);
    CHECK(why(p, on(4, {groups_of({{0, 2}, {1, 0}})})).find("on rank 0: is in two groups, or twice in one") !=
          std::string::npos);
    CHECK(why(p, on(4, {groups_of({{0, 2}, {1, 4}})})).find("a group has rank 4 of 4") != std::string::npos);
    stretto::process_groups sizes_only;
    sizes_only.add({.size = 4});
    CHECK(why(p, on(4, {sizes_only})).find("on rank 0: is in no group whose") != std::string::npos);
    CHECK(why(p, on(4, {stretto::strided_groups(4, 2, 1)})) == "runs");
    p.inputs[x][1].tensors[0] = floats({2}, {1, 2});
    CHECK(why(p, on(4, {stretto::strided_groups(4, 2, 1)}))
              .find("ranks disagree: position 0 of the group sends f64[1], position 1 sends f64[2]") !=
          std::string::npos);
}

TEST_CASE("a gradient that nobody asks for keeps its place among those of a normalisation") {
    const tensor twos = floats({2, 2}, {2, 2, 2, 2}), one_a_row = floats({2, 1}, {1, 1});
    tensor_program p;
    const auto gradient = p.input("gradient", floats({2, 2}, {1, 2, 3, 5}), 1), x = p.input("x", twos, 1),
               mean = p.input("mean", floats({2, 1}, {0, 0}), 1), scale = p.input("scale", one_a_row, 1),
               weight = p.input("weight", floats({2}, {1, 1}), 1);
    const auto all = p.add("all", "aten.native_layer_norm_backward.default", {gradient, x, mean, scale, weight},
                           "%0 %1 [2] %2 %3 %4 %4 [false,true,true]");
    const auto by_root = p.add("by_root", "aten._fused_rms_norm_backward.default", {gradient, x, scale, weight},
                               "%0 %1 [2] %2 %3 [false,true]");
    p.output({p.add("of_weight", "getitem", {all}, "%0 1"), p.add("of_bias", "getitem", {all}, "%0 2"),
              p.add("of_root", "getitem", {by_root}, "%0 1")});
    const auto done = p.run();
    REQUIRE(done);
    CHECK(output(*done, 0, 0) == std::vector<double>{8, 14});  // twice that of the bias
    CHECK(output(*done, 1, 0) == std::vector<double>{4, 7});
    CHECK(output(*done, 2, 0) == std::vector<double>{8, 14});
    p.nodes.pop_back();
    const auto read = [&](std::string_view index) {
        tensor_program q = p;
        q.output({q.add("member", "getitem", {all}, "%0 " + std::string(index))});
        return q.run();
    };
    CHECK(output(*read("-1"), 0, 0) == std::vector<double>{4, 7});
    CHECK(read("0")->outputs[0].by_rank[0].tensors.empty());
    CHECK(read("-3")->outputs[0].by_rank[0].tensors.empty());
    CHECK(read("3").error().cause == "takes member 3 of 3");
    CHECK(read("-4").error().cause == "takes member -1 of 3");
}

TEST_CASE("numbers of the program are divided as Python divides them") {
    tensor_program p;
    const auto x = p.input("x", floats({1}, {1}), 1), by = p.input("by", floats({1}, {0.1}), 1);
    const auto a = p.add("a", "aten.item.default", {x}), b = p.add("b", "aten.item.default", {by});
    p.output({p.add("floor", "floordiv", {a, b}), p.add("rest", "mod", {a, b})});
    const auto done = p.run();
    REQUIRE(done);
    CHECK(done->outputs[0].by_rank[0].scalar.real == 9);
    CHECK(done->outputs[1].by_rank[0].scalar.real == 0.09999999999999995);
    p.add("assert", "aten._assert_scalar.default", {p.add("less", "lt", {a, b}), a, b}, "%0 message");
    CHECK(why(p).find("it reads less = 0, a = 1, b = 0.1") != std::string::npos);
}

TEST_CASE("integers cannot be stored as truth values in place") {
    const tensor truths = tensor::of_integers(element_type::boolean, {2}, {0, 1});
    CHECK(cause_of("aten.add_.Tensor", {truths, integers({2}, {1, 2})}, "").find("cannot be stored as bool[2]") !=
          std::string::npos);
    CHECK(cause_of("aten.copy_.default", {truths, integers({2}, {1, 2})}, "") == "runs");
}

TEST_CASE("fresh memory shows") {
    const auto done = run_operator("aten.new_empty.default", {floats({1}, {1})}, "%0 [2]");
    REQUIRE(done);
    CHECK(std::isnan(output(*done, 0, 0)[1]));
    CHECK(cause_of("aten.index.Tensor", {floats({1}, {1}), integers({1}, {0})}, "%0 [%1]") == "runs");
    tensor_program p;
    const auto x = p.input("x", floats({3}, {1, 2, 3}), 1);
    const auto positions = p.add("positions", "aten.new_empty.default", {x}, "%0 [1] dtype=i64");
    p.output({p.add("read", "aten.index.Tensor", {x, positions}, "%0 [%1]")});
    CHECK(why(p).find("read (aten.index.Tensor) on rank 0: position ") == 0);
}

TEST_CASE("rounding is an option") {
    tensor_program p;
    const auto x = p.input("x", tensor::of(element_type::bf16, {1}, {1.0 / 3}), 1);
    p.output({p.add("y", "aten.mul.Tensor", {x}, "%0 %0")});
    interpreter_options round;
    round.round = true;
    CHECK(output(*p.run(), 0, 0)[0] == 1.0 / 3 * (1.0 / 3));
    CHECK(output(*p.run(round), 0, 0)[0] == 0.111328125);  // of 0.333984375 squared
}

TEST_CASE("runs are compared bit by bit, and the first difference is named") {
    tensor_program p;
    const auto x = p.input("x", numbered(2, 3));
    const auto y = p.add("y", "aten.mul.Tensor", {x}, "%0 2");
    p.output({y});
    const auto one = p.run(on(2));
    CHECK(compare(*one, *p.run(on(2))).empty());
    p.inputs[x][1].tensors[0] = floats({3}, {10, 11.5, 12});
    const auto found = compare(*one, *p.run(on(2)));
    REQUIRE(found.size() == 1);
    CHECK(found[0].message() == "output 0 (y) on rank 1, element 1: 22 against 23");
    tensor_program in_place;
    const auto z = in_place.input("x", numbered(2, 3));
    const auto w = in_place.add("y", "aten.mul_.Tensor", {z}, "%0 2");
    in_place.output({w});
    const auto written = compare(*one, *in_place.run(on(2)));
    REQUIRE(written.size() == 1);
    CHECK(written[0].message() == "input 0 (x) on rank 0, element 1: 1 against 2");
    tensor_program fewer;
    fewer.output({fewer.add("y", "aten.neg.default", {fewer.input("x", numbered(1, 3))})});
    CHECK(compare(*one, *fewer.run())[0].message().find("2 ranks against 1 ranks") != std::string::npos);
    tensor_program more;
    more.output({more.input("x", numbered(2, 3)), 0});
    CHECK(compare(*one, *more.run(on(2)))[0].where == "the number of outputs");
}

TEST_CASE("any order that respects dependences gives the same bits") {
    tensor_program p;
    const auto x = p.input("x", numbered(2, 2));
    const auto a = p.add("a", "aten.exp.default", {x});
    const auto s = p.start("s", "_c10d_functional.all_reduce.default", {x}, "%0 sum g");
    const auto w = p.wait("w", s);
    const auto b = p.add("b", "aten.div.Tensor", {a, w});
    const auto out = p.output({b});
    const std::vector<std::uint32_t> order{x, s, a, w, b, out};
    const support::program_view view{&p};
    const support::program_model model{&p};
    const auto done = interpret_in_order(
        view, order, model, model, [&](std::uint32_t v) { return std::span<const interpreted_value>(p.inputs[v]); },
        on(2));
    REQUIRE(done);
    CHECK(compare(*done, *p.run(on(2))).empty());
}

TEST_CASE("inputs lie where their readers want them") {
    tensor_program p;
    const auto table = p.input("table", {}), tokens = p.input("tokens", {}), targets = p.input("targets", {});
    const auto shard = p.input("shard", {}), count = p.input("count", {}), flags = p.input("flags", {}),
               turns = p.input("turns", {});
    p.record(table, element_type::f32, {5, 2});
    p.record(tokens, element_type::i64, {4, 8});
    p.record(targets, element_type::i32, {32});
    p.record(shard, element_type::bf16, {64});
    p.record(count, element_type::i64, {});
    p.record(flags, element_type::boolean, {16});
    p.record(turns, element_type::c64, {3, 2});
    const auto flat = p.add("flat", "aten.view.default", {tokens}, "%0 [32]");
    p.nodes[flat].kind = stretto::op_kind::view;
    p.record(flat, element_type::i64, {32});
    const auto rows_of = p.add("rows", "aten.embedding.default", {table, flat});
    p.record(rows_of, element_type::f32, {32, 2});
    const auto cast = p.add("cast", "aten._to_copy.default", {targets}, "%0 dtype=i64");
    p.record(cast, element_type::i64, {32});
    p.add("loss", "aten.nll_loss_forward.default", {rows_of, cast}, "%0 %1 none 1 -100");
    const auto wide = p.add("wide", "aten._to_copy.default", {shard}, "%0 dtype=f32");
    p.record(wide, element_type::f32, {64});
    p.start("gather", "_c10d_functional.all_gather_into_tensor.default", {wide}, "%0 2 g");
    const support::program_view view{&p};
    const support::program_model model{&p};
    input_options options;
    options.ranks = 2;
    const auto made = make_inputs(view, model, model, options);
    std::vector<bool> seen(5);
    for (const std::int64_t t : made[tokens][0].tensors[0].values<std::int64_t>()) {
        REQUIRE((t >= 0 && t < 5));
        seen[static_cast<std::size_t>(t)] = true;
    }
    CHECK(seen == std::vector<bool>(5, true));
    for (const std::int64_t t : made[targets][1].tensors[0].values<std::int64_t>()) CHECK((t == 0 || t == 1));
    CHECK(made[count][0].tensors[0].values<std::int64_t>() == std::vector<std::int64_t>{64});
    CHECK(identical(made[table][0].tensors[0], made[table][1].tensors[0]));
    CHECK_FALSE(identical(made[shard][0].tensors[0], made[shard][1].tensors[0]));
    CHECK_FALSE(identical(made[tokens][0].tensors[0], made[tokens][1].tensors[0]));
    for (const complex_number z : made[turns][0].tensors[0].values<complex_number>())
        CHECK(z.re * z.re + z.im * z.im == doctest::Approx(1));
    for (const double f : made[table][0].tensors[0].values<double>()) CHECK(f * 8 == std::floor(f * 8));
    options.whole_numbers = true;
    for (const double f : make_inputs(view, model, model, options)[table][0].tensors[0].values<double>())
        CHECK(f == std::floor(f));
    const auto hooked =
        make_inputs(view, model, model, options, [&](std::uint32_t v, std::size_t rank, interpreted_value& x) {
            if (p.nodes[v].name == "count") x.tensors[0] = integers({}, {static_cast<std::int64_t>(rank)});
        });
    CHECK(hooked[count][1].tensors[0].values<std::int64_t>() == std::vector<std::int64_t>{1});
    options.integers_below = 1;
    for (const std::int64_t t : make_inputs(view, model, model, options)[tokens][0].tensors[0].values<std::int64_t>())
        CHECK(t == 0);
}

TEST_CASE("positions lie within the dimension that they index") {
    tensor_program p;
    const auto table = p.input("table", {}), columns = p.input("columns", {}), named = p.input("named", {}),
               listed = p.input("listed", {}), masked = p.input("masked", {}), mask = p.input("mask", {});
    p.record(table, element_type::f32, {100, 3, 2});
    for (const auto positions : {columns, named, listed, masked}) p.record(positions, element_type::i64, {64});
    p.record(mask, element_type::boolean, {100, 3});
    p.add("added", "aten.index_add.default", {table, columns, table}, "%0 1 %1 %2");
    p.add("selected", "aten.index_select.default", {table, named}, "%0 dim=1 index=%1");
    p.add("indexed", "aten.index.Tensor", {table, listed}, "%0 [none, %1]");
    p.add("behind", "aten.index_put.default", {table, mask, masked}, "%0 indices=[%1, %2]");
    const support::program_view view{&p};
    const support::program_model model{&p};
    const auto made = make_inputs(view, model, model, input_options{});
    const auto largest = [&](std::uint32_t v) {
        std::int64_t top = -1;
        for (const std::int64_t x : made[v][0].tensors[0].values<std::int64_t>()) top = x > top ? x : top;
        return top;
    };
    CHECK(largest(columns) == 2);
    CHECK(largest(named) == 2);
    CHECK(largest(listed) == 2);
    CHECK(largest(masked) == 1);
}
