// expect: deleted
#include "stretto/testing/archetypes.hpp"
#include "stretto/views/numbered.hpp"

// The view refers to the numbering; a temporary one would be gone before the view is used.
void use() {
    stretto::archetypes::vertex_list list(0);
#ifdef EXPECT_FAILURE
    (void)stretto::views::numbered(list, stretto::numbering(list));
#else
    const stretto::numbering numbers(list);
    (void)stretto::views::numbered(list, numbers);
#endif
}
