#include "stretto/tune/chunk_source.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/testing/model_archetypes.hpp"
#include "support/row_ir.hpp"

using namespace stretto;
using support::row_chunk_model;
using support::row_op;
using support::row_view;

namespace {

struct maker {
    row_chunk_model operator()() const { return {}; }
};
struct maker_that_changes {
    row_chunk_model operator()() { return {}; }
};
struct maker_of_something_else {
    int operator()() const { return 0; }
};
struct maker_that_asks {
    row_chunk_model operator()(int) const { return {}; }
};

}  // namespace

TEST_CASE("a source is a chunk model of the graph, or makes one when it is called") {
    static_assert(chunk_model_source<row_chunk_model, row_view>);
    static_assert(chunk_model_source<maker, row_view>);
    static_assert(!chunk_model_source<maker_that_changes, row_view>);  // trials may share it: it is asked through const
    static_assert(!chunk_model_source<maker_of_something_else, row_view>);
    static_assert(!chunk_model_source<maker_that_asks, row_view>);
    static_assert(!chunk_model_source<int, row_view>);
}

TEST_CASE("archetypes are sources") {
    static_assert(chunk_model_source<archetypes::chunk_maker, archetypes::dataflow>);
    static_assert(chunk_model_source<archetypes::chunks, archetypes::dataflow>);
}

TEST_CASE("a model of one graph is no source for another") {
    static_assert(!chunk_model_source<row_chunk_model, archetypes::program>);
    static_assert(!chunk_model_source<maker, archetypes::program>);
}

TEST_CASE("tokens are some rows of some values") {
    const token_rows<row_op*> none;
    CHECK(none.rows == 0);
    CHECK(none.dimensions.empty());
    const std::array<token_dimension<row_op*>, 1> x = {{{nullptr, 1}}};
    const token_rows<row_op*> tokens{8, x};
    CHECK(tokens.dimensions[0].dim == 1);
}
