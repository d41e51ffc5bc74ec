// The adapters of the example keep every promise, on a small program of the same kinds of operations.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "stretto/testing/run_conformance.hpp"
#include "support/example_ir.hpp"

namespace {

struct checked_ir {
    mine::step s = mine::builder(8, 4, 6, 1).take();
    std::shared_ptr<stretto::row_orders> orders = std::make_shared<stretto::row_orders>();

    mine::view view() { return stretto::views::from_values(mine::values_view{&s}); }
    mine::op_model model() const { return {}; }
    mine::tensors tensors() const { return {}; }
    auto chunks() { return stretto::rule_chunk_model(view(), mine::dialect{}, *orders); }
    mine::rewriter rewriter() { return {&s}; }
};

}  // namespace

TEST_CASE("the adapters of the example satisfy everything") {
    const stretto::conformance c = stretto::run_conformance([] { return checked_ir(); });
    INFO(c.text());
    CHECK_FALSE_MESSAGE(c.failed(), c.first.message());
    CHECK(c.passed("view"));
    CHECK(c.passed("op model"));
    CHECK(c.passed("tensor model"));
    CHECK(c.passed("chunk shapes"));
    // The example computes nothing, so that no value was compared: verbs were checked by what the view says of them.
    const std::vector<std::string> unproved = c.unproved();
    REQUIRE(unproved.size() == 2);
    CHECK(unproved[0].starts_with("rewriter: "));
    CHECK(unproved[1].starts_with("chunks applied: "));
}

TEST_CASE("the example runs") { CHECK(example_main() == 0); }
