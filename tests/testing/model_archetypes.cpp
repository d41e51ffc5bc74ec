#include "stretto/testing/model_archetypes.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "stretto/testing/check_graph.hpp"

using namespace stretto;
using archetypes::vertex;

TEST_CASE("models offer nothing beyond their concept") {
    static_assert(!std::default_initializable<archetypes::kinds> && !std::is_copy_assignable_v<archetypes::kinds>);
    static_assert(!std::same_as<decltype(archetypes::modules(0).path(vertex())), std::string_view>);
    static_assert(!chunk_model<archetypes::chunk_maker, archetypes::dataflow>);
    static_assert(!std::same_as<decltype(archetypes::chunks(0).components_of(archetypes::value())), std::size_t>);
}

TEST_CASE("what calls and groups say merely converts, and is what it should be") {
    const collective_call call = archetypes::calls(0).call(vertex());
    CHECK(call.kind == collective_kind::all_to_all);
    CHECK(call.input_sizes.size() == 2);
    const process_group second = archetypes::groups(0).group_at(1);
    CHECK(second.id == 1);
    CHECK(second.ranks.empty());
    const auto checked = check_op_model(archetypes::program(0), archetypes::calls(0));
    REQUIRE(checked);
    CHECK(checked->members.call);
}
