// expect: sum_widens_returns_bool
#include "stretto/core/chunk_model.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional member that is not as documented would be ignored.
struct model {
    std::size_t components_of(stretto::archetypes::value) const;
    std::size_t rank(stretto::archetypes::value, std::size_t) const;
    std::int64_t extent(stretto::archetypes::value, std::size_t, std::size_t) const;
    stretto::chunk_verdict combine_rule(stretto::archetypes::vertex, std::int64_t,
                                        std::span<const stretto::chunk_state>, std::span<stretto::chunk_state>) const;
#ifdef EXPECT_FAILURE
    bool sum_widens(stretto::archetypes::vertex);
#else
    bool sum_widens(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::chunk_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
