#include "stretto/schedule/detail/workspace.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/prop.hpp"

using stretto::detail::workspace;

TEST_CASE("a scope that has ended leaves its memory to the next") {
    workspace w;
    const auto kept = w.take<std::uint32_t>(10, 7);
    const void* first = nullptr;
    for (int round = 0; round < 3; ++round) {
        const workspace::scope scratch(w);
        const auto big = w.take<std::int64_t>(100'000);
        if (round == 0) first = big.data();
        CHECK(big.data() == first);
        big.front() = big.back() = round;
    }
    for (std::uint32_t x : kept) CHECK(x == 7);
}

TEST_CASE("what fits the room to begin with lies together") {
    workspace w(1000);
    const auto first = w.take<std::uint32_t>(100);
    const auto second = w.take<std::uint32_t>(100);
    CHECK(first.data() + 100 == second.data());
    const auto large = w.take<std::uint32_t>(1000, 7);  // does not fit
    CHECK(large.front() == 7);
    CHECK(large.back() == 7);
}

TEST_CASE("arrays of nothing") {
    workspace w;
    CHECK(w.take<std::int64_t>(0).empty());
    CHECK(w.take<char>(0, 'x').empty());
    CHECK(w.take<char>(3, 'x').size() == 3);
}

TEST_CASE("arrays that live at the same time do not touch each other") {
    struct array {
        std::span<std::uint16_t> items;
        std::uint16_t value;

        [[nodiscard]] bool intact() const {
            return std::all_of(items.begin(), items.end(), [this](std::uint16_t item) { return item == value; });
        }
    };
    stretto_check("nested scopes", 500, [] {
        // What happens: 0 opens a scope, 1 ends the last, else an array of so many items is taken.
        const auto script = *rc::gen::container<std::vector<std::size_t>>(
            rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 3), rc::gen::inRange<std::size_t>(2, 9'000)));
        workspace w;
        std::vector<std::optional<workspace::scope>> scopes(script.size());
        std::vector<std::size_t> opened;  // per open scope: arrays at its begin
        std::vector<array> arrays;
        for (std::size_t k = 0; k < script.size(); ++k) {
            if (script[k] == 0) {
                scopes[opened.size()].emplace(w);
                opened.push_back(arrays.size());
            } else if (script[k] == 1 && !opened.empty()) {
                for (const array& a : arrays) RC_ASSERT(a.intact());
                arrays.resize(opened.back());
                opened.pop_back();
                scopes[opened.size()].reset();
            } else {
                const auto value = static_cast<std::uint16_t>(k + 1);
                arrays.push_back({w.take(script[k], value), value});
                RC_ASSERT(reinterpret_cast<std::uintptr_t>(arrays.back().items.data()) % 16 == 0);
            }
        }
        for (const array& a : arrays) RC_ASSERT(a.intact());
        while (!opened.empty()) {
            opened.pop_back();
            scopes[opened.size()].reset();
        }
    });
}
