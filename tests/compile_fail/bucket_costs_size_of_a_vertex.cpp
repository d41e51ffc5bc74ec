// expect: size_of_returns_bytes
#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional member that is not as documented would be ignored.
struct costs {
    stretto::nanoseconds of_merged(stretto::archetypes::vertex, stretto::bytes) const;
    stretto::nanoseconds of_moving(stretto::bytes) const;
#ifdef EXPECT_FAILURE
    stretto::bytes size_of(stretto::archetypes::vertex) const;
#else
    stretto::bytes size_of(stretto::archetypes::value) const;
#endif
};

void algorithm(stretto::bucket_cost_model<stretto::archetypes::program> auto) {}
void use() { algorithm(costs{}); }
