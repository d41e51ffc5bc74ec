// expect: note:.*is_trivially_copyable
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "stretto/views/filtered.hpp"

// A view is copied often and cheaply, its predicate with it.
void use(std::vector<stretto::archetypes::vertex> hidden) {
    const stretto::archetypes::dependence g(0);
#ifdef EXPECT_FAILURE
    const auto keep = [hidden](stretto::archetypes::vertex) { return hidden.empty(); };
#else
    const auto keep = [&hidden](stretto::archetypes::vertex) { return hidden.empty(); };
#endif
    (void)stretto::views::filtered(g, keep);
}
