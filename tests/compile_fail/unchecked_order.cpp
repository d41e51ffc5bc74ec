// expect: private
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/testing/archetypes.hpp"

using order = stretto::topological_order<stretto::archetypes::vertex>;

// A topological order cannot be claimed, only found.
#ifdef EXPECT_FAILURE
order make() { return order(std::vector<stretto::archetypes::vertex>{}); }
#else
order make() { return *stretto::topological_sort(stretto::archetypes::dependence(0)); }
#endif
