#include "stretto/views/adaptor.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/testing/archetypes.hpp"

using namespace stretto;
using detail::everything_of_base;
using detail::kept_range;

namespace {

/// A chain of vertices, of which a view may have more or less.
struct listed {
    using vertex_type = int;
    const std::vector<int>* all;
    const std::vector<int>& vertices() const { return *all; }
};
struct numbered : listed {
    std::size_t index(int v) const { return static_cast<std::size_t>(v); }
    std::size_t index_bound() const { return all->size(); }
    std::size_t epoch() const { return 41; }
};
struct with_successors : numbered {
    std::vector<int> successors(int v) const {
        return v + 1 < static_cast<int>(all->size()) ? std::vector<int>{v + 1} : std::vector<int>();
    }
};
struct with_predecessors : with_successors {
    std::vector<int> predecessors(int v) const { return v > 0 ? std::vector<int>{v - 1} : std::vector<int>(); }
};
/// Values, but nothing that says who makes them.
struct half_dataflow : numbered {
    using value_type = char;
    std::vector<char> operands(int) const { return {'x'}; }
};

template <class G>
concept has_producer = requires(const G& g) { g.producer('x'); };
template <class G>
concept has_value_type = requires { typename G::value_type; };

}  // namespace

TEST_CASE("a member is there if the base has it, and no other is") {
    static_assert(vertex_list_graph<everything_of_base<listed>>);
    static_assert(!indexed_graph<everything_of_base<listed>>);
    static_assert(indexed_graph<everything_of_base<numbered>>);
    static_assert(epoch_graph<everything_of_base<numbered>>);
    static_assert(!adjacency_graph<everything_of_base<numbered>>);
    static_assert(adjacency_graph<everything_of_base<with_successors>>);
    static_assert(!bidirectional_adjacency_graph<everything_of_base<with_successors>>);
    static_assert(bidirectional_adjacency_graph<everything_of_base<with_predecessors>>);
    static_assert(!dataflow_graph<everything_of_base<with_predecessors>>);
    static_assert(dataflow_graph<everything_of_base<archetypes::program>>);
}

TEST_CASE("what a base with half of the values lacks is lacking, and its type is not") {
    using view = everything_of_base<half_dataflow>;
    static_assert(has_value_type<view>);
    static_assert(!has_value_type<everything_of_base<numbered>>);
    static_assert(!has_producer<view>);
    static_assert(!dataflow_graph<view>);
    const std::vector<int> two = {0, 1};
    CHECK(view(half_dataflow{{{&two}}}).operands(0) == std::vector<char>{'x'});
}

TEST_CASE("answers are those of the base, by reference where it returns one") {
    const std::vector<int> all = {0, 1, 2};
    const with_predecessors base{{{{&all}}}};
    const everything_of_base<with_predecessors> view(base);
    CHECK(&view.vertices() == &all);
    static_assert(std::is_same_v<decltype(view.vertices()), const std::vector<int>&>);
    static_assert(std::is_same_v<decltype(view.successors(0)), std::vector<int>>);
    CHECK(view.successors(1) == std::vector<int>{2});
    CHECK(view.predecessors(1) == std::vector<int>{0});
    CHECK(view.predecessors(0).empty());
    CHECK(view.index(2) == 2);
    CHECK(view.index_bound() == 3);
    CHECK(view.epoch() == 41);
    CHECK(view.base().all == &all);
    static_assert(std::is_trivially_copyable_v<decltype(view)> && sizeof(view) == sizeof(base));
}

TEST_CASE("a range is kept where it is if it is referred to, and as an object otherwise") {
    std::vector<int> there = {1, 2};
    kept_range<std::vector<int>&> reference(there);
    CHECK(&reference.get() == &there);
    const std::vector<int> constant = {3};
    kept_range<const std::vector<int>&> to_constant(constant);
    CHECK(&to_constant.get() == &constant);
    const int* const elements = there.data();
    kept_range<std::vector<int>> object(std::move(there));
    CHECK(object.get() == std::vector<int>{1, 2});
    CHECK(object.get().data() == elements);  // moved, not copied
}

TEST_CASE("iterators and ends of ranges that a member returns") {
    using view = everything_of_base<with_predecessors>;
    static_assert(std::is_same_v<detail::vertices_range_t<view>, const std::vector<int>&>);
    static_assert(std::is_same_v<detail::successors_range_t<view>, std::vector<int>>);
    static_assert(std::is_same_v<detail::predecessors_range_t<view>, std::vector<int>>);
    static_assert(std::is_same_v<detail::begin_t<const std::vector<int>&>, std::vector<int>::const_iterator>);
    static_assert(std::is_same_v<detail::begin_t<std::vector<int>>, std::vector<int>::iterator>);
    static_assert(std::is_same_v<detail::end_t<int(&)[3]>, int*>);
    CHECK(std::is_empty_v<detail::end_marker>);
}
