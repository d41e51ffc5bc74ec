#undef NDEBUG
#include "stretto/core/value_map.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/dies.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

/// Vertex v has `results` results; value v * 1000 + k is result k of v.
struct many_results {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    std::uint32_t size = 0, count = 0;

    std::vector<std::uint32_t> vertices() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t v = 0; v < size; ++v) all.push_back(v);
        return all;
    }
    std::size_t index(std::uint32_t v) const { return v; }
    std::size_t index_bound() const { return size; }
    std::array<std::uint32_t, 0> operands(std::uint32_t) const { return {}; }
    std::vector<std::uint32_t> results(std::uint32_t v) const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t k = 0; k < count; ++k) all.push_back(v * 1000 + k);
        return all;
    }
    std::uint32_t producer(std::uint32_t x) const { return x / 1000; }
    std::array<std::uint32_t, 0> consumers(std::uint32_t) const { return {}; }
};

}  // namespace

TEST_CASE("values are numbered as they are added") {
    const many_results g{3, 2};
    value_numbering numbers(g);
    CHECK(numbers.size() == 0);
    CHECK(numbers.number(1000) == numbers.none);
    CHECK(numbers.add(1) == 0);
    CHECK(numbers.add(0) == 2);
    CHECK(numbers.contains(0));
    CHECK(numbers.first(0) == 2);
    CHECK(numbers.first(2) == numbers.none);
    CHECK(!numbers.contains(2));
    CHECK(numbers.number(1000) == 0);
    CHECK(numbers.number(1001) == 1);
    CHECK(numbers.number(0) == 2);
    CHECK(numbers.number(1) == 3);
    CHECK(numbers.value(3) == 1);
    SUBCASE("what is no result of its producer has none, nor what nobody added") {
        CHECK(numbers.number(1002) == numbers.none);
        CHECK(numbers.number(2000) == numbers.none);
    }
    SUBCASE("nor has what a vertex beyond the bound produces") {
        CHECK(numbers.number(7000) == numbers.none);
        CHECK(!numbers.contains(7));
    }
}

TEST_CASE("a vertex of many results") {
    const many_results g{3, 700};
    const auto numbers = number_values(g);
    CHECK(numbers.size() == 2100);
    for (std::uint32_t v = 0; v < 3; ++v)
        for (std::uint32_t k = 0; k < 700; ++k) CHECK(numbers.number(v * 1000 + k) == v * 700 + k);
}

TEST_CASE("a map keeps one entry per value") {
    const many_results g{2, 2};
    const auto numbers = number_values(g);
    value_map map(numbers, 7);
    map[1001] = 5;
    CHECK(map.size() == 4);
    CHECK(map[1001] == 5);
    CHECK(map[1000] == 7);
    value_map flags(numbers, false);
    flags[1] = true;
    const auto& fixed = flags;
    CHECK(fixed[1]);
    CHECK(!fixed[0]);
}

TEST_CASE("numbers of stale graphs are caught") {
    const many_results g{2, 1};
    value_numbering numbers(g);
    numbers.add(0);
    CHECK(support::last_words([&] { numbers.add(2); }).find("below index_bound()") != std::string::npos);
    CHECK(support::last_words([&] { numbers.add(0); }).find("listed twice") != std::string::npos);
    value_map map(numbers, 0);
    numbers.add(1);
    CHECK(support::last_words([&] { map[1000] = 1; }).find("no number that this map") != std::string::npos);
    CHECK(support::last_words([&] { map[1] = 1; }).find("no number that this map") != std::string::npos);
}

TEST_CASE_TEMPLATE("numbers are dense, in program order, and lead back", IR, STRETTO_TOY_IRS) {
    stretto_check("value_numbering", 40, [] {
        const IR ir(*support::random_programs(), 7);
        const auto g = ir.view();
        using G = decltype(ir.view());
        const auto numbers = number_values(g);
        std::uint32_t expected = 0;
        for (vertex_t<G> v : g.vertices())
            for (value_t<G> x : g.results(v)) {
                RC_ASSERT(numbers.number(x) == expected);
                RC_ASSERT(numbers.value(expected) == x);
                ++expected;
            }
        RC_ASSERT(numbers.size() == expected);
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::program g(0);
    const auto numbers = number_values(g);
    value_map map(numbers, 'x');
    map[archetypes::value(archetypes::detail::at(3), 1)] = 'y';
    CHECK(map[archetypes::value(archetypes::detail::at(3), 1)] == 'y');
    CHECK(map[archetypes::value(archetypes::detail::at(3), 0)] == 'x');
}
