#include "stretto/analysis/detail/order_list.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/prop.hpp"
#include "support/rewritten_graph.hpp"

using order_list = stretto::detail::order_list<std::uint32_t>;

namespace {

using ids = std::vector<std::uint32_t>;

order_list list_of(std::uint32_t n) {
    order_list list(n);
    for (std::uint32_t v = 0; v < n; ++v) list.append(v);
    return list;
}
ids forwards(const order_list& list) {
    ids all;
    for (std::uint32_t v = list.front(); v != list.end(); v = list.next(v)) all.push_back(v);
    return all;
}
/// The list is what the model says, read in either direction, and labels agree with it.
bool equals(const order_list& list, const ids& model) {
    ids backwards;
    for (std::uint32_t v = list.back(); v != list.end(); v = list.previous(v)) backwards.push_back(v);
    std::reverse(backwards.begin(), backwards.end());
    for (std::size_t k = 1; k < model.size(); ++k)
        if (!list.precedes(model[k - 1], model[k]) || list.precedes(model[k], model[k - 1])) return false;
    return forwards(list) == model && backwards == model;
}

}  // namespace

TEST_CASE("vertices move together, to before or behind another") {
    order_list list = list_of(6);
    const ids moved{3, 5};
    list.move_before(moved, 1);
    CHECK(forwards(list) == ids{0, 3, 5, 1, 2, 4});
    list.replace(0, 2);
    CHECK(forwards(list) == ids{2, 3, 5, 1, 4});
    list.undo_to(0);
    CHECK(forwards(list) == ids{0, 1, 2, 3, 4, 5});
}

TEST_CASE("random moves and removals, some taken back, against a plain list") {
    stretto_check("order_list", 2000, [](const std::vector<std::uint8_t>& input) {
        support::byte_reader bytes(input);
        const std::uint32_t n = 2 + bytes.next() % 40;
        order_list list = list_of(n);
        ids model(n);
        for (std::uint32_t v = 0; v < n; ++v) model[v] = v;
        struct remembered {
            std::size_t moment;
            ids model;
        };
        std::vector<remembered> marks{{list.now(), model}};
        while (!bytes.done()) {
            const std::uint32_t what = bytes.next();
            if (model.size() < 2) break;
            const std::size_t at = bytes.next() % model.size();
            const std::uint32_t anchor = model[at];
            if (what % 8 < 5) {  // of all others, those that the bits of a byte choose
                ids moved, rest;
                const std::uint32_t chosen = bytes.next();
                for (std::size_t k = 0; k < model.size(); ++k)
                    (model[k] != anchor && (chosen >> (k % 8)) & 1u ? moved : rest).push_back(model[k]);
                ids mixed = moved;
                std::reverse(mixed.begin(), mixed.end());
                list.sort(mixed);
                RC_ASSERT(mixed == moved);
                auto place = std::find(rest.begin(), rest.end(), anchor);
                if (what % 2) list.move_before(moved, anchor);
                else list.move_behind(moved, anchor), ++place;
                rest.insert(place, moved.begin(), moved.end());
                model = rest;
            } else if (what % 8 == 5) {
                const std::uint32_t by = model[(at + 1) % model.size()];
                list.replace(anchor, by);
                std::erase(model, by);
                std::replace(model.begin(), model.end(), anchor, by);
            } else if (what % 8 == 6) {
                marks.push_back({list.now(), model});
            } else {
                marks.resize(1 + what / 8 % marks.size(), marks.front());
                list.undo_to(marks.back().moment);
                model = marks.back().model;
            }
            RC_ASSERT(equals(list, model));
        }
        list.undo_to(0);
        RC_ASSERT(equals(list, marks.front().model));
    });
}

TEST_CASE("a gap that is filled again and again is widened") {
    // Sixty-three bits of room are used up by sixty-odd insertions into the same gap; here are a hundred thousand.
    constexpr std::uint32_t n = 5000;
    for (const bool before : {true, false}) {
        order_list list = list_of(n);
        ids model(n);
        for (std::uint32_t v = 0; v < n; ++v) model[v] = v;
        const ids initial = model;
        for (std::uint32_t round = 0; round < 20; ++round) {
            for (std::uint32_t k = 0; k < n; ++k) {
                const std::uint32_t anchor = n / 2, v = (k * 7 + round) % n;
                if (v == anchor) continue;
                const ids one{v};
                if (before) list.move_before(one, anchor);
                else list.move_behind(one, anchor);
            }
            // Every vertex was moved once: the last one stands nearest.
            model.assign(1, n / 2);
            for (std::uint32_t k = 0; k < n; ++k) {
                const std::uint32_t v = (k * 7 + round) % n;
                if (v != n / 2) model.push_back(v);
            }
            if (before) std::rotate(model.begin(), model.begin() + 1, model.end());
            else std::reverse(model.begin() + 1, model.end());
            if (!equals(list, model)) FAIL("round " << round);
        }
        list.undo_to(0);
        CHECK(equals(list, initial));
    }
}

TEST_CASE("a crowd finds room in a gap that is all but full") {
    constexpr std::uint32_t n = 60'000, anchor = 50'000, singles = 33;
    for (const bool before : {true, false}) {
        order_list list = list_of(n);
        ids model(n);
        for (std::uint32_t v = 0; v < n; ++v) model[v] = v;
        const ids initial = model;
        // Each halves the gap on its side of the anchor. The crowd is more than what is left of either, and more than
        // the room between two in the sparsest stretch around it that would be sparse enough for a few.
        for (std::uint32_t v = 0; v < singles; ++v) {
            const ids left{2 * v}, right{2 * v + 1};
            list.move_before(left, anchor);
            list.move_behind(right, anchor);
        }
        const ids crowd(model.begin() + 100, model.begin() + 47'000);
        if (before) list.move_before(crowd, anchor);
        else list.move_behind(crowd, anchor);

        ids expected(model.begin() + 2 * singles, model.begin() + 100);
        expected.insert(expected.end(), model.begin() + 47'000, model.begin() + anchor);
        for (std::uint32_t v = 0; v < singles; ++v) expected.push_back(2 * v);
        if (before) expected.insert(expected.end(), crowd.begin(), crowd.end());
        expected.push_back(anchor);
        if (!before) expected.insert(expected.end(), crowd.begin(), crowd.end());
        for (std::uint32_t v = singles; v-- > 0;) expected.push_back(2 * v + 1);
        expected.insert(expected.end(), model.begin() + anchor + 1, model.end());
        CHECK(equals(list, expected));
        list.undo_to(0);
        CHECK(equals(list, initial));
    }
}

TEST_CASE("the ends of the list are as good a place as any") {
    order_list list = list_of(3);
    for (int round = 0; round < 100; ++round) {
        const ids last{list.back()}, first{list.front()};
        list.move_before(last, first[0]);
        list.move_behind(first, list.back());
    }
    CHECK(forwards(list).size() == 3);
    list.undo_to(0);
    CHECK(forwards(list) == ids{0, 1, 2});
}
