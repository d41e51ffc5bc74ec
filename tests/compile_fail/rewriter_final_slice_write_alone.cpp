// expect: empty_like_and_slice_write_as_documented
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/archetypes.hpp"

// Half of the optional verbs would be taken for none, and every slice become a concatenation, in a class from which
// nothing can inherit.
using vertex = stretto::archetypes::vertex;
using value = stretto::archetypes::value;

struct rewriter final {
    using values = stretto::archetypes::range<value>;
    void insert_before(vertex);
    values clone(vertex, std::span<const value>, const stretto::chunk_part&);
    values split(value, std::size_t, std::span<const std::int64_t>);
    value concat(std::span<const value>, std::size_t);
    value sum(std::span<const value>);
    void replace_uses(vertex, value, value);
    void erase(vertex);
#ifndef EXPECT_FAILURE
    value empty_like(value, value);
#endif
    value slice_write(value, value, std::size_t, std::span<const std::int64_t>, std::size_t);
};

void algorithm(stretto::chunking_rewriter<stretto::archetypes::program> auto) {}
void use() { algorithm(rewriter{}); }
