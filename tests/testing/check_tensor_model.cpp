#include "stretto/testing/check_tensor_model.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;
using archetypes::value;
using archetypes::vertex;
using form = tensor_argument::form;

namespace {

/// Types and arguments for the program of the archetypes, which a test may spoil.
struct tensor_table {
    std::vector<std::string> names = {"", "gather", "wait", "norm", "dot", "scatter", "wait", ""};
    std::vector<std::vector<tensor_argument>> positional{8};
    std::vector<std::vector<named_tensor_argument>> named{8};
    std::vector<std::vector<std::int64_t>> shapes = {{2, 3}, {4, 3}, {4, 3}, {2, 3}, {4, 4}, {2, 4}, {2, 4}};
    std::vector<std::vector<tensor_type>> types;
    std::vector<tensor_argument> items = {operand(1), operand(2)};
    std::int64_t bytes = 256;
    std::string extent;  // of every dimension
    mutable bool forgetful = false, asked = false;

    tensor_table() {
        for (std::size_t v = 0; v < 8; ++v) {
            if (v == 7) types.push_back({});
            else types.push_back({{shapes[v], element_type::f32}});
            if (v != 0 && v != 4) positional[v] = {operand(0)};
        }
        // The last operation reads three values: one by position, two in a list that has a name.
        positional[4] = {operand(0), {form::integer, 1, 0, {}, {}}};
        named[4] = {{"others", {form::list, 0, 0, {}, items}}, {"exact", {form::truth, 1, 0, {}, {}}}};
    }
    tensor_table(const tensor_table&) = delete;
    tensor_table& operator=(const tensor_table&) = delete;
    static tensor_argument operand(std::int64_t k) { return {form::operand, k, 0, {}, {}}; }
};

std::size_t at(vertex v) { return archetypes::detail::position(v); }

struct table_tensors {
    const tensor_table* t;
    std::string_view operation(vertex v) const { return t->names[at(v)]; }
    std::span<const tensor_argument> arguments(vertex v) const { return t->positional[at(v)]; }
    std::span<const named_tensor_argument> named_arguments(vertex v) const { return t->named[at(v)]; }
    std::string_view symbolic_extent(value, std::size_t, std::size_t) const { return t->extent; }
    std::span<const tensor_type> components(value x) const {
        if (x.result() > 0) return {};  // a number
        if (t->forgetful && at(x.producer()) == 2) {
            if (t->asked) return {};
            t->asked = true;
        }
        return t->types[at(x.producer())];
    }
};
struct table_model : archetypes::kinds {
    const tensor_table* t;
    explicit table_model(const tensor_table* of) : kinds(0), t(of) {}
    bytes bytes_of(value x) const { return {x.result() == 0 && at(x.producer()) == 3 ? t->bytes : 0}; }
};
struct table_chunks {
    const tensor_table* t;
    std::size_t components_of(value x) const { return x.result() > 0 ? 0 : t->types[at(x.producer())].size(); }
    std::size_t rank(value, std::size_t) const { return 2; }
    std::int64_t extent(value x, std::size_t, std::size_t dim) const { return t->shapes[at(x.producer())][dim]; }
    chunk_verdict combine_rule(vertex, std::int64_t, std::span<const chunk_state>, std::span<chunk_state>) const {
        return {false, "no rule"};
    }
};

std::string verdict(const tensor_table& t) {
    const auto checked = check_tensor_model(archetypes::program(0), table_model(&t), table_tensors{&t});
    return checked ? "fine" : checked.error().rule + (" " + std::to_string(checked.error().vertex));
}

}  // namespace

TEST_CASE("a tensor model that keeps its promises, and what it says") {
    const tensor_table t;
    const auto checked = check_tensor_model(archetypes::program(0), table_model(&t), table_tensors{&t});
    REQUIRE(checked);
    CHECK(*checked == tensor_summary{6, 10, 7, 1});
    const auto shapes = check_chunk_shapes(archetypes::program(0), table_chunks{&t}, table_tensors{&t});
    REQUIRE(shapes);
    CHECK(*shapes == 7);
}

TEST_CASE("each broken promise is named, with the operation") {
    tensor_table t;
    SUBCASE("an expression without a symbol") {
        t.extent = "2*n";
        CHECK(verdict(t) == "fine");
        t.extent = "2*3";
        CHECK(verdict(t) == "symbolic-extent 0");
    }
    SUBCASE("an operation without a name") {
        t.names[3] = "";
        CHECK(verdict(t) == "operation 3");
    }
    SUBCASE("an operand that there is not") {
        t.positional[3][0].integer = 1;
        CHECK(verdict(t) == "operand-number 3");
        t.positional[3][0].integer = -1;
        CHECK(verdict(t) == "operand-number 3");
    }
    SUBCASE("an operand that there is not, in a list") {
        t.items[1].integer = 3;
        CHECK(verdict(t) == "operand-number 4");
    }
    SUBCASE("an operand that no argument names") {
        t.items[1].integer = 1;
        CHECK(verdict(t) == "operand-left-out 4");
        t.positional[3].clear();
        CHECK(verdict(t) == "operand-left-out 3");
    }
    SUBCASE("a truth that is neither") {
        t.named[4][1].value.integer = 2;
        CHECK(verdict(t) == "argument 4");
    }
    SUBCASE("a form that there is not") {
        t.positional[4][1].what = static_cast<form>(99);
        CHECK(verdict(t) == "argument 4");
    }
    SUBCASE("two arguments of one name, and one of none") {
        t.named[4][1].name = "others";
        CHECK(verdict(t) == "argument-name 4");
        t.named[4][1].name = "";
        CHECK(verdict(t) == "argument-name 4");
    }
    SUBCASE("types that there are not") {
        t.types[5][0].element = static_cast<element_type>(99);
        CHECK(verdict(t) == "element 5");
    }
    SUBCASE("extents that there are not") {
        t.shapes[5][1] = -1;
        CHECK(verdict(t) == "extent 5");
        t.shapes[5] = {INT64_MAX / 4, 8};
        t.types[5][0].shape = t.shapes[5];
        CHECK(verdict(t) == "extent 5");
    }
    SUBCASE("less storage than the elements take") {
        t.bytes = 23;  // of 6 elements of 4 bytes
        CHECK(verdict(t) == "bytes 3");
        t.types[3][0].element = element_type::other;
        CHECK(verdict(t) == "fine");
    }
    SUBCASE("answers that change") {
        t.forgetful = true;
        CHECK(verdict(t) == "stable 2");
    }
    SUBCASE("a chunk model of other tensors") {
        const std::vector<std::int64_t> other = {4, 5};
        t.types[5][0].shape = other;
        const auto shapes = check_chunk_shapes(archetypes::program(0), table_chunks{&t}, table_tensors{&t});
        REQUIRE(!shapes);
        CHECK(shapes.error().vertex == 5);
    }
}
