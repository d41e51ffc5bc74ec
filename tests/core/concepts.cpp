#include "stretto/core/concepts.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

/// An IR that owns its graph: everything is there, but copying it would copy the graph.
struct owning_graph {
    using vertex_type = int;
    std::vector<std::vector<int>> next, previous;
    std::vector<int> vertices() const { return {}; }
    std::vector<int> successors(int v) const { return next[static_cast<std::size_t>(v)]; }
    std::vector<int> predecessors(int v) const { return previous[static_cast<std::size_t>(v)]; }
    std::size_t index(int v) const { return static_cast<std::size_t>(v); }
    std::size_t index_bound() const { return next.size(); }
};

struct base {
    using vertex_type = int;
    std::vector<int> vertices() const { return {0}; }
    std::vector<int> successors(int) const { return {}; }
    std::vector<int> predecessors(int) const { return {}; }
    std::size_t index(int) const { return 0; }
    std::size_t index_bound() const { return 1; }
};
struct with_epoch : base {
    std::size_t epoch() const { return 3; }
};
struct listing_is_not_const : base {
    std::vector<int> vertices() { return {}; }
};
struct listing_of_strings : base {
    std::vector<std::string> vertices() const { return {}; }
};
struct index_is_a_string : base {
    std::string index(int) const { return "0"; }
};
struct no_vertex_type {
    std::vector<int> vertices() const { return {}; }
};
struct handle_that_owns : base {
    using vertex_type = std::shared_ptr<int>;
};
struct no_default {
    no_default() = delete;
    explicit no_default(int);
    bool operator==(const no_default&) const;
};

}  // namespace

TEST_CASE("handles are small and regular") {
    static_assert(handle<int> && handle<void*> && handle<archetypes::vertex> && handle<support::shared::output>);
    static_assert(!handle<std::string> && !handle<std::shared_ptr<int>> && !handle<int&> && !handle<no_default>);
}

TEST_CASE("a view is trivially copyable; an owning graph is no view") {
    static_assert(dependence_graph<base> && !epoch_graph<base> && epoch_graph<with_epoch>);
    static_assert(!graph_view<owning_graph> && !dependence_graph<owning_graph>);
    static_assert(!graph_view<no_vertex_type> && !graph_view<handle_that_owns> && !graph_view<int>);
    static_assert(std::is_same_v<vertex_t<base>, int>);
    CHECK(base{}.index_bound() == 1);
    CHECK(with_epoch{}.epoch() == 3);
}

TEST_CASE("members must be const and of the right type") {
    static_assert(graph_view<listing_is_not_const> && !vertex_list_graph<listing_is_not_const>);
    static_assert(!vertex_list_graph<listing_of_strings>);
    static_assert(!indexed_graph<index_is_a_string> && vertex_list_graph<index_is_a_string>);
}

TEST_CASE_TEMPLATE("every toy IR has a dependence_graph", IR, STRETTO_TOY_IRS) {
    const IR ir{support::toy_program{}};
    static_assert(dependence_graph<decltype(ir.view())>);
    CHECK(support::vertices_of(ir.view()).empty());
    CHECK(ir.view().index_bound() == 0);
}
