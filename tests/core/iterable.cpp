#include "stretto/core/iterable.hpp"

#include <doctest/doctest.h>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "support/linked_ir.hpp"

using stretto::iterable_of;

namespace {

struct no_end {
    int* begin() const;
};
struct incomparable {
    struct other {};
    int* begin() const;
    other end() const;
};
struct deref_to_string {
    std::string* begin() const;
    std::string* end() const;
};

}  // namespace

TEST_CASE("whatever works in a range-for is iterable") {
    static_assert(iterable_of<std::vector<int>, int>);
    static_assert(iterable_of<const std::vector<int>&, int>);
    static_assert(iterable_of<std::vector<int>&, long>);  // elements convert
    static_assert(iterable_of<std::vector<bool>, bool>);  // by proxy
    static_assert(iterable_of<std::list<std::shared_ptr<int>>, std::shared_ptr<int>>);
    static_assert(iterable_of<int(&)[4], int>);
    static_assert(iterable_of<const int(&)[4], int>);
    static_assert(iterable_of<support::linked::op_range, support::linked::op*>);
    static_assert(iterable_of<stretto::archetypes::range<int>, int>);  // sentinel, proxy, one pass
    int array[] = {1, 2, 3};
    CHECK(stretto::detail::end_of(array) - stretto::detail::begin_of(array) == 3);
}

TEST_CASE("what does not is not") {
    static_assert(!iterable_of<int, int>);
    static_assert(!iterable_of<std::vector<std::string>, int>);
    static_assert(!iterable_of<std::vector<void*>, int*>);
    static_assert(!iterable_of<std::map<int, int>, int>);
    static_assert(!iterable_of<no_end, int>);
    static_assert(!iterable_of<incomparable, int>);
    static_assert(iterable_of<deref_to_string, std::string> && !iterable_of<deref_to_string, int>);
    stretto::archetypes::range<int> r;
    r.add(4);
    r.add(5);
    int sum = 0;
    for (int x : r) sum += x;
    CHECK(sum == 9);
}
