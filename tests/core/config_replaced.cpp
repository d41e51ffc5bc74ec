// An embedding compiler brings its own assertion: here one that counts.
#include <string>

namespace {

int failures = 0;
std::string last_sentence;

void count(bool ok, const char* sentence) {
    if (ok) return;
    ++failures;
    last_sentence = sentence;
}

}  // namespace

#undef STRETTO_CHECKED
#define STRETTO_CHECKED 1
#define STRETTO_ASSERT(condition, sentence) count(static_cast<bool>(condition), sentence)

#include <doctest/doctest.h>

#include "stretto/core/vertex_set.hpp"
#include "support/edge_graph.hpp"

TEST_CASE("a replaced assertion is used by the library, audits included") {
    STRETTO_AUDIT(2 < 1, "two is less than one");
    CHECK(failures == 1);
    CHECK(last_sentence == "two is less than one");

    const support::edge_graph three{3, {}, {0, 1, 2}}, many{300, {}, {}};
    stretto::vertex_set a(support::edge_graph_view{&three}), b(support::edge_graph_view{&many});
    a.insert(1);
    CHECK(failures == 1);
    a |= b;
    CHECK(failures == 2);
    CHECK(last_sentence == "the two sets belong to differently numbered graphs");
}
