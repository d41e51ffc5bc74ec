#include "stretto/analysis/infer_input_roles.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "stretto/testing/check_input_roles.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;
using enum support::reduction_op;

namespace {

constexpr collective_kind gather = collective_kind::all_gather;

auto roles_of(const reduction_program& p) { return infer_input_roles(reduction_view{&p}, reduction_model{&p}); }

}  // namespace

TEST_CASE("what is gathered after casts and views is a parameter; its place is that among the inputs") {
    reduction_program p;
    const std::uint32_t tokens = p.input(), second = p.input(), first = p.input(), counts = p.input();
    const std::uint32_t a = p.reduced(p.op(mix, {p.op(same, {first})}), {.kind = gather});
    const std::uint32_t b = p.reduced(second, {.kind = gather});
    p.op(twice, {p.op(same, {counts})});
    p.output({p.op(mix, {tokens, a, b})});
    const auto roles = roles_of(p);
    REQUIRE(roles.inputs().size() == 4);
    CHECK(roles.role(tokens) == input_role::other);
    CHECK(roles.role(first) == input_role::parameter);
    CHECK(roles.role(second) == input_role::parameter);
    CHECK(roles.role(counts) == input_role::buffer);
    CHECK(roles.place(second) == 1);
    CHECK(roles.place(first) == 2);
    CHECK(roles.place(counts) == no_place);
    CHECK(roles.role(a) == input_role::other);  // no input
    CHECK(roles.count(role_reason::gathered) == 2);
    CHECK(roles.count(role_reason::written) == 1);
    CHECK(roles.count(role_reason::unknown) == 1);
    CHECK(roles.inputs()[2].why == role_reason::gathered);
    CHECK(roles.inputs()[2].witness == p.nodes[a].operands[0]);
    CHECK(check_input_roles(reduction_view{&p}, reduction_model{&p}, roles));
}

TEST_CASE("what is computed from two values, or only reduced, tells nothing") {
    reduction_program p;
    const std::uint32_t x = p.input(), y = p.input();
    const std::uint32_t a = p.reduced(p.op(mix, {x, y}), {.kind = gather}), b = p.reduced(x);
    const std::uint32_t c = p.reduced(p.op(mix, {b}), {.kind = gather});  // it has been reduced before
    p.output({a, b, c});
    const auto roles = roles_of(p);
    CHECK(roles.count(role_reason::unknown) == 2);
}

TEST_CASE("archetypes suffice to infer roles") {
    const auto roles = infer_input_roles(archetypes::program(0), archetypes::kinds(0));
    REQUIRE(roles.inputs().size() == 1);
    CHECK(roles.inputs()[0].why == role_reason::unknown);  // the model does not say that anything is gathered
}

TEST_CASE("inferred roles are a model, for any program") {
    std::size_t parameters = 0;
    stretto_check("random programs", 5000, [&](const std::vector<std::uint8_t>& bytes) {
        const reduction_program p = support::random_traffic(bytes);
        const auto roles = roles_of(p);
        const auto checked = check_input_roles(reduction_view{&p}, reduction_model{&p}, roles);
        RC_ASSERT(checked.has_value());
        RC_ASSERT(checked->parameters == roles.count(role_reason::gathered));
        for (const auto& i : roles.inputs()) {  // by brute force: forward along what reads nothing else
            std::vector<std::uint32_t> open = {i.value};
            bool gathered = false, written = false;
            for (std::size_t k = 0; k < open.size(); ++k)
                for (std::uint32_t v : p.order) {
                    const auto& n = p.nodes[v];
                    if (n.operands != std::vector{open[k]}) continue;
                    if (n.op == start) gathered = gathered || n.kind == gather;
                    else if (n.op != support::reduction_op::wait && n.op != output) open.push_back(v);
                }
            for (std::uint32_t v : p.order)
                if (p.nodes[v].op == twice || p.nodes[v].op == add_to) {
                    std::uint32_t x = p.nodes[v].operands[0];
                    const reduction_model model{&p};
                    while (!model.aliases(x).empty()) x = model.aliases(x)[0];
                    written = written || x == i.value;
                }
            RC_ASSERT((i.role == input_role::parameter) == gathered);
            RC_ASSERT((i.role == input_role::buffer) == (written && !gathered));
        }
        parameters += checked->parameters;
    });
    if (support::runs_all_cases()) CHECK(parameters > 1000);
}
