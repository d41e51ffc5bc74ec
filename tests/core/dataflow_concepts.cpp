#include "stretto/core/dataflow_concepts.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

struct values {
    using vertex_type = int;
    using value_type = long;
    std::vector<long> operands(int) const { return {}; }
    std::vector<long> results(int v) const { return {v}; }
    int producer(long x) const { return static_cast<int>(x); }
    std::vector<int> consumers(long) const { return {}; }
};
struct no_value_type {
    using vertex_type = int;
    std::vector<long> operands(int) const;
    std::vector<long> results(int) const;
    int producer(long) const;
    std::vector<int> consumers(long) const;
};
struct producer_is_a_pointer : values {
    int* producer(long) const { return nullptr; }
};
struct value_that_owns : values {
    using value_type = std::unique_ptr<int>;
};

}  // namespace

TEST_CASE("values need a handle and four members") {
    static_assert(dataflow_graph<values> && !vertex_list_graph<values>);
    static_assert(std::is_same_v<value_t<values>, long>);
    static_assert(!dataflow_graph<no_value_type> && !dataflow_graph<producer_is_a_pointer>);
    static_assert(!dataflow_graph<value_that_owns> && !dataflow_graph<archetypes::dependence>);
    CHECK(values{}.producer(values{}.results(4).front()) == 4);
}

TEST_CASE_TEMPLATE("several results, several uses", IR, STRETTO_TOY_IRS) {
    // 0 makes two values; 1 reads the second one twice.
    support::toy_program p;
    p.ops = {{.kind = op_kind::input, .results = {{{8}}, {{16}}}}, {.operands = {{0, 1}, {0, 1}}}};
    const IR ir(p);
    const auto g = ir.view();
    static_assert(dataflow_graph<decltype(g)>);
    using X = value_t<decltype(g)>;
    const auto v = support::vertices_of(g);
    std::vector<X> results, operands;
    for (X x : g.results(v[0])) results.push_back(x);
    for (X x : g.operands(v[1])) operands.push_back(x);
    REQUIRE(results.size() == 2);
    CHECK((operands == std::vector<X>{results[1], results[1]}));
    int first = 0, second = 0;
    for ([[maybe_unused]] auto c : g.consumers(results[0])) ++first;
    for (auto c : g.consumers(results[1])) second += c == v[1];
    CHECK(first == 0);
    CHECK(second == 2);
    CHECK(allocation_of<decltype(g)>(ir.model(), results[1]) == bytes{16});
}
