#include "stretto/core/bucket_cost_model.hpp"

#include <doctest/doctest.h>

#include "stretto/testing/model_archetypes.hpp"

using namespace stretto;

namespace {

struct without_copies {
    nanoseconds of_merged(archetypes::vertex, bytes) const { return {}; }
};
struct times_are_numbers {
    long of_merged(archetypes::vertex, bytes) const { return 0; }
    long of_moving(bytes) const { return 0; }
};

}  // namespace

TEST_CASE("costs of buckets: of a merged collective, and of copies") {
    static_assert(bucket_cost_model<archetypes::bucket_costs, archetypes::graph>);
    static_assert(bucket_cost_model<no_bucket_costs, archetypes::graph>);
    static_assert(!bucket_cost_model<without_copies, archetypes::graph>);
    static_assert(!bucket_cost_model<times_are_numbers, archetypes::graph>);
    CHECK(no_bucket_costs{}.of_merged(archetypes::vertex{}, {5}) == nanoseconds{0});
    CHECK(no_bucket_costs{}.of_moving({5}) == nanoseconds{0});
    CHECK(archetypes::bucket_costs(0).of_moving({5}) == nanoseconds{5});
}
