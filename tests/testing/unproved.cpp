// What every check says of a program that gives it nothing to compare.
#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>

#include "stretto/testing/check_bucket_costs.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/check_input_roles.hpp"
#include "stretto/testing/check_linear_model.hpp"
#include "stretto/testing/check_module_model.hpp"
#include "stretto/testing/check_part_costs.hpp"
#include "stretto/testing/check_pure_call_model.hpp"
#include "stretto/testing/check_tensor_model.hpp"
#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

/// The archetype program without its operations.
struct nothing : archetypes::program {
    using program::program;
    archetypes::range<archetypes::vertex> vertices() const { return {}; }
};
/// Models that say nothing of what they could be asked.
struct impure : archetypes::pure_calls {
    using pure_calls::pure_calls;
    bool is_pure(archetypes::vertex) const { return false; }
};
struct homeless : archetypes::modules {
    using modules::modules;
    archetypes::text path(archetypes::vertex) const { return archetypes::text(""); }
    pass_direction direction(archetypes::vertex) const { return pass_direction::both; }
};
struct refusing : archetypes::chunks {
    using chunks::chunks;
    chunk_verdict combine_rule(archetypes::vertex, std::int64_t, std::span<const chunk_state>,
                               std::span<chunk_state>) const {
        return {false, "never"};
    }
};

template <class Checked>
std::string said(const Checked& checked) {
    REQUIRE_MESSAGE(checked, checked.error().message());
    return checked->unproved();
}

}  // namespace

TEST_CASE("a check of a program proves something if there is something to ask about") {
    const archetypes::program g(0);
    const archetypes::kinds ops(0);
    CHECK(said(check_graph(g)) == "");
    CHECK(said(check_op_model(g, ops)) == "");
    CHECK(said(check_input_roles(g, ops, archetypes::roles(0))) == "");
    CHECK(said(check_module_model(g, archetypes::modules(0))) == "");
    CHECK(said(check_pure_call_model(g, archetypes::pure_calls(0))) == "");
    CHECK(said(check_bucket_costs(g, ops, archetypes::bucket_costs(0))) == "");
    CHECK(said(check_part_costs(g, ops, archetypes::chunks(0), archetypes::part_costs(0))) == "");
}

TEST_CASE("where there is nothing to ask about, each check says so") {
    const nothing none(0);
    const archetypes::program g(0);
    const archetypes::kinds ops(0);
    CHECK(said(check_op_model(none, ops)) == "the program has no operation but inputs and outputs");
    CHECK(said(check_tensor_model(none, ops, archetypes::tensors(0))) == "no operation has a result");
    CHECK(said(check_input_roles(none, ops, archetypes::roles(0))) == "the program has no input");
    CHECK(said(check_linear_model(none, ops, archetypes::sums(0))) == "nothing adds, lays out anew or communicates");
    CHECK(said(check_bucket_costs(none, ops, archetypes::bucket_costs(0))) == "no operation starts a collective");
    CHECK(said(check_module_model(g, homeless(0))) == "no operation says its module or direction");
    CHECK(said(check_pure_call_model(g, impure(0))) == "no operation is pure");
    CHECK(said(check_part_costs(g, ops, refusing(0), archetypes::part_costs(0))) ==
          "the chunk model accepts no way of cutting any operation");
}
