// expect: note:.*(g\.vertices\(\)|iterable_of<.*, (typename )?view::vertex_type>|iterable_of<.*, int>)
#include <string>
#include <vector>

#include "stretto/core/concepts.hpp"

struct view {
    using vertex_type = int;
#ifdef EXPECT_FAILURE
    std::vector<std::string> vertices() const;
#else
    std::vector<int> vertices() const;
#endif
};

void algorithm(stretto::vertex_list_graph auto) {}
void use() { algorithm(view{}); }
