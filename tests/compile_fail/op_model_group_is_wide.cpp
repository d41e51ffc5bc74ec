// expect: group_returns_group_id_unnarrowed
#include "stretto/core/op_model.hpp"
#include "stretto/testing/archetypes.hpp"

// The lower halves of two handles may be the same number, and their groups would share a channel.
struct model {
    stretto::op_kind kind(stretto::archetypes::vertex) const;
#ifdef EXPECT_FAILURE
    std::uint64_t group(stretto::archetypes::vertex) const;
#else
    stretto::group_id group(stretto::archetypes::vertex) const;
#endif
};

void algorithm(stretto::op_model<stretto::archetypes::program> auto) {}
void use() { algorithm(model{}); }
