#include "stretto/core/op_model.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using program = archetypes::program;

namespace {

struct no_kind {};
struct kind_is_an_int {
    int kind(archetypes::vertex) const { return 0; }
};
template <class Group>
struct groups_are : archetypes::kinds {
    using archetypes::kinds::kinds;
    Group group(archetypes::vertex) const;
};
/// Knows what a wait waits for, against the default rule.
struct launches : archetypes::kinds {
    using archetypes::kinds::kinds;
    archetypes::vertex launch_of(archetypes::vertex) const { return archetypes::detail::at(1); }
};

archetypes::vertex at(std::size_t i) { return archetypes::detail::at(i); }

}  // namespace

TEST_CASE("only kind is required") {
    static_assert(op_model<archetypes::kinds, program>);
    static_assert(!op_model<no_kind, program> && !op_model<kind_is_an_int, program>);
    static_assert(!op_model<archetypes::kinds, archetypes::dependence>);  // a model needs values
}

TEST_CASE("a group is an id, or what fits into one") {
    static_assert(op_model<groups_are<group_id>, program> && op_model<groups_are<const group_id&>, program>);
    static_assert(op_model<groups_are<std::uint8_t>, program>);
    static_assert(op_model<groups_are<archetypes::proxy<group_id>>, program>);
    static_assert(!op_model<groups_are<std::uint64_t>, program>);  // two handles could become one group
    static_assert(!op_model<groups_are<int>, program> && !op_model<groups_are<double>, program>);
    static_assert(!op_model<groups_are<void*>, program> && !op_model<groups_are<void>, program>);
}

TEST_CASE("what a model leaves out has a default") {
    const archetypes::kinds m(0);
    const archetypes::value x(at(0), 0);
    CHECK(duration_of<program>(m, at(1)) == nanoseconds{0});
    CHECK(collective_of<program>(m, at(1)) == collective_kind::other);
    const archetypes::calls spoken(0);  // it has calls, and no `collective`
    CHECK(collective_of<program>(spoken, at(1)) == collective_call(spoken.call(at(1))).kind);
    CHECK(group_of<program>(m, at(1)) == 0);
    CHECK(payload_of<program>(m, at(1)) == bytes{0});
    CHECK_FALSE(does_synchronise<program>(m, at(3)));
    CHECK(allocation_of<program>(m, x) == bytes{0});
    int seen = 0;
    for_each_alias<program>(m, x, [&](archetypes::value) { ++seen; });
    for_each_effect<program>(m, at(1), [&](archetypes::value) { ++seen; });
    CHECK(seen == 0);
}

TEST_CASE("a model may say where the host reads numbers") {
    static_assert(op_model<archetypes::readers, program>);
    static_assert(members_of<program, archetypes::readers>().synchronises);
    static_assert(!members_of<program, archetypes::kinds>().synchronises);
    CHECK(does_synchronise<program>(archetypes::readers(0), at(3)));
    CHECK_FALSE(does_synchronise<program>(archetypes::readers(0), at(1)));
}

TEST_CASE("a wait waits for the producer of its first operand, if that is a start") {
    const program g(0);
    CHECK(launch_of(g, archetypes::kinds(0), at(2)) == at(1));
    CHECK(launch_of(g, archetypes::kinds(0), at(6)) == at(5));
    CHECK(launch_of(g, archetypes::kinds(0), at(4)) == at(4));  // first operand comes from a wait
    CHECK(launch_of(g, archetypes::kinds(0), at(0)) == at(0));  // no operand
    CHECK(launch_of(g, launches(0), at(6)) == at(1));           // the model knows better
}

TEST_CASE_TEMPLATE("the accessors say what the model says", IR, STRETTO_TOY_IRS) {
    stretto_check("accessors", 40, [] {
        const support::toy_program p = *support::random_programs();
        const IR ir(p, 4);
        const auto g = ir.view();
        using G = decltype(g);
        const auto position = support::positions_of(g);
        std::uint32_t i = 0;
        for (auto v : g.vertices()) {
            const support::toy_op& op = p.ops[i];
            RC_ASSERT(ir.model().kind(v) == op.kind);
            RC_ASSERT(duration_of<std::remove_const_t<G>>(ir.model(), v) == op.duration);
            if (op.kind == op_kind::wait)
                RC_ASSERT(position[g.index(launch_of(g, ir.model(), v))] == support::launch_of(p, i));
            ++i;
        }
    });
}
