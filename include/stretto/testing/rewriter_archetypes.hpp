// Archetypes of rewriters, over the graph of archetypes.hpp: each has the verbs of one concept, and no more. They
// change nothing and count how often they are called.
#ifndef STRETTO_TESTING_REWRITER_ARCHETYPES_HPP
#define STRETTO_TESTING_REWRITER_ARCHETYPES_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/testing/archetypes.hpp"

namespace stretto::archetypes {

/// Changes nothing. Its verbs return arbitrary values, and it counts the calls.
class rewriter_base {
public:
    rewriter_base() = default;
    rewriter_base(const rewriter_base&) = delete;
    rewriter_base& operator=(const rewriter_base&) = delete;
    std::size_t calls = 0;

protected:
    value make() { return {detail::at(0), static_cast<std::uint8_t>(++calls)}; }
    void note() { ++calls; }
};

/// Models ordering_rewriter, and no more.
class orderer : public rewriter_base {
public:
    void move_before(vertex, vertex) { note(); }
};

/// Models group_rewriter, and no more.
class isolator : public rewriter_base {
public:
    proxy<group_id> duplicate_group(group_id, std::int32_t) { return note(), proxy<group_id>(2); }
    void set_group(vertex, group_id) { note(); }
};

/// Models cloning_rewriter, use_rewriter and erasing_rewriter, and no more.
class cloner : public rewriter_base {
public:
    void insert_before(vertex) { note(); }
    range<value> clone(vertex v, std::span<const value>, const chunk_part&) {
        range<value> made;
        for (std::uint8_t k = 0; k < detail::graph[detail::position(v)].results; ++k) made.add(make());
        return made;
    }
    void replace_uses(vertex, value, value) { note(); }
    void erase(vertex) { note(); }
};

/// Models chunking_rewriter, and no more: it does not write slices.
class chunker : public cloner {
public:
    range<value> split(value, std::size_t, std::span<const std::int64_t> parts) {
        range<value> made;
        for (std::size_t k = 0; k < parts.size(); ++k) made.add(make());
        return made;
    }
    proxy<value> concat(std::span<const value>, std::size_t) { return proxy<value>(make()); }
    proxy<value> sum(std::span<const value>) { return proxy<value>(make()); }
};

/// Models reducing_rewriter, and no more.
class reducer : public cloner {
public:
    proxy<value> add(value, value, sum_place) { return proxy<value>(make()); }
};

/// Models splitting_rewriter, and no more.
class splitter : public rewriter_base {
public:
    void insert_before(vertex) { note(); }
    proxy<value> launch_part(vertex, std::size_t, value) { return proxy<value>(make()); }
    proxy<value> wait_part(vertex, std::size_t, value, value) { return proxy<value>(make()); }
    void replace_uses(vertex, value, value) { note(); }
    void erase(vertex) { note(); }
};

static_assert(ordering_rewriter<orderer, graph> && group_rewriter<isolator, graph>);
static_assert(cloning_rewriter<cloner, dataflow> && use_rewriter<cloner, dataflow> &&
              erasing_rewriter<cloner, dataflow> && !slicing_rewriter<cloner, dataflow>);
static_assert(chunking_rewriter<chunker, dataflow> && !slice_writing_rewriter<chunker, dataflow>);
static_assert(reducing_rewriter<reducer, dataflow> && !chunking_rewriter<reducer, dataflow>);
static_assert(splitting_rewriter<splitter, dataflow> && !packing_rewriter<splitter, dataflow>);

}  // namespace stretto::archetypes

#endif
