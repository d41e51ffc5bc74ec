#include "stretto/views/numbered.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/check_graph.hpp"
#include "support/edge_graph.hpp"
#include "support/linked_ir.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

TEST_CASE("numbered: positions in program order, values included") {
    const support::linked_ir ir(support::seeded_program(4, 20));
    const auto view = ir.view();
    static_assert(dependence_graph<decltype(view)> && dataflow_graph<decltype(view)> && epoch_graph<decltype(view)>);
    std::size_t n = 0;
    for (auto* op : view.vertices()) CHECK(view.index(op) == n++);
    CHECK(view.index_bound() == n);
}

TEST_CASE("numbered: a stale numbering says so, and follows when told") {
    support::linked_ir ir(support::seeded_program(4, 20));
    const auto view = ir.view();
    const auto all = support::vertices_of(view);
    auto* last = all.back();
    auto* like = last;  // the last operation that has a result
    for (auto* op : all)
        if (!op->results.empty()) like = op;
    auto rewriter = ir.rewriter();
    rewriter.insert_before(last);
    auto* copy = rewriter.clone(like, std::vector<support::linked::value*>(like->operands), {})[0]->def;
    const std::size_t before = view.epoch(), size = view.index_bound();
    CHECK(view.index(copy) == size);  // no number
    const auto stale = check_graph(view);
    REQUIRE(!stale);
    CHECK(stale.error().rule == std::string("index"));
    ir.changed();
    CHECK(view.epoch() == before + 1);
    CHECK(view.index(copy) == size - 1);  // now a number: it stands before the last
    CHECK(view.index_bound() == size + 1);
    CHECK(check_graph(view));
}

namespace {

struct padded {
    char kind = 0;
    int id = 0;
    friend bool operator==(const padded&, const padded&) = default;
};
struct everything_collides {
    template <class V>
    std::size_t operator()(const V&) const {
        return 7;
    }
};
struct padded_list {
    using vertex_type = padded;
    const std::vector<padded>* all;
    const std::vector<padded>& vertices() const { return *all; }
};

}  // namespace

TEST_CASE("numbered: a hash of one's own, even a useless one") {
    std::vector<padded> all;
    for (int i = 0; i < 100; ++i) all.push_back({static_cast<char>(i % 3), 100 - i});
    const padded_list list{&all};
    const numbering numbers(list, everything_collides{});
    const auto view = views::numbered(list, numbers);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(view.index(all[i]) == i);
    CHECK(!numbers.contains({'a', 1}));
    CHECK(numbers.contains({0, 100}));
    static_assert(vertex_list_graph<decltype(view)> && indexed_graph<decltype(view)>);
    static_assert(!adjacency_graph<decltype(view)> && !dataflow_graph<decltype(view)>);
}

TEST_CASE("numbered: where nodes are allocated makes no difference") {
    stretto_check("numbers", 60, [] {
        const support::toy_program p = *support::random_programs();
        const support::linked_ir a(p), b(p, *rc::gen::inRange<std::uint64_t>(1, 1000));
        RC_ASSERT(support::edges_of(a.view()) == support::edges_of(b.view()));
        RC_ASSERT(support::read_back(a.view(), a.model(), p.groups) ==
                  support::read_back(b.view(), b.model(), p.groups));
    });
}

TEST_CASE("numbered: archetypes suffice") {
    const archetypes::vertex_list list(0);
    const numbering numbers(list);
    std::size_t n = 0;
    for (archetypes::vertex v : list.vertices()) CHECK(views::numbered(list, numbers).index(v) == n++);
    // What the base has is forwarded, what it numbers itself is replaced.
    const archetypes::program program(0);
    const numbering own(program);
    CHECK(check_graph(views::numbered(program, own)));
    CHECK(views::numbered(program, own).index_bound() == 8);
    CHECK(numbering(list).size() == 8);
}

namespace {

/// Handles of a class type in a class that can only be moved: to copy a numbering is not to number one.
struct two_pointers {
    const int* op = nullptr;
    const int* argument = nullptr;
    friend bool operator==(const two_pointers&, const two_pointers&) = default;
};
struct keeps_numbers {
    std::unique_ptr<int> owned;
    numbering<two_pointers> numbers;
};

}  // namespace

TEST_CASE("numbered: a class that keeps the numbers can be copied and moved") {
    static_assert(std::is_copy_constructible_v<numbering<two_pointers>>);
    static_assert(std::is_move_constructible_v<keeps_numbers>);
    static_assert(!std::is_constructible_v<numbering<two_pointers>, int>);
    CHECK(two_pointers{} == two_pointers{});
    support::linked_ir ir(support::seeded_program(4, 20));
    const auto view = ir.view();
    const numbering numbers(view);
    const numbering copy(numbers);
    for (auto* op : view.vertices()) CHECK(copy.index(op) == view.index(op));
}
