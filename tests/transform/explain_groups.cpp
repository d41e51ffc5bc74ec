#include "stretto/transform/explain_groups.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

using namespace stretto;
using fault = group_fault::reason;

namespace {

std::string name(group_id id) { return "group " + std::to_string(id); }

}  // namespace

TEST_CASE("every fault of groups has a name and a sentence of its own, and so has every error of isolation") {
    std::set<std::string_view> names;
    std::set<std::string> sentences;
    for (const fault f : {fault::other_id, fault::no_rank, fault::no_rank_on_node, fault::rank_count, fault::rank_twice,
                          fault::unknown_original, fault::other_ranks_than_original}) {
        names.insert(name_of(f));
        const group_fault at{f, 3, 4, 5};
        sentences.insert(explain(at, name));
        CHECK(explain(isolation_error{isolation_error::reason::broken_groups, 3, at}, name) == explain(at, name));
        CHECK(explain(at, name).starts_with("group 3 "));
    }
    CHECK(names.size() == 7);
    CHECK(sentences.size() == 7);
    CHECK(name_of(isolation_error::reason::broken_groups) == "broken_groups");
    CHECK(name_of(isolation_error::reason::group_out_of_range) == "group_out_of_range");
}

TEST_CASE("sentences about groups name the second party") {
    CHECK(explain(group_fault{fault::other_id, 3, 7}, name) ==
          "group 3 is number 3 of the list, and says that its id is 7");
    CHECK(explain(group_fault{fault::rank_twice, 3, no_group, 5}, name) == "group 3 lists rank 5 twice");
    CHECK(explain(group_fault{fault::unknown_original, 3, 3}, name) ==
          "group 3 duplicates group 3, which does not stand before it in the list");
    CHECK(explain(isolation_error{isolation_error::reason::group_out_of_range, 9}, name) ==
          "a collective is launched in group 9, which is not in the list of groups");
}
