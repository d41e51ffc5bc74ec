#include "stretto/aten/aten_dialect.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/aten_case.hpp"
#include "stretto/aten/argument_spelling.hpp"
#include "stretto/transform/chunk_rules/all_kinds.hpp"
#include "stretto/transform/chunk_rules/value_history.hpp"

using namespace stretto;
using dialect = aten_dialect<aten_case::call_view, aten_case::call_tensors>;
using form = tensor_argument::form;

static_assert(chunk_dialect<dialect, aten_case::call_view>);

namespace {

tensor_argument operand(std::int64_t k) { return {form::operand, k, 0, {}, {}}; }
tensor_argument integer(std::int64_t n) { return {form::integer, n, 0, {}, {}}; }
tensor_argument real(double x) { return {form::real, 0, x, {}, {}}; }
tensor_argument truth(bool x) { return {form::truth, x, 0, {}, {}}; }
tensor_argument list(const std::vector<tensor_argument>& items) { return {form::list, 0, 0, {}, items}; }

chunk_rules::any_rule rule(std::string_view name, std::vector<tensor_argument> positional,
                           std::vector<named_tensor_argument> named = {}) {
    aten_case::call c;
    c.name = name;
    c.positional = std::move(positional);
    c.named = std::move(named);
    return dialect(aten_case::call_tensors{&c, c.positional, c.named}).rule(c.vertex());
}

}  // namespace

TEST_CASE("operators are decoded into kinds") {
    const auto product = rule("aten.bmm.default", {operand(1), operand(0)});
    REQUIRE(product.as<chunk_rules::matrix_product>() != nullptr);
    CHECK(product.as<chunk_rules::matrix_product>()->left == 1);
    CHECK(product.as<chunk_rules::matrix_product>()->left_batch.size() == 1);
    const std::vector<tensor_argument> dims = {integer(-1), integer(0)};
    const auto sum = rule("aten.sum.dim_IntList", {operand(0), list(dims), integer(1)});
    REQUIRE(sum.as<chunk_rules::reduction>() != nullptr);
    CHECK(sum.as<chunk_rules::reduction>()->dims.size() == 2);
    CHECK(sum.as<chunk_rules::reduction>()->keeps_dims);
    const auto minus = rule("aten.sub.Tensor", {operand(0), integer(3)});
    REQUIRE(minus.as<chunk_rules::arithmetic>() != nullptr);
    CHECK(minus.as<chunk_rules::arithmetic>()->right == chunk_rules::rule_number::constant(3));
    CHECK(rule("aten.made_up.default", {}).as<chunk_rules::unknown>() != nullptr);
}

TEST_CASE("extents that are operands are told from constants") {
    const std::vector<tensor_argument> constants = {integer(2), integer(3)}, mixed = {integer(2), operand(1)};
    CHECK(rule("aten.view.default", {operand(0), list(constants)}).as<chunk_rules::reshape>()->sizes.empty());
    CHECK(rule("aten.view.default", {operand(0), list(mixed)}).as<chunk_rules::reshape>()->sizes ==
          std::vector<std::size_t>{chunk_rules::no_operand, 1});
}

TEST_CASE("lists of more dimensions than a rule can hold are refused, not cut short") {
    const std::vector<tensor_argument> many(40, integer(0));
    CHECK(rule("aten.permute.default", {operand(0), list(many)}).as<chunk_rules::refused>() != nullptr);
}

TEST_CASE("what draws random numbers is known and refused, in place or not") {
    for (std::string_view name : {"aten.rand_like.default", "aten.native_dropout.default", "aten.uniform_.default"}) {
        const auto drawn = rule(name, {operand(0), real(0.5)});
        REQUIRE(drawn.as<chunk_rules::refused>() != nullptr);
        CHECK(drawn.as<chunk_rules::refused>()->why.starts_with("draws random numbers"));
        CHECK(drawn.writes_in_place() == (name == "aten.uniform_.default"));
    }
}

TEST_CASE("what is filled with zero is known to be; what is filled with no number is not") {
    const std::vector<tensor_argument> sizes = {integer(2)};
    const auto zero = [&](tensor_argument with) {
        return rule("aten.full.default", {list(sizes), with}).as<chunk_rules::fill>()->zero;
    };
    CHECK(zero(integer(0)));
    CHECK(zero(real(-0.0)));
    CHECK_FALSE(zero(integer(1)));
    CHECK_FALSE(zero(real(__builtin_nan(""))));
}

TEST_CASE("an operator in place writes its first argument, known or not") {
    CHECK(rule("aten.relu_.default", {operand(1)}).writes() == 1);
    CHECK(rule("aten.made_up_.default", {operand(2)}).writes() == 2);
    CHECK(rule("aten.made_up_.default", {}).writes() == chunk_rules::any_rule::every_operand);
    CHECK_FALSE(rule("aten.relu.default", {operand(0)}).writes_in_place());
}

TEST_CASE("an unknown operator writes what it calls out") {
    const std::vector<tensor_argument> two = {operand(1), operand(2)};
    CHECK(rule("c.gather_out.default", {operand(0), integer(2)}, {{"out", operand(1)}}).writes() == 1);
    CHECK(rule("c.split_copy.out", {operand(0)}, {{"out", list(two)}}).writes() ==
          chunk_rules::any_rule::every_operand);
    CHECK(rule("c.norm.out", {operand(0)}, {{"out0", operand(1)}}).writes() == chunk_rules::any_rule::every_operand);
    CHECK_FALSE(rule("c.norm.default", {operand(0)}, {{"output", operand(1)}}).writes_in_place());
}

TEST_CASE("a term of a sum that is no operand is a constant, wherever it stands and whatever its form") {
    const auto has_constants = [](std::vector<tensor_argument> positional,
                                  std::vector<named_tensor_argument> named = {}) {
        return rule("aten.add.Tensor", std::move(positional), std::move(named))
            .as<chunk_rules::arithmetic>()
            ->has_constants;
    };
    CHECK_FALSE(has_constants({operand(0), operand(1)}));
    CHECK_FALSE(has_constants({operand(0), operand(1)}, {{"alpha", integer(2)}}));
    CHECK(has_constants({operand(0), integer(1)}));
    CHECK(has_constants({operand(0), truth(true)}));
    CHECK(has_constants({operand(0)}, {{"other", real(1.5)}}));
    CHECK(has_constants({operand(0), {form::text, 0, 0, "inf", {}}}));
}

TEST_CASE("a step that the program computes is not known to be 1") {
    const auto step = [](std::vector<tensor_argument> positional) {
        return rule("aten.slice.Tensor", std::move(positional)).as<chunk_rules::slice>()->step;
    };
    CHECK(step({operand(0), integer(0), integer(0), integer(8)}) == 1);
    CHECK(step({operand(0), integer(0), integer(0), integer(8), integer(2)}) == 2);
    CHECK(step({operand(0), integer(0), integer(0), integer(8), operand(1)}) != 1);
    const auto counts = [](tensor_argument by) {
        return rule("aten.arange.start_step", {integer(0), operand(0), by}).as<chunk_rules::iota>()->from_0_by_1;
    };
    CHECK(counts(integer(1)));
    CHECK_FALSE(counts(operand(1)));
    CHECK_FALSE(counts(real(1)));
    CHECK(rule("aten.slice_scatter.default", {operand(0), operand(1), integer(0), integer(0), integer(8), operand(2)})
              .as<chunk_rules::put_slice>()
              ->first == -1);
}

TEST_CASE("sizes that the program computes are found under every name that a view gives them") {
    const std::vector<tensor_argument> mixed = {integer(2), operand(1)};
    for (std::string_view name : {"size", "shape"})
        CHECK(rule("aten.view.default", {operand(0)}, {{name, list(mixed)}}).as<chunk_rules::reshape>()->sizes ==
              std::vector<std::size_t>{chunk_rules::no_operand, 1});
}
