#include "stretto/interop/range_v3.hpp"

#include <doctest/doctest.h>

#include <boost/graph/adjacency_list.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <range/v3/algorithm/all_of.hpp>
#include <range/v3/algorithm/equal.hpp>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/enumerate.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/join.hpp>
#include <range/v3/view/reverse.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/analysis/topological_order.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/interop/boost_view.hpp"
#include "stretto/testing/archetypes.hpp"
#include "stretto/views/filtered.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/edge_graph.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/read_step.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

using ids = std::vector<std::uint32_t>;
const auto collect = ranges::to<std::vector>();

template <class R>
concept has_as_range = requires(R&& r) { as_range(std::forward<R>(r)); };

}  // namespace

TEST_CASE("range_v3: vertices, neighbours and orders of a captured step") {
    const capture step = *support::parse_capture(support::tiny_step, "tiny.json");
    // [range-v3]
    const stretto::capture_view g{&step};
    const stretto::capture_op_model model{&step};
    const auto is_start = [&](std::uint32_t v) { return model.kind(v) == stretto::op_kind::start; };
    const auto feeds_two = [&](std::uint32_t v) { return g.successors(v).size() == 2; };

    const std::vector<std::uint32_t> starts =
        g.vertices() | ranges::views::filter(is_start) | ranges::to<std::vector>();
    const std::vector<std::uint32_t> busy_inputs_of_add =
        g.predecessors(5) | ranges::views::filter(feeds_two) | ranges::to<std::vector>();
    const auto order = stretto::topological_sort(g);
    const std::vector<std::uint32_t> last_two =
        *order | ranges::views::reverse | ranges::views::take(2) | ranges::to<std::vector>();
    // [/range-v3]
    CHECK(starts == ids{1});
    CHECK(busy_inputs_of_add == ids{3});
    CHECK(last_two == ids{6, 5});
}

TEST_CASE("range_v3: what may be piped, and how often it may be walked") {
    static_assert(ranges::forward_range<id_range> && ranges::borrowed_range<id_range>);
    static_assert(ranges::viewable_range<id_range>);
    static_assert(std::forward_iterator<id_range::iterator>);
    static_assert(ranges::random_access_range<const topological_order<std::uint32_t>&>);
    static_assert(ranges::viewable_range<const topological_order<std::uint32_t>&>);

    using list = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS>;
    using view = boost_view<list>;
    using vertex = vertex_t<view>;
    static_assert(ranges::forward_range<decltype(std::declval<view>().successors(vertex{}))>);
    static_assert(ranges::viewable_range<decltype(std::declval<view>().vertices())>);
    static_assert(ranges::viewable_range<decltype(std::declval<view>().predecessors(vertex{}))>);

    // Ranges that merely work in a range-for are not for range-v3, until as_range says so.
    static_assert(!ranges::input_range<support::linked::op_range>);
    static_assert(ranges::input_range<decltype(as_range(std::declval<support::linked::op_range>()))>);
    static_assert(ranges::view_<decltype(as_range(std::declval<support::linked::op_range>()))>);
    static_assert(ranges::view_<decltype(as_range(std::declval<const ids&>()))>);
    // The least that a view may return, iterators that cannot even be copied, is too little.
    static_assert(!has_as_range<decltype(std::declval<archetypes::dependence>().vertices())>);
}

TEST_CASE("range_v3: edges of any graph in one pipeline") {
    const support::edge_graph g{4, {{2, 0}, {2, 3}, {2, 0}, {1, 1}}, {3, 2, 1, 0}};
    const snapshot copy{support::edge_graph_view{&g}};
    const snapshot_view rows = copy.view();
    const auto edges =
        rows.vertices() | ranges::views::transform([&](std::uint32_t u) {
            return rows.successors(u) | ranges::views::transform([u](std::uint32_t v) { return std::pair(u, v); });
        }) |
        ranges::views::join | collect;
    CHECK(edges == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 0}, {1, 3}, {1, 3}, {2, 2}});
}

TEST_CASE("range_v3: Boost's vertices and neighbours") {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS> ir(4);
    add_edge(2, 0, ir);
    add_edge(2, 3, ir);
    add_edge(1, 3, ir);
    const boost_view g(ir);
    const auto roots =
        g.vertices() | ranges::views::filter([&](std::size_t v) { return ranges::empty(g.predecessors(v)); }) | collect;
    CHECK(roots == std::vector<std::size_t>{1, 2});
    CHECK((g.predecessors(3) | ranges::views::transform([](std::size_t v) { return 10 * v; }) | collect) ==
          std::vector<std::size_t>{20, 10});
}

TEST_CASE("range_v3: a range that is returned by value stays as long as its view") {
    const support::edge_graph g{4, {{0, 1}, {0, 2}, {0, 3}}, {0, 1, 2, 3}};
    const support::edge_graph_view view{&g};
    auto odd = as_range(view.successors(0)) | ranges::views::filter([](std::uint32_t v) { return v % 2 == 1; });
    auto copy = odd;
    CHECK((odd | collect) == ids{1, 3});
    CHECK((copy | collect) == ids{1, 3});
    // One that is returned by reference is referred to.
    CHECK((as_range(view.vertices()) | ranges::views::take(2) | collect) == ids{0, 1});
    // Iterators of a filtered view point into the range object.
    const auto even = views::filtered(view, [](std::uint32_t v) { return v % 2 == 0; });
    CHECK((as_range(even.successors(0)) | ranges::views::transform([](std::uint32_t v) { return v + 1; }) | collect) ==
          ids{3});
}

TEST_CASE_TEMPLATE("range_v3: as_range sees what a range-for sees", IR, STRETTO_TOY_IRS) {
    stretto_check("toy IRs", 60, [] {
        const support::toy_program p = *support::random_programs({.max_ops = 30});
        const IR ir(p);
        const auto g = ir.view();
        using vertex = vertex_t<decltype(g)>;
        const std::vector<vertex> all = as_range(g.vertices()) | collect;
        RC_ASSERT(all == support::vertices_of(g));
        for (vertex v : all) {
            std::vector<vertex> expected;
            for (vertex w : g.successors(v)) expected.push_back(w);
            RC_ASSERT((as_range(g.successors(v)) | collect) == expected);
        }
        auto numbers = as_range(g.vertices()) | ranges::views::enumerate;
        const auto position = support::positions_of(g);
        RC_ASSERT(ranges::all_of(numbers, [&](const auto& n) { return position[g.index(n.second)] == n.first; }));
    });
}
