#include "stretto/core/bucket_form_model.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

using archetypes::value;
using archetypes::vertex;

struct without_optional {
    bucket_form<vertex, value> form(vertex) const { return {}; }
};
struct of_a_value {
    std::optional<bucket_form<vertex, value>> form(value) const { return std::nullopt; }
};

}  // namespace

TEST_CASE("a bucket form model reads the form of a start, if it has one") {
    static_assert(bucket_form_model<archetypes::bucket_forms, archetypes::dataflow>);
    static_assert(!bucket_form_model<without_optional, archetypes::dataflow>);
    static_assert(!bucket_form_model<of_a_value, archetypes::dataflow>);
    static_assert(!bucket_form_model<archetypes::bucket_forms, archetypes::graph>);  // it is about values
    const archetypes::bucket_forms model(0);
    CHECK(!model.form(archetypes::detail::at(3)));
    const auto form = model.form(archetypes::detail::at(1));
    REQUIRE(form);
    CHECK(form->row == bytes{8});
    CHECK(form->parts.size() == form->results.size());
}
