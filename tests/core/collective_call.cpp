#include "stretto/core/collective_call.hpp"

#include <doctest/doctest.h>

#include <array>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;
using program = archetypes::program;

namespace {

struct kinds_of_collectives : archetypes::kinds {
    using archetypes::kinds::kinds;
    collective_kind collective(archetypes::vertex v) const {
        return archetypes::detail::position(v) == 1 ? collective_kind::all_gather : collective_kind::reduce_scatter;
    }
};
struct call_is_a_kind : archetypes::kinds {
    using archetypes::kinds::kinds;
    collective_kind call(archetypes::vertex) const { return collective_kind::all_gather; }
};

archetypes::vertex at(std::size_t i) { return archetypes::detail::at(i); }

}  // namespace

TEST_CASE("a model without calls tells what follows from the kind of the collective") {
    static_assert(!calling_op_model<archetypes::kinds, program> && !op_model<call_is_a_kind, program>);
    const collective_call gather = call_of<program>(kinds_of_collectives(0), at(1));
    CHECK(gather.kind == collective_kind::all_gather);
    CHECK(gather.reduction == reduction_kind::none);
    CHECK(gather.element == element_type::other);
    CHECK(gather.input_sizes.empty());
    CHECK(gather.logical_id == 0);
    CHECK(call_of<program>(kinds_of_collectives(0), at(5)).reduction == reduction_kind::unknown);
    CHECK(call_of<program>(archetypes::kinds(0), at(1)) == collective_call{});
}

TEST_CASE("a model that tells calls is asked for them") {
    static_assert(calling_op_model<archetypes::calls, program>);
    const collective_call call = call_of<program>(archetypes::calls(0), at(1));
    CHECK(call.kind == collective_kind::all_to_all);
    CHECK(call.reduction == reduction_kind::none);
    REQUIRE(call.output_sizes.size() == 2);
    CHECK(call.output_sizes[1] == split_size{split_size::form::measured, 0});
}

TEST_CASE("calls are equal if they ask for the same") {
    using form = split_size::form;
    const std::array<split_size, 2> sizes = {{{form::given, 1}, {form::given, 2}}}, copy = sizes,
                                    other = {{{form::given, 1}, {form::measured, 2}}};
    const collective_call call{.kind = collective_kind::all_to_all,
                               .reduction = reduction_kind::none,
                               .element = element_type::bf16,
                               .input_sizes = sizes,
                               .output_sizes = sizes,
                               .logical_id = 7,
                               .chunk = 1};
    collective_call same = call;
    same.input_sizes = copy;
    CHECK(same == call);
    for (auto change :
         {+[](collective_call& c) { c.kind = collective_kind::other; },
          +[](collective_call& c) { c.reduction = reduction_kind::sum; },
          +[](collective_call& c) { c.element = element_type::f32; }, +[](collective_call& c) { c.input_sizes = {}; },
          +[](collective_call& c) { c.output_sizes = c.output_sizes.first(1); },
          +[](collective_call& c) { c.logical_id = 8; }, +[](collective_call& c) { c.chunk = 0; }}) {
        collective_call changed = call;
        change(changed);
        CHECK_FALSE(changed == call);
    }
    same.output_sizes = other;
    CHECK_FALSE(same == call);
}
