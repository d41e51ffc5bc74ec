#include "stretto/analysis/detail/order_positions.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <type_traits>
#include <utility>
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
    stretto_check("insert, erase, next", 20000, [](const std::vector<std::uint8_t>& bytes) {
        constexpr std::size_t size = 200;
        detail::position_set set(size);
        std::set<std::size_t> model;
        for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
            const std::size_t p = bytes[i] % size, q = bytes[i + 1] % (size + 1);
            switch (bytes[i + 1] % 3) {
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
                default:
                    RC_ASSERT(set.insert(p) == model.insert(p).second);
            }
            RC_ASSERT(set.contains(p) == (model.count(p) == 1));
        }
        set.clear_words(0, size);
        RC_ASSERT(set.first_from(0, size) == size);
    });
}

TEST_CASE("a scan hands out members and what it inserts, each once, in its direction") {
    // Scanning p inserts up to two positions ahead of it, as edges would.
    stretto_check("up and down, removing or not", 20000, [](const std::vector<std::uint8_t>& bytes) {
        constexpr std::size_t size = 300;
        const auto step = [&](std::size_t p, std::size_t k) {
            return bytes.empty() ? 0u : bytes[(2 * p + k) % bytes.size()] % 100u;
        };
        std::set<std::size_t> members;
        for (std::size_t i = 0; i < bytes.size() && i < 4; ++i) members.insert(bytes[i]);
        const std::size_t begin = members.empty() ? size : *members.begin();
        const std::size_t end = members.empty() ? 0 : *members.rbegin() + 1;
        std::set<std::size_t> up = members, down = members;
        for (auto at = up.begin(); at != up.end(); ++at)
            for (std::size_t k : {0u, 1u})
                if (const std::size_t q = *at + step(*at, k); q > *at && q < size) up.insert(q);
        for (std::size_t p = size; p-- > 0;)
            if (down.count(p))
                for (std::size_t k : {0u, 1u})
                    if (const std::size_t d = step(p, k); d > 0 && d <= p) down.insert(p - d);

        const auto run = [&](auto scan) {
            detail::position_set set(size);
            for (std::size_t p : members) set.insert(p);
            const std::vector<std::size_t> seen = scan(set);
            std::set<std::size_t> left;
            for (std::size_t p = 0; p < size; ++p)
                if (set.contains(p)) left.insert(p);
            return std::pair(seen, left);
        };
        const auto upwards = [&]<bool removes>(std::bool_constant<removes>) {
            return run([&](detail::position_set<>& set) {
                std::vector<std::size_t> seen;
                set.scan_up<removes>(begin, end, [&](std::size_t p, auto insert) {
                    seen.push_back(p);
                    for (std::size_t k : {0u, 1u})
                        if (const std::size_t q = p + step(p, k); q > p && q < size) insert(q);
                });
                return seen;
            });
        };
        const auto downwards = [&]<bool removes>(std::bool_constant<removes>) {
            return run([&](detail::position_set<>& set) {
                std::vector<std::size_t> seen;
                set.scan_down<removes>(begin, end, [&](std::size_t p, auto insert) {
                    seen.push_back(p);
                    for (std::size_t k : {0u, 1u})
                        if (const std::size_t d = step(p, k); d > 0 && d <= p) insert(p - d);
                });
                return seen;
            });
        };
        const std::vector<std::size_t> ascending(up.begin(), up.end()), descending(down.rbegin(), down.rend());
        RC_ASSERT((upwards(std::true_type()) == std::pair(ascending, std::set<std::size_t>())));
        RC_ASSERT((upwards(std::false_type()) == std::pair(ascending, up)));
        RC_ASSERT((downwards(std::true_type()) == std::pair(descending, std::set<std::size_t>())));
        RC_ASSERT((downwards(std::false_type()) == std::pair(descending, down)));
        const std::size_t count = bytes.size() % (members.size() + 1);
        const auto taken = run([&](detail::position_set<>& set) {
            std::vector<std::size_t> seen;
            set.take(begin, count, [&](std::size_t p) { seen.push_back(p); });
            return seen;
        });
        const auto middle = std::next(members.begin(), static_cast<std::ptrdiff_t>(count));
        RC_ASSERT((taken == std::pair(std::vector(members.begin(), middle), std::set(middle, members.end()))));
    });
}

TEST_CASE("archetypes suffice") {
    const archetypes::dependence g(0);
    const auto order = *topological_sort(g);
    const detail::order_positions at(g, order);
    CHECK(at.of(order[5]) == 5);
}
