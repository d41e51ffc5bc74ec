// expect: empty_like_and_slice_write_as_documented
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/archetypes.hpp"

// An optional verb with other parameters would be taken for missing, and every slice become a concatenation.
using vertex = stretto::archetypes::vertex;
using value = stretto::archetypes::value;

struct rewriter {
    using values = stretto::archetypes::range<value>;
    void insert_before(vertex);
    values clone(vertex, std::span<const value>, const stretto::chunk_part&);
    values split(value, std::size_t, std::span<const std::int64_t>);
    value concat(std::span<const value>, std::size_t);
    value sum(std::span<const value>);
    void replace_uses(vertex, value, value);
    void erase(vertex);
    value empty_like(value, value);
#ifdef EXPECT_FAILURE
    value slice_write(value, value, std::size_t);
#else
    value slice_write(value, value, std::size_t, std::span<const std::int64_t>, std::size_t);
#endif
};

void algorithm(stretto::chunking_rewriter<stretto::archetypes::program> auto) {}
void use() { algorithm(rewriter{}); }
