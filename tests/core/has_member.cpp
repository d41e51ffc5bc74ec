#include "stretto/core/has_member.hpp"

#include <doctest/doctest.h>

namespace {

STRETTO_MEMBER_NAME(duration);

struct nothing {};
struct right {
    int duration(int) const;
};
struct of_another {
    int duration(const char*) const;
};
struct not_const {
    int duration(int);
};
struct data {
    int duration;
};
class hidden {
    int duration(int) const;
};
struct overloaded {
    int duration(int) const;
    int duration(long) const;
};
struct generic {
    template <class T>
    int duration(T) const;
};
struct inherited : right {};
struct final_and_right final {
    int duration(int) const;
};
struct final_without final {};
struct final_of_another final {
    int duration(const char*) const;
};
struct final_with_data final {
    int duration;
};
struct final_of_two final {
    int duration(int, int) const;
    int duration(const char*, int) const;
};
struct final_and_generic final {
    template <class T>
    int duration(T, T) const;
};

static_assert(!has_duration<nothing, int> && !has_duration<int, int> && !has_duration<final_without, int>);
static_assert(has_duration<right, int> && has_duration<of_another, int> && has_duration<not_const, int>);
static_assert(has_duration<data, int> && has_duration<hidden, int> && has_duration<overloaded, int>);
static_assert(has_duration<generic, int> && has_duration<inherited, int> && has_duration<final_and_right, int>);
static_assert(has_duration<final_of_another, int> && has_duration<final_with_data, int>);
static_assert(has_duration<final_of_two, int, int> && has_duration<final_and_generic, int, int>);

}  // namespace

TEST_CASE("a member is found by its name, whatever it is") { CHECK(has_duration<right, int>); }
