#include "stretto/analysis/detail/order_positions.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "stretto/core/vertex_set.hpp"
#include "stretto/testing/archetypes.hpp"
#include "support/prop.hpp"
#include "support/small_dag.hpp"

using namespace stretto;

TEST_CASE("positions are the inverse of the order, and collections are listed or asked") {
    stretto_check("small graphs", 10000, [](const std::vector<std::uint8_t>& bytes) {
        const support::small_dag g = support::small_dag::decode(bytes);
        const support::small_dag_view view{&g};
        const auto order = *topological_sort(view);
        const detail::order_positions at(view, order);
        RC_ASSERT(at.size() == g.size);
        std::vector<std::uint32_t> listed;
        vertex_set<support::small_dag_view> set(view);
        std::multiset<std::uint32_t> expected;
        for (std::uint32_t p = 0; p < order.size(); ++p) {
            RC_ASSERT(at.of(order[p]) == p);
            RC_ASSERT(at.vertex(p) == order[p]);
            if ((order[p] + bytes.size()) % 3 != 0) continue;
            listed.insert(listed.begin(), order[p]);
            set.insert(order[p]);
            expected.insert(p);
        }
        std::multiset<std::uint32_t> of_list, of_set;
        at.for_each(listed, [&](std::uint32_t p) { of_list.insert(p); });
        at.for_each(set, [&](std::uint32_t p) { of_set.insert(p); });
        RC_ASSERT(of_list == expected);
        RC_ASSERT(of_set == expected);
    });
}

TEST_CASE("a set of positions against std::set") {
    stretto_check("insert, erase, next, previous", 20000, [](const std::vector<std::uint8_t>& bytes) {
        constexpr std::size_t size = 200;
        detail::position_set set(size);
        std::set<std::size_t> model;
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
            const std::size_t p = bytes[i] % size, q = bytes[i + 1] % (size + 1);
            switch (bytes[i + 1] % 4) {
                case 0:
                    set.erase(p);
                    model.erase(p);
                    break;
                case 1: {
                    const auto next = model.lower_bound(p);
                    const std::size_t expected = next == model.end() || *next >= q ? q : *next;
                    RC_ASSERT(set.first_from(p, q) == (p < q ? expected : q));
                    break;
                }
                case 2: {
                    const auto behind = model.lower_bound(q);
                    const bool found = behind != model.begin() && *std::prev(behind) >= p;
                    RC_ASSERT(set.behind_last(p, q) == (p < q && found ? *std::prev(behind) + 1 : p));
                    break;
                }
                default:
                    RC_ASSERT(set.insert(p) == model.insert(p).second);
            }
            RC_ASSERT(set.contains(p) == (model.count(p) == 1));
        }
        set.clear_words(0, size);
        RC_ASSERT(set.first_from(0, size) == size);
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = *topological_sort(g);
    const detail::order_positions at(g, order);
    CHECK(at.of(order[5]) == 5);
}
