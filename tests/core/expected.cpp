#undef NDEBUG
#include "stretto/core/expected.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/dies.hpp"
#include "support/prop.hpp"

using stretto::expected;
using stretto::unexpected;

namespace {

/// Counts how many of its kind are alive.
struct tracked {
    static inline int alive = 0;
    int id;
    explicit tracked(int i) : id(i) { ++alive; }
    tracked(const tracked& other) : id(other.id) { ++alive; }
    tracked(tracked&& other) noexcept : id(std::exchange(other.id, -1)) { ++alive; }
    tracked& operator=(const tracked&) = default;
    ~tracked() { --alive; }
};
struct reason {
    tracked why;
};

using result = expected<tracked, reason>;

result make(int i) {
    if (i < 0) return unexpected(reason{tracked(-i)});
    return tracked(i);
}

}  // namespace

TEST_CASE("a result, or the reason why there is none") {
    const expected<int, std::string> good = 4, bad = unexpected("no");
    REQUIRE(good);
    CHECK(*good == 4);
    REQUIRE(!bad);
    CHECK(bad.error() == "no");
    CHECK(good.has_value());
    CHECK(!bad.has_value());
    // Same type on both sides.
    const expected<int, int> five = 5, error = unexpected(6);
    CHECK(*five == 5);
    CHECK(error.error() == 6);
}

TEST_CASE("move-only contents come out again") {
    expected<std::unique_ptr<int>, std::string> p = std::make_unique<int>(3);
    CHECK(**p == 3);
    const std::unique_ptr<int> out = *std::move(p);
    CHECK(*out == 3);
    expected<int, std::unique_ptr<int>> e = unexpected(std::make_unique<int>(4));
    const std::unique_ptr<int> why = std::move(e).error();
    CHECK(*why == 4);
    expected<std::vector<int>, int> v = std::vector<int>{1, 2};
    CHECK(v->size() == 2);
    v->push_back(3);
    CHECK(std::as_const(v)->size() == 3);
}

TEST_CASE("moves do not throw when those of the contents do not") {
    static_assert(std::is_nothrow_move_constructible_v<expected<std::string, int>>);
    static_assert(std::is_nothrow_move_constructible_v<result>);
    static_assert(!std::is_default_constructible_v<result>);
    static_assert(!std::is_convertible_v<result, bool>);
}

TEST_CASE("nothing leaks and nothing dies twice, whatever is assigned to what") {
    stretto_check("lifetimes", 200, [] {
        const auto script = *rc::gen::container<std::vector<std::pair<int, int>>>(
            rc::gen::pair(rc::gen::inRange(0, 16), rc::gen::inRange(-9, 10)));
        {
            std::vector<result> slots;
            std::vector<int> model;
            for (int i = 0; i < 4; ++i) {
                slots.push_back(make(i));
                model.push_back(i);
            }
            for (auto [where, what] : script) {
                const std::size_t to = static_cast<std::size_t>(where % 4), from = static_cast<std::size_t>(where / 4);
                if (what % 3 == 0) {
                    slots[to] = slots[from];  // also onto itself
                    model[to] = model[from];
                } else if (what % 3 == 1) {
                    result moved = std::move(slots[from]);
                    slots[from] = make(what);
                    const int was = std::exchange(model[from], what);
                    slots[to] = std::move(moved);
                    model[to] = was;
                } else {
                    slots[to] = make(what);
                    model[to] = what;
                }
                RC_ASSERT(tracked::alive == 4);
            }
            for (std::size_t i = 0; i < 4; ++i) {
                RC_ASSERT(slots[i].has_value() == (model[i] >= 0));
                RC_ASSERT((slots[i] ? slots[i]->id : -slots[i].error().why.id) == model[i]);
            }
        }
        RC_ASSERT(tracked::alive == 0);
    });
}

TEST_CASE("reading the wrong side is the caller's bug, and said so") {
    const expected<int, int> good = 1, bad = unexpected(2);
    CHECK(support::last_words([&] { (void)*bad; }).find("holds an error, not a value") != std::string::npos);
    CHECK(support::last_words([&] { (void)good.error(); }).find("holds a value, not an error") != std::string::npos);
    CHECK(support::last_words([&] { (void)*good; }) == "survived");
}
