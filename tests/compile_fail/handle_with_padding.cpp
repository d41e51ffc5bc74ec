// expect: give numbering a hash of your own
#include <cstddef>
#include <vector>

#include "stretto/views/numbered.hpp"

struct padded {
    char kind;
    int id;
    friend bool operator==(const padded&, const padded&) = default;
};
struct hash {
    std::size_t operator()(const padded& p) const { return static_cast<std::size_t>(p.id); }
};
struct view {
    using vertex_type = padded;
    std::vector<padded> vertices() const { return {}; }
};

void use() {
#ifdef EXPECT_FAILURE
    const stretto::numbering numbers(view{});
#else
    const stretto::numbering numbers(view{}, hash{});
#endif
    (void)numbers;
}
