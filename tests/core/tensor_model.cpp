#include "stretto/core/tensor_model.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"

using stretto::element_type;
using stretto::size_of;
using stretto::tensor_type;

namespace {

using namespace stretto::archetypes;

struct silent_tensors {
    std::string_view operation(vertex) const { return "aten.relu.default"; }
    std::span<const stretto::tensor_argument> arguments(vertex) const { return {}; }
    std::span<const stretto::named_tensor_argument> named_arguments(vertex) const { return {}; }
    std::span<const tensor_type> components(value) const { return {}; }
};
struct extents_of_vertices : silent_tensors {
    std::string_view symbolic_extent(vertex, std::size_t, std::size_t) const { return {}; }
};
struct operations_by_value : silent_tensors {
    std::string operation(vertex) const { return "aten.relu.default"; }
};
struct arguments_by_value : silent_tensors {
    std::vector<stretto::tensor_argument> arguments(vertex) const { return {}; }
};
struct named_arguments_by_value : silent_tensors {
    std::vector<stretto::named_tensor_argument> named_arguments(vertex) const { return {}; }
};
struct components_by_value : silent_tensors {
    std::vector<tensor_type> components(value) const { return {}; }
};
struct extents_by_value : silent_tensors {
    std::string symbolic_extent(value, std::size_t, std::size_t) const { return {}; }
};
struct final_extents_by_value final : silent_tensors {
    std::string symbolic_extent(value, std::size_t, std::size_t) const { return {}; }
};
struct final_extents_of_anything final : silent_tensors {
    template <class X>
    std::string symbolic_extent(X, std::size_t, std::size_t) const {
        return {};
    }
};
struct final_extents final : silent_tensors {
    std::string_view symbolic_extent(value, std::size_t, std::size_t) const { return {}; }
};
struct components_by_reference : silent_tensors {
    std::vector<tensor_type> all;
    const std::vector<tensor_type>& components(value) const { return all; }
};
struct without_arguments {
    std::string_view operation(vertex) const { return "aten.relu.default"; }
    std::span<const tensor_type> components(value) const { return {}; }
};

}  // namespace

TEST_CASE("a tensor model names operations, their arguments and the tensors they make, of a graph with values") {
    static_assert(stretto::tensor_model<silent_tensors, program>);
    static_assert(stretto::tensor_model<symbolic_tensors, program>);
    static_assert(!stretto::tensor_model<extents_of_vertices, program>);
    static_assert(!stretto::tensor_model<without_arguments, program>);
    static_assert(!stretto::tensor_model<kinds, program>);
    static_assert(!stretto::tensor_model<silent_tensors, dependence>);
}

TEST_CASE("what a tensor model returns must not die with the call") {
    static_assert(!stretto::tensor_model<operations_by_value, program>);
    static_assert(!stretto::tensor_model<arguments_by_value, program>);
    static_assert(!stretto::tensor_model<named_arguments_by_value, program>);
    static_assert(!stretto::tensor_model<components_by_value, program>);
    static_assert(!stretto::tensor_model<extents_by_value, program>);
    static_assert(!stretto::tensor_model<final_extents_by_value, program>);
    static_assert(!stretto::tensor_model<final_extents_of_anything, program>);
    static_assert(stretto::tensor_model<final_extents, program>);
    static_assert(stretto::tensor_model<components_by_reference, program>);
}

TEST_CASE("extents are numbers unless the model has an expression") {
    const value x(detail::at(0), 0);
    CHECK(stretto::symbolic_extent_of<program>(stretto::archetypes::tensors(0), x, 0, 0).empty());
    CHECK(stretto::symbolic_extent_of<program>(symbolic_tensors(0), x, 0, 0) == "n");
}

TEST_CASE("bytes of a tensor") {
    constexpr std::array<std::int64_t, 3> shape{4, 5, 6};
    static_assert(size_of(element_type::bf16, shape) == 240);
    CHECK(size_of(tensor_type{shape, element_type::f64}) == 960);
    CHECK(size_of(tensor_type{{}, element_type::i64}) == 8);  // no extents: a single element
    CHECK(size_of(tensor_type{shape, element_type::other}) == 0);
    const std::vector<std::int64_t> empty{4, 0, 6}, large{1 << 20, 1 << 20, 1 << 10};
    CHECK(size_of(element_type::f32, empty) == 0);
    CHECK(size_of(element_type::f32, large) == std::int64_t{1} << 52);
}

TEST_CASE("more bytes than can be counted are as many as can be counted") {
    const std::vector<std::int64_t> most{INT64_MAX}, many{1 << 30, 1 << 30, 1 << 30},
        none{1 << 30, 1 << 30, 1 << 30, 0};
    CHECK(size_of(element_type::i8, most) == INT64_MAX);
    CHECK(size_of(element_type::f32, most) == INT64_MAX);
    CHECK(size_of(element_type::f32, many) == INT64_MAX);
    CHECK(size_of(element_type::f32, none) == 0);
    CHECK(size_of(element_type::other, many) == 0);
}

TEST_CASE("an argument that says nothing is one left out") {
    constexpr stretto::tensor_argument none;
    static_assert(none.what == stretto::tensor_argument::form::none && none.integer == 0 && none.real == 0 &&
                  none.text.empty() && none.items.empty());
    constexpr stretto::named_tensor_argument named{"dim", {}};
    static_assert(named.name == "dim" && named.value.what == none.what);
    constexpr tensor_type unknown;
    CHECK(unknown.shape.empty());
    CHECK(unknown.element == element_type::other);
}
