#include "stretto/aten/aten_linear_model.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "aten/tensor_program.hpp"

using namespace stretto;
using support::program_model;
using support::program_view;
using support::tensor_program;

namespace {

linear_kind kind_of(const tensor_program& p, std::uint32_t v) {
    return aten_linear_model<program_view, program_model>(program_view{&p}, program_model{&p}).linearity(v);
}

struct two_matrices {
    tensor_program p;
    std::uint32_t a, b;
    two_matrices()
        : a(p.input("a", support::floats({2, 3}, {0, 0, 0, 0, 0, 0}), 1)),
          b(p.input("b", support::floats({2, 3}, {0, 0, 0, 0, 0, 0}), 1)) {
        p.record(a, element_type::f64, {2, 3});
        p.record(b, element_type::f64, {2, 3});
    }
    linear_kind of(const char* op, std::vector<std::uint32_t> reads, const char* arguments,
                   std::vector<std::int64_t> shape, element_type e = element_type::f64) {
        const std::uint32_t v = p.add("v", op, std::move(reads), arguments);
        p.record(v, e, std::move(shape));
        return kind_of(p, v);
    }
};

}  // namespace

TEST_CASE("additions of two tensors of one shape are sums") {
    two_matrices m;
    CHECK(m.of("aten.add.Tensor", {m.a, m.b}, "", {2, 3}) == linear_kind::sum);
    CHECK(m.of("aten.add_.Tensor", {m.a, m.b}, "%1 %0", {2, 3}) == linear_kind::sum);
    CHECK(m.of("aten.add.Tensor", {m.a, m.b}, "%0 %1 alpha=2", {2, 3}) == linear_kind::other);
    CHECK(m.of("aten.add.Tensor", {m.a, m.b}, "%0 %0", {2, 3}) == linear_kind::other);
    CHECK(m.of("aten.add.Tensor", {m.a}, "%0 %0", {2, 3}) == linear_kind::other);
    CHECK(m.of("aten.add.Tensor", {m.a}, "%0 1", {2, 3}) == linear_kind::other);
    CHECK(m.of("aten.add.Tensor", {m.a, m.b}, "", {4, 2, 3}) == linear_kind::other);
    CHECK(m.of("aten.add.Tensor", {m.a, m.b}, "", {2, 3}, element_type::f32) == linear_kind::other);
    CHECK(m.of("aten.sub.Tensor", {m.a, m.b}, "", {2, 3}) == linear_kind::other);
}

TEST_CASE("views that have every element once are relayouts, casts and cuts are not") {
    two_matrices m;
    CHECK(m.of("aten.alias.default", {m.a}, "", {2, 3}) == linear_kind::same);
    CHECK(m.of("aten.view.default", {m.a}, "%0 [2, 3]", {2, 3}) == linear_kind::same);
    CHECK(m.of("aten.view.default", {m.a}, "%0 [6]", {6}) == linear_kind::relayout);
    CHECK(m.of("aten.t.default", {m.a}, "", {3, 2}) == linear_kind::relayout);
    CHECK(m.of("aten.expand.default", {m.a}, "%0 [2, 3]", {2, 3}) == linear_kind::other);
    CHECK(m.of("aten.slice.Tensor", {m.a}, "%0 0 0 1", {1, 3}) == linear_kind::other);
    CHECK(m.of("aten._to_copy.default", {m.a}, "%0 dtype=f32", {2, 3}, element_type::f32) == linear_kind::other);
    CHECK(m.of("aten.mul.Tensor", {m.a, m.b}, "", {2, 3}) == linear_kind::other);
}

TEST_CASE("a square that is turned is no alias") {
    tensor_program p;
    const std::uint32_t a = p.input("a", support::floats({2, 2}, {0, 0, 0, 0}), 1),
                        t = p.add("t", "aten.t.default", {a});
    p.record(a, element_type::f64, {2, 2});
    p.record(t, element_type::f64, {2, 2});
    CHECK(kind_of(p, t) == linear_kind::relayout);
}

TEST_CASE("starts are alike if they differ in their data alone") {
    two_matrices m;
    const char* op = "_c10d_functional.reduce_scatter_tensor.default";
    const auto start = [&](std::uint32_t x, const char* arguments, element_type e = element_type::f64) {
        const std::uint32_t v = m.p.start("r", op, {x}, arguments);
        m.p.record(v, e, {1, 3});
        return v;
    };
    const std::uint32_t one = start(m.a, "%0 sum 2 dp"), two = start(m.b, "%0 sum 2 dp"),
                        most = start(m.b, "%0 max 2 dp");
    const std::uint32_t group = start(m.b, "%0 sum 2 ep"), type = start(m.b, "%0 sum 2 dp", element_type::other);
    const aten_linear_model<program_view, program_model> model(program_view{&m.p}, program_model{&m.p});
    CHECK(model.alike(one, two));
    CHECK_FALSE(model.alike(one, most));
    CHECK_FALSE(model.alike(one, group));
    CHECK_FALSE(model.alike(one, type));
    CHECK_FALSE(model.alike(type, type));  // what is not known is alike to nothing
    CHECK_FALSE(model.alike(one, m.p.wait("w", one)));
}

TEST_CASE("real arguments are compared bit by bit, so that a start with a NaN is alike to itself") {
    two_matrices m;
    const auto start = [&](double factor) {
        const std::uint32_t v = m.p.start("r", "_c10d_functional.all_reduce.default", {m.a}, "%0 sum dp 0.5");
        m.p.nodes[v].positional.back().real = factor;
        m.p.record(v, element_type::f64, {2, 3});
        return v;
    };
    const double none = std::numeric_limits<double>::quiet_NaN();
    const std::uint32_t one = start(none), two = start(none), zero = start(0.0), below = start(-0.0);
    const aten_linear_model<program_view, program_model> model(program_view{&m.p}, program_model{&m.p});
    CHECK(model.alike(one, one));
    CHECK(model.alike(one, two));
    CHECK_FALSE(model.alike(one, zero));
    CHECK_FALSE(model.alike(zero, below));
}
